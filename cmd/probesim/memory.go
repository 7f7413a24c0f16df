package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"probesim.dev/node"
	"probesim.dev/scenarios/simulate"
)

// memory is the value of --max-memory, in bytes. 0 means the default.
type memory int64

const (
	defaultMemory memory = 4_000_000_000
	minMemory     memory = 64_000_000
	maxMemory     memory = 1 << 50
)

const memoryUsage = "Maximum `size` of memory for all runs together, for example 512MB, 8GB or 4Gi. The trace of one run can take about half of it."

func (m *memory) addFlag(cmd *cobra.Command) {
	flags := cmd.Flags()
	*m = defaultMemory
	flags.Var(m, "max-memory", memoryUsage)
	flags.Lookup("max-memory").DefValue = "4GB"
}

func (m *memory) Type() string { return "size" }

func (m *memory) String() string { return megabytes(int64(*m)) }

var sizePattern = regexp.MustCompile(`^([+-]?[0-9.]+(?:[eE][0-9]+)?) ?([a-zA-Z]*)$`)

// Set parses a size as in Kubernetes, such as 4Gi or 512M, or with a B after the unit, such as 4GB.
func (m *memory) Set(text string) error {
	parts := sizePattern.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return errors.New("must be a size such as 512MB, 4GB or 2Gi")
	}
	number, unit := parts[1], parts[2]
	if unit == "m" {
		return fmt.Errorf("m stands for thousandths of a byte in Kubernetes: write %sM or %sMi", number, number)
	}
	unit = strings.TrimSuffix(strings.ToLower(unit), "b")
	if unit != "" && unit != "k" { // Kubernetes writes k, M, G, T, Ki, Mi, Gi, Ti
		unit = strings.ToUpper(unit[:1]) + unit[1:]
	}
	q, err := resource.ParseQuantity(number + unit)
	if err != nil {
		return errors.New("must be a size such as 512MB, 4GB or 2Gi")
	}
	switch {
	case q.Sign() <= 0:
		return errors.New("must be greater than 0")
	case q.CmpInt64(int64(minMemory)) < 0:
		return fmt.Errorf("must be at least %s", megabytes(int64(minMemory)))
	case q.CmpInt64(int64(maxMemory)) > 0:
		return errors.New("must be at most 1Pi")
	}
	*m = memory(q.Value())
	return nil
}

func megabytes(bytes int64) string {
	if bytes%1e9 == 0 {
		return fmt.Sprintf("%dGB", bytes/1e9)
	}
	return fmt.Sprintf("%dMB", bytes/1e6)
}

// results returns the memory for failures until a report with them is written. The text of the report takes several times as
// much.
func (m memory) results() int64 { return int64(cmp.Or(m, defaultMemory)) / 32 }

// apply makes the garbage collector keep the process within the memory, and lets it wait while there is enough. It returns a function that
// restores the limit.
func (m memory) apply() (restore func()) {
	old := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(old, int64(m-m/16)))
	percent := debug.SetGCPercent(collectRunsAfter)
	untouched := make([]byte, m/500)
	return func() {
		runtime.KeepAlive(untouched)
		debug.SetMemoryLimit(old)
		debug.SetGCPercent(percent)
	}
}

// collectRunsAfter is the growth of memory, in percent, after which garbage is collected between and in runs. A run leaves little of what it
// allocates, and a collection costs more than the memory that it would save. Short runs have so little memory that they would still have a
// collection every few runs, so 8 MB that nothing touches count too, or less if the limit is low.
const collectRunsAfter = 400

// budget divides the memory among the runs of a command.
//
// A part is reserved for the first run whose result has not been emitted yet. All later runs share another part: they wait while
// it is full, until an earlier run has been emitted or they are first themselves. Whether a run has enough memory depends only on
// the run: it fails if it needs more than the reserved part. The rest of the memory is for the reports and for the program
// itself.
type budget struct {
	total  memory
	perRun int64   // the part that is reserved
	shared int64   // the part that later runs share
	factor float64 // memory that a run takes for each byte of its trace

	mu    sync.Mutex
	freed *sync.Cond
	used  int64 // of the shared part
	first int   // number of the run that may use the reserved part
}

func newBudget(total memory) *budget {
	total = cmp.Or(total, defaultMemory)
	m := int64(total)
	b := &budget{total: total, perRun: m / 100 * 55, shared: m / 100 * 20, factor: 1}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// account is the memory of one run, or of several runs that are compared.
type account struct {
	budget *budget
	ctx    context.Context
	number int // of the run, in the order in which results are emitted
	bytes  int64
	shared bool // the bytes count toward the shared part
}

func (b *budget) account(ctx context.Context, number int) *account {
	return &account{budget: b, ctx: ctx, number: number, shared: true}
}

// left returns the size that the trace of a further run may have.
func (a *account) left() int64 {
	return max(1, int64(float64(a.budget.perRun-a.bytes)/a.budget.factor))
}

// reserve adds memory for a part of a trace to the account. It waits until there is room, and returns an error if the context is
// done before.
func (a *account) reserve(size int64) error {
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
			return errInterrupted
		case !a.shared || b.used+bytes <= b.shared:
			a.add(bytes)
			return nil
		}
		b.freed.Wait()
	}
}

// promote moves the account of the first run to the reserved part.
func (a *account) promote() {
	if a.shared && a.number <= a.budget.first {
		a.budget.used -= a.bytes
		a.shared = false
		a.budget.freed.Broadcast()
	}
}

func (a *account) add(bytes int64) {
	a.bytes += bytes
	if a.shared {
		a.budget.used += bytes
	}
}

// shrink lowers the account to the memory of a result that waits to be emitted.
func (a *account) shrink(bytes int64) {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	a.add(min(bytes, a.bytes) - a.bytes)
	b.freed.Broadcast()
}

// emitted frees the memory of a result, and makes the next run the first one.
func (a *account) emitted() {
	a.shrink(0)
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first = a.number + 1
	b.freed.Broadcast()
}

func (b *budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.freed.Broadcast()
}

// explain adds to the error of a run that exceeded the memory what to change.
func (b *budget) explain(err error) error {
	if full := (*node.MemoryError)(nil); !errors.As(err, &full) && !errors.Is(err, simulate.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%w, or raise --max-memory, which is %s", err, b.total.String())
}

// collectAfter is the growth of memory, in percent, after which garbage is collected during an exploration or a reconstruction. A run leaves
// nothing in memory, so with the default of 100 a collection would follow every few runs.
const collectAfter = 1000

// collectRarely lets the heap grow to 80 MB before garbage is collected: memory that nothing touches counts too. Most runs of a check leave nothing
// in memory, so a collection would follow every few of them. It returns a function that ends this.
func collectRarely() (restore func()) {
	untouched := make([]byte, 40_000_000)
	return func() { runtime.KeepAlive(untouched) }
}
