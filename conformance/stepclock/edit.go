package main

import (
	"fmt"
	"strings"
)

// anchor is a text in the source and its replacement.
type anchor struct{ old, new string }

// edits are the edits of time/time.go. Since, Until and Sub need no edits: they subtract monotonic readings if
// both times have one.
var edits = []anchor{
	{"import (\n\t\"errors\"\n\t\"math/bits\"\n", "import (\n\t\"errors\"\n\t\"math/bits\"\n\t\"sync/atomic\"\n"},
	{
		"\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n\t\treturn Time{uint64(nsec), sec + unixToInternal, Local}\n\t}\n",
		"\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n\t\tsec, nsec, mono = bubbleNow()\n\t}\n",
	},
}

// added is appended to the file. In a bubble without clock steps, the difference between the monotonic reading
// and the wall time is the same as outside. All differences between times are therefore the same as without
// these edits.
const added = `
// SetBubbleOffset sets how far the wall clock of bubbles is ahead of their virtual time.
func SetBubbleOffset(d Duration) { bubbleOffset.Store(int64(d)) }

var bubbleOffset atomic.Int64

// processEpoch is the wall time in nanoseconds at which the monotonic clock was 0.
var processEpoch = func() int64 {
	sec, nsec, mono := now()
	return sec*1e9 + int64(nsec) - mono
}()

// bubbleNow is runtimeNow in a bubble, with a monotonic reading.
func bubbleNow() (sec int64, nsec int32, mono int64) {
	virtual := runtimeNano()
	wall := virtual + bubbleOffset.Load()
	sec, rest := wall/1e9, wall%1e9
	if rest < 0 {
		sec, rest = sec-1, rest+1e9
	}
	return sec, int32(rest), virtual - processEpoch
}
`

// edit applies the edits. It returns an error unless each anchor occurs exactly once, because the source is
// then from an unknown version of Go.
func edit(source string) (string, error) {
	for _, a := range edits {
		if n := strings.Count(source, a.old); n != 1 {
			return "", fmt.Errorf("found %d times, not once, in this version of Go:\n%s", n, a.old)
		}
		source = strings.Replace(source, a.old, a.new, 1)
	}
	return source + added, nil
}
