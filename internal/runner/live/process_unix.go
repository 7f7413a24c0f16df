//go:build unix

package live

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the program the head of a group of processes, so that its children end with it.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// exitCode returns the exit code as a container runtime does: 128 and the number of a signal.
func exitCode(s *os.ProcessState) int {
	if status, is := s.Sys().(syscall.WaitStatus); is && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}
