package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/node"
)

// budget divides the memory among the runs of a command.
//
// A part is reserved for the first run whose result has not been emitted yet. All later runs share
// another part: they wait while it is full, until an earlier run has been emitted or they are first
// themselves. Whether a run has enough memory depends only on the run: it fails if it needs more
// than the reserved part. The rest of the memory is for the reports and for the program itself.
type budget struct {
	total  Memory
	perRun int64   // the part that is reserved
	shared int64   // the part that later runs share
	factor float64 // memory that a run takes for each byte of its trace

	mu    sync.Mutex
	freed *sync.Cond
	used  int64 // of the shared part
	first int   // number of the run that may use the reserved part
}

func newBudget(o Options) *budget {
	total := cmp.Or(o.Memory, DefaultMemory)
	m := int64(total)
	b := &budget{total: total, perRun: m / 100 * 55, shared: m / 100 * 20, factor: cmp.Or(o.Factor, 1)}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// Account is the memory of one run, or of several runs that are compared.
type Account struct {
	budget *budget
	ctx    context.Context
	Number int // of the run, in the order in which results are emitted
	bytes  int64
	shared bool // the bytes count toward the shared part
}

// Alone returns the account of the only run.
func Alone(ctx context.Context, total Memory) *Account {
	return newBudget(Options{Memory: total}).account(ctx, 0)
}

// Context returns the context of the work. It is done when the work is to end.
func (a *Account) Context() context.Context { return a.ctx }

// Cancelable makes the context of the work one that the returned function cancels.
func (a *Account) Cancelable() (cancel context.CancelFunc) {
	a.ctx, cancel = context.WithCancel(a.ctx)
	return cancel
}

func (b *budget) account(ctx context.Context, number int) *Account {
	return &Account{budget: b, ctx: ctx, Number: number, shared: true}
}

// Left returns the size that the trace of a further run may have.
func (a *Account) Left() int64 {
	return max(1, int64(float64(a.budget.perRun-a.bytes)/a.budget.factor))
}

// Reserve adds memory for a part of a trace to the account. It waits until there is room, and
// returns an error if the context is done before.
func (a *Account) Reserve(size int64) error {
	b := a.budget
	bytes := int64(float64(size) * b.factor)
	b.mu.Lock()
	defer b.mu.Unlock()
	stop := context.AfterFunc(a.ctx, b.wake)
	defer stop()
	for {
		a.promote()
		switch {
		case a.ctx.Err() != nil:
			return simulate.ErrInterrupted
		case !a.shared || b.used+bytes <= b.shared:
			a.add(bytes)
			return nil
		}
		b.freed.Wait()
	}
}

// promote moves the account of the first run to the reserved part.
func (a *Account) promote() {
	if a.shared && a.Number <= a.budget.first {
		a.budget.used -= a.bytes
		a.shared = false
		a.budget.freed.Broadcast()
	}
}

func (a *Account) add(bytes int64) {
	a.bytes += bytes
	if a.shared {
		a.budget.used += bytes
	}
}

// Shrink lowers the account to the memory of a result that waits to be emitted.
func (a *Account) Shrink(bytes int64) {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a.add(min(bytes, a.bytes) - a.bytes)
	b.freed.Broadcast()
}

// emitted frees the memory of a result, and makes the next run the first one.
func (a *Account) emitted() {
	a.Shrink(0)
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = a.Number + 1
	b.freed.Broadcast()
}

func (b *budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.freed.Broadcast()
}

// Explain adds to the error of a run that exceeded the memory what to change.
func (a *Account) Explain(err error) error {
	if full := (*node.MemoryError)(nil); !errors.As(err, &full) && !errors.Is(err, simulate.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%w, or raise --max-memory, which is %s", err, a.budget.total.String())
}
