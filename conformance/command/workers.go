package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/runner/terminal"
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
		next, responded, err := w.work(ctx, first, last, results)
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case !responded || next > last:
			return faultError{fmt.Errorf("the worker from %d on: %w", first, err)}
		}
		*results = append(*results, w.fault(next, err.Error()))
		first = next + 1
	}
	return nil
}

// killDelay is how long a process may take to print its goroutines.
const killDelay = 20 * time.Second

// work runs a process, and forwards its results until it ends, hangs or is canceled. It returns the
// number of the next result, whether the process has sent a message, and why it stopped before the
// last result.
func (w *workers[T]) work(parent context.Context, first, last int, results *[]T) (next int, responded bool, err error) {
	dir, err := os.MkdirTemp(w.temp, "")
	if err != nil {
		return first, false, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	c := exec.CommandContext(ctx, w.command[0],
		append(slices.Clone(w.command[1:]), fmt.Sprintf("%d..%d", first, last))...)
	var stderr bytes.Buffer
	c.Env, c.Stderr, c.WaitDelay = append(os.Environ(), "TMPDIR="+dir, "GOTRACEBACK=all"), &stderr, killDelay
	var hangs atomic.Bool
	silence := time.AfterFunc(w.silenceLimit, func() {
		hangs.Store(true)
		cancel()
	})
	c.Cancel = func() error {
		if hangs.Load() {
			return c.Process.Signal(syscall.SIGQUIT)
		}
		return c.Process.Kill()
	}
	_, err = c.StdinPipe() // its end tells the process that this one has ended
	stdout, failed := c.StdoutPipe()
	if err = cmp.Or(err, failed); err == nil {
		err = c.Start()
	}
	if err != nil {
		return first, false, err
	}
	next = first
	for d := json.NewDecoder(stdout); ; {
		var m message[T]
		if d.Decode(&m) != nil {
			break
		}
		responded = true
		silence.Reset(w.silenceLimit)
		if m.Result != nil {
			*results = append(*results, *m.Result)
			next = m.Number + 1
		}
	}
	silence.Stop()
	switch err = c.Wait(); {
	case hangs.Load():
		err = fmt.Errorf("no output for %v", w.silenceLimit)
	case err == nil && next <= last:
		err = errors.New("the process exited early")
	}
	if err != nil && parent.Err() == nil {
		err = fmt.Errorf("%w%s; %s", err, panicIn(stderr.String()), w.save(stderr.Bytes(), next))
	}
	return next, responded, err
}

// save saves the standard error of a process, where Go prints the goroutines.
func (w *workers[T]) save(stderr []byte, seed int) string {
	path := filepath.Join(w.dumps, fmt.Sprintf("random-%d-goroutines.txt", seed))
	if err := os.WriteFile(path, stderr, 0o644); err != nil {
		return err.Error()
	}
	return "its goroutines are in " + path
}

// panicIn returns the message of a panic in the standard error of a process, or nothing.
func panicIn(stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return ": " + printable.Text(strings.TrimSpace(line))
		}
	}
	return ""
}

// message is a line of a worker's output: a heartbeat for a result, or the result.
type message[T any] struct {
	Number int
	Result *T `json:",omitempty"`
}

// workerFlag is the hidden flag with which a command makes the results of a range of numbers for
// another process.
const workerFlag = "worker"

// heartbeatInterval is the minimum time between two heartbeats of a worker.
const heartbeatInterval = time.Second

// runWorker makes results and writes messages. make calls step again and again. The process ends when
// its standard input is closed.
func runWorker[T any](w io.Writer, numbers string, make func(number int, step func() error) T) error {
	signal.Ignore(os.Interrupt) // the terminal interrupts all its processes; the parent decides when this one ends
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(exitInterrupted)
	}()
	first, last, err := rangeOf(workerFlag, numbers)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	for number := first; number <= last; number++ {
		var lastHeartbeat time.Time
		result := make(number, func() error {
			if time.Since(lastHeartbeat) < heartbeatInterval {
				return nil
			}
			lastHeartbeat = time.Now()
			return encoder.Encode(message[T]{Number: number})
		})
		if err := encoder.Encode(message[T]{Number: number, Result: &result}); err != nil {
			return err
		}
	}
	return nil
}

// progress shows the progress of long work: continuously on a terminal, and every minute elsewhere.
type progress struct {
	*terminal.Line
	text atomic.Pointer[string]
}

func newProgress(to io.Writer) *progress {
	p := &progress{}
	p.show("")
	p.Line = terminal.NewLine(to, true, func() string { return *p.text.Load() })
	return p
}

func (p *progress) show(format string, args ...any) { p.text.Store(new(fmt.Sprintf(format, args...))) }
