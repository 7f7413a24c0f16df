// Package search searches the choices of a simulated run.
//
// Follow searches for choices under which the simulator produces a given trace, usually a trace of
// the real kubelet. It runs the simulator, finds the first instant at which the run and the trace
// differ, and tries other values for the choices made shortly before, first one at a time, then in
// pairs. It keeps each choice that makes the run agree with the trace for longer. If no choice
// helps, the simulator cannot produce the trace: either the simulator is wrong, or the search
// budget was too small. A log of the order in which the processes of the real run went saves most
// of the search: see Options.Log.
package search

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Run simulates until a virtual time, makes the choices of c, and returns the trace, with the
// internal records if internal is true. Before the first choice it passes clock a function that
// returns the current virtual time.
type Run func(c choose.Chooser, clock func(now func() virtual.Time), until virtual.Time, internal bool) ([]trace.Record,
	error)

// Options configure Follow. Run, Want and Duration are required.
type Options struct {
	Run Run
	// Want is the trace to follow, ordered by time. If its statuses have their details, those of
	// the runs must have them too.
	Want     []trace.Record
	Duration time.Duration // length of the runs; Follow ignores records at the last instant
	// Requeues are the jitters that the real run drew at the ends of pod syncs. Follow matches them
	// too: no record shows a sync, but its jitter determines when the pod is synced next.
	Requeues []Requeue
	// Starts has an entry for each start of the kubelet, ordered by time: the random delays before
	// the first runs of its probe workers.
	Starts []Start
	// Log shows in which order the processes of the real run went at each instant. The search only
	// has to find what it leaves open. May be empty.
	Log    []Turn
	Budget int // the number of runs to spend; 0 means 3000
}

// Requeue is a jitter that the kubelet drew at the end of a pod sync.
type Requeue struct {
	T        virtual.Time
	Fraction float64 // from 0 to below 1
}

// Result is the outcome of Follow.
type Result struct {
	Made       []choose.Made // the choices, other than canonical ones, of the best run
	Runs       int
	Divergence *Divergence // nil if the best run explains every record
	// OnlyRecords reports whether no run was found that also has the requeues and the manual
	// triggers of the real run. The best run then only has its records.
	OnlyRecords bool
}

// Divergence describes the first difference between the best run and the trace.
type Divergence struct {
	At        virtual.Time
	Want, Got []trace.Record // the records at that instant that only the trace has, and only the run has
	Simulated []trace.Record // the whole best run, with internal records
	Err       error          // not nil if the run ended early
	details   bool           // the details of statuses count
}

const defaultBudget = 3000

// Follow searches for choices under which the simulator produces o.Want.
func Follow(o Options) Result {
	f := &follower{Options: o, end: virtual.At(o.Duration), fractions: map[virtual.Time]float64{}, log: newLog(o.Log),
		details: hasDetails(o.Want)}
	for _, r := range o.Requeues {
		f.fractions[r.T] = r.Fraction
	}
	f.want = f.instants(o.Want, requeueTimes(o.Requeues), f.end)
	if f.Budget == 0 {
		f.Budget = defaultBudget
	}
	best := f.search(f.try(nil, f.end, false))
	if best.parts < f.end {
		// The times of syncs may not matter: match the records alone.
		f.onlyRecords = true
		f.want = f.instants(o.Want, nil, f.end)
		best = f.search(f.try(best.made, f.end, false))
	}
	r := Result{Made: best.made, Runs: f.runs, OnlyRecords: f.onlyRecords}
	if best.parts < f.end || best.err != nil {
		r.Divergence = f.divergence(f.try(best.made, f.end, true))
	}
	return r
}

type follower struct {
	Options
	end         virtual.Time // virtual.At(Duration)
	want        []instant
	fractions   map[virtual.Time]float64
	log         *log
	details     bool // Want has the details of statuses
	onlyRecords bool // the search matches records only
	runs        int
}

