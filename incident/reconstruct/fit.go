package reconstruct

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// fitting gives each run of a probe an answer, so that each kind of failure has its first time, its last time and its number.
type fitting struct {
	c        *v1.Container
	probe    trace.Probe
	period   time.Duration
	least    int // failureThreshold
	outages  []outage
	kills    []time.Duration // the requests of the runs after which the probe had its container killed, as far as they are recorded
	unknown  int             // other kills
	changed  time.Duration   // when the pod last became Ready, or stopped being Ready; 0: unknown
	ready    bool            // since then
	order    string          // which runs fail between the first and the last failure
	ticks    []fitted
	answers  []string
	attempts int // left, because other answers lead to other runs
}

// fitted is a run of a probe, and the failure that it has: an index of outages, or none.
type fitted struct {
	at       time.Duration // of the request
	instance int
	kind     int
}

const none = -1

// orders are the ways to choose the runs that fail between the first and the last failure.
var orders = []string{"ready", "first", "last", "even", "middle", "apart"}

// fits returns choices that fail exactly the recorded number of runs.
func (s *search) fits(c *v1.Container, probe trace.Probe, outages []outage) []choice {
	p := incident.ProbeOf(c, probe)
	var list []choice
	for _, order := range orders {
		f := &fitting{c: c, probe: probe, period: period(p), least: int(max(p.FailureThreshold, 1)), outages: outages, order: order, attempts: 4}
		if probe == trace.Readiness {
			f.least = 1 << 30
		}
		for _, o := range outages {
			if o.answer != "" {
				f.answers = append(f.answers, o.answer)
			}
			if o.count > 200 {
				return nil
			}
		}
		f.findKills(s)
		if f.findReady(s); order == "ready" && f.changed == 0 {
			continue
		}
		list = append(list, s.fitChoice(f, s.best))
	}
	return list
}

// findKills finds the requests after which the probe had its container killed.
func (f *fitting) findKills(s *search) {
	total := 0
	for _, e := range s.model.pod.Facts {
		if e.Kind != incident.Event || e.Reason != "Killing" || e.Container != f.c.Name || incident.ParseKilling(e.Message) != causes[f.probe] || !e.When.Known() {
			continue
		}
		total += e.Count
		f.kills = append(f.kills, e.When.Best().Sub(s.best.zero))
		if e.Count > 1 && e.Last.Known() {
			f.kills = append(f.kills, e.Last.At.Add(e.Last.Within/2).Sub(s.best.zero))
		}
	}
	// A start that follows an end of which nothing else tells follows a kill, too.
	for _, start := range s.model.recordedStarts(f.c) {
		at := start.middle(s.best.zero) - 700*time.Millisecond
		if start.number > 0 && len(f.kills) < total && !slices.ContainsFunc(f.kills, func(k time.Duration) bool { return (k - at).Abs() < f.period/2+3*time.Second }) {
			f.kills = append(f.kills, at)
		}
	}
	f.unknown = max(total-len(f.kills), 0)
	slices.Sort(f.kills)
}

// findReady finds the last change of Ready, if the probe decides on it.
func (f *fitting) findReady(s *search) {
	if f.probe != trace.Readiness {
		return
	}
	for _, e := range s.model.pod.Facts {
		if e.Kind == incident.Condition && e.Reason == "Ready" && e.When.Known() {
			f.changed, f.ready = e.When.At.Add(e.When.Within/2).Sub(s.best.zero), e.Value == "True"
		}
	}
}

// unfit ranks the runs that fail: those that explain the last change of Ready come first, and those that contradict it last.
func (f *fitting) unfit(i int) int {
	p := incident.ProbeOf(f.c, f.probe)
	fails, succeeds := time.Duration(max(p.FailureThreshold, 1)), time.Duration(max(p.SuccessThreshold, 1))
	before := f.changed - f.ticks[i].at // from the run to the change
	distance := int(before.Abs() / time.Second)
	far := 1 << 20
	switch half := f.period / 2; {
	case f.ready && before > succeeds*f.period-half: // the last runs before those that succeeded
		return distance
	case f.ready:
		return far
	case before < fails*f.period-half: // since the runs after which it was no longer Ready
		return distance
	case before < (fails+succeeds)*f.period-half: // it was Ready before
		return far
	}
	return far/2 - distance
}

