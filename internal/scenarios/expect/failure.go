package expect

import (
	"slices"
	"sort"

	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	planned "probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
)

// failure is a failure before it is put into words.
type failure struct {
	kind      Kind
	key       string   // of the pod
	keys      []string // of the pods, if the expectation counts pods
	window    window
	center    virtual.Time // the report shows the records around this time
	marks     []int        // the records that show the failure
	undecided bool         // in a longer run, the expectation could still have held
	got       func() string
}

// failures collects the failures of one expectation, and puts the first few into words.
type failures struct {
	checker *checker
	expect  *format.Expect

	count        int
	undecided    bool // all failures are undecided
	firstFailure *failure
	list         []Failure
}

func (f *failures) add(fail failure) {
	if f.count == 0 {
		f.undecided = true
		f.firstFailure = &fail
	}
	f.undecided = f.undecided && fail.undecided
	f.count++
	if len(f.list) < maxFailures {
		f.list = append(f.list, Failure{fail.kind, report.Failure{
			Expected: f.checker.expected(f.expect, &fail),
			Got:      fail.got(),
			Around:   f.checker.around(&fail, f.checker.others(f.expect)),
		}})
	}
}

// take adds the first failure of others, if there is one.
func (f *failures) take(others *failures) {
	if others.count > 0 {
		f.add(*others.firstFailure)
	}
}

// before and behind are the numbers of records that a report shows before and after a failure.
const before, behind = 4, 3

// around returns copies of the records of the pods, of others and of the node around the time of a
// failure. Because they are copies, the memory of the whole trace can be freed.
func (c *checker) around(fail *failure, others []string) []report.Line {
	keys := slices.Concat(fail.keys, others)
	if fail.keys == nil {
		keys = append(keys, fail.key)
	}
	own := func(i int) bool { pod := c.index.records[i].Pod; return pod == "" || slices.Contains(keys, pod) }
	center := c.place(fail)
	var places []int
	for i := center - 1; i >= 0 && len(places) < before; i-- {
		if own(i) {
			places = append(places, i)
		}
	}
	slices.Reverse(places)
	for i, n := center, 0; i < len(c.index.records) && n <= behind; i++ {
		if own(i) {
			places = append(places, i)
			n++
		}
	}
	lines := make([]report.Line, len(places))
	for i, place := range places {
		lines[i] = report.Line{Record: new(c.index.records[place]),
			Mark: place != fail.window.anchor && slices.Contains(fail.marks, place)}
	}
	return lines
}

// place returns the position of a failure in the trace: its first mark at that time, or else the
// first record after that time.
func (c *checker) place(fail *failure) int {
	for _, m := range fail.marks {
		if c.index.at(m) == fail.center {
			return m
		}
	}
	return sort.Search(len(c.index.records), func(i int) bool { return c.index.at(i) > fail.center })
}

// UnreachedStep describes why a step was not executed, with the records around that time. It
// returns false if the run was cut short and could still have reached the step.
func UnreachedStep(plan *scenarios.Plan, run Run, u drive.Unreached) (report.Failure, bool) {
	c, _ := newChecker(plan, run, &index{records: run.Records}) // around needs only the records
	fail := failure{keys: plan.Scenario.PodKeys(u.Step.Actions()[0].Target, planned.Seen(run.Records)),
		window: window{anchor: -1}, center: min(u.Due, c.run.End)}
	var got string
	switch {
	case u.Due == virtual.Max:
		fail.keys = plan.Scenario.PodKeys(u.Step.Since.Pod, planned.Seen(run.Records))
		got = "the step waits for " + momentWords(u.Step.Since) + ", which did not occur"
	case u.Due > c.run.End:
		got = "the step was due at " + at(u.Due) + ", after the end of the run at " + at(c.run.End)
	default:
		got = "the step had nothing to act on at " + at(u.Due)
	}
	return report.Failure{Expected: "the step runs", Got: got, Around: c.around(&fail, nil)},
		u.Due <= c.run.End || !c.cut()
}
