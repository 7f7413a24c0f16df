//go:build linux

package player

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"probesim.dev/fakeruntime"
)

// socket is the abstract Unix socket of the player of a container. The containers of a pod share
// them, and nothing outside the pod reaches them.
func socket(container string) string { return "@probesim-" + container }

// listenExec answers the commands of probes and hooks.
func (p *player) listenExec() error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket(p.container), Net: "unix"})
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.answerExec(conn)
		}
	}()
	return nil
}

// answerExec answers one command: a line with its exit code, and its output.
func (p *player) answerExec(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	key, err := r.ReadString('\n')
	if err != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		_, _ = r.ReadByte() // the command sends no more, so it has ended
		close(gone)
	}()
	if op := p.request(gone, fakeruntime.Call{Method: fakeruntime.ExecSync}, strings.TrimSpace(key)); op != nil {
		code, output := op.ExitCode, op.Output
		if op.Err != nil {
			code, output = 126, op.Err.Error()
		}
		fmt.Fprintf(conn, "%d\n%s", code, output)
	}
}

// ask is the command of a probe or hook: it asks the player, prints the output, and returns the
// exit code. A player that ends takes its commands along.
func ask(container, key string) int {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket(container)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "probesim player ask:", err)
		return 125
	}
	f := os.NewFile(uintptr(fd), "player")
	_, _ = f.WriteString(key + "\n")
	answer, _ := io.ReadAll(f)
	code, output, _ := strings.Cut(string(answer), "\n")
	n, err := strconv.Atoi(code)
	if err != nil {
		return 128 + int(syscall.SIGKILL)
	}
	_, _ = os.Stdout.WriteString(output)
	return n
}
