package explore

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/invariants"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/limit"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Subject is what is explored: the plan of a scenario, without a seed.
type Subject struct {
	Plan *scenarios.Plan
	// JudgeAll judges the expectations also in runs with faults and moved times.
	JudgeAll bool
	// Limits of a run. Zero: a thousandth of the limits of a run of a command, which is enough for
	// an exploration.
	Limits limit.Limits
}

// runLimits bound each run of an exploration.
var runLimits = limit.Limits{Events: 5_000_000, Processes: 20_000, AtOneInstant: 200_000, Time: node.DefaultLimits.Time,
	Memory: 200_000_000}

// Run is one run of a subject.
type Run struct {
	Records    []trace.Record
	History    History
	Violations []invariants.Violation
	Results    []expect.Result // of the expectations; empty if the run does not judge them
	Err        error           // why the run ended early

	decisions []decision // if they were asked for
	times     []virtual.Time
	plan      *scenarios.Plan
	pods      []*v1.Pod
}

// Hash returns the hash of the trace.
func (r *Run) Hash() string { return trace.Hash(r.Records) }

// decision is a choice that came up in a run.
type decision struct {
	t          virtual.Time
	choice     choose.Choice
	n          int // alternatives; 0 for a jitter
	candidates []choose.Choice
}

// Run runs the subject with a change. internal keeps the internal records.
func (s *Subject) Run(c Change, internal bool) *Run { return s.run(c, runOptions{internal: internal}) }

// runOptions say what a run keeps.
type runOptions struct {
	internal  bool
	also      []trace.Kind // internal kinds of records to keep besides the observable ones
	decisions bool
	ctx       context.Context // ends the run, unless nil
	chooser   choose.Chooser  // instead of that of the change, unless nil
}

func (s *Subject) run(c Change, o runOptions) (r *Run) {
	defer func() {
		if p := recover(); p != nil {
			r = &Run{Err: fmt.Errorf("bug in probesim, please report it with the scenario: panic: %v\n%s", p,
				debug.Stack())}
		}
	}()
	plan, err := s.plan(c)
	if err != nil {
		return &Run{Err: err}
	}
	chooser := o.chooser
	if chooser == nil {
		chooser = c.chooser(plan.Seed)
	}
	var observed *observer
	if o.decisions {
		observed = &observer{Chooser: cmp.Or[choose.Chooser](chooser, choose.NewReplay(nil))}
		chooser = observed
	}
	result := simulate.Run(cmp.Or(o.ctx, context.Background()), plan, simulate.Options{
		Internal: o.internal, Also: o.also, Chooser: chooser, Limits: cmp.Or(s.Limits, runLimits),
		Unjudged: c.moved() && !s.JudgeAll,
		Started: func(n *node.Node) {
			if c, ok := chooser.(timed); ok {
				c.setNow(n.Now)
			}
		},
	})
	r = &Run{Records: result.Records, Results: result.Results, Err: result.Err, plan: plan, pods: result.Pods()}
	if observed != nil {
		r.decisions = observed.decisions
	}
	if r.Err != nil {
		r.History.Error, _, _ = strings.Cut(r.Err.Error(), "\n")
		return r
	}
	r.Violations = invariants.Check(r.pods, r.Records,
		invariants.Options{End: virtual.At(plan.Duration), Uptime: plan.Uptime})
	r.History, r.times = historyOf(r)
	return r
}

// timed is a chooser that needs to know the time. It is not known before the node exists.
type timed interface{ setNow(func() virtual.Time) }

// clock makes a chooser timed.
type clock struct{ now func() virtual.Time } // nil until the node exists

func (c *clock) setNow(now func() virtual.Time) { c.now = now }

func (s *Subject) plan(c Change) (*scenarios.Plan, error) {
	varied, err := s.Plan.Scenario.Vary(c.variation())
	if err != nil {
		return nil, err
	}
	seed := s.Plan.Seed
	if c.Seed != nil {
		seed = c.Seed
	}
	plan := varied.Plan(s.Plan.Version, seed)
	plan.Duration, plan.Delays, plan.Config = s.Plan.Duration, s.Plan.Delays, s.Plan.Config
	return plan, nil
}

// observer passes each choice to a policy and keeps the choices that came up.
type observer struct {
	choose.Chooser
	clock
	decisions []decision
}

func (o *observer) keep(d decision) {
	d.t = virtual.At(-365 * 24 * time.Hour)
	if o.now != nil {
		d.t = o.now()
	}
	o.decisions = append(o.decisions, d)
}

func (o *observer) Choose(c choose.Choice, n int) int {
	o.keep(decision{choice: c, n: n})
	return o.Chooser.Choose(c, n)
}

func (o *observer) Next(candidates []choose.Choice) int {
	o.keep(decision{choice: choose.Choice{Kind: choose.Next}, n: len(candidates),
		candidates: append([]choose.Choice(nil), candidates...)})
	return o.Chooser.Next(candidates)
}

func (o *observer) Fraction(c choose.Choice) float64 {
	o.keep(decision{choice: c})
	return o.Chooser.Fraction(c)
}
