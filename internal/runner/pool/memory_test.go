package pool

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"probesim.dev/internal/scenarios/simulate"
)

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]Memory{
		"4GB": 4e9, "4G": 4e9, "4g": 4e9, "4gb": 4e9, "4e9": 4e9, "4000000000": 4e9, "4000000000B": 4e9, " 4 GB ": 4e9,
		"0.5TB": 5e11, "4000000k": 4e9,
		"2Gi": 2 << 30, "2GiB": 2 << 30, "2gib": 2 << 30, "1.5Gi": 3 << 29, "512MB": 512e6, "512M": 512e6,
		"512Mi": 512 << 20, "65536Ki": 64 << 20, "64MB": 64e6,
	} {
		var m Memory
		if err := m.Set(text); err != nil || m != want {
			t.Errorf("%q: got %d, %v; want %d", text, m, err, want)
		}
	}
	for text, want := range map[string]string{
		"0": "must be greater than 0", "0GB": "must be greater than 0", "-4GB": "must be greater than 0",
		"-0.1": "must be greater than 0",
		"1MB":  "must be at least 64MB", "63999999": "must be at least 64MB", "512": "must be at least 64MB",
		"512m": "m stands for thousandths of a byte in Kubernetes: write 512M or 512Mi",
		"2Pi":  "must be at most 1Pi", "1e30": "must be at most 1Pi",
		"": "must be a size such as", "much": "must be a size such as", "4 GB of RAM": "must be a size such as",
		"GB": "must be a size such as", "4XB": "must be a size such as",
		"1.2.3GB": "must be a size such as", "1e5GB": "must be a size such as", "Inf": "must be a size such as",
		"0x10G": "must be a size such as", "4BB": "must be a size such as",
	} {
		var m Memory
		if err := m.Set(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %d, %v; want %q", text, m, err, want)
		}
	}
	for m, want := range map[Memory]string{4e9: "4GB", 512e6: "512MB", 2 << 30: "2147MB"} {
		if got := m.String(); got != want {
			t.Errorf("%d: got %s, want %s", m, got, want)
		}
	}
}

// TestLaterRunsWaitForMemory checks that the first run can take the part reserved for it, and that
// later runs wait while the shared part is full.
func TestLaterRunsWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(Options{Memory: 1000}) // 550 for the first run, 200 for the others
		first, second, third := b.account(t.Context(), 0), b.account(t.Context(), 1), b.account(t.Context(), 2)
		reserve := func(a *Account, bytes int64) *atomic.Bool {
			var done atomic.Bool
			go func() {
				if err := a.Reserve(bytes); err != nil {
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
		if b.used != 100 || second.bytes != 250 || second.Left() != 300 {
			t.Errorf("shared: %d, second run: %d, left %d", b.used, second.bytes, second.Left())
		}
		waits := reserve(third, 150)
		third.Shrink(10)
		synctest.Wait()
		if !waits.Load() {
			t.Error("memory that a result does not need is not free")
		}
	})
}

// TestInterruptedWhileWaitingForMemory checks that an interrupt, or an error of emit, ends a run
// that waits for memory.
func TestInterruptedWhileWaitingForMemory(t *testing.T) {
	full := errors.New("disk full")
	var waited atomic.Value
	err := InOrder(context.Background(), 2, Options{Parallel: 2, Ahead: 2, Memory: 1000}, func(a *Account) error {
		err := a.Reserve(300)
		if a.Number == 1 {
			waited.Store(err)
		}
		return err
	}, func(int, error) error { return full })
	if err != full || waited.Load() != nil && waited.Load() != simulate.ErrInterrupted {
		t.Errorf("got %v; the waiting run got %v", err, waited.Load())
	}
}

// TestMemoryOfParallelRuns checks that runs that fit alone succeed with any parallelism, and that
// together they stay within the budget.
func TestMemoryOfParallelRuns(t *testing.T) {
	const total, each = 10_000, 5_000
	for _, parallel := range []int{1, 2, 8} {
		var used, peak atomic.Int64
		count := 0
		err := InOrder(context.Background(), 50, Options{Parallel: parallel, Ahead: 4 * parallel, Memory: total},
			func(a *Account) error {
				for range each / 100 {
					if err := a.Reserve(100); err != nil {
						return err
					}
					now := used.Add(100)
					for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
					}
				}
				used.Add(100 - each)
				a.Shrink(100)
				return nil
			}, func(_ int, err error) error {
				count++
				used.Add(-100)
				return err
			})
		if err != nil || count != 50 || peak.Load() > total*80/100 || used.Load() != 0 {
			t.Errorf("parallel %d: %d runs, %v; they used up to %d of %d bytes", parallel, count, err, peak.Load(),
				total)
		}
	}
}

// TestParallelIsLimited checks that a large number for Parallel has no effect on memory, and that
// the zero value uses all CPUs.
func TestParallelIsLimited(t *testing.T) {
	cpus := runtime.GOMAXPROCS(0)
	if o := (Options{Parallel: 1_000_000}).limited(); o.Parallel != PerCPU*cpus || o.Ahead != 4*o.Parallel {
		t.Errorf("the options are %+v", o)
	}
	if o := (Options{}).limited(); o.Parallel != cpus || o.Factor != 1 {
		t.Errorf("the options of the zero value are %+v", o)
	}
}
