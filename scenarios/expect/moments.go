package expect

import (
	"fmt"
	"reflect"
	"slices"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// moments checks an expectation with becomes or record in each window.
func (c *checker) moments(e *scenarios.Expect, key string, windows []window, f *failures) {
	all := c.index.moments(e.Moment(), key)
	skip := anchorIsSame(e)
	for _, w := range windows {
		w.skip = -1
		if skip {
			w.skip = w.anchor
		}
		switch e.Window().Kind {
		case scenarios.Never:
			c.none(c.inside(all, w), w, key, f)
		case scenarios.First:
			c.first(all, w, key, f)
		default:
			c.counted(e, all, w, key, f)
		}
	}
}

// anchorIsSame reports whether to ignore the match of since as a match of the expectation. It counts as a match if since
// and the expectation are different changes, because one status can bring both.
func anchorIsSame(e *scenarios.Expect) bool {
	if e.Since == nil || e.Since.Becomes == nil || e.Moment().Becomes == nil {
		return true
	}
	since, sought := *e.Since, *e.Moment()
	return since.Container == sought.Container && reflect.DeepEqual(since.Becomes, sought.Becomes)
}

// inside returns the moments within a window, including its anchor.
func (c *checker) inside(all []int, w window) []int {
	lo := c.index.search(all, w.from)
	if w.to == virtual.Max {
		return all[lo:]
	}
	return all[lo:max(lo, c.index.search(all, w.to+1))]
}

// other returns the first record of a list that is not the anchor.
func other(list []int, anchor int) (int, bool) {
	for _, record := range list {
		if record != anchor {
			return record, true
		}
	}
	return 0, false
}

func without(list []int, anchor int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(record int) bool { return record == anchor })
}

// none checks that no moment is within the window.
func (c *checker) none(inside []int, w window, key string, f *failures) {
	record, found := other(inside, w.skip)
	if !found {
		return
	}
	f.add(failure{key: key, window: w, center: c.index.at(record), marks: marks(record), got: func() string {
		found := without(inside, w.skip)
		text := "one at " + c.times(found[:1]) + c.sinceAnchor(w, c.index.at(record))
		if len(found) > 1 {
			text += "; then at " + c.times(found[1:])
		}
		return text
	}})
}

// first checks that the first moment of the run, or the first from the match of since on, is within the window.
func (c *checker) first(all []int, w window, key string, f *failures) {
	if w.anchor >= 0 {
		all = all[c.index.search(all, c.index.at(w.anchor)):]
	}
	record, found := other(all, w.skip)
	if !found {
		f.add(failure{key: key, window: w, center: w.to, undecided: w.open, got: func() string { return "none" }})
		return
	}
	if t := c.index.at(record); t < w.from || t > w.to {
		f.add(failure{key: key, window: w, center: t, marks: marks(record), undecided: w.open && t > w.to,
			got: func() string { return "the first at " + at(t) + c.sinceAnchor(w, t) }})
	}
}

// counted checks the number of moments within the window.
func (c *checker) counted(e *scenarios.Expect, all []int, w window, key string, f *failures) {
	want := value.IntRange{Min: 1, Max: value.OpenMax}
	if e.Count != nil {
		want = *e.Count
	}
	inside := c.inside(all, w)
	n := len(inside)
	if _, itself := slices.BinarySearch(inside, w.skip); itself {
		n--
	}
	if want.Contains(n) {
		return
	}
	fail := failure{key: key, window: w, center: w.to, marks: inside, undecided: w.open && n < want.Min}
	if n > want.Max {
		fail.center = c.index.at(inside[max(want.Max, 0)])
	}
	fail.got = func() string {
		if n == 0 {
			return "none" + c.elsewhere(all, w)
		}
		return fmt.Sprintf("%d, at %s", n, c.times(without(inside, w.skip)))
	}
	f.add(fail)
}

// elsewhere names the nearest moments outside a window.
func (c *checker) elsewhere(all []int, w window) string {
	text := ""
	lo := c.index.search(all, w.from)
	if lo > 0 {
		text += "; the previous one at " + at(c.index.at(all[lo-1]))
	}
	if w.to < virtual.Max {
		if hi := c.index.search(all, w.to+1); hi < len(all) {
			text += "; the next one at " + at(c.index.at(all[hi]))
		}
	}
	return text
}