// fitChoice returns the choice that fits the runs of an attempt. After an attempt, it fits the runs of that.
func (s *search) fitChoice(f *fitting, to *attempt) choice {
	f.findTicks(s, to)
	f.assign()
	next := func(a *attempt) *choice {
		if f.attempts == 0 {
			return nil
		}
		again := *f
		again.attempts--
		c := s.fitChoice(&again, a)
		if slices.Equal(again.ticks, f.ticks) {
			return nil
		}
		return &c
	}
	return choice{name: "fit " + f.order, rare: true, rules: append(s.otherwiseOK(f.c, f.probe), f.rules()...), answers: f.answers, next: next}
}

// findTicks finds the runs of the probe in an attempt, and adds those that it lacks.
func (f *fitting) findTicks(s *search, a *attempt) {
	f.ticks = nil
	stopped := false
	for i := range a.run.Records {
		r := &a.run.Records[i]
		if r.Container != f.c.Name {
			continue
		}
		stopped = stopped || r.Kind == trace.ContainerStopping || r.Kind == trace.ContainerExited
		if r.Kind == trace.ProbeExecuted && r.Probe == f.probe {
			if stopped && s.model.lived(f.c) {
				break
			}
			f.ticks = append(f.ticks, fitted{r.T.Offset() - r.Took, r.Instance, none})
		}
	}
	if stopped && s.model.lived(f.c) && len(f.ticks) > 0 { // it must not stop, so its probe goes on
		for at := f.ticks[len(f.ticks)-1].at + f.period; at < a.plan.Duration; at += f.period {
			f.ticks = append(f.ticks, fitted{at, 0, none})
		}
	}
	for _, o := range f.outages {
		for _, at := range []time.Duration{o.first, o.last} {
			doubt := near
			if at == o.last {
				doubt += o.doubt
			}
			if f.nearest(at, doubt) < 0 {
				f.ticks = append(f.ticks, fitted{at, f.instanceAt(s, a, at), none})
			}
		}
	}
	slices.SortStableFunc(f.ticks, func(a, b fitted) int { return cmp.Compare(a.at, b.at) })
}

// otherwiseOK returns a rule with which a probe fails only as later rules say, if the container has rules about all its probes together.
func (s *search) otherwiseOK(c *v1.Container, probe trace.Probe) []rule {
	if p := s.model.part(c.Name, allProbes); p == nil || len(p.rules) == 0 {
		return nil
	}
	return []rule{{string(probe) + ": ok", "No other failure of this probe is recorded."}}
}

// lived reports whether the first instance of a container still runs at the end of the recording.
func (m *model) lived(c *v1.Container) bool {
	return slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool {
		return f.Kind == incident.Running && f.Container == c.Name && f.Count == 0
	}) && m.restarts(c.Name) == 0
}

// instanceAt returns the number of the instance at a time of an attempt.
func (f *fitting) instanceAt(s *search, a *attempt, at time.Duration) int {
	n := 0
	for i := range a.run.Records {
		if r := &a.run.Records[i]; r.Kind == trace.ContainerStarted && r.Container == f.c.Name && r.T.Offset() <= at {
			n = r.Instance
		}
	}
	return n
}

// nearest returns the index of the run whose request is closest to a time, or -1 if none is within a time of it.
func (f *fitting) nearest(at, within time.Duration) int {
	best := -1
	for i, t := range f.ticks {
		if (t.at-at).Abs() <= within && (best < 0 || (t.at-at).Abs() < (f.ticks[best].at-at).Abs()) {
			best = i
		}
	}
	return best
}

