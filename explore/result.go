package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
)

// Result is what an exploration found.
type Result struct {
	Scenario   string         `json:"scenario"`
	Kubernetes string         `json:"kubernetes"`
	Runs       int            `json:"runs"`
	Policies   []PolicyResult `json:"policies"`
	Outcomes   []*Outcome     `json:"outcomes"`
	Ended      string         `json:"ended"`    // the bound that ended the search
	Complete   string         `json:"complete"` // what was searched completely; empty: nothing
	Shard      int            `json:"shard,omitempty"`
	Shards     int            `json:"shards,omitempty"`
	Deviations int            `json:"deviations"`
	MaxRuns    int            `json:"maxRuns"`
	Seeds      int            `json:"seeds"`
	JudgeAll   bool           `json:"judgeAll,omitempty"`
	// Unjudged says that the scenario has no expectation that applies to the version.
	Unjudged bool `json:"unjudged,omitempty"`
	// ControlPlane says that the scenario has one.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Canonical is the hash of the trace of the canonical run.
	Canonical string `json:"canonical"`
	// Periods has the shortest period of the probes of each pod, in nanoseconds.
	Periods map[string]time.Duration `json:"periods"`

	byID map[string]*Outcome
}

// PolicyResult is the part of a policy in an exploration.
type PolicyResult struct {
	Policy   string `json:"policy"`
	Tasks    int    `json:"tasks"` // tasks to do
	Done     int    `json:"done"`  // tasks that were done completely
	Runs     int    `json:"runs"`
	Outcomes int    `json:"outcomes"` // outcomes that no policy before had found
	Cut      bool   `json:"cut"`      // some of its tasks did not fit into the maximum number of runs
}

// Outcome is a history, with its count and a witness.
type Outcome struct {
	ID      string  `json:"id"`
	Count   int     `json:"count"` // runs
	Policy  string  `json:"policy"`
	Change  Change  `json:"change"` // of the first run with this history
	History History `json:"history"`
	// Spread has the entries of the history whose times differ by more than half a period of a
	// probe between runs that differ only in their choices.
	Spread []Spread `json:"spread,omitempty"`

	// Times has the range of the time of each entry of the history, over the runs that differ only
	// in their choices.
	Times []Span `json:"times,omitempty"`
	// Place is the position of the first run in the exploration, whatever shard made it.
	Place Place `json:"place"`
}

// GomegaString names the outcome. Gomega prints it in messages in place of the fields.
func (o *Outcome) GomegaString() string { return fmt.Sprintf("outcome %s, in %d runs", o.ID, o.Count) }

// Spread is an entry of a history whose time depends on the choices.
type Spread struct {
	Entry  string        `json:"entry"`
	Period time.Duration `json:"period"` // the shortest period of the probes of the pod, in nanoseconds
	Span
}

// Place is the position of a run in an exploration.
type Place struct {
	Task int `json:"task"`
	Run  int `json:"run"`
}

func (p Place) before(q Place) bool { return p.Task < q.Task || p.Task == q.Task && p.Run < q.Run }

// Span is the range of the times of an entry, with the runs at its ends.
type Span struct {
	From    virtual.Time `json:"from"` // since t=0, in nanoseconds
	To      virtual.Time `json:"to"`
	Early   *Change      `json:"early"`
	EarlyAt Place        `json:"earlyPlace"`
	Late    *Change      `json:"late"`
	LateAt  Place        `json:"latePlace"`
}

// Part is what one task found.
type Part struct {
	task     int
	policy   string
	runs     int
	list     []*Outcome
	complete bool
}

// Runs returns the number of runs of the part.
func (p *Part) Runs() int { return p.runs }

// seen notes the outcome of a run.
func (p *Part) seen(c Change, r *Run) {
	at := Place{p.task, p.runs}
	p.runs++
	seen := &Outcome{ID: r.History.ID(), Count: 1, Policy: p.policy, Change: c, History: r.History, Place: at}
	if onlyChoices(c) {
		for _, t := range r.times {
			seen.Times = append(seen.Times, Span{t, t, &c, at, &c, at})
		}
	}
	if i := slices.IndexFunc(p.list, func(o *Outcome) bool { return o.ID == seen.ID }); i >= 0 {
		p.list[i].join(seen)
		return
	}
	p.list = append(p.list, seen)
}

// join adds the runs of another outcome with the same history.
func (o *Outcome) join(other *Outcome) {
	o.Count += other.Count
	o.Times = widened(o.Times, other.Times)
	if other.Place.before(o.Place) {
		o.Place, o.Change, o.Policy = other.Place, other.Change, other.Policy
	}
}

// onlyChoices reports whether a change leaves the scenario and the node as they are.
func onlyChoices(c Change) bool { return c.Uptime == nil && !c.moved() }

