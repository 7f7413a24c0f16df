//go:build !unix

package live

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func killGroup(c *exec.Cmd) { c.Process.Kill() }

func exitCode(s *os.ProcessState) int { return s.ExitCode() }
