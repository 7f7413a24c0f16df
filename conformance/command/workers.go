package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/pool"
)

// chunkSize is the maximum number of real runs in one process, because each leaks some memory.
const chunkSize = 50

// workers are processes that make numbered results, such as those of seeds.
type workers[T any] struct {
	command      []string // command line of a process; the range of numbers is appended
	parallel     int      // number of processes
	most         int      // maximum number of results of one process; 0 means chunkSize
	fault        func(number int, why string) T
	silenceLimit time.Duration // how long a process may be silent
	temp         string        // directory for the processes' temporary files
	dumps        string        // directory for the goroutine dumps of processes that hang
}

// newWorkers returns processes that run this program with the arguments.
func newWorkers[T any](args []string, parallel int, fault func(int, string) T) (*workers[T], error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &workers[T]{parallel: parallel, fault: fault, silenceLimit: 10 * time.Minute, dumps: os.TempDir()}
	w.command = append(append([]string{self}, args...), "--"+workerFlag)
	w.temp, err = os.MkdirTemp("", "probesim-random-")
	return w, err
}

func (w *workers[T]) close() { os.RemoveAll(w.temp) }

// chunk has the results that one call of makeChunk makes.
type chunk[T any] struct {
	results []T
	err     error
}

// run makes all results until ctx is done, and passes them on in order.
func (w *workers[T]) run(ctx context.Context, first, last int, emit func(T) error) error {
	count := last - first + 1
	size := max(1, min(cmp.Or(w.most, chunkSize), count/(4*w.parallel)))
	return pool.InOrder(ctx, (count+size-1)/size, pool.Options{Parallel: w.parallel},
		func(ctx context.Context, i int) (c chunk[T]) {
			from := first + i*size
			c.err = w.makeChunk(ctx, from, min(from+size-1, last), &c.results)
			return c
		}, func(_ int, c chunk[T]) error {
			for _, result := range c.results {
				if err := emit(result); err != nil {
					return err
				}
			}
			return c.err
		})
}

// makeChunk makes some results. After a process hangs or crashes, it reports a fault and starts a
// new process for the remaining numbers.
func (w *workers[T]) makeChunk(ctx context.Context, first, last int, results *[]T) error {
	for first <= last && ctx.Err() == nil {
		p, err := w.start(first, last)
		if err != nil {
			return faultError{err}
		}
		next, why := p.watch(ctx, first, w.silenceLimit, results)
		if why == nil && next <= last {
			why = errors.New("the process exited early")
		}
		fault := ""
		if why != nil && ctx.Err() == nil {
			fault = fmt.Sprintf("%v%s; %s", why, panicIn(p.stderr.Name()), w.saveStderr(p.stderr.Name(), next))
		}
		p.cleanUp()
		if fault != "" {
			if !p.responded || next > last {
				return faultError{fmt.Errorf("the worker from %d on: %s", first, fault)}
			}
			*results = append(*results, w.fault(next, fault))
			next++
		}
		first = next
	}
	return nil
}

// saveStderr saves the standard error of a process, where Go prints the goroutines.
func (w *workers[T]) saveStderr(stderr string, seed int) string {
	path := filepath.Join(w.dumps, fmt.Sprintf("random-%d-goroutines.txt", seed))
	data, err := os.ReadFile(stderr)
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		return err.Error()
	}
	return "its goroutines are in " + path
}

// panicIn returns the message of a panic in the standard error of a process, or nothing.
func panicIn(stderr string) string {
	data, _ := os.ReadFile(stderr)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return ": " + printable.Text(strings.TrimSpace(line))
		}
	}
	return ""
}

// process is a running worker.
type process[T any] struct {
	cmd       *exec.Cmd
	dir       string
	stdin     io.Closer
	stderr    *os.File
	messages  chan message[T] // closed when the process ends
	responded bool            // the process has sent a message
}

func (w *workers[T]) start(first, last int) (*process[T], error) {
	dir, err := os.MkdirTemp(w.temp, "")
	if err != nil {
		return nil, err
	}
	p := &process[T]{dir: dir, messages: make(chan message[T])}
	if p.stderr, err = os.Create(filepath.Join(dir, "stderr")); err != nil {
		return nil, err
	}
	p.cmd = exec.Command(w.command[0],
		append(w.command[1:len(w.command):len(w.command)], fmt.Sprintf("%d..%d", first, last))...)
	p.cmd.Env = append(os.Environ(), "TMPDIR="+dir, "GOTRACEBACK=all")
	p.cmd.Stderr = p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.messages)
		for d := json.NewDecoder(stdout); ; {
			var m message[T]
			if d.Decode(&m) != nil {
				return
			}
			p.messages <- m
		}
	}()
	return p, p.cmd.Start()
}

func (p *process[T]) cleanUp() {
	p.stderr.Close()
	os.RemoveAll(p.dir)
}

// watch forwards results until the process ends, hangs or is canceled. It returns the number of
// the next result, and the reason why the process stopped before the last one.
func (p *process[T]) watch(ctx context.Context, next int, silenceLimit time.Duration, results *[]T) (int,
	error) {
	timer := time.NewTimer(silenceLimit)
	defer timer.Stop()
	for {
		select {
		case m, ok := <-p.messages:
			if !ok {
				return next, p.cmd.Wait()
			}
			p.responded = true
			timer.Reset(silenceLimit)
			if m.Result != nil {
				*results = append(*results, *m.Result)
				next = m.Number + 1
			}
		case <-timer.C:
			p.end(syscall.SIGQUIT)
			return next, fmt.Errorf("no output for %v", silenceLimit)
		case <-ctx.Done():
			p.end(os.Kill)
			return next, ctx.Err()
		}
	}
}

// killDelay is how long a process may take to print its goroutines.
const killDelay = 20 * time.Second

// end sends the signal, and kills the process if it does not exit.
func (p *process[T]) end(signal os.Signal) {
	if p.cmd.Process.Signal(signal) != nil {
		_ = p.cmd.Process.Kill()
	}
	kill := time.AfterFunc(killDelay, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for range p.messages {
	}
	_ = p.cmd.Wait()
}
