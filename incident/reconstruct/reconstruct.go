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
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Options control a reconstruction. The zero value works.
type Options struct {
	// Runs is the maximum number of runs of the search; 0 means 12000.
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

// DefaultEffort is the maximum work of a search, about 28 s on a core. The sizes of the scenarios and of the runs tell the work: the time
// that they take must not decide about a result.
const DefaultEffort = 56_000_000

// work returns the work of a run of a scenario, in units of about half a microsecond.
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
		o.Runs = 12000
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
		progress: o.Progress, expect: map[string][]*scenarios.Expect{}, scores: map[string]int{}}
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

// model is what the search varies.
type model struct {
	rec    *incident.Recording
	pod    *incident.Pod
	object *v1.Pod // the manifest
	// manifestText is the text of the manifest that manifestOf is.
	manifestText string
	manifestOf   *v1.Pod
	assumed      []string
	version      string
	command      string
	first        incident.Moment // the first start of a container
	starter      string          // that container
	guessed      *incident.Fact  // the first fact, if first is a guess because no start is recorded
	anchor       string          // what happens at that time, if no start is recorded: podStart, or the reason of an event; empty: the start
	// earliest and doubt are the range of the first start, if it is known to less than a second.
	earliest time.Time
	doubt    time.Duration
	end      time.Time // of the recording of the pod
	beyond   []Claim
	// rejected has the reasons for which the loader rejects claims.
	rejected map[claimKey]string

	longer time.Duration // the run lasts this long after the recording
	// retries says that the windows of facts include the random delays with which the kubelet retries.
	retries bool

	// The parts of the behavior.
	mount   time.Duration // volumeMount
	sandbox time.Duration // runPodSandbox
	pull    time.Duration
	uptime  time.Duration // of the kubelet, which decides when it looks at the containers; 0: the default
	parts   []*part
	deleted time.Time     // when the deletion was requested; zero: never
	grace   *int          // of the deletion; nil: that of the pod
	config  string        // of the kubelet
	backoff string        // the part of it about back-offs
	resync  time.Duration // the syncFrequency of the kubelet; 0: the default
	since   time.Duration // from the last fact to the recording

	requested time.Time // when the deletion was requested, if a fact tells it
}

// part is a dimension of the search: the rules about one probe, or about the exits of one container.
type part struct {
	container string
	what      string
	rules     []rule
	answers   []string      // named answers
	create    time.Duration // createContainer; 0: the default
	startup   time.Duration // startContainer; 0: the default
	steps     []string
	try       func(s *search, p *part) []choice
}

// choice is a possible value of a part.
type choice struct {
	name    string
	rules   []rule
	answers []string
	create  time.Duration  // createContainer
	startup time.Duration  // startContainer
	steps   []string       // of the scenario
	uptime  time.Duration  // of the kubelet at t=0; 0: as it is
	config  *string        // of the kubelet; nil: as it is
	sandbox *time.Duration // of the pod instead
	mount   *time.Duration
	start   *time.Time     // the first start
	since   *time.Duration // from the last fact to the recording
	resync  *time.Duration // the syncFrequency of the kubelet
	deleted *time.Time     // the request to delete the pod; zero: none
	grace   *int           // its gracePeriodSeconds; nil: that of the pod
	rare    bool           // only if the best run so far leaves facts unexplained: the others are simpler
	// next returns a better choice after an attempt with this one, or nil.
	next func(a *attempt) *choice
}

// rule is a rule of a behavior.
type rule struct{ text, comment string }

// attempt is a run of a model.
type attempt struct {
	text   []byte
	zero   time.Time
	plan   *scenarios.Plan
	run    *simulate.Result
	claims []Claim
	score  int
}

// search tries the choices of each part in turn and keeps the best.
type search struct {
	ctx      context.Context
	model    *model
	best     *attempt
	left     int
	runs     int // the maximum of all
	until    int // the number of runs that a climb leaves to the others
	tried    int
	spent    int // the work so far
	limit    int // of the work
	effort   int // the maximum of all work
	progress func(percent int)
	delay    time.Duration // from the addition of the pod to the first start, in the last run

	expect map[string][]*scenarios.Expect // loaded expectations, by their text
	scores map[string]int                 // of the attempts so far

	rejected []detoured
	found    []finalist // after each climb

	desperate bool // everything else has been tried, so that steps without a fact of their own may explain the rest
}

