// Package explore finds the outcomes that a scenario can have.
//
// A run of a scenario is one of many: the order of what happens at one instant, the jitters, the
// age of the kubelet and the moment of a restart are open. The package runs a scenario under many
// of these choices and collects the distinct histories that users can observe, each with a witness:
// the smallest description of a run from which Replay repeats it, byte for byte.
//
// An Explorer has a list of tasks, which follows from the canonical run alone. Tasks are
// independent of each other: any number of workers and machines can do them, in any order, and the
// result is the same.
package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Options configure an exploration. The zero value explores with all policies and the default
// bounds.
type Options struct {
	Policies []string // names of the policies to use, as in Policies; empty: all
	Runs     int      // maximum number of runs; 0: DefaultRuns
	// maximum number of choices, besides jitters, that deviate from the canonical ones in a run: 1
	// or 2; 0: 2
	Deviations int
	Seeds      int // number of seeds that the policy seeds runs; 0: 100
	// Shard and Shards select the tasks of one of several machines: number Shard, from 0, of
	// Shards. Zero Shards: all tasks.
	Shard, Shards int

	plain bool // make all pairs of deviations, also behind those without effect
}

// Bounds of an exploration by default.
const (
	DefaultRuns       = 5000
	defaultDeviations = 2
	defaultSeeds      = 100
)

// Validate returns an error that lists all invalid options, or nil.
func (o Options) Validate() error {
	var errs []error
	for _, name := range o.Policies {
		if !slices.Contains(Policies(), name) {
			errs = append(errs, fmt.Errorf("there is no policy %q: the policies are %s", name,
				strings.Join(Policies(), ", ")))
		}
	}
	if o.Runs < 0 {
		errs = append(errs, errors.New("the number of runs must be at least 1"))
	}
	if o.Deviations < 0 || o.Deviations > 2 {
		errs = append(errs, errors.New("the number of deviations must be 1 or 2"))
	}
	if o.Seeds < 0 || o.Seeds > maxSeeds {
		errs = append(errs, fmt.Errorf("the number of seeds must be from 1 to %d", maxSeeds))
	}
	if o.Shards < 0 || o.Shard < 0 || o.Shard >= max(o.Shards, 1) {
		errs = append(errs, errors.New("the number of a shard must be from 0 to the number of shards minus 1"))
	}
	return errors.Join(errs...)
}

const maxSeeds = 100_000

func (o Options) withDefaults() Options {
	if len(o.Policies) == 0 {
		o.Policies = Policies()
	}
	o.Runs, o.Deviations, o.Seeds = cmp.Or(o.Runs, DefaultRuns), cmp.Or(o.Deviations, defaultDeviations),
		cmp.Or(o.Seeds, defaultSeeds)
	return o
}

// Explorer explores a subject. Create it with New.
type Explorer struct {
	subject   Subject
	options   Options
	canonical *Run
	tasks     []task
	mine      []int           // the tasks of the shard
	left      int             // runs, when a policy lists its tasks
	cut       map[string]bool // policies whose tasks do not all fit into the runs
	result    Result
}

// task is a part of an exploration that needs only the canonical run.
type task struct {
	policy string
	size   int // maximum number of runs
	do     func(r *runner)
}

// New makes the canonical run and lists the tasks. The error says that the options are invalid, or
// why the canonical run ended early.
func New(ctx context.Context, s Subject, o Options) (*Explorer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	e := &Explorer{subject: s, options: o, cut: map[string]bool{}}
	e.canonical = s.run(Change{}, runOptions{internal: true, decisions: true, ctx: ctx})
	if e.canonical.Err != nil {
		return nil, e.canonical.Err
	}
	left := o.Runs
	for _, name := range e.order() {
		if left == 0 {
			e.cut[name] = true
			continue
		}
		e.left = left
		for _, t := range policies[slices.Index(Policies(), name)].tasks(e) {
			if t.policy = name; t.size > left {
				t.size, e.cut[name] = left, true
			}
			if t.size == 0 {
				break
			}
			left -= t.size
			e.tasks = append(e.tasks, t)
		}
	}
	for i := range e.tasks {
		if o.Shards == 0 || i%o.Shards == o.Shard {
			e.mine = append(e.mine, i)
		}
	}
	e.result = newResult(e)
	return e, nil
}

// Tasks returns the number of tasks, of this shard.
func (e *Explorer) Tasks() int { return len(e.mine) }

// Do does a task and returns what it found. Several goroutines can do different tasks at the same
// time. A task whose context is done returns what it has found so far, and is not complete.
func (e *Explorer) Do(ctx context.Context, number int) *Part {
	i := e.mine[number]
	t := &e.tasks[i]
	r := &runner{Explorer: e, ctx: ctx, part: &Part{task: i, policy: t.policy}, left: t.size}
	t.do(r)
	r.part.complete = ctx.Err() == nil
	return r.part
}

// Add adds the part of a task to the result. Parts must be added in the order of their tasks.
func (e *Explorer) Add(p *Part) (fresh int) { return e.result.add(p) }

// Result returns what was found in the parts that were added. Call it once, at the end.
func (e *Explorer) Result() *Result {
	e.result.end()
	return &e.result
}

// Explore does all tasks, one after the other. If the context is done before the end, the result
// has what was found until then.
func Explore(ctx context.Context, s Subject, o Options) (*Result, error) {
	e, err := New(ctx, s, o)
	if err != nil {
		return nil, err
	}
	for i := range e.Tasks() {
		if ctx.Err() != nil {
			break
		}
		e.Add(e.Do(ctx, i))
	}
	return e.Result(), nil
}

// runner makes the runs of a task.
type runner struct {
	*Explorer
	ctx  context.Context
	part *Part
	left int // runs
}

// try makes a run and notes its outcome. It returns nil if the task has no runs left, or if its
// context is done.
func (r *runner) try(c Change) *Run { return r.run(c, runOptions{}) }

func (r *runner) run(c Change, o runOptions) *Run {
	o.ctx = r.ctx
	return r.make(func() (Change, *Run) { return c, r.subject.run(c, o) })
}

// make makes a run with a function and notes its outcome. It returns nil if the task has no runs
// left, or if its context is done.
func (r *runner) make(do func() (Change, *Run)) *Run {
	if r.left == 0 || r.ctx.Err() != nil {
		return nil
	}
	c, run := do()
	if r.ctx.Err() != nil {
		return nil
	}
	r.left--
	r.part.seen(c, run)
	return run
}

// after is when deviations begin: a second before the first pod, for the jitters that were drawn by
// then.
func (e *Explorer) after() virtual.Time {
	first := virtual.Time(0)
	if i := slices.IndexFunc(e.canonical.Records,
		func(r trace.Record) bool { return r.Kind == trace.PodAdded }); i >= 0 {
		first = e.canonical.Records[i].T
	}
	return first.Add(-time.Second)
}
