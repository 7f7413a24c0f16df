package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Linux counts the end of the thread that has started a process as the end of its parent. So all
// processes are started by the main thread, which ends last.
func init() {
	runtime.LockOSThread()
}

// up starts the cluster and waits for its end. Four processes of this program take part:
//
//   - this one, outside the cluster: the parent of the others;
//   - "sweep", also outside, removes the cgroups when this one has ended, however it did;
//   - "init" is process 1 of the cluster's process namespace, and runs the command. If it or its
//     parent ends, the kernel ends all processes of the cluster, and with them the namespaces and
//     what is mounted or created in them;
//   - "node" runs the programs of the cluster, in a mount namespace of its own, which hides what
//     they write from the machine and the command.
func up(o options, cache string) (int, error) {
	// "go run" can be killed without a chance to tell its child.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return 0, err
	}
	if err := check(o); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	bin, err := build(ctx, cache)
	if ctx.Err() != nil {
		return 128 + int((<-signals).(syscall.Signal)), nil
	}
	if err != nil {
		return 0, err
	}
	o.Bin = bin
	own, err := ownHierarchies()
	if err != nil {
		return 0, err
	}
	sweep, err := startSweep(own)
	if err != nil {
		return 0, err
	}
	code, err := runInit(o, own, signals)
	return code, errors.Join(err, sweep())
}

// check looks for what the cluster needs beside Go modules.
func check(o options) error {
	if os.Geteuid() != 0 {
		return errors.New("a cluster needs root: its node mounts file systems and makes cgroups. " +
			"Use sudo, with --preserve-env=PATH,HOME if it does not find go")
	}
	needed := []struct{ name, install string }{{"runc", "runc"}, {"iptables", "iptables"}, {"mount", "mount"}}
	if o.ProxyMode == "nftables" {
		needed = append(needed, struct{ name, install string }{"nft", "nftables"})
	}
	for _, program := range needed {
		if _, err := exec.LookPath(program.name); err != nil {
			return fmt.Errorf("a cluster needs %s: apt-get install %s", program.name, program.install)
		}
	}
	for _, image := range o.Images {
		if _, err := os.Stat(image); err != nil {
			return err
		}
	}
	if o.Logs != "" {
		return os.MkdirAll(o.Logs, 0o755)
	}
	return nil
}

// startSweep starts the process that removes the cluster's cgroups, and returns what makes it do so.
func startSweep(own []hierarchy) (sweep func() error, err error) {
	var dirs, old []string
	for _, h := range own {
		dirs = append(dirs, h.Own)
		old = append(old, abandoned(h.Own)...)
	}
	if err := removeCgroups(old); err != nil {
		return nil, err
	}
	// The process reads from a pipe which ends with this process.
	end, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	process := exec.Command("/proc/self/exe")
	process.Args = append([]string{"cluster", "sweep"}, dirs...)
	process.Stdin, process.Stderr = end, os.Stderr
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := process.Start(); err != nil {
		return nil, err
	}
	end.Close()
	return func() error {
		held.Close()
		if process.Wait() == nil {
			return nil
		}
		return removeCgroups(dirs)
	}, nil
}

// sweepStage waits for the end of its parent and removes the cgroups.
func sweepStage(dirs []string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	os.Stdin.Read(make([]byte, 1))
	return removeCgroups(dirs)
}

// runInit runs the cluster and hands signals on to it.
func runInit(o options, own []hierarchy, signals <-chan os.Signal) (int, error) {
	settings, err := json.Marshal(initSettings{o, own})
	if err != nil {
		return 0, err
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	process := exec.Command("/proc/self/exe")
	process.Args = []string{"cluster", "init"}
	process.Stdin, process.Stdout, process.Stderr = os.Stdin, os.Stdout, os.Stderr
	process.ExtraFiles = []*os.File{told}
	process.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := process.Start(); err != nil {
		return 0, fmt.Errorf("making namespaces: %w", err)
	}
	told.Close()
	for _, h := range own {
		if err := h.create(process.Process.Pid); err != nil {
			process.Process.Kill()
			process.Wait()
			return 0, fmt.Errorf("making a cgroup: %w", err)
		}
	}
	if _, err := tell.Write(append([]byte{'\n'}, settings...)); err != nil {
		return 0, err
	}
	tell.Close()
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	var kill <-chan time.Time
	for {
		select {
		case s := <-signals:
			// Whoever presses Ctrl-C interrupts the command, too: it must not hear of it twice.
			if s == syscall.SIGINT && inForeground() {
				s = syscall.SIGUSR1
			}
			process.Process.Signal(s)
			if s == syscall.SIGTERM && kill == nil {
				kill = time.After(gracePeriod)
			}
		case <-kill:
			process.Process.Kill()
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			if status := process.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
				return 0, fmt.Errorf("the cluster was ended by a signal: %v", status.Signal())
			}
			return process.ProcessState.ExitCode(), nil
		}
	}
}

// gracePeriod is the time in which the command has to end after a SIGTERM.
const gracePeriod = 10 * time.Second

// inForeground tells whether the terminal sends its signals to this process and the command.
func inForeground() bool {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
