package expect

import (
	"slices"

	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// failure is a failure before it is put into words.
type failure struct {
	key       string   // of the pod
	keys      []string // of the pods, where it is about several together
	window    window
	center    virtual.Time // around this the records are shown
	marks     []int        // records that are the failure
	undecided bool         // with more time it might have held
	got       func() string
}

// failures collects what does not hold of one expectation, and puts the first few into words.
type failures struct {
	checker *checker
	expect  *scenarios.Expect

	count        int
	undecided    bool // all that were added are
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
		f.list = append(f.list, Failure{
			Expected: f.checker.expected(f.expect, &fail),
			Got:      fail.got(),
			Around:   f.checker.around(&fail),
		})
	}
}

// take adds the first failure of others.
func (f *failures) take(others *failures) {
	if others.count > 0 {
		f.add(*others.firstFailure)
	}
}

// before and behind are the numbers of records that are shown around a failure.
const before, behind = 4, 3

// around returns the records of the pods of a failure, and of the node, around its moment. They are copies, so
// that the others of the run can be forgotten.
func (c *checker) around(fail *failure) []Line {
	keys := fail.keys
	if keys == nil {
		keys = []string{fail.key}
	}
	own := func(i int) bool {
		return c.index.records[i].Pod == "" || slices.Contains(keys, c.index.records[i].Pod)
	}
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
	lines := make([]Line, len(places))
	for i, place := range places {
		lines[i] = Line{new(c.index.records[place]), place != fail.window.anchor && slices.Contains(fail.marks, place)}
	}
	return lines
}

// place returns where in the trace the moment of a failure is: its first mark at that time, or the first
// record after it.
func (c *checker) place(fail *failure) int {
	for _, m := range fail.marks {
		if c.index.at(m) == fail.center {
			return m
		}
	}
	i, _ := slices.BinarySearchFunc(c.index.records, fail.center, func(r record, t virtual.Time) int {
		if r.T <= t {
			return -1
		}
		return 1
	})
	return i
}
