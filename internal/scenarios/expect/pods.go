package expect

import (
	"cmp"
	"fmt"

	"probesim.dev/internal/printable"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace"
)

// checkPodCount checks how many of the pods satisfy an expectation.
func (c *checker) checkPodCount(e *format.Expect, keys []string, f *failures) {
	var good, bad []string
	var first *failures
	undecided := false
	for _, key := range keys {
		own := &failures{checker: c, expect: e}
		if c.checkPod(e, key, own); own.count == 0 {
			good = append(good, trace.PodName(key))
			continue
		}
		bad = append(bad, trace.PodName(key))
		undecided, first = undecided || own.undecided, cmp.Or(first, own)
	}
	if e.Pods.Contains(len(good)) {
		return
	}
	fail := failure{kind: TooMany, keys: keys, window: window{anchor: -1}, undecided: undecided, center: c.run.End}
	if first != nil && len(good) < e.Pods.Min {
		fail.kind = first.firstFailure.kind
	}
	if first != nil {
		fail.center, fail.marks = first.firstFailure.center, first.firstFailure.marks
	}
	fail.got = func() string {
		text := podCountWords(good, bad)
		if first != nil && len(good) < e.Pods.Min {
			text += "; " + bad[0] + ": " + first.firstFailure.got()
		}
		return text
	}
	f.add(fail)
}

// podCountWords says how many pods are good, and names the good pods or the bad pods, whichever are
// fewer.
func podCountWords(good, bad []string) string {
	const few = 6
	text := fmt.Sprintf("%d of %d pods", len(good), len(good)+len(bad))
	switch {
	case len(good) == 0 || len(bad) == 0:
		return text
	case len(bad) < len(good):
		return text + " (all but " + printable.Some(bad, few) + ")"
	}
	return text + " (" + printable.Some(good, few) + ")"
}
