package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// TestProgress checks that a terminal shows one line that changes, other outputs get separate lines.
func TestProgress(t *testing.T) {
	day := &job{until: virtual.At(24 * time.Hour)}
	month := &job{until: virtual.At(30 * 24 * time.Hour)}
	for _, test := range []struct {
		name     string
		terminal bool
		jobs     []*job
		want     string
	}{
		{"one run", false, []*job{day}, "probesim: 1h30m of 24h\nprobesim: 3h of 24h\n"},
		{"two runs", false, []*job{day, day}, "probesim: 0 of 2 runs, 3% of virtual time\nprobesim: 1 of 2 runs, 6% of virtual time\n"},
		{"months", false, slices.Repeat([]*job{month}, 100_000), "probesim: 0 of 100000 runs, 0% of virtual time\nprobesim: 1 of 100000 runs, 0% of virtual time\n"},
		{"terminal", true, []*job{day}, "\r\x1b[K1h30m of 24h\r\x1b[K\r\x1b[K3h of 24h\r\x1b[K"},
	} {
		var b strings.Builder
		p := newProgress(&b, test.jobs)
		p.terminal = test.terminal
		advance := p.virtual()
		advance(virtual.At(time.Hour))
		advance(virtual.At(90 * time.Minute))
		p.show()
		p.done(1)
		p.show() // hidden while output is written
		p.resume()
		p.virtual()(virtual.At(90 * time.Minute))
		p.show()
		p.stop()
		p.show()
		if b.String() != test.want {
			t.Errorf("%s: %q, want %q", test.name, b.String(), test.want)
		}
	}
}

// TestProgressOfTraces checks that -o jsonl writes no progress to a file, and other formats do.
func TestProgressOfTraces(t *testing.T) {
	all, err := scenarios.Load(library)
	if err != nil {
		t.Fatal(err)
	}
	jobs := []*job{(&selection{}).job(all[0].Plan("v1.37.0", nil), 0)}
	for format, want := range map[string]string{"jsonl": "", "json": "probesim: 0s of "} {
		var stderr strings.Builder
		cmd := newRun()
		cmd.SetErr(&stderr)
		out := newOutput(cmd, jobs, runOptions{output: format})
		out.startProgress()
		out.progress.show()
		out.progress.stop()
		if got := stderr.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("-o %s: %q, want %q", format, got, want)
		}
	}
}
