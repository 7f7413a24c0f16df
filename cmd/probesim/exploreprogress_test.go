package main

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// The progress of an exploration shows the runs, their rate, and how many outcomes were found.
func TestExploreProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newExploreProgress(io.Discard, "web")
		defer p.stop()
		p.add(300, 2)
		p.add(100, 1)
		time.Sleep(2 * time.Second)
		if got, want := p.String(), "web: 400 runs, 200 a second, 3 outcomes"; got != want {
			t.Errorf("the progress is %q, want %q", got, want)
		}
	})
}
