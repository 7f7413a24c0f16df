package expect

import (
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
)

// window is the time that an expectation is about, as times of the run. Both ends are inclusive.
type window struct {
	from, to virtual.Time // open ends are value.OpenMinTime and the end of the run
	open     bool         // the window has no end, or ends after the run
	anchor   int          // the record that matches since, from which the window counts; -1 without since
	first    int          // the first record that can be a match; 0 without since
}

// instants returns the window for states. States begin at t=0.
func (w window) instants() (from, to virtual.Time) { return max(w.from, 0), w.to }

// window resolves the window of an expectation without since.
func (c *checker) window(e *format.Expect) window {
	w := e.Window()
	return window{from: virtual.At(w.Min), to: min(virtual.At(w.Max), c.run.End), open: virtual.At(w.Max) > c.run.End,
		anchor: -1}
}

// windowSince resolves the window that counts from a record. It returns false if the run ended
// before the window did. A window without a beginning begins after the record.
func (c *checker) windowSince(e *format.Expect, record int) (window, bool) {
	w := e.Window()
	t := c.index.at(record)
	from := t.Add(max(w.Min, 0))
	if w.Max == value.OpenMaxTime {
		return window{from: from, to: c.run.End, open: true, anchor: record, first: firstAfter(e, record)},
			from <= c.run.End
	}
	return window{from: from, to: t.Add(w.Max), anchor: record, first: firstAfter(e, record)}, t.Add(w.Max) <= c.run.End
}

// windows returns the windows of an expectation for a pod, one for each match of since. It adds a
// failure if there is no window, because nothing would be checked.
func (c *checker) windows(e *format.Expect, key string, f *failures) []window {
	if e.Since == nil {
		w := c.window(e)
		if from, _ := w.instants(); from > c.run.End {
			f.add(failure{kind: Unchecked, key: key, window: w, undecided: true, got: func() string {
				return "the run ended before the window opened"
			}})
			return nil
		}
		return []window{w}
	}
	moments := c.anchors(e.Since, key)
	var all []window
	for _, record := range moments {
		if w, inside := c.windowSince(e, record); inside {
			all = append(all, w)
		}
	}
	if len(all) == 0 {
		f.add(c.noAnchor(e, key, moments))
	}
	return all
}

func (c *checker) noAnchor(e *format.Expect, key string, moments []int) failure {
	fail := failure{kind: Unchecked, key: key, window: window{anchor: -1}, undecided: true, center: c.run.End,
		got: func() string {
			if len(moments) == 0 {
				return "no " + momentWords(e.Since) + ", so no window opened and nothing was checked"
			}
			return "the run ended before any window after " + momentWords(e.Since) + " (" + c.times(moments) +
				") closed, so nothing was checked"
		}}
	if len(moments) > 0 {
		fail.center, fail.marks = c.index.at(moments[0]), moments[:1]
	}
	return fail
}