// search improves a run until it agrees with the whole trace, nothing helps, or the budget is
// spent.
func (f *follower) search(best attempt) attempt {
	for best.parts < f.end && f.runs < f.Budget {
		next, ok := f.improve(best)
		if !ok {
			break
		}
		best = f.try(next.made, f.end, false)
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

// attempt is one run: the instant of its first difference from the trace, and the decisions before
// it.
type attempt struct {
	made      []choose.Made
	parts     virtual.Time // the first difference; the end of the runs if there is none
	decisions []decision
	records   []trace.Record
	err       error
}

// try runs with the given choices and canonical ones elsewhere.
func (f *follower) try(made []choose.Made, until virtual.Time, internal bool) attempt {
	return f.run(f.chooser(made), until, internal)
}

func (f *follower) chooser(made []choose.Made) *chooser {
	return &chooser{
		Replay: choose.NewReplay(made), log: f.log.again(), made: made, fractions: f.fractions,
		starts: f.Starts, now: func() virtual.Time { return 0 },
	}
}

func (f *follower) run(c *chooser, until virtual.Time, internal bool) attempt {
	f.runs++
	records, err := f.Run(c, func(now func() virtual.Time) { c.now = now }, until, internal)
	a := attempt{made: c.made, decisions: c.decisions, records: records, err: err}
	a.parts = f.parting(f.instants(records, c.requeues, until), until)
	return a
}

// parting returns the first instant before until at which a run and the trace differ, or the end of
// the runs if there is none.
func (f *follower) parting(got []instant, until virtual.Time) virtual.Time {
	for i := 0; ; i++ {
		w, g := at(f.want, i, until), at(got, i, until)
		if w.t >= until && g.t >= until {
			return f.end
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

// divergence compares the records of the best run and of the trace at the first difference.
func (f *follower) divergence(best attempt) *Divergence {
	d := &Divergence{At: best.parts, Simulated: best.records, Err: best.err, details: f.details}
	d.Want, d.Got = f.differingSides(best)
	return d
}

// differingSides returns the records at the first difference that only the trace has, and only the
// run has.
func (f *follower) differingSides(a attempt) (want, got []trace.Record) {
	v := observable(f.details)
	want, got = v.atTime(f.Want, a.parts), v.atTime(a.records, a.parts)
	return v.without(want, got), v.without(got, want)
}

// view is a part of a trace. Two of its records are equal if their keys are.
type view struct {
	shows func(*trace.Record) bool
	key   func(*trace.Record) string
}

// observable returns the view of the observable records, with or without the details of statuses.
func observable(details bool) view {
	return view{func(r *trace.Record) bool { return r.Kind.Observable() },
		func(r *trace.Record) string { return keyOf(r, details) }}
}

// times returns the times at which any of the traces has records in the view.
func (v view) times(traces ...[]trace.Record) []virtual.Time {
	var all []virtual.Time
	for _, records := range traces {
		for i := range records {
			if v.shows(&records[i]) {
				all = append(all, records[i].T)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// atTime returns the records at a time.
func (v view) atTime(records []trace.Record, t virtual.Time) []trace.Record {
	from, _ := slices.BinarySearchFunc(records, t,
		func(r trace.Record, t virtual.Time) int { return cmp.Compare(r.T, t) })
	var list []trace.Record
	for _, r := range records[from:] {
		if r.T != t {
			break
		}
		if v.shows(&r) {
			list = append(list, r)
		}
	}
	return list
}

// without returns the records that have no equal in others.
func (v view) without(records, others []trace.Record) []trace.Record {
	count := map[string]int{}
	for i := range others {
		count[v.key(&others[i])]++
	}
	var left []trace.Record
	for i := range records {
		key := v.key(&records[i])
		if count[key]--; count[key] < 0 {
			left = append(left, records[i])
		}
	}
	return left
}

// instant is everything that happened at one time, in a canonical order.
type instant struct {
	t    virtual.Time
	text string
}

// keyOf returns the part of a record to compare, with or without the details of a status.
func keyOf(r *trace.Record, details bool) string {
	if details {
		return string(trace.AppendDetailed(nil, r))
	}
	return string(trace.AppendObserved(nil, r))
}

// hasDetails reports whether the statuses of a trace have their details.
func hasDetails(records []trace.Record) bool {
	return slices.ContainsFunc(records, func(r trace.Record) bool { return r.Status != nil && r.Status.Details != nil })
}

// instants groups the observable records before until by time. Unless only records count, it adds
// the manual triggers that probe workers took and the requeues. Triggers sort after the rest of
// their instant: a run that has everything right except for a trigger gets further than one that
// does not.
func (f *follower) instants(records []trace.Record, requeues []virtual.Time, until virtual.Time) []instant {
	var lines []instant // one record or event each
	for i := range records {
		r := &records[i]
		switch {
		case r.T >= until:
		case r.Kind.Observable():
			lines = append(lines, instant{r.T, keyOf(r, f.details)})
		case r.Kind == trace.TriggerTaken && !f.onlyRecords:
			same := *r
			same.Instance = 0 // the real kubelet's records do not know it
			lines = append(lines, instant{r.T.Add(time.Nanosecond), keyOf(&same, f.details)})
		}
	}
	for _, t := range requeues {
		if t < until && !f.onlyRecords {
			lines = append(lines, instant{t, "requeue"})
		}
	}
	slices.SortFunc(lines,
		func(a, b instant) int { return cmp.Or(cmp.Compare(a.t, b.t), strings.Compare(a.text, b.text)) })
	var list []instant
	for _, l := range lines {
		if n := len(list); n > 0 && list[n-1].t == l.t {
			list[n-1].text += "\n" + l.text
			continue
		}
		list = append(list, l)
	}
	return list
}
