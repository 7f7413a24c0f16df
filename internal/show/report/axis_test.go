package report

import (
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/show/document"
	"probesim.dev/sim/virtual"
)

// TestAxis checks that an axis has labels wherever it begins.
func TestAxis(t *testing.T) {
	for _, test := range []struct {
		from, to time.Duration
		want     string
	}{
		{0, 70 * time.Second, "0s        15s       30s       45s       60s"},
		{290 * time.Second, 360 * time.Second, "290s  300s      315s      330s      345s      360s"},
		{7 * time.Second, 91 * time.Second, "7s   15s       30s       45s       60s       75s       90s"},
		{3 * time.Second, 10 * time.Second, "3s   4s        6s        8s        10s"},
	} {
		s := newScale(virtual.At(test.from), virtual.At(test.to), 64, nil)
		labels, _ := s.axis(&Run{}, document.Options{}, 80)
		var b strings.Builder
		for _, c := range labels {
			b.WriteRune(max(c.r, ' '))
		}
		if got := strings.TrimRight(b.String(), " "); got != test.want {
			t.Errorf("%s to %s:\n%s\nwant\n%s", test.from, test.to, got, test.want)
		}
	}
}

// TestLongGap compresses decades: the scale ends where it must.
func TestLongGap(t *testing.T) {
	end := virtual.At(25 * 365 * 24 * time.Hour)
	if s := newScale(0, end, 100, []virtual.Time{end.Add(-time.Minute)}); s.until() < end ||
		s.until() > end.Add(time.Minute) || s.columns() > 200 {
		t.Errorf("the scale ends at %v after %d columns", s.until(), s.columns())
	}
}

// TestCompressedFits checks that a scale with gaps has no more columns than there are.
func TestCompressedFits(t *testing.T) {
	for columns := 30; columns < 120; columns++ {
		for seconds := 40; seconds < 4000; seconds += 13 {
			var changes []virtual.Time
			for _, part := range []int{1, 3, 74, 98} {
				changes = append(changes, virtual.At(time.Duration(seconds*part)*10*time.Millisecond))
			}
			s := newScale(0, virtual.At(time.Duration(seconds)*time.Second), columns, changes)
			if s.columns() > columns {
				t.Errorf("%d columns for %d in %ds", s.columns(), columns, seconds)
			}
		}
	}
}