// assign gives the runs their failures.
func (f *fitting) assign() {
	left := make([]int, len(f.outages))
	from, to := make([]int, len(f.outages)), make([]int, len(f.outages))
	for j, o := range f.outages {
		left[j] = o.count
		from[j], to[j] = f.nearest(o.first, near), f.nearest(o.last, o.doubt+near)
		if o.count == 1 {
			to[j] = from[j]
		}
		for _, i := range []int{from[j], to[j]} {
			if i >= 0 && f.ticks[i].kind == none && left[j] > 0 {
				f.ticks[i].kind = j
				left[j]--
			}
		}
	}
	for _, at := range f.kills { // as many failures in a row as the threshold
		i := f.nearest(at, f.period/2)
		for n := 0; i >= 0 && n < f.least && f.ticks[i].at > at-time.Duration(f.least)*f.period-f.period; i-- {
			if n++; f.ticks[i].kind == none {
				f.give(i, left, from, to)
			}
		}
	}
	// The kinds of failures with the fewest runs to choose from come first.
	kinds := make([]int, len(f.outages))
	for j := range kinds {
		kinds[j] = j
	}
	slices.SortStableFunc(kinds, func(a, b int) int { return cmp.Compare(to[a]-from[a]-left[a], to[b]-from[b]-left[b]) })
	for _, j := range kinds {
		if from[j] < 0 || to[j] < 0 {
			continue
		}
		f.fill(j, left[j], from[j], to[j])
	}
}

// give gives a run one of the failures that can be there.
func (f *fitting) give(i int, left, from, to []int) {
	for j := range f.outages {
		if left[j] > 0 && from[j] >= 0 && from[j] < i && i < to[j] {
			f.ticks[i].kind = j
			left[j]--
			return
		}
	}
}

// fill gives n more runs between two runs the failure of a kind.
func (f *fitting) fill(j, n, from, to int) {
	var free []int
	for i := from + 1; i < to; i++ {
		if f.ticks[i].kind == none {
			free = append(free, i)
		}
	}
	switch f.order {
	case "ready":
		slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(f.unfit(a), f.unfit(b)) })
	case "last":
		slices.Reverse(free)
	case "even":
		var spread []int
		for k := range n {
			if n <= len(free) {
				spread = append(spread, free[(2*k+1)*len(free)/(2*n)])
			}
		}
		for _, i := range free {
			if !slices.Contains(spread, i) {
				spread = append(spread, i)
			}
		}
		free = spread
	case "middle":
		middle := (from + to) / 2
		slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(max(a-middle, middle-a), max(b-middle, middle-b)) })
	case "apart":
		slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare((a-from)%2, (b-from)%2) })
	}
	for _, i := range free {
		if n == 0 {
			return
		}
		f.ticks[i].kind = j
		if f.kills == nil && f.row(i) >= f.least || f.kills != nil && f.row(i) >= f.least && f.unknown == 0 && !f.killedAt(i) {
			f.ticks[i].kind = none
			continue
		}
		n--
	}
}

// row returns the number of failures in a row around a run, in its instance.
func (f *fitting) row(i int) int {
	n := 1
	for k := i - 1; k >= 0 && f.ticks[k].kind != none && f.ticks[k].instance == f.ticks[i].instance; k-- {
		n++
	}
	for k := i + 1; k < len(f.ticks) && f.ticks[k].kind != none && f.ticks[k].instance == f.ticks[i].instance; k++ {
		n++
	}
	return n
}

// killedAt reports whether a run is in a row that leads to a recorded kill.
func (f *fitting) killedAt(i int) bool {
	return slices.ContainsFunc(f.kills, func(at time.Duration) bool {
		return f.ticks[i].at <= at && f.ticks[i].at >= at-time.Duration(f.least+1)*f.period
	})
}

// rules returns a rule for each row of equal failures.
func (f *fitting) rules() []rule {
	var rules []rule
	for i := 0; i < len(f.ticks); i++ {
		kind := f.ticks[i].kind
		if kind == none {
			continue
		}
		j := i
		for j+1 < len(f.ticks) && f.ticks[j+1].kind == kind {
			j++
		}
		first, last := f.ticks[i].at, f.ticks[j].at
		from, to := max(first-f.period, 0), last+f.period
		if i > 0 {
			from = max(from, f.ticks[i-1].at+time.Millisecond)
		}
		if j+1 < len(f.ticks) {
			to = min(to, f.ticks[j+1].at-time.Millisecond)
		}
		from = min(from, first)
		middle := (from + first) / 2
		length := value.Format(max(round(last-middle), 0) + time.Millisecond)
		if to > last+time.Millisecond {
			length = between(last-middle+time.Millisecond, to-middle)
		}
		rules = append(rules, rule{fmt.Sprintf("at: %s, for: %s, %s: %s", between(from, first), length, f.probe, f.outages[kind].word), f.outages[kind].says})
		i = j
	}
	return rules
}