// rounds is the number of times that the search goes through all parts.
const rounds = 3

func (s *search) run() error {
	// The first run tells how long a start takes. The pod must live long enough for that.
	m := s.model
	deleted := m.deleted
	m.deleted, m.longer = time.Time{}, aftermath
	first, err := s.attempt()
	if err != nil {
		return err
	}
	s.best = first
	for _, p := range m.parts { // the times between the first events of a container tell how long the runtime needs
		if create, start, known := s.latencies(p, p.container); p.what == "delay" && known {
			p.create, p.startup = create, start
		}
	}
	s.align()
	if s.best, err = s.attempt(); err != nil {
		return err
	}
	phases, err := s.phases()
	if err != nil {
		return err
	}
	m.deleted, m.longer = deleted, 0
	start := m.snapshot()
	if err := s.simply(); err != nil || s.complete() {
		return err
	}
	m.restore(start)
	if err := s.climb(); err != nil || s.complete() {
		return err
	}
	if err := s.repairSoon(); err != nil || s.complete() {
		return err
	}
	// Another way may lead further: an exit can look like a kill by a probe, and the other way round, and a probe that fails for ever like
	// another one that fails later.
	var ways []func() error
	if after, _ := m.forgotten(); !after.IsZero() { // the kubelet restarted, after which the lives of its containers have other explanations
		ways = append(ways, func() error {
			p := m.part("", "kubelet")
			try := p.try
			p.try = func(s *search, p *part) []choice {
				return slices.DeleteFunc(try(s, p), func(c choice) bool { return c.name == "none" })
			}
			if list := p.try(s, p); len(list) > 4 {
				m.choose(p, &list[4])
			}
			return nil
		})
	}
	for _, p := range phases {
		ways = append(ways, func() error {
			m.sandbox, m.uptime = p.sandbox, p.uptime
			return nil
		})
	}
	orders := []func() error{func() error {
		slices.SortStableFunc(m.parts, func(a, b *part) int { return cmp.Compare(rank(a), rank(b)) })
		return nil
	}, s.asRecorded}

	var short []func() error
	backoffs, certain := s.backoffs()
	for _, backoff := range backoffs {
		short = append(short, func() error {
			m.backoff = backoff
			return nil
		})
	}
	if certain {
		short, orders = orders, short
	}
	ways = append(append(ways, orders...), short...)
	if s.missesChange() {
		for _, uptime := range s.ages() {
			ways = append(ways, func() error {
				m.uptime = uptime
				return nil
			})
		}
	}
	ways = append(ways, func() error {
		slices.Reverse(m.parts)
		return nil
	})
	for _, prepare := range ways {
		if s.spent > s.limit {
			break
		}
		best, found := s.best, m.snapshot()
		m.restore(start)
		if err := prepare(); err != nil {
			return err
		}
		if err := s.climb(); err != nil {
			return err
		}
		s.remember()
		if best.score >= s.best.score {
			s.best = best
			m.restore(found)
		} else if m.backoff != start.model.backoff {
			start.model.backoff = m.backoff
		}
		if s.complete() {
			return nil
		}
	}
	return s.detour()
}

// detours is the maximum number of choices from which detour tries to go on.
const detours = 24

// detour takes choices that explain less by themselves, and improves the other parts after each: the best choice of a part can need another
// choice of another part.
func (s *search) detour() error {
	if len(s.best.claims)-held(s.best) > detourable {
		return nil
	}
	since := 0
	for range rounds {
		before := s.best.score
		rejected := slices.Clone(s.rejected[since:])
		since = len(s.rejected)
		slices.SortStableFunc(rejected, func(a, b detoured) int { return cmp.Compare(b.score, a.score) })
		for i := range rejected[:min(len(rejected), detours)] {
			if s.left <= 0 || s.spent > s.limit {
				return nil
			}
			best, found := s.best, s.model.snapshot()
			s.model.choose(rejected[i].part, &rejected[i].choice)
			a, err := s.attempt()
			if errors.Is(err, simulate.ErrInterrupted) {
				return err
			}
			if err == nil {
				s.best, s.until = a, s.left-detourRuns
				for _, p := range s.model.parts {
					if p == rejected[i].part {
						continue
					}
					if err := s.improve(p); err != nil {
						return err
					}
				}
			}
			if err != nil || s.best.score <= best.score {
				s.best = best
				s.model.restore(found)
			}
			if s.complete() {
				return nil
			}
		}
		if s.best.score <= before {
			return nil
		}
	}
	return nil
}

