package main

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// The sources of the programs that this module builds itself, so that the command works from any
// directory.
//
//go:embed go.mod go.sum kube pause
var sources embed.FS

// A program is what a cluster runs, built from a Go module.
type program struct {
	name    string
	source  string // a directory of this module, or a package of another module
	version string // of the other module
}

const (
	containerd = "github.com/containerd/containerd/v2/cmd/"
	cniPlugins = "github.com/containernetworking/plugins/plugins/"
)

var programs = []program{
	{"kube", "kube", ""},
	{"pause", "pause", ""},
	{"containerd", containerd + "containerd", "v2.4.2"},
	{"containerd-shim-runc-v2", containerd + "containerd-shim-runc-v2", "v2.4.2"},
	{"ctr", containerd + "ctr", "v2.4.2"},
	{"ptp", cniPlugins + "main/ptp", "v1.9.1"},
	{"loopback", cniPlugins + "main/loopback", "v1.9.1"},
	{"host-local", cniPlugins + "ipam/host-local", "v1.9.1"},
	{"portmap", cniPlugins + "meta/portmap", "v1.9.1"},
}

// kubeNames are the names under which kube is each of its programs.
var kubeNames = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet",
	"kube-proxy", "kubectl"}

// kubernetesVersion is that of go.mod.
const kubernetesVersion = "v1.37.2"

// build builds what is missing into a directory of the cache, and returns it. Each set of sources
// and versions has its own directory.
func build(ctx context.Context, cache string) (string, error) {
	key := fmt.Sprintln(runtime.Version(), runtime.GOARCH, programs)
	err := fs.WalkDir(sources, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := sources.ReadFile(name)
		key += name + "\n" + string(content)
		return err
	})
	if err != nil {
		return "", err
	}
	bin := filepath.Join(cache, kubernetesVersion+"-"+digest([]byte(key))[:12])
	for _, p := range programs {
		if _, err := os.Stat(filepath.Join(bin, p.name)); err == nil {
			continue
		}
		if err := p.build(ctx, bin); err != nil {
			return "", fmt.Errorf("building %s: %w", p.name, err)
		}
	}
	for _, name := range kubeNames {
		if err := os.Symlink("kube", filepath.Join(bin, name)); err != nil && !os.IsExist(err) {
			return "", err
		}
	}
	return bin, nil
}

// build builds the program in a directory of its own, and moves it to its place as a whole: two
// commands that build at a time do not disturb each other.
func (p program) build(ctx context.Context, bin string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("needs Go: %w", err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(bin, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, sources); err != nil {
		return err
	}
	progress("building %s from Go modules", p.name)
	args := []string{"install", p.source + "@" + p.version}
	if p.version == "" {
		stamp := "-X k8s.io/component-base/version.gitVersion=" + kubernetesVersion
		args = []string{"install", "-buildvcs=false", "-ldflags", stamp, "./" + p.source}
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // go then removes its files
	command.Dir = work
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOBIN="+filepath.Join(work, "bin"))
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return err
	}
	return os.Rename(filepath.Join(work, "bin", p.name), filepath.Join(bin, p.name))
}
