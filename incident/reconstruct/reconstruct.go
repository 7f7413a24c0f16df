// Package reconstruct finds a behavior under which the simulator yields what a cluster recorded about a pod.
//
// It starts from the recorded facts: the failures of probes, the ends of containers, the times of starts. Each fact becomes an
// expectation with the window that its precision allows. The search then tries behaviors, each of which one can write in a
// scenario, and keeps those with which a run meets the most expectations. The result is a scenario file with the behavior and the
// expectations, and for each fact whether the run explains it.
package reconstruct

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"probesim.dev/incident"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// Options control a reconstruction. The zero value works.
type Options struct {
	// Runs is the maximum number of runs of the search; 0 means 24000.
	Runs int
	// Command is the command that makes the scenario, for its first comment.
	Command string
	// Effort is the maximum work of the search; 0 means DefaultEffort.
	Effort int
	// Progress is called after each run with the share of the work that is done, in percent, unless nil.
	Progress func(percent int)
}

// maxDuration is the longest run of a reconstruction. A pod that is older begins later.
const maxDuration = 48 * time.Hour

// DefaultEffort is the maximum work of a search, about 40 s on a core. The sizes of the scenarios and of the runs tell the work: the time
// that they take must not decide about a result.
const DefaultEffort = 112_000_000

// work returns the work of a run of a scenario, in units of about 0.4 microseconds.
func work(text []byte, records []trace.Record) int { return len(text) + 12*len(records) }

// Result is a reconstruction of a pod.
type Result struct {
	Pod     *incident.Pod
	Text    []byte           // the scenario file
	Plan    *scenarios.Plan  // of the scenario
	Run     *simulate.Result // of the plan
	Zero    time.Time        // the time in the recording of t=0
	Claims  []Claim
	Assumed []string // settings of the pod that the recording does not have
	Tried   int      // the number of runs of the search
	Effort  int      // the work of the search

	model *model
}

// Claim is what the recording tells, as an expectation.
type Claim struct {
	Fact   *incident.Fact
	Says   string // in words
	Holds  bool
	Reason string // why the run does not explain it; also set for facts that no run can explain
	// Beyond says that the fact is not about what the simulator simulates, such as the work of the scheduler. It has no expectation.
	Beyond bool

	expect string // in YAML, without braces
}

// Explained returns the number of claims that the run explains, and of all claims that it could explain.
func (r *Result) Explained() (held, all int) {
	for _, c := range r.Claims {
		if !c.Beyond {
			all++
			if c.Holds {
				held++
			}
		}
	}
	return held, all
}

// Rule is a rule of the inferred behavior of a program, in the form of a scenario, and the fact from which it comes.
type Rule struct{ Container, Text, Says string }

// Behavior returns the inferred rules of the programs.
func (r *Result) Behavior() []Rule {
	list := []Rule{}
	for _, p := range r.model.parts {
		for _, x := range p.rules {
			list = append(list, Rule{p.container, x.text, x.comment})
		}
	}
	return list
}

// Steps returns the inferred steps of the scenario: what happened to the node or to the pod from outside.
func (r *Result) Steps() []string { return append([]string{}, r.model.steps(r.Zero)...) }

// Simplest returns pods with those first that have the fewest facts. If reconstructions share an effort in this order, simple pods leave
// theirs to the others.
func Simplest(pods []*incident.Pod) []*incident.Pod {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b *incident.Pod) int { return cmp.Compare(len(a.Facts), len(b.Facts)) })
	return pods
}

// ErrNothing is the error for a pod about which the recording tells too little.
var ErrNothing = errors.New("the recording tells neither a start nor an end of a container nor a result of a probe")

// Pod reconstructs what happened to a pod.
func Pod(ctx context.Context, rec *incident.Recording, pod *incident.Pod, o Options) (*Result, error) {
	if o.Runs == 0 {
		o.Runs = 24000
	}
	if o.Effort == 0 {
		o.Effort = DefaultEffort
	}
	m, err := newModel(rec, pod)
	if err != nil {
		return nil, err
	}
	m.command = o.Command
	s := &search{ctx: ctx, model: m, runs: o.Runs, left: o.Runs - o.Runs*repairShare/100, effort: o.Effort, limit: o.Effort - o.Effort*repairShare/100,
		progress: o.Progress, expect: map[string][]*format.Expect{}, claims: map[claimsOf]claimed{}, scores: map[string]int{}}
	if err := s.run(); err != nil {
		return nil, err
	}
	s.left, s.limit, s.desperate = o.Runs-s.tried, o.Effort, true
	if err := s.repairs(); err != nil {
		return nil, err
	}
	if err := s.again(); err != nil {
		return nil, err
	}
	for _, improve := range []func() error{s.prune, s.widen, s.merge} {
		s.limit = s.spent + o.Effort*widenShare/100
		if err := improve(); err != nil {
			return nil, err
		}
	}
	best, err := s.whole()
	if err != nil {
		return nil, err
	}
	result := &Result{Pod: pod, Text: best.text, Plan: best.plan, Run: best.run, Zero: best.zero, Assumed: m.assumed, Tried: s.tried, Effort: s.spent, model: m}
	result.Claims = append(best.claims, m.beyond...)
	slices.SortStableFunc(result.Claims, func(a, b Claim) int { return a.Fact.When.At.Compare(b.Fact.When.At) })
	return result, nil
}

// Precision returns the number of events of the pod whose first time is recorded exactly, and the median and the greatest difference
// between these times and those of the run, up to a second.
func (r *Result) Precision() (n int, median, most time.Duration) {
	list := r.model.differences(r.Run.Records, r.Zero)
	if len(list) == 0 {
		return 0, 0, 0
	}
	slices.Sort(list)
	return len(list), list[(len(list)-1)/2], list[len(list)-1]
}
