package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A node runs the programs of the cluster.
type node struct {
	ended  chan error // a program has ended
	client *http.Client
}

// nodeStage starts the programs and tells process 1 when the node is ready. It ends with an error
// as soon as one of them ends.
func nodeStage(proxyMode string, images []string) error {
	ready := os.NewFile(3, "ready")
	var archives []*os.File // opened before mounts hide them
	for _, image := range append(images, filepath.Join(home, "pause.tar")) {
		file, err := os.Open(image)
		if err != nil {
			return err
		}
		archives = append(archives, file)
	}
	if err := hide(); err != nil {
		return err
	}
	client, err := newClient()
	if err != nil {
		return err
	}
	n := &node{ended: make(chan error, 10), client: client}
	begin := time.Now()
	started := make(chan error, 1)
	go func() { started <- n.start(proxyMode, archives) }()
	select {
	case err := <-n.ended:
		return err
	case err := <-started:
		if err != nil {
			return err
		}
	}
	progress("the node is ready after %.1fs", time.Since(begin).Seconds())
	ready.Write([]byte{1})
	ready.Close()
	return <-n.ended
}

// hide mounts file systems in memory over the directories of the machine into which the programs
// write. As on other nodes, mounts are shared, so that volumes can have mount propagation.
func hide() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, dir := range []string{"/var/lib", "/var/log", "/opt"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mounting %s: %w", dir, err)
		}
	}
	return unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// start starts the programs in the order in which they need each other, and waits until a pod can
// be created.
func (n *node) start(proxyMode string, images []*os.File) error {
	n.run("etcd")
	n.run("containerd")
	n.run("kube-apiserver")
	if err := n.wait("the API server", func() error { return n.get(apiServer+"/readyz", nil) }); err != nil {
		return err
	}
	n.run("kube-controller-manager")
	n.run("kube-scheduler")
	if err := n.wait("containerd", n.importImages(images)); err != nil {
		return err
	}
	n.run("kubelet")
	n.run("kube-proxy", "--proxy-mode="+proxyMode)
	if err := n.wait("kube-proxy", func() error { return n.get("http://127.0.0.1:10256/healthz", nil) }); err != nil {
		return err
	}
	account := apiServer + "/api/v1/namespaces/default/serviceaccounts/default"
	if err := n.wait("the service account", func() error { return n.get(account, nil) }); err != nil {
		return err
	}
	return n.wait("the node", n.nodeReady)
}

const apiServer = "https://" + nodeAddress + ":6443"

// run starts a program with its flags and more arguments. Its end is the end of the cluster.
func (n *node) run(name string, args ...string) {
	flags, err := os.ReadFile(filepath.Join(home, name+".flags"))
	if err != nil {
		n.ended <- err
		return
	}
	for line := range strings.Lines(string(flags)) {
		if !strings.HasPrefix(line, "#") {
			args = append(args, strings.TrimSpace(line))
		}
	}
	path := filepath.Join(home, "logs", name+".log")
	log, err := os.Create(path)
	if err != nil {
		n.ended <- err
		return
	}
	process := exec.Command(filepath.Join(home, "bin", name), args...)
	process.Stdout, process.Stderr = log, log
	process.Env = append(os.Environ(), "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"),
		"TMPDIR="+filepath.Join(home, "tmp"), "HOME="+home)
	if err := process.Start(); err != nil {
		n.ended <- err
		return
	}
	go func() {
		process.Wait()
		n.ended <- fmt.Errorf("%s has ended (%v). The end of its log:\n%s", name, process.ProcessState, tail(path))
	}()
}

// tail returns the last lines of a log.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// startTimeout is long enough for a machine with much other work.
const startTimeout = 3 * time.Minute

// wait waits until a condition holds.
func (n *node) wait(what string, condition func() error) error {
	var err error
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = condition(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is not ready after %v: %w", what, startTimeout, err)
}

// importImages returns a condition that holds when all images are imported.
func (n *node) importImages(images []*os.File) func() error {
	return func() error {
		for len(images) > 0 {
			if _, err := images[0].Seek(0, 0); err != nil {
				return err
			}
			load := exec.Command(filepath.Join(home, "bin", "ctr"), "--namespace=k8s.io", "images", "import", "-")
			load.Stdin = images[0]
			if output, err := load.CombinedOutput(); err != nil {
				return fmt.Errorf("importing %s: %w\n%s", images[0].Name(), err, output)
			}
			images = images[1:]
		}
		return nil
	}
}

// nodeReady returns an error unless the node is ready.
func (n *node) nodeReady() error {
	var object struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := n.get(apiServer+"/api/v1/nodes/"+nodeName, &object); err != nil {
		return err
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == "Ready" {
			if condition.Status == "True" {
				return nil
			}
			return errors.New(condition.Message)
		}
	}
	return errors.New("it has no condition Ready")
}

// newClient returns a client with the rights of the cluster's administrator.
func newClient() (*http.Client, error) {
	authority, err := os.ReadFile(filepath.Join(home, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	admin, err := tls.LoadX509KeyPair(filepath.Join(home, "admin.crt"), filepath.Join(home, "admin.key"))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{admin}}}
	return &http.Client{Transport: transport, Timeout: 5 * time.Second}, nil
}

// get reads an object of the API, or only whether the answer is OK.
func (n *node) get(url string, object any) error {
	response, err := n.client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	if object == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(object)
}