// widened returns the spans that contain both.
func widened(a, b []Span) []Span {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	list := slices.Clone(a)
	for i := range list {
		x, y := &list[i], &b[i]
		if y.From < x.From || y.From == x.From && y.EarlyAt.before(x.EarlyAt) {
			x.From, x.Early, x.EarlyAt = y.From, y.Early, y.EarlyAt
		}
		if y.To > x.To || y.To == x.To && y.LateAt.before(x.LateAt) {
			x.To, x.Late, x.LateAt = y.To, y.Late, y.LateAt
		}
	}
	return list
}

func newResult(e *Explorer) Result {
	plan := e.subject.Plan
	r := Result{
		Scenario: plan.Scenario.Metadata.Name, Kubernetes: plan.Version, Shard: e.options.Shard,
		Shards:     e.options.Shards,
		Deviations: e.options.Deviations, MaxRuns: e.options.Runs, Seeds: e.options.Seeds,
		JudgeAll:  e.subject.JudgeAll,
		Canonical: e.canonical.Hash(), Unjudged: !slices.ContainsFunc(e.canonical.Results,
			func(r expect.Result) bool { return r.Outcome != report.Skipped }),
		Periods: periods(e.canonical.pods), byID: map[string]*Outcome{}, ControlPlane: e.controlled(),
	}
	for _, name := range e.order() {
		r.Policies = append(r.Policies, PolicyResult{Policy: name, Cut: e.cut[name]})
	}
	for _, i := range e.mine {
		r.policy(e.tasks[i].policy).Tasks++
	}
	return r
}

func (r *Result) policy(name string) *PolicyResult {
	i := slices.IndexFunc(r.Policies, func(p PolicyResult) bool { return p.Policy == name })
	return &r.Policies[i]
}

// add adds a part and returns the number of its outcomes that are new.
func (r *Result) add(p *Part) (fresh int) {
	policy := r.policy(p.policy)
	policy.Runs += p.runs
	r.Runs += p.runs
	if p.complete {
		policy.Done++
	}
	for _, o := range p.list {
		if r.addOutcome(o) {
			fresh++
		}
	}
	return fresh
}

// addOutcome adds an outcome, or joins it with the one of the same history. It reports whether the
// outcome is new.
func (r *Result) addOutcome(o *Outcome) bool {
	if known := r.byID[o.ID]; known != nil {
		known.join(o)
		return false
	}
	r.byID[o.ID] = o
	r.Outcomes = append(r.Outcomes, o)
	return true
}

// The bounds that can end an exploration.
const (
	endedAll   = "everything within the bounds was searched"
	endedRuns  = "the maximum number of runs"
	endedEarly = "the search was stopped before its end"
)

// end sorts the outcomes and says what the search covers and what ended it.
func (r *Result) end() {
	slices.SortFunc(r.Outcomes, func(a, b *Outcome) int {
		return cmp.Or(cmp.Compare(a.Place.Task, b.Place.Task), cmp.Compare(a.Place.Run, b.Place.Run))
	})
	for i := range r.Policies {
		r.Policies[i].Outcomes = 0
	}
	for _, o := range r.Outcomes {
		o.Spread = o.spread(r.Periods)
		r.policy(o.Policy).Outcomes++
	}
	r.Ended, r.Complete = endedAll, ""
	for _, p := range r.Policies {
		if p.Cut {
			r.Ended = endedRuns
		}
		done := p.Done == p.Tasks && !p.Cut
		switch {
		case p.Policy == "orders" && done:
			r.Complete = "orders with one deviation"
		case p.Policy == "pairs" && done && r.Deviations == 2 && r.Complete != "":
			r.Complete = "orders with up to two deviations"
		}
	}
	for _, p := range r.Policies {
		if p.Done < p.Tasks {
			r.Ended = endedEarly
		}
	}
}

// spread returns the entries whose times differ by more than a period of a probe of their pod.
func (o *Outcome) spread(periods map[string]time.Duration) []Spread {
	var list []Spread
	i := 0
	check := func(pod, entry string) {
		if i < len(o.Times) {
			if s, period := o.Times[i], periods[pod]; period > 0 && 2*s.To.Sub(s.From) > period {
				list = append(list, Spread{entry, period, s})
			}
		}
		i++
	}
	for _, p := range o.History.Pods {
		for _, s := range p.Status {
			check(p.Pod, p.Pod+" "+s)
		}
		for _, c := range p.Containers {
			for _, e := range c.Events {
				check(p.Pod, p.Pod+"/"+c.Container+" "+e)
			}
		}
	}
	return list
}

