package expect

import (
	"fmt"
	"strings"

	"probesim.dev/scenarios"
	"probesim.dev/sim/trace"
)

// soMany checks how many of the pods satisfy an expectation.
func (c *checker) soMany(e *scenarios.Expect, keys []string, f *failures) {
	var good, bad []string
	var first *failures
	undecided := false
	for _, key := range keys {
		own := &failures{checker: c, expect: e}
		c.one(e, key, own)
		if own.count == 0 {
			good = append(good, trace.PodName(key))
			continue
		}
		bad = append(bad, trace.PodName(key))
		undecided = undecided || own.undecided
		if first == nil {
			first = own
		}
	}
	if e.Pods.Contains(len(good)) {
		return
	}
	fail := failure{keys: keys, window: window{anchor: -1}, undecided: undecided, center: c.run.End}
	if first != nil {
		fail.center, fail.marks = first.firstFailure.center, first.firstFailure.marks
	}
	fail.got = func() string {
		text := fmt.Sprintf("%d of %d pods%s", len(good), len(keys), names(good))
		if first != nil && len(good) < e.Pods.Min {
			text += "; " + bad[0] + ": " + first.firstFailure.got()
		}
		return text
	}
	f.add(fail)
}

func names(pods []string) string {
	const few = 6
	switch {
	case len(pods) == 0:
		return ""
	case len(pods) > few:
		return " (" + strings.Join(pods[:few], ", ") + ", ...)"
	}
	return " (" + strings.Join(pods, ", ") + ")"
}
