package runner

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// TestProgress checks the text for one run, several runs, and runs that last for years together.
func TestProgress(t *testing.T) {
	day := &Job{Until: virtual.At(24 * time.Hour)}
	month := &Job{Until: virtual.At(30 * 24 * time.Hour)}
	for _, test := range []struct {
		jobs []*Job
		want string
	}{
		{[]*Job{day}, "1h30m of 24h, 3h of 24h"},
		{[]*Job{day, day}, "0 of 2 runs, 3% of virtual time, 1 of 2 runs, 6% of virtual time"},
		{slices.Repeat([]*Job{month}, 100_000),
			"0 of 100000 runs, 0% of virtual time, 1 of 100000 runs, 0% of virtual time"},
	} {
		p := NewProgress(io.Discard, test.jobs)
		advance := p.Virtual()
		advance(virtual.At(time.Hour))
		advance(virtual.At(90 * time.Minute))
		first := p.String()
		p.Done(1)
		p.Virtual()(virtual.At(90 * time.Minute))
		if got := first + ", " + p.String(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
		p.Stop()
	}
}

// TestProgressOfTraces checks that -o jsonl writes no progress to a file, and other formats do.
func TestProgressOfTraces(t *testing.T) {
	all, err := scenarios.Load(library)
	if err != nil {
		t.Fatal(err)
	}
	jobs := []*Job{(&Selection{}).job(all[0].Plan("v1.37", nil))}
	synctest.Test(t, func(t *testing.T) {
		for format, want := range map[string]string{"jsonl": "", "json": "probesim: 0s of "} {
			var stderr strings.Builder
			out := newOutput(jobs, Options{Format: format, Stderr: &stderr})
			time.Sleep(90 * time.Second)
			out.progress.Stop()
			if got := stderr.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("-o %s: %q, want %q", format, got, want)
			}
		}
	})
}
