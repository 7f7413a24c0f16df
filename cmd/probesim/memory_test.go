package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"probesim.dev/node"
	"probesim.dev/scenarios"
)

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]memory{
		"4GB": 4e9, "4G": 4e9, "4g": 4e9, "4gb": 4e9, "4e9": 4e9, "4000000000": 4e9, "4000000000B": 4e9, " 4 GB ": 4e9, "0.5TB": 5e11, "4000000k": 4e9,
		"2Gi": 2 << 30, "2GiB": 2 << 30, "2gib": 2 << 30, "1.5Gi": 3 << 29, "512MB": 512e6, "512M": 512e6, "512Mi": 512 << 20, "65536Ki": 64 << 20, "64MB": 64e6,
	} {
		var m memory
		if err := m.Set(text); err != nil || m != want {
			t.Errorf("%q: got %d, %v; want %d", text, m, err, want)
		}
	}
	for text, want := range map[string]string{
		"0": "must be greater than 0", "0GB": "must be greater than 0", "-4GB": "must be greater than 0", "-0.1": "must be greater than 0",
		"1MB": "must be at least 64MB", "63999999": "must be at least 64MB", "512": "must be at least 64MB",
		"512m": "m stands for thousandths of a byte in Kubernetes: write 512M or 512Mi",
		"2Pi":  "must be at most 1Pi", "1e30": "must be at most 1Pi",
		"": "must be a size such as", "much": "must be a size such as", "4 GB of RAM": "must be a size such as", "GB": "must be a size such as", "4XB": "must be a size such as",
		"1.2.3GB": "must be a size such as", "1e5GB": "must be a size such as", "Inf": "must be a size such as", "0x10G": "must be a size such as", "4BB": "must be a size such as",
	} {
		var m memory
		if err := m.Set(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %d, %v; want %q", text, m, err, want)
		}
	}
	for m, want := range map[memory]string{4e9: "4GB", 512e6: "512MB", 2 << 30: "2147MB"} {
		if got := m.String(); got != want {
			t.Errorf("%d: got %s, want %s", m, got, want)
		}
	}
}

// TestLaterRunsWaitForMemory checks that the first run can take the part reserved for it, and that later runs wait while the shared
// part is full.
func TestLaterRunsWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1000) // 550 for the first run, 200 for the others
		first, second, third := b.account(t.Context(), 0), b.account(t.Context(), 1), b.account(t.Context(), 2)
		reserve := func(a *account, bytes int64) *atomic.Bool {
			var done atomic.Bool
			go func() {
				if err := a.reserve(bytes); err != nil {
					t.Error(err)
				}
				done.Store(true)
			}()
			synctest.Wait()
			return &done
		}
		if !reserve(second, 150).Load() || !reserve(first, 550).Load() {
			t.Fatal("a run waits although there is room")
		}
		more, other := reserve(second, 100), reserve(third, 100)
		if more.Load() || other.Load() {
			t.Fatal("later runs do not wait, although the shared part is full")
		}
		first.emitted()
		synctest.Wait()
		if !more.Load() || !other.Load() {
			t.Errorf("after the first run: the second can go on: %v; the third: %v", more.Load(), other.Load())
		}
		if b.used != 100 || second.bytes != 250 || second.left() != 300 {
			t.Errorf("shared: %d, second run: %d, left %d", b.used, second.bytes, second.left())
		}
		waits := reserve(third, 150)
		third.shrink(10)
		synctest.Wait()
		if !waits.Load() {
			t.Error("memory that a result does not need is not free")
		}
	})
}

// TestInterruptedWhileWaitingForMemory checks that an interrupt, or an error of emit, ends a run that waits for memory.
func TestInterruptedWhileWaitingForMemory(t *testing.T) {
	full := errors.New("disk full")
	var waited atomic.Value
	err := inOrder(context.Background(), 2, pool{parallel: 2, ahead: 2, memory: 1000}, func(a *account) error {
		err := a.reserve(300)
		if a.number == 1 {
			waited.Store(err)
		}
		return err
	}, func(int, error) error { return full })
	if err != full || waited.Load() != nil && waited.Load() != errInterrupted {
		t.Errorf("got %v; the waiting run got %v", err, waited.Load())
	}
}

// TestMemoryOfParallelRuns checks that runs that fit alone succeed with any parallelism, and that together they stay within the
// budget.
func TestMemoryOfParallelRuns(t *testing.T) {
	const total, each = 10_000, 5_000
	for _, parallel := range []int{1, 2, 8} {
		var used, peak atomic.Int64
		count := 0
		err := inOrder(context.Background(), 50, pool{parallel: parallel, ahead: 4 * parallel, memory: total}, func(a *account) error {
			for range each / 100 {
				if err := a.reserve(100); err != nil {
					return err
				}
				now := used.Add(100)
				for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
				}
			}
			used.Add(100 - each)
			a.shrink(100)
			return nil
		}, func(_ int, err error) error {
			count++
			used.Add(-100)
			return err
		})
		if err != nil || count != 50 || peak.Load() > total*80/100 || used.Load() != 0 {
			t.Errorf("parallel %d: %d runs, %v; they used up to %d of %d bytes", parallel, count, err, peak.Load(), total)
		}
	}
}

// TestRunExceedsMemory checks the error of a run that needs too much memory.
func TestRunExceedsMemory(t *testing.T) {
	all, err := scenarios.Load(library)
	if err != nil {
		t.Fatal(err)
	}
	j := (&selection{until: 24 * time.Hour}).job(all[0].Plan("v1.37.0", nil), 0)
	s := j.simulate(newBudget(1_000_000).account(context.Background(), 0), false, nil, nil)
	if !errors.As(s.err, new(*node.MemoryError)) || !strings.HasSuffix(s.err.Error(), "use fewer pods, a longer period, a shorter duration or shorter bodies of answers, or raise --max-memory, which is 1MB") {
		t.Errorf("got error %v", s.err)
	}
	out := newOutput(newRun(), []*job{j}, runOptions{})
	defer out.progress.stop()
	var stdout bytes.Buffer
	out.stdout = &stdout
	if err := out.emit(0, out.render(s)); err != nil {
		t.Fatal(err)
	}
	if err := out.finish(false); err == nil || err.(*exitError).code != exitBroken || !strings.Contains(stdout.String(), "To repeat this run") {
		t.Errorf("got error %v and\n%s", err, stdout.String())
	}
}

// TestParallelIsLimited checks that a large number for --parallel has no effect on memory.
func TestParallelIsLimited(t *testing.T) {
	o := runOptions{parallel: 1_000_000}
	if _, err := o.parse(); err != nil || o.parallel > 1000 || o.parallel < perCPU {
		t.Errorf("%d runs at the same time, %v", o.parallel, err)
	}
}
