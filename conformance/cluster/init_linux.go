package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// home is the directory of the cluster's files, on a file system in memory.
const home = "/run/probesim"

// initSettings are what the processes of the cluster have to know.
type initSettings struct {
	Options options
	Cgroups []hierarchy
}

// stage runs one of the processes that up starts.
func stage(name string, args []string) (int, error) {
	switch {
	case name == "sweep":
		return 0, sweepStage(args)
	case name == "init":
		return 0, enter()
	case name == "init-in-cgroup":
		return initStage()
	case name == "node" && len(args) > 0:
		return 0, nodeStage(args[0], args[1:])
	}
	return 0, usageError("unknown command " + name)
}

// enter waits until the parent has moved this process into its cgroups, and makes them the roots of
// a cgroup namespace. A namespace belongs to a thread: after the exec, all threads are in it. The
// settings stay in the pipe.
func enter() error {
	if n, _ := os.NewFile(settingsFile, "settings").Read(make([]byte, 1)); n == 0 {
		return nil // the parent has ended
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("making a cgroup namespace: %w", err)
	}
	return unix.Exec("/proc/self/exe", []string{"cluster", "init-in-cgroup"}, os.Environ())
}

// settingsFile is the file descriptor from which a process of the cluster reads its settings.
const settingsFile = 3

// initStage is process 1 of the cluster. It starts the node, runs the command when the node is
// ready, and reaps what others leave. When it returns, the kernel kills all other processes.
func initStage() (int, error) {
	var s initSettings
	if err := json.NewDecoder(os.NewFile(settingsFile, "settings")).Decode(&s); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	if err := prepare(s); err != nil {
		return 0, err
	}
	ready, tell, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	var children children
	node := append([]string{"cluster", "node", s.Options.ProxyMode}, s.Options.Images...)
	attributes := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Setpgid: true}
	err = children.start(&children.node, "/proc/self/exe", node, attributes, tell)
	if err != nil {
		return 0, err
	}
	tell.Close()
	result := make(chan outcome, 3)
	go func() { result <- children.reap() }()
	go func() {
		if n, _ := ready.Read(make([]byte, 1)); n == 0 {
			return // the node has ended
		}
		if err := children.run(s.Options.Command); err != nil {
			result <- outcome{err: err}
		}
	}()
	for {
		select {
		case signal := <-signals:
			if ended := children.signal(signal.(syscall.Signal)); ended != nil {
				return ended.code, ended.err
			}
		case r := <-result:
			return r.code, r.err
		}
	}
}

// An outcome is the end of a cluster.
type outcome struct {
	code int
	err  error
}

// The children are the processes that process 1 has started. Others become its children when their
// parents end.
type children struct {
	mu            sync.Mutex
	node, command int
}

// start starts a process. The mutex keeps reap from seeing its end before its process id is known.
func (c *children) start(pid *int, path string, args []string, sys *syscall.SysProcAttr, extra ...*os.File) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	files := []uintptr{0, 1, 2}
	for _, file := range extra {
		files = append(files, file.Fd())
	}
	started, err := syscall.ForkExec(path, args, &syscall.ProcAttr{Env: os.Environ(), Files: files, Sys: sys})
	*pid = started
	return err
}

// run starts the command.
func (c *children) run(command []string) error {
	os.Setenv("PATH", home+"/bin:"+os.Getenv("PATH"))
	os.Setenv("KUBECONFIG", home+"/admin.kubeconfig")
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	return c.start(&c.command, path, command, nil)
}

// reap takes the ended processes until the command or the node is one of them.
func (c *children) reap() outcome {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return outcome{err: err}
		}
		c.mu.Lock()
		node, command := c.node, c.command
		c.mu.Unlock()
		switch {
		case pid == command && status.Signaled():
			return outcome{code: 128 + int(status.Signal())}
		case pid == command:
			return outcome{code: status.ExitStatus()}
		case pid == node && status.Signaled():
			return outcome{err: fmt.Errorf("the node was ended by a signal: %v", status.Signal())}
		case pid == node:
			return outcome{code: failed} // it has said why
		}
	}
}

// signal hands a signal to the command. Before the command runs, a signal ends the cluster. SIGUSR1
// stands for a SIGINT that the command has got from the terminal.
func (c *children) signal(s syscall.Signal) *outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.command == 0 && s == syscall.SIGUSR1:
		return &outcome{code: 128 + int(syscall.SIGINT)}
	case c.command == 0:
		return &outcome{code: 128 + int(s)}
	case s != syscall.SIGUSR1:
		syscall.Kill(c.command, s)
	}
	return nil
}

// prepare makes the world of the cluster's processes: mounts, network and the files of home.
func prepare(s initSettings) error {
	if err := unix.Sethostname([]byte(nodeName)); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	mounts := [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", "/run"}}
	if s.Cgroups[0].Controllers != "" {
		mounts = append(mounts, [2]string{"tmpfs", "/sys/fs/cgroup"})
	}
	for _, mount := range mounts {
		kind, at, options := mount[0], mount[1], ""
		if kind == "tmpfs" {
			options = "mode=755"
		}
		if err := unix.Mount(kind, at, kind, unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
			return fmt.Errorf("mounting %s: %w", at, err)
		}
	}
	for _, h := range s.Cgroups {
		if err := h.mount(); err != nil {
			return fmt.Errorf("mounting the cgroups of %s: %w", h.Mount, err)
		}
	}
	for dir, bound := range map[string]string{"bin": s.Options.Bin, "logs": s.Options.Logs, "tmp": ""} {
		dir = filepath.Join(home, dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if bound != "" {
			if err := unix.Mount(bound, dir, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("mounting %s: %w", bound, err)
			}
		}
	}
	if err := keepSysctls(); err != nil {
		return err
	}
	if err := network(); err != nil {
		return fmt.Errorf("making the network: %w", err)
	}
	return writeFiles(home)
}

// keepSysctls puts files in the place of the settings that the kubelet makes and that belong to no
// namespace (setupKernelTunables in pkg/kubelet/cm/container_manager_linux.go of v1.37.2). They have
// the values that it wants.
func keepSysctls() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory":      "1",
		"vm/panic_on_oom":           "0",
		"kernel/panic":              "10",
		"kernel/panic_on_oops":      "1",
		"kernel/keys/root_maxkeys":  "1000000",
		"kernel/keys/root_maxbytes": "25000000",
	} {
		file := filepath.Join(home, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(file, filepath.Join("/proc/sys", name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("hiding /proc/sys/%s: %w", name, err)
		}
	}
	return nil
}
