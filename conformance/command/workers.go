package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"probesim.dev/internal/runner/pool"
)

// chunkSize is the maximum number of real runs in one process, because each leaks some memory.
const chunkSize = 50

// workers are the processes that compare seeds.
type workers struct {
	command      []string      // command line of a process; the seeds are appended
	parallel     int           // number of processes
	repeat       int           // number of real runs for each seed; 0 means 1
	silenceLimit time.Duration // how long a process may be silent
	temp         string        // directory for the processes' temporary files
	dumps        string        // directory for the goroutine dumps of processes that hang
}

func newWorkers(f *randomFlags) (*workers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &workers{parallel: f.parallel, repeat: f.repeat, silenceLimit: 10 * time.Minute, dumps: os.TempDir()}
	w.command = append(append([]string{self}, f.common.args...), "--"+workerFlag)
	if f.out == "" {
		w.command = append(w.command, "--shrink", "0")
	} else {
		w.dumps = f.out
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return nil, err
		}
	}
	w.command = append(w.command, "--seeds")
	w.temp, err = os.MkdirTemp("", "probesim-random-")
	return w, err
}

func (w *workers) close() { os.RemoveAll(w.temp) }

// chunk has the results of the seeds that one call of compareChunk compares.
type chunk struct {
	results []seedResult
	err     error
}

// run compares all seeds until ctx is done, and passes on the results in the order of the seeds.
func (w *workers) run(ctx context.Context, first, last int, emit func(seedResult) error) error {
	seeds := last - first + 1
	size := max(1, min(chunkSize/max(1, w.repeat), seeds/(4*w.parallel)))
	return pool.InOrder(ctx, (seeds+size-1)/size, pool.Options{Parallel: w.parallel},
		func(ctx context.Context, i int) (c chunk) {
			from := first + i*size
			c.err = w.compareChunk(ctx, from, min(from+size-1, last), &c.results)
			return c
		}, func(_ int, c chunk) error {
			for _, result := range c.results {
				if err := emit(result); err != nil {
					return err
				}
			}
			return c.err
		})
}

// compareChunk compares some seeds. After a process hangs or crashes, it reports the seed as a
// fault and starts a new process for the remaining seeds.
func (w *workers) compareChunk(ctx context.Context, first, last int, results *[]seedResult) error {
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
			fault = fmt.Sprintf("%v; %s", why, w.saveStderr(p.stderr.Name(), next))
		}
		p.cleanUp()
		if fault != "" {
			if !p.responded || next > last {
				return faultError{fmt.Errorf("the worker for the seeds from %d: %s", first, fault)}
			}
			*results = append(*results, seedResult{Seed: next, Fault: fault})
			next++
		}
		first = next
	}
	return nil
}

// saveStderr saves the standard error of a process, where Go prints the goroutines.
func (w *workers) saveStderr(stderr string, seed int) string {
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

// process is a running worker.
type process struct {
	cmd       *exec.Cmd
	dir       string
	stdin     io.Closer
	stderr    *os.File
	messages  chan message // closed when the process ends
	responded bool         // the process has sent a message
}

func (w *workers) start(first, last int) (*process, error) {
	dir, err := os.MkdirTemp(w.temp, "")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, messages: make(chan message)}
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
			var m message
			if d.Decode(&m) != nil {
				return
			}
			p.messages <- m
		}
	}()
	return p, p.cmd.Start()
}

func (p *process) cleanUp() {
	p.stderr.Close()
	os.RemoveAll(p.dir)
}

// watch forwards results until the process ends, hangs or is canceled. It returns the next seed to
// compare, and the reason why the process stopped before the last seed.
func (p *process) watch(ctx context.Context, next int, silenceLimit time.Duration, results *[]seedResult) (int,
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
				next = m.Seed + 1
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
func (p *process) end(signal os.Signal) {
	if p.cmd.Process.Signal(signal) != nil {
		_ = p.cmd.Process.Kill()
	}
	kill := time.AfterFunc(killDelay, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for range p.messages {
	}
	_ = p.cmd.Wait()
}
