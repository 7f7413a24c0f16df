package explore

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/invariants"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/expect"
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
	Off  []string // invariants that are not checked
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
	created   []*v1.Pod // by controllers
}

// Hash returns the hash of the trace.
func (r *Run) Hash() string { return trace.Hash(r.Records) }

// pods returns the pods of the run.
func (r *Run) pods() []*v1.Pod { return slices.Concat(r.plan.Specs(), r.created) }

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
	interrupt func() error
	chooser   choose.Chooser // instead of that of the change, unless nil
	pods      []*v1.Pod      // of the plan, if they are known
	room      int            // for records
}

func (s *Subject) run(c Change, o runOptions) (r *Run) {
	r = &Run{}
	defer r.recover()
	p := s.begin(r, c, o)
	if p == nil {
		return r
	}
	defer p.node.Close()
	p.finish(c, &o)
	return r
}

// recover makes a panic the error of the run.
func (r *Run) recover() {
	if p := recover(); p != nil {
		r.Err = fmt.Errorf("bug in probesim, please report it with the scenario: panic: %v\n%s", p, debug.Stack())
	}
}

// progress is a run that has not ended.
type progress struct {
	*Run
	subject  *Subject
	recorder *trace.Recorder
	node     *node.Node
	driver   *drive.Driver
	observed *observer // nil unless decisions were asked for
}

// begin begins a run: its node exists, and no time has passed. It returns nil if the run cannot
// begin.
func (s *Subject) begin(r *Run, c Change, o runOptions) *progress {
	plan, err := s.plan(c)
	if err != nil {
		r.Err = err
		return nil
	}
	r.plan = plan
	known, ok := plan.Profile()
	if !ok {
		r.Err = fmt.Errorf("version %s of Kubernetes is not supported", plan.Version)
		return nil
	}
	limits := s.Limits
	if limits == (limit.Limits{}) {
		limits = runLimits
	}
	p := &progress{Run: r, subject: s, recorder: &trace.Recorder{
		Internal: o.internal || expect.Internal(plan.Scenario), Details: o.internal || plan.Scenario.NeedsDetails(),
		Also: o.also,
		Room: o.room,
	}}
	chooser := o.chooser
	if chooser == nil {
		chooser = c.chooser(plan.Seed)
	}
	if o.decisions {
		p.observed = &observer{Chooser: chooser}
		if chooser == nil {
			p.observed.Chooser = choose.NewReplay(nil)
		}
		chooser = p.observed
	}
	p.node = node.New(node.Options{
		Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays, Config: plan.Config,
		ControlPlane: plan.ControlPlane(), Trace: p.recorder,
		Limits: limits, Interrupt: o.interrupt, Chooser: chooser,
	})
	if p.observed != nil {
		p.observed.node = p.node
	}
	if c, ok := chooser.(timed); ok {
		c.setNow(p.node.Now)
	}
	p.driver = drive.Start(plan, p.node)
	return p
}

// finish runs the node to the end, and checks what happened.
func (p *progress) finish(c Change, o *runOptions) {
	r, plan := p.Run, p.plan
	r.Err = p.node.RunUntil(virtual.At(plan.Duration))
	if err := p.driver.Err(); r.Err == nil {
		r.Err = err
	}
	r.Records, r.decisions, r.created = p.recorder.Records(), p.decisions(), p.driver.Created()
	if r.Err != nil {
		r.History.Error, _, _ = strings.Cut(r.Err.Error(), "\n")
		return
	}
	pods := o.pods
	if pods == nil {
		pods = plan.Specs()
	}
	r.Violations = invariants.Check(slices.Concat(pods, r.created), r.Records,
		invariants.Options{Off: p.subject.Off, End: virtual.At(plan.Duration), Uptime: plan.Uptime})
	if !c.moved() || p.subject.JudgeAll {
		r.Results, r.Err = expect.Check(plan, expect.Run{Records: r.Records, Internal: p.recorder.Internal})
	}
	r.History, r.times = historyOf(r)
}

// decisions returns the choices that came up, if they were asked for.
func (p *progress) decisions() []decision {
	if p.observed == nil {
		return nil
	}
	return p.observed.decisions
}

// timed is a chooser that needs to know the time. It is not known before the node exists.
type timed interface{ setNow(func() virtual.Time) }

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
	node      *node.Node // nil until the kubelet has started
	decisions []decision
}

func (o *observer) keep(d decision) {
	d.t = virtual.At(-365 * 24 * time.Hour)
	if o.node != nil {
		d.t = o.node.Now()
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

// Choices returns the choices that come up in the run of a change, with its internal records.
func (s *Subject) Choices(c Change) (*Run, []choose.Choice) {
	r := s.run(c, runOptions{internal: true, decisions: true})
	var list []choose.Choice
	for i := range r.decisions {
		list = append(list, r.decisions[i].choice)
	}
	return r, list
}
