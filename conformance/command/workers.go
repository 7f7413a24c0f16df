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
	"strconv"
	"sync"
	"syscall"
	"time"
)

// chunkSize is how many seeds a process compares at most: each real run leaves some memory behind.
const chunkSize = 50

// workers are processes that compare seeds.
type workers struct {
	command  []string      // of a process; the seeds follow
	parallel int           // how many at once
	patience time.Duration // with a process that gives no sign of life
	temp     string        // a folder for what they leave behind
	dumps    string        // a folder for the goroutines of those that hang
}

func newWorkers(f *randomFlags) (*workers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &workers{parallel: f.parallel, patience: 2 * time.Minute, dumps: os.TempDir()}
	var shrink time.Duration
	if f.out != "" {
		shrink, w.dumps = f.shrink, f.out
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return nil, err
		}
	}
	w.command = []string{self, workerCommand, "--budget", strconv.Itoa(f.budget), "--procs", strconv.Itoa(f.procs),
		"--shrink", shrink.String(), "--step-clock=" + strconv.FormatBool(f.scenario.StepClock), "--seeds"}
	w.temp, err = os.MkdirTemp("", "probesim-random-")
	return w, err
}

func (w *workers) close() { os.RemoveAll(w.temp) }

// run compares all seeds until ctx is done. The results come in any order; after the last the second
// channel has why not all could be compared, or nil.
func (w *workers) run(ctx context.Context, first, last int) (<-chan seedResult, <-chan error) {
	results, failed := make(chan seedResult), make(chan error, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	size := min(chunkSize, max(1, (last-first+1)/(4*w.parallel)))
	chunks := make(chan int)
	go func() {
		defer close(chunks)
		for from := first; from <= last; from += size {
			select {
			case chunks <- from:
			case <-ctx.Done():
				return
			}
		}
	}()
	var all sync.WaitGroup
	for range w.parallel {
		all.Go(func() {
			for from := range chunks {
				if err := w.chunk(ctx, from, min(from+size-1, last), results); err != nil {
					cancel(err)
				}
			}
		})
	}
	go func() {
		all.Wait()
		err := context.Cause(ctx)
		cancel(nil)
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		failed <- err
		close(results)
	}()
	return results, failed
}

// chunk compares some seeds, with a new process after each that hangs or breaks.
func (w *workers) chunk(ctx context.Context, first, last int, results chan<- seedResult) error {
	for first <= last && ctx.Err() == nil {
		p, err := w.start(first, last)
		if err != nil {
			return faultError{err}
		}
		next, why := p.watch(ctx, first, w.patience, results)
		if why == nil && next <= last {
			why = errors.New("it ended early")
		}
		fault := ""
		if why != nil && ctx.Err() == nil {
			fault = fmt.Sprintf("%v; %s", why, w.keep(p.stderr.Name(), next))
		}
		p.remove()
		if fault != "" {
			if !p.begun || next > last {
				return faultError{fmt.Errorf("a process that should compare seeds from %d on: %s", first, fault)}
			}
			results <- seedResult{Seed: next, Fault: fault}
			next++
		}
		first = next
	}
	return nil
}

// keep keeps what a process wrote to its standard error, which is where Go writes goroutines.
func (w *workers) keep(stderr string, seed int) string {
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

// process is a worker.
type process struct {
	cmd      *exec.Cmd
	dir      string
	stdin    io.Closer
	stderr   *os.File
	messages chan message // closed when it ends
	begun    bool         // it gave a sign of life
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
	p.cmd = exec.Command(w.command[0], append(w.command[1:len(w.command):len(w.command)], fmt.Sprintf("%d..%d", first, last))...)
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

func (p *process) remove() {
	p.stderr.Close()
	os.RemoveAll(p.dir)
}

// watch passes results on until the process ends or is ended. It returns the seed that comes next, and why
// the process got no further.
func (p *process) watch(ctx context.Context, next int, patience time.Duration, results chan<- seedResult) (int, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case m, ok := <-p.messages:
			if !ok {
				return next, p.cmd.Wait()
			}
			p.begun = true
			timer.Reset(patience)
			if m.Result != nil {
				results <- *m.Result
				next = m.Seed + 1
			}
		case <-timer.C:
			p.end(syscall.SIGQUIT)
			return next, fmt.Errorf("no sign of life for %v", patience)
		case <-ctx.Done():
			p.end(os.Kill)
			return next, ctx.Err()
		}
	}
}

// deathAfter is how long a process may take to write down its goroutines.
const deathAfter = 20 * time.Second

// end ends the process, by force if it does not heed the signal.
func (p *process) end(signal os.Signal) {
	if p.cmd.Process.Signal(signal) != nil {
		_ = p.cmd.Process.Kill()
	}
	kill := time.AfterFunc(deathAfter, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	for range p.messages {
	}
	_ = p.cmd.Wait()
}