// again goes on from choices that the search rejected, as long as it may: after each, it improves the other parts and repairs the rest. The
// parts take turns, each with the best of its choices that is left.
func (s *search) again() error {
	turns, seen := map[*part]int{}, map[string]bool{}
	for !s.complete() && s.left > 0 && s.spent <= s.limit {
		d := s.nextDetour(turns, seen)
		if d == nil {
			return nil
		}
		turns[d.part]++
		best, found := s.best, s.model.snapshot()
		s.model.choose(d.part, &d.choice)
		a, err := s.attempt()
		if errors.Is(err, simulate.ErrInterrupted) {
			return err
		}
		if err == nil {
			s.best, s.until = a, max(s.left-detourRuns, 0)
			for _, p := range s.model.parts {
				if p == d.part {
					continue
				}
				if err := s.improve(p); err != nil {
					return err
				}
			}
			if err := s.repair(detourRuns, s.limit-s.spent); err != nil {
				return err
			}
		}
		if err != nil || s.best.score <= best.score {
			s.best = best
			s.model.restore(found)
		}
	}
	return nil
}

// nextDetour returns the best choice of the part that had the fewest turns, of those that it has not returned before.
func (s *search) nextDetour(turns map[*part]int, seen map[string]bool) *detoured {
	var next *detoured
	for i := range s.rejected {
		d := &s.rejected[i]
		if seen[d.key] || next != nil && (turns[d.part] > turns[next.part] || turns[d.part] == turns[next.part] && d.score <= next.score) {
			continue
		}
		next = d
	}
	if next != nil {
		seen[next.key] = true
	}
	return next
}

// detourable is the maximum number of unexplained facts for which detours are worth their time.
const detourable = 6

// detourRuns is the maximum number of runs of a detour.
const detourRuns = 150

// detoured is a choice that the search rejected, and the score of its attempt.
type detoured struct {
	part   *part
	choice choice
	score  int
	key    string // of the attempt
}

// align moves a guessed start so that a run of the probe is at the first fact.
func (s *search) align() {
	m := s.model
	if m.guessed == nil || m.guessed.When.Within > time.Second {
		return
	}
	probe := cmp.Or(m.guessed.Probe, incident.ParseUnhealthy(m.guessed.Message).Probe)
	want := m.guessed.When.At.Add(m.guessed.When.Within / 2).Sub(s.best.zero)
	var best time.Duration
	found := false
	for _, r := range s.probeRuns(m.guessed.Container, probe) {
		if by := want - r.T.Offset(); !found || by.Abs() < best.Abs() {
			best, found = by, true
		}
	}
	m.first.At = m.first.At.Add(best)
}

// asRecorded lets each probe fail exactly in the times of its recorded failures.
func (s *search) asRecorded() error {
	first, err := s.attempt()
	if err != nil {
		return err
	}
	s.best = first
	for _, p := range s.model.parts {
		if rank(p) > 0 || p.what == allProbes {
			continue
		}
		if list := p.try(s, p); len(list) > 1 {
			p.rules, p.answers = list[1].rules, list[1].answers
		}
	}
	return nil
}

// rank orders the parts for the second climb: probes first.
func rank(p *part) int {
	switch trace.Probe(p.what) {
	case trace.Startup, trace.Liveness, trace.Readiness, allProbes:
		return 0
	}
	return 1
}

// climb improves the parts in turn until nothing improves.
func (s *search) climb() error {
	first, err := s.attempt()
	if err != nil {
		return err
	}
	s.best = first
	s.until = s.left - max(s.left/4, 300)
	for range rounds {
		before := s.best.score
		for _, p := range s.model.parts {
			if err := s.improve(p); err != nil {
				return err
			}
		}
		if err := s.simplify(); err != nil {
			return err
		}
		if s.best.score <= before || s.complete() {
			break
		}
	}
	return nil
}

// state is a value of everything that the search varies.
type state struct {
	model model
	parts []part
	order []*part
}

func (m *model) snapshot() state {
	s := state{model: *m, order: slices.Clone(m.parts)}
	for _, p := range m.parts {
		s.parts = append(s.parts, *p)
	}
	return s
}

func (m *model) restore(s state) {
	*m = s.model
	m.parts = slices.Clone(s.order)
	for i, p := range m.parts {
		*p = s.parts[i]
	}
}

