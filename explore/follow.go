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

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Run simulates until a virtual time with the choices of a policy, and returns the trace, with internal
// records if wanted. Before the first choice is made it hands clock what tells the virtual time.
type Run func(c choose.Chooser, clock func(now func() virtual.Time), until virtual.Time, internal bool) ([]trace.Record, error)

// Options say what to follow.
type Options struct {
	Run      Run
	Want     []trace.Record // the trace to follow, in order of time
	Duration time.Duration  // what the runs last; records of the last instant do not count
	// Requeues are the jitters that were drawn at the ends of syncs. A run is led along them too: that a
	// pod was synced shows in no record, but decides when it is synced again.
	Requeues []Requeue
	// Starts are the parts of their period that young probe workers waited for before their first run, of each
	// kubelet that was started, in order of time.
	Starts []Start
	Budget int // how many runs to spend; 0: 3000
}

// Requeue is a jitter drawn at the end of a sync of a pod.
type Requeue struct {
	T        virtual.Time
	Fraction float64 // from 0 to below 1
}

// Result says whether the trace could be followed, and how.
type Result struct {
	Made       []choose.Made // the choices other than canonical ones that lead along the trace
	Runs       int
	Divergence *Divergence // nil: every record is explained
}

// Divergence is where the best run parts from the trace.
type Divergence struct {
	At        virtual.Time
	Want, Got []trace.Record // the records of that instant that only the trace, only the run has
	Simulated []trace.Record // the best run, to the end, with internal records
	Err       error          // the run ended early
}

const defaultBudget = 3000

// Follow looks for choices with which the simulator does what a trace says.
func Follow(o Options) Result {
	f := &follower{Options: o, fractions: map[virtual.Time]float64{}}
	for _, r := range o.Requeues {
		f.fractions[r.T] = r.Fraction
	}
	f.want = f.instants(o.Want, requeueTimes(o.Requeues), virtual.At(o.Duration))
	if f.Budget == 0 {
		f.Budget = defaultBudget
	}
	best := f.search(f.try(nil, virtual.At(f.Duration), false))
	if best.parts < virtual.At(f.Duration) {
		// Who was synced when may not matter: go by the records alone.
		f.onlyRecords = true
		f.want = f.instants(o.Want, nil, virtual.At(o.Duration))
		best = f.search(f.try(best.made, virtual.At(f.Duration), false))
	}
	r := Result{Made: best.made, Runs: f.runs}
	if best.parts < virtual.At(f.Duration) || best.err != nil {
		r.Divergence = f.divergence(f.try(best.made, virtual.At(f.Duration), true))
	}
	return r
}

type follower struct {
	Options
	want        []instant
	fractions   map[virtual.Time]float64
	onlyRecords bool
	runs        int
}

// search goes on from a run as far along the trace as it can.
func (f *follower) search(best attempt) attempt {
	for best.parts < virtual.At(f.Duration) && f.runs < f.Budget {
		next, ok := f.improve(best)
		if !ok {
			break
		}
		best = f.try(next.made, virtual.At(f.Duration), false)
	}
	return best
}

func requeueTimes(requeues []Requeue) []virtual.Time {
	var times []virtual.Time
	for _, r := range requeues {
		times = append(times, r.T)
	}
	return times
}

// attempt is one run: where it parts from the trace and the decisions that were made on the way.
type attempt struct {
	made      []choose.Made
	parts     virtual.Time // Duration if it does not
	decisions []decision
	records   []trace.Record
	err       error
}

// try runs with some choices made and the others canonical.
func (f *follower) try(made []choose.Made, until virtual.Time, internal bool) attempt {
	return f.run(f.chooser(made), until, internal)
}

func (f *follower) chooser(made []choose.Made) *chooser {
	return &chooser{
		Replay: choose.NewReplay(made), made: made, fractions: f.fractions,
		starts: f.Starts, started: make([]int, len(f.Starts)), now: func() virtual.Time { return 0 },
	}
}

func (f *follower) run(c *chooser, until virtual.Time, internal bool) attempt {
	f.runs++
	records, err := f.Run(c, func(now func() virtual.Time) { c.now = now }, until, internal)
	a := attempt{made: c.made, decisions: c.decisions, records: records, err: err}
	a.parts = f.parting(f.instants(records, c.requeues, until), until)
	return a
}

// parting returns the first instant before until at which a run and the trace differ.
func (f *follower) parting(got []instant, until virtual.Time) virtual.Time {
	for i := 0; ; i++ {
		w, g := at(f.want, i, until), at(got, i, until)
		if w.t >= until && g.t >= until {
			return virtual.At(f.Duration)
		}
		if w.t != g.t || w.text != g.text {
			return min(w.t, g.t)
		}
	}
}

func at(list []instant, i int, until virtual.Time) instant {
	if i < len(list) && list[i].t < until {
		return list[i]
	}
	return instant{t: until}
}

// divergence says how the records of the instant differ at which the best run parts.
func (f *follower) divergence(best attempt) *Divergence {
	d := &Divergence{At: best.parts, Simulated: best.records, Err: best.err}
	want, got := atTime(f.Want, best.parts), atTime(best.records, best.parts)
	d.Want, d.Got = without(want, got), without(got, want)
	return d
}

func atTime(records []trace.Record, t virtual.Time) []trace.Record {
	from, _ := slices.BinarySearchFunc(records, t, func(r trace.Record, t virtual.Time) int { return cmp.Compare(r.T, t) })
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
