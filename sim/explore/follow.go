// Package explore looks for choices with which a simulated run does what is asked for.
//
// Follow has the simulator do what a trace of the real kubelet says. Where the two part, it tries the
// choices that were made shortly before, one at a time and then in pairs, and keeps those that lead
// further. If none does, the trace is one that the simulator cannot produce.
package explore

import (
	"cmp"
	"slices"
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/trace"
)

// Run simulates until a virtual time with the choices of a policy, and returns the trace, with internal
// records if wanted. Before the first choice is made it hands clock what tells the virtual time.
type Run func(c sim.Chooser, clock func(now func() time.Duration), until time.Duration, internal bool) ([]trace.Record, error)

// Options say what to follow.
type Options struct {
	Run      Run
	Want     []trace.Record // the trace to follow, in order of time
	Duration time.Duration  // what the runs last; records of the last instant do not count
	// Fraction returns the jitter that was drawn at a virtual time, if one was.
	Fraction func(t time.Duration) (float64, bool)
	// Starts are the parts of their period that young probe workers waited for before their first run;
	// which worker drew which is not known.
	Starts []float64
	Budget int // how many runs to spend; 0: 2000
}

// Result says whether the trace could be followed, and how.
type Result struct {
	Made       []choose.Made // the choices other than canonical ones that lead along the trace
	Runs       int
	Divergence *Divergence // nil: every record is explained
}

// Divergence is where the best run parts from the trace.
type Divergence struct {
	At        time.Duration
	Want, Got []trace.Record // the records of that instant that only the trace, only the run has
	Simulated []trace.Record // the best run, to the end, with internal records
	Err       error          // the run ended early
}

const defaultBudget = 2000

// Follow looks for choices with which the simulator does what a trace says.
func Follow(o Options) Result {
	f := &follower{Options: o, want: instants(o.Want, o.Duration)}
	if f.Budget == 0 {
		f.Budget = defaultBudget
	}
	best := f.try(nil, f.Duration, false)
	for best.parts < f.Duration && f.runs < f.Budget {
		next, ok := f.improve(best)
		if !ok {
			break
		}
		best = f.try(next.made, f.Duration, false)
	}
	r := Result{Made: best.made, Runs: f.runs}
	if best.parts < f.Duration || best.err != nil {
		r.Divergence = f.divergence(f.try(best.made, f.Duration, true))
	}
	return r
}

type follower struct {
	Options
	want []instant
	runs int
}

// attempt is one run: where it parts from the trace and the decisions that were made on the way.
type attempt struct {
	made      []choose.Made
	parts     time.Duration // Duration if it does not
	decisions []decision
	records   []trace.Record
	err       error
}

// try runs with some choices made and the others canonical.
func (f *follower) try(made []choose.Made, until time.Duration, internal bool) attempt {
	f.runs++
	c := &chooser{Replay: choose.NewReplay(made), fraction: f.Fraction, starts: f.Starts, now: func() time.Duration { return 0 }}
	records, err := f.Run(c, func(now func() time.Duration) { c.now = now }, until, internal)
	a := attempt{made: made, decisions: c.decisions, records: records, err: err}
	a.parts = f.parting(instants(records, until), until)
	return a
}

// parting returns the first instant before until at which a run and the trace differ.
func (f *follower) parting(got []instant, until time.Duration) time.Duration {
	for i := 0; ; i++ {
		w, g := at(f.want, i, until), at(got, i, until)
		if w.t >= until && g.t >= until {
			return f.Duration
		}
		if w.t != g.t || w.text != g.text {
			return min(w.t, g.t)
		}
	}
}

func at(list []instant, i int, until time.Duration) instant {
	if i < len(list) && list[i].t < until {
		return list[i]
	}
	return instant{t: until}
}

// instant is what happened at one time, whatever the order.
type instant struct {
	t    time.Duration
	text string
}

func instants(records []trace.Record, until time.Duration) []instant {
	var list []instant
	var lines []string
	flush := func(t time.Duration) {
		if len(lines) > 0 {
			slices.Sort(lines)
			list = append(list, instant{t, join(lines)})
			lines = lines[:0]
		}
	}
	var now time.Duration
	for i := range records {
		r := &records[i]
		if !r.Kind.Observable() || r.T >= until {
			continue
		}
		if r.T != now {
			flush(now)
			now = r.T
		}
		lines = append(lines, string(trace.AppendObserved(nil, r)))
	}
	flush(now)
	return list
}

func join(lines []string) string {
	var b []byte
	for _, l := range lines {
		b = append(append(b, l...), '\n')
	}
	return string(b)
}

// improve looks for a run that goes further along the trace: with one more choice, latest first, then
// with two.
func (f *follower) improve(best attempt) (attempt, bool) {
	options := alternatives(best)
	for _, m := range options {
		if a, ok := f.further(best, m); ok {
			return a, true
		}
	}
	for i, m := range options {
		for _, second := range options[:i] {
			if a, ok := f.further(best, m, second); ok {
				return a, true
			}
		}
	}
	return attempt{}, false
}

// margin is how far beyond the parting a trial goes: far enough to see that it got past it.
const margin = 10 * time.Millisecond

func (f *follower) further(best attempt, more ...choose.Made) (attempt, bool) {
	if f.runs >= f.Budget {
		return attempt{}, false
	}
	until := min(best.parts+margin, f.Duration)
	a := f.try(append(slices.Clone(best.made), more...), until, false)
	return a, a.parts > best.parts
}

// window is how long before the parting the choice that matters may lie: requeues come up to 90 s
// after the sync that drew them.
const window = 100 * time.Second

// alternatives lists the choices that could have been made otherwise before the run parted from the
// trace, latest first.
func alternatives(a attempt) []choose.Made {
	var list []choose.Made
	for _, d := range slices.Backward(a.decisions) {
		if d.t <= a.parts && d.t >= a.parts-window {
			list = append(list, d.others()...)
		}
	}
	return list
}

// divergence says how the records of the instant differ at which the best run parts.
func (f *follower) divergence(best attempt) *Divergence {
	d := &Divergence{At: best.parts, Simulated: best.records, Err: best.err}
	want, got := atTime(f.Want, best.parts), atTime(best.records, best.parts)
	d.Want, d.Got = without(want, got), without(got, want)
	return d
}

func atTime(records []trace.Record, t time.Duration) []trace.Record {
	from, _ := slices.BinarySearchFunc(records, t, func(r trace.Record, t time.Duration) int { return cmp.Compare(r.T, t) })
	var list []trace.Record
	for _, r := range records[from:] {
		if r.T != t {
			break
		}
		if r.Kind.Observable() {
			list = append(list, r)
		}
	}
	return list
}

// without returns the records that have no equal among the others.
func without(records, others []trace.Record) []trace.Record {
	count := map[string]int{}
	for i := range others {
		count[string(trace.AppendObserved(nil, &others[i]))]++
	}
	var left []trace.Record
	for i := range records {
		key := string(trace.AppendObserved(nil, &records[i]))
		if count[key]--; count[key] < 0 {
			left = append(left, records[i])
		}
	}
	return left
}