// simplify removes the rules of parts without which the run meets as many expectations, and is as close to the recording: other parts
// explain the same.
func (s *search) simplify() error {
	for _, p := range s.model.parts {
		if len(p.rules) == 0 || s.spent > s.limit {
			continue
		}
		before := *p
		p.rules, p.answers = nil, nil
		a, err := s.attempt()
		switch {
		case errors.Is(err, simulate.ErrInterrupted):
			return err
		case err == nil && held(a) >= held(s.best) && a.score >= s.best.score:
			s.best = a
		default:
			*p = before
		}
	}
	return nil
}

func held(a *attempt) int {
	n := 0
	for _, c := range a.claims {
		if c.Holds {
			n++
		}
	}
	return n
}

// complete reports whether the run explains everything.
func (s *search) complete() bool {
	return !slices.ContainsFunc(s.best.claims, func(c Claim) bool { return !c.Holds })
}

// partRuns is the maximum number of runs for the choices of a part at a time.
const partRuns = 250

// concerns reports whether the best run so far lacks a fact about the container of a part, or about the pod.
func (s *search) concerns(p *part) bool {
	return slices.ContainsFunc(s.best.claims, func(c Claim) bool {
		return !c.Holds && (c.Fact.Container == p.container || c.Fact.Container == "" || strings.Contains(c.expect, "container: "+p.container+","))
	})
}

// improve tries the choices of a part.
func (s *search) improve(p *part) error {
	if rank(p) == 0 && !s.concerns(p) {
		return nil
	}
	until := max(s.until, s.left-partRuns)
	for list := p.try(s, p); len(list) > 0; {
		c := list[0]
		list = list[1:]
		if s.left <= max(until, 0) || s.spent > s.limit {
			return nil
		}
		if c.rare && s.complete() {
			continue
		}
		before := s.model.snapshot()
		s.model.choose(p, &c)
		key := fmt.Sprint(string(s.model.brief(s.model.zero(s.delay))), s.model.since)
		if score, known := s.scores[key]; known && c.next == nil && score <= s.best.score {
			s.model.restore(before)
			continue
		}
		a, err := s.attempt()
		if err == nil {
			s.scores[key] = a.score
		}
		switch {
		case errors.Is(err, simulate.ErrInterrupted):
			return err
		case err == nil && a.score > s.best.score:
			s.best = a
		default:
			s.model.restore(before)
			if err == nil && a.score > s.best.score-5000 {
				s.rejected = append(s.rejected, detoured{p, c, a.score, key})
			}
		}
		if err == nil && c.next != nil {
			if better := c.next(a); better != nil {
				list = append([]choice{*better}, list...)
			}
		}
	}
	return nil
}

// part returns a part of the model.
func (m *model) part(container, what string) *part {
	for _, p := range m.parts {
		if p.container == container && p.what == what {
			return p
		}
	}
	return nil
}

