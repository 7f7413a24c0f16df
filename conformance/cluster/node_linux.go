package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A node runs the programs of the cluster.
type node struct {
	ended chan error // a program has ended
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
	n := &node{ended: make(chan error, 10)}
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
	if err := n.wait("the API server", kubectl("get", "--raw=/readyz")); err != nil {
		return err
	}
	n.run("kube-controller-manager")
	n.run("kube-scheduler")
	if err := n.wait("containerd", n.importImages(images)); err != nil {
		return err
	}
	n.run("kubelet")
	n.run("kube-proxy", "--proxy-mode="+proxyMode)
	if err := n.wait("kube-proxy", kubectl("get", "--raw=/healthz", "--server=http://127.0.0.1:10256")); err != nil {
		return err
	}
	if err := n.wait("the service account", kubectl("get", "serviceaccount", "default")); err != nil {
		return err
	}
	return n.wait("the node", kubectl("wait", "--for=condition=Ready", "--timeout=1s", "node/"+nodeName))
}

// kubectl returns a condition that holds when kubectl succeeds.
func kubectl(args ...string) func() error {
	return func() error {
		return runTool(nil, "kubectl", append(args, "--kubeconfig="+home+"/admin.kubeconfig")...)
	}
}

// runTool runs a program to its end.
func runTool(stdin io.Reader, name string, args ...string) error {
	tool := exec.Command(filepath.Join(home, "bin", name), args...)
	tool.Stdin = stdin
	if output, err := tool.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, output)
	}
	return nil
}

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
			if err := runTool(images[0], "ctr", "--namespace=k8s.io", "images", "import", "-"); err != nil {
				return fmt.Errorf("importing %s: %w", images[0].Name(), err)
			}
			images = images[1:]
		}
		return nil
	}
}
