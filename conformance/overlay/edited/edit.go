package edited

import (
	"fmt"
	"strings"
)

// edit replaces a text that occurs exactly once in a file of the standard library.
type edit struct{ old, new string }

// file is a file of the standard library with its edits.
type file struct {
	path  string // below GOROOT/src
	edits []edit
	added string // appended to the file
}

// files are the edited files.
var files = []file{
	{"time/time.go", []edit{
		{"import (\n\t\"errors\"\n\t\"math/bits\"\n", "import (\n\t\"errors\"\n\t\"math/bits\"\n\t\"sync/atomic\"\n"},
		// Since, Until and Sub need no edits: they subtract monotonic readings if both times have
		// one.
		{
			"\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n\t\treturn Time{uint64(nsec), sec + " +
				"unixToInternal, Local}\n\t}\n",
			"\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n\t\tsec, nsec, mono = bubbleNow()\n\t}\n",
		},
	}, bubbleClock},
	{"runtime/proc.go", []edit{
		// About 146 years. The sum with the time of the monotonic clock does not overflow.
		{"\nconst forcePreemptNS = 10 * 1000 * 1000 // 10ms\n", "\nconst forcePreemptNS = 1 << 62\n"},
	}, ""},
}

// bubbleClock gives times in a bubble a monotonic reading. In a bubble without clock steps, the
// difference between the monotonic reading and the wall time is the same as outside. All
// differences between times are therefore the same as without these edits.
const bubbleClock = `
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

// apply returns the edited source of a file. It returns an error unless each text to replace occurs
// exactly once, because the source is then from an unknown version of Go.
func (f file) apply(source string) (string, error) {
	for _, e := range f.edits {
		if n := strings.Count(source, e.old); n != 1 {
			return "", fmt.Errorf("the overlay does not fit this version of Go: the following text occurs %d times, "+
				"not once:\n%s", n, e.old)
		}
		source = strings.Replace(source, e.old, e.new, 1)
	}
	return source + f.added, nil
}