func (m *model) containers() []*v1.Container {
	var all []*v1.Container
	for _, list := range [][]v1.Container{m.object.Spec.InitContainers, m.object.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// choose gives a part the value of a choice.
func (m *model) choose(p *part, c *choice) {
	p.rules, p.answers, p.create, p.startup, p.steps = c.rules, c.answers, c.create, c.startup, c.steps
	set(&m.config, c.config)
	set(&m.sandbox, c.sandbox)
	set(&m.mount, c.mount)
	set(&m.first.At, c.start)
	set(&m.since, c.since)
	set(&m.resync, c.resync)
	if c.deleted != nil {
		m.deleted, m.grace = *c.deleted, c.grace
	}
	if c.uptime > 0 {
		m.uptime = c.uptime
	}
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// attempt runs the model as it is.
func (s *search) attempt() (*attempt, error) {
	return s.attemptAt(s.model.zero(s.delay), s.load)
}

// whole runs the best attempt again, from its whole text.
func (s *search) whole() (*attempt, error) { return s.attemptAt(s.best.zero, s.loadText) }

// attemptAt runs the model as it is. The run begins at zero, or another time if it has the first start at another time than recorded.
func (s *search) attemptAt(zero time.Time, load func(*attempt) error) (*attempt, error) {
	m := s.model
	a := &attempt{zero: zero}
	for range 2 { // the first run tells how long the first start takes
		if err := load(a); err != nil {
			return nil, err
		}
		a.run = simulate.Run(s.ctx, a.plan, simulate.Options{})
		s.tried++
		s.left--
		s.spent += work(a.text, a.run.Records)
		if s.progress != nil {
			s.progress(min(max(s.spent/(s.effort/100+1), 100*s.tried/s.runs), 99))
		}
		if a.run.Err != nil {
			return nil, a.run.Err
		}
		delay, started := m.firstStart(a.run.Records)
		if !started || (delay-s.delay).Abs() < time.Microsecond || !m.first.Known() {
			break
		}
		s.delay = delay
		a.zero = m.zero(delay)
	}
	for i := range a.claims {
		r := a.run.Results[i]
		a.claims[i].Holds = r.Outcome == expect.Held
		if a.claims[i].Holds {
			a.score += 1000
		} else if len(r.Failures) > 0 {
			a.claims[i].Reason = r.Failures[0].Got
		}
	}
	a.score += m.closeness(a) - m.deviation(a)
	if m.grace != nil && (m.pod.Object == nil || m.pod.Object.DeletionGracePeriodSeconds == nil) {
		a.score -= 100 // it is more likely that of the pod
	}
	for _, p := range m.parts {
		a.score -= 20 * min(len(p.rules), 20) // few rules explain more than many
	}
	return a, nil
}

// load loads the scenario of an attempt. Expectations that it knows from an earlier attempt are not loaded again, which would take most
// of the time of a search.
func (s *search) load(a *attempt) error {
	m := s.model
	a.claims = m.claims(a.zero)
	key := expectations(a.claims)
	expect, known := s.expect[key]
	if known {
		a.text = m.brief(a.zero)
		loaded, err := scenarios.LoadBytes("incident.yaml", a.text, nil)
		if err != nil {
			return err
		}
		loaded[0].Spec.Expect = expect
		a.plan = loaded[0].Plan(m.version, nil)
		return nil
	}
	if err := s.loadText(a); err != nil {
		return err
	}
	s.expect[expectations(a.claims)] = a.plan.Scenario.Spec.Expect
	return nil
}

// loadText loads the whole file of an attempt.
func (s *search) loadText(a *attempt) error {
	m := s.model
	a.claims = m.claims(a.zero)
	a.text = m.text(a)
	loaded, err := scenarios.LoadBytes("incident.yaml", a.text, nil)
	if m.reject(a, err) { // expectations that no run can meet
		a.claims = m.claims(a.zero)
		a.text = m.text(a)
		loaded, err = scenarios.LoadBytes("incident.yaml", a.text, nil)
	}
	if err != nil {
		return err
	}
	a.plan = loaded[0].Plan(m.version, nil)
	return nil
}

// expectations returns the expectations of claims as one text.
func expectations(claims []Claim) string {
	var b strings.Builder
	for _, c := range claims {
		b.WriteString(c.expect + "\n")
	}
	return b.String()
}

// reject remembers the claims of an attempt that the loader rejects: no run of this manifest can meet them. It reports whether there
// are any.
func (m *model) reject(a *attempt, err error) bool {
	list, _ := err.(scenarios.Errors)
	if len(list) == 0 {
		return false
	}
	lines := map[string]*Claim{}
	for i := range a.claims {
		lines["  - {"+a.claims[i].expect+"}"] = &a.claims[i]
	}
	text := strings.Split(string(a.text), "\n")
	found := false
	for _, e := range list {
		if e.Line < 1 || e.Line > len(text) {
			continue
		}
		if c := lines[text[e.Line-1]]; c != nil {
			m.rejected[claimKey{c.Fact, c.Says}] = e.Text()
			found = true
		}
	}
	return found
}

// claimKey identifies a claim in all attempts.
type claimKey struct {
	fact *incident.Fact
	says string
}

// zero returns the time of t=0 if the first start follows after a delay.
func (m *model) zero(delay time.Duration) time.Time {
	if m.first.Known() {
		return m.first.At.Add(-delay)
	}
	return m.rec.Start
}

// podStart is the anchor of a run whose pod has a start time, if the recording does not tell the second of the first start of a container.
const podStart = "StartTime"

// firstStart returns when the run has what m.first is.
func (m *model) firstStart(records []trace.Record) (time.Duration, bool) {
	for i := range records {
		r := &records[i]
		is := r.Kind == trace.Event && r.Reason == m.anchor
		switch m.anchor {
		case "":
			is = r.Kind == trace.ContainerStarted
		case podStart:
			is = r.Kind == trace.PodAdded
		}
		if is && (m.starter == "" || r.Container == m.starter) {
			return r.T.Offset(), true
		}
	}
	return 0, false
}

// deviation returns the mean difference between the exact times of the recording and those of the run, up to 900 for a second.
func (m *model) deviation(a *attempt) int {
	var sum time.Duration
	list := m.differences(a.run.Records, a.zero)
	for _, d := range list {
		sum += d
	}
	return int(sum / time.Duration(max(len(list), 1)) * 900 / time.Second)
}

// differences returns, for each event whose first time is recorded exactly, the difference to the closest such event of a run, up to a
// second.
func (m *model) differences(records []trace.Record, zero time.Time) []time.Duration {
	var list []time.Duration
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.When.Within > time.Millisecond || !f.When.Known() || f.Container == "" {
			continue
		}
		want := f.When.At.Sub(zero)
		least := time.Second
		for i := range records {
			r := &records[i]
			if r.Kind == trace.Event && r.Container == f.Container && r.Reason == f.Reason && sameEvent(f, r.Message) {
				least = min(least, (r.T.Offset() - want).Abs())
			}
		}
		list = append(list, least)
	}
	return list
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

// closeness returns up to 100 for each type of event of a container, depending on how close its number in the run is to the recorded
// one. So the search goes on where no step alone meets an expectation.
func (m *model) closeness(a *attempt) int {
	type key struct{ container, what string }
	keyOf := func(container, reason, message string) key {
		return key{container, reason + string(incident.ParseUnhealthy(message).Probe)}
	}
	run := map[key]int{}
	for i := range a.run.Records {
		switch r := &a.run.Records[i]; r.Kind {
		case trace.Event:
			run[keyOf(r.Container, r.Reason, r.Message)]++
		case trace.ProbeExecuted:
			run[key{r.Container, "run " + string(r.Probe) + string(r.Result)}]++
		}
	}
	recorded := map[key]int{}
	var keys []key
	add := func(k key, n int) {
		if recorded[k] == 0 {
			keys = append(keys, k)
		}
		recorded[k] += n
	}
	for _, f := range m.pod.Facts {
		switch {
		case f.Kind == incident.Event && f.Container != "":
			add(keyOf(f.Container, f.Reason, f.Message), f.Count)
		case f.Kind == incident.ProbeRun:
			add(key{f.Container, "run " + string(f.Probe) + string(f.Result)}, 1)
		}
	}
	sum := 0
	for _, k := range keys {
		n := recorded[k]
		sum += max(0, 100-100*max(n-run[k], run[k]-n)/max(n, 1))
	}
	return sum
}

// sameEvent reports whether an event of a run is of the same type as a recorded one, whatever its words.
func sameEvent(f *incident.Fact, message string) bool {
	switch f.Reason {
	case "Unhealthy", "ProbeWarning":
		return incident.ParseUnhealthy(f.Message).Probe == incident.ParseUnhealthy(message).Probe
	case "Killing":
		return incident.ParseKilling(f.Message) == incident.ParseKilling(message)
	}
	return true
}

// newest returns the version that fits the wordings of the recording best.
func newest(w incident.Wording) string {
	names := profile.Names()
	best := names[len(names)-1]
	for _, n := range names {
		var minor int
		fmt.Sscanf(n, "v1.%d.", &minor)
		if w.Since == 0 && w.Before == 0 {
			continue
		}
		if minor >= w.Since && (w.Before == 0 || minor < w.Before) {
			best = n
		}
	}
	if w.Before != 0 {
		var minor int
		if fmt.Sscanf(best, "v1.%d.", &minor); minor >= w.Before {
			best = names[0] // the oldest is the closest
		}
	}
	return best
}

// runs returns the probe runs of a container in the best run so far.
func (s *search) probeRuns(container string, probe trace.Probe) []*trace.Record {
	var list []*trace.Record
	for i := range s.best.run.Records {
		if r := &s.best.run.Records[i]; r.Kind == trace.ProbeExecuted && r.Container == container && r.Probe == probe {
			list = append(list, r)
		}
	}
	return list
}

// startsIn returns the starts of a container in the best run so far.
func (s *search) starts(container string) []virtual.Time {
	var list []virtual.Time
	for i := range s.best.run.Records {
		if r := &s.best.run.Records[i]; r.Kind == trace.ContainerStarted && r.Container == container {
			list = append(list, r.T)
		}
	}
	return list
}
