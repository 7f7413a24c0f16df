package main

import (
	"bytes"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
)

// The addresses of a cluster are from blocks for documentation and benchmarks. They exist only in
// the cluster's network namespace, which no packet leaves. The files below config name them too.
const (
	nodeName    = "node"
	nodeAddress = "192.0.2.1"
	gateway     = "192.0.2.2" // nobody has this address: what is not in the cluster gets no answer
	apiService  = "198.19.0.1"
)

// Flags and configuration of the programs. What they do not set has its default.
//
//go:embed config
var config embed.FS

// writeFiles writes the configuration of the programs, with certificates and the image of the pods'
// sandboxes.
func writeFiles(dir string) error {
	files, err := fs.Sub(config, "config")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return err
	}
	ca, err := newAuthority(dir)
	if err != nil {
		return err
	}
	err = ca.issue("apiserver", "kube-apiserver", "", nodeAddress, apiService, "127.0.0.1", "localhost", "kubernetes",
		"kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	if err := ca.issue("apiserver-kubelet", "kube-apiserver-kubelet-client", "system:masters"); err != nil {
		return err
	}
	if err := ca.issue("service-account", "service-account", ""); err != nil {
		return err
	}
	for _, c := range []struct{ name, user, group string }{
		{"admin", "kubernetes-admin", "system:masters"},
		{"controller-manager", "system:kube-controller-manager", ""},
		{"scheduler", "system:kube-scheduler", ""},
		{"proxy", "system:kube-proxy", ""},
		{"kubelet", "system:node:" + nodeName, "system:nodes"},
	} {
		if err := ca.newKubeconfig(c.name, c.user, c.group); err != nil {
			return err
		}
	}
	var pause bytes.Buffer
	if err := writeImage(&pause, "probesim.dev/pause:1", []string{filepath.Join(dir, "bin", "pause")}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "pause.tar"), pause.Bytes(), 0o600)
}
