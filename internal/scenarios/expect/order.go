package expect

import (
	"fmt"

	"probesim.dev/scenarios/format"
)

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
