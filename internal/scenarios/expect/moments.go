package expect

import (
	"fmt"
	"reflect"
	"slices"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
)

// moments checks an expectation with becomes or record in each window.
func (c *checker) moments(e *format.Expect, key string, windows []window, f *failures) {
	var all []int
	if e.Workload != "" {
		all = c.workloadMoments(e.Becomes, key)
	} else {
		all = c.index.moments(e.Moment(), key)
	}
	for _, w := range windows {
		switch e.Window().Kind {
		case format.Never:
			c.none(c.inside(all, w), w, key, f)
		case format.First:
			c.first(all, w, key, f)
		default:
			c.counted(e, all, w, key, f)
		}
	}
}

// firstAfter returns the first record that can be a match of the expectation in the window that
// counts from a match of since: the next record, or the match itself if since and the expectation
// are different changes, because one status can bring both.
func firstAfter(e *format.Expect, anchor int) int {
	if e.Since.Becomes == nil || e.Becomes == nil {
		return anchor + 1
	}
	if e.Since.Container == e.Container && reflect.DeepEqual(e.Since.Becomes, e.Becomes) {
		return anchor + 1
	}
	return anchor
}

// since returns the moments from the match of since on. Records of its instant that come before it
// in the trace are left out.
func (w window) since(all []int) []int {
	i, _ := slices.BinarySearch(all, w.first)
	return all[i:]
}

// inside returns the moments within a window.
func (c *checker) inside(all []int, w window) []int {
	all = w.since(all)
	lo := c.index.search(all, w.from)
	if w.to == virtual.Max {
		return all[lo:]
	}
	return all[lo:max(lo, c.index.search(all, w.to+1))]
}

// none checks that no moment is within the window.
func (c *checker) none(inside []int, w window, key string, f *failures) {
	if len(inside) == 0 {
		return
	}
	t := c.index.at(inside[0])
	f.add(failure{kind: TooMany, key: key, window: w, center: t, marks: marks(inside[0]), got: func() string {
		text := "one at " + at(t) + c.sinceAnchor(w, t)
		if len(inside) > 1 {
			text += "; then at " + c.times(inside[1:])
		}
		return text
	}})
}

// first checks that the first moment of the run, or the first after the match of since, is within
// the window.
func (c *checker) first(all []int, w window, key string, f *failures) {
	all = w.since(all)
	if len(all) == 0 {
		f.add(failure{kind: Missing, key: key, window: w, center: w.to, undecided: w.open,
			got: func() string { return "none" }})
		return
	}
	if t := c.index.at(all[0]); t < w.from || t > w.to {
		kind := TooLate
		if t < w.from {
			kind = TooEarly
		}
		f.add(failure{kind: kind, key: key, window: w, center: t, marks: marks(all[0]), undecided: w.open && t > w.to,
			got: func() string { return "the first at " + at(t) + c.sinceAnchor(w, t) }})
	}
}

// counted checks the number of moments within the window.
func (c *checker) counted(e *format.Expect, all []int, w window, key string, f *failures) {
	want := value.IntRange{Min: 1, Max: value.OpenMax}
	if e.Count != nil {
		want = *e.Count
	}
	inside := c.inside(all, w)
	n := len(inside)
	if want.Contains(n) {
		return
	}
	earlier, later := c.nearest(all, w)
	fail := failure{kind: TooFew, key: key, window: w, center: w.to, marks: inside, undecided: w.open && n < want.Min}
	switch {
	case n > want.Max:
		fail.kind, fail.center = TooMany, c.index.at(inside[max(want.Max, 0)])
	case n > 0:
	case later >= 0:
		fail.kind = TooLate
	case earlier >= 0:
		fail.kind = TooEarly
	default:
		fail.kind = Missing
	}
	fail.got = func() string {
		if n == 0 {
			return "none" + c.elsewhere(earlier, later, w)
		}
		return fmt.Sprintf("%d, at %s", n, c.times(inside))
	}
	f.add(fail)
}

// nearest returns the moments before and after the beginning of a window. Each is -1 if there is
// none.
func (c *checker) nearest(all []int, w window) (earlier, later int) {
	earlier, later = -1, -1
	next := max(len(all)-len(w.since(all)), c.index.search(all, w.from))
	if next < len(all) {
		later = all[next]
	}
	if next > 0 && all[next-1] == w.anchor {
		next--
	}
	if next > 0 {
		earlier = all[next-1]
	}
	return earlier, later
}

// elsewhere names the nearest moments outside a window.
func (c *checker) elsewhere(earlier, later int, w window) string {
	text := ""
	if earlier >= 0 {
		text += "; the previous one at " + at(c.index.at(earlier))
		if c.index.at(earlier) == w.from {
			text += ", before the match of since in the trace"
		}
	}
	if later >= 0 {
		text += "; the next one at " + at(c.index.at(later))
	}
	return text
}

// order checks that the first match of each moment is strictly later than the first match of the
// previous moment. The first match in several pods is the first in any of them.
func (c *checker) order(e *format.Expect, key string, f *failures) {
	last := -1
	for i, m := range e.Order {
		found := c.anchors(m, key)
		if len(found) == 0 {
			f.add(failure{kind: Missing, key: key, window: window{anchor: -1}, center: c.run.End, marks: marks(last),
				undecided: true, got: func() string { return "no " + momentWords(m) + after(c, e, i, last) }})
			return
		}
		if last >= 0 && c.index.at(found[0]) <= c.index.at(last) {
			before := last
			f.add(failure{kind: WrongOrder, key: key, window: window{anchor: -1}, center: c.index.at(found[0]),
				marks: []int{found[0], before}, got: func() string {
					return fmt.Sprintf("%s at %s, not later than %s at %s", momentWords(m), at(c.index.at(found[0])),
						momentWords(e.Order[i-1]), at(c.index.at(before)))
				}})
			return
		}
		last = found[0]
	}
}

func after(c *checker, e *format.Expect, i, last int) string {
	if last < 0 {
		return ""
	}
	return fmt.Sprintf("; %s is at %s", momentWords(e.Order[i-1]), at(c.index.at(last)))
}