// Merge joins the results of all shards of an exploration. The result is that of an exploration
// without shards. Merge returns an error if the results are not those of all shards of one
// exploration.
func Merge(shards []*Result) (*Result, error) {
	if len(shards) == 0 {
		return nil, errors.New("there is no result")
	}
	first := shards[0]
	if err := complete(shards); err != nil {
		return nil, fmt.Errorf("%s %s: %w", first.Scenario, first.Kubernetes, err)
	}
	merged := *first
	merged.Shard, merged.Shards, merged.Runs, merged.Outcomes, merged.byID = 0, 0, 0, nil, map[string]*Outcome{}
	merged.Policies = slices.Clone(first.Policies)
	for i := range merged.Policies {
		p := &merged.Policies[i]
		p.Tasks, p.Done, p.Runs = 0, 0, 0
	}
	for _, s := range shards {
		merged.Runs += s.Runs
		for i, p := range s.Policies {
			q := &merged.Policies[i]
			q.Tasks, q.Done, q.Runs = q.Tasks+p.Tasks, q.Done+p.Done, q.Runs+p.Runs
		}
		for _, o := range s.Outcomes {
			joined := *o
			merged.addOutcome(&joined)
		}
	}
	if merged.Runs <= 0 || len(merged.Outcomes) == 0 {
		return nil, fmt.Errorf("%s %s: has no outcomes: nothing was explored", first.Scenario, first.Kubernetes)
	}
	merged.end()
	return &merged, nil
}

// Check returns the error of a result of a file that no exploration can have, with its place. path
// is the path of the result in the file.
func (r *Result) Check(f strict.JSONFile, path string) error {
	if r.Shards < 0 || r.Shards > maxShards || r.Shard < 0 || r.Shard >= max(1, r.Shards) {
		return f.Errorf(path+".shard", "must be one of at most %d parts", maxShards)
	}
	if _, known := profile.Named(r.Kubernetes); !known || r.Scenario == "" {
		return f.Errorf(path+".kubernetes", "a result needs a scenario, and a version that probesim supports")
	}
	for i, p := range r.Policies {
		if !slices.Contains(Policies(), p.Policy) || slices.IndexFunc(r.Policies, func(q PolicyResult) bool {
			return q.Policy == p.Policy
		}) != i {
			return f.Errorf(fmt.Sprintf("%s.policies[%d]", path, i),
				"must be a policy of explore, and not another time")
		}
	}
	for i, o := range r.Outcomes {
		if err := o.check(f, fmt.Sprintf("%s.outcomes[%d]", path, i), r); err != nil {
			return err
		}
	}
	return nil
}

// maxShards bounds the parts of an exploration.
const maxShards = 100_000

func (o *Outcome) check(f strict.JSONFile, path string, r *Result) error {
	entries := 0
	for _, p := range o.History.Pods {
		entries += len(p.Status)
		for _, c := range p.Containers {
			entries += len(c.Events)
		}
	}
	switch {
	case o.ID != o.History.ID():
		return f.Errorf(path+".id", "is not the ID of the history, which is %s", o.History.ID())
	case o.Count < 1:
		return f.Errorf(path+".count", "must be at least 1")
	case !slices.ContainsFunc(r.Policies, func(p PolicyResult) bool { return p.Policy == o.Policy }):
		return f.Errorf(path+".policy", "the exploration has no policy %s", strict.Quote(o.Policy))
	case len(o.Times) > 0 && len(o.Times) != entries:
		return f.Errorf(path+".times", "must have a time for each of the %d entries of the history", entries)
	}
	for i, s := range o.Times {
		at := fmt.Sprintf("%s.times[%d]", path, i)
		if s.Early == nil || s.Late == nil {
			return f.Errorf(at, "must have early and late")
		}
		if err := errors.Join(s.Early.check(f, at+".early"), s.Late.check(f, at+".late")); err != nil {
			return err
		}
	}
	return o.Change.check(f, path+".change")
}

// complete returns an error unless the results are those of all shards of one exploration.
func complete(shards []*Result) error {
	first := shards[0]
	seen := map[int]bool{}
	for _, s := range shards {
		switch {
		case s.Shards == 0:
			return errors.New("is not a part of an exploration: run explore with --shard")
		case !first.sameExploration(s):
			return errors.New("the parts are not of the same exploration: use the same file, the same probesim and " +
				"the same flags")
		case seen[s.Shard]:
			return fmt.Errorf("part %d of %d is there twice", s.Shard, s.Shards)
		}
		seen[s.Shard] = true
	}
	var missing []string
	for i := range first.Shards {
		if !seen[i] {
			missing = append(missing, fmt.Sprintf("%d/%d", i, first.Shards))
		}
		if len(missing) > 10 {
			break
		}
	}
	if missing != nil {
		return fmt.Errorf("parts are missing: %s", strings.Join(missing, ", "))
	}
	return nil
}

// sameExploration reports whether two results are of the same scenario, with the same options.
func (r *Result) sameExploration(s *Result) bool {
	samePolicy := func(p, q PolicyResult) bool { return p.Policy == q.Policy && p.Cut == q.Cut }
	return r.Scenario == s.Scenario && r.Kubernetes == s.Kubernetes && r.Shards == s.Shards &&
		r.Deviations == s.Deviations && r.MaxRuns == s.MaxRuns &&
		r.Seeds == s.Seeds && r.JudgeAll == s.JudgeAll && r.Canonical == s.Canonical &&
		slices.EqualFunc(r.Policies, s.Policies, samePolicy)
}
