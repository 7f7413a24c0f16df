package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// exploreProgress shows on a terminal how many runs an exploration has made, their rate, and what they found. It starts to do so
// after a second.
type exploreProgress struct {
	*counter
	name  string
	start time.Time

	mu       sync.Mutex
	runs     int
	outcomes int
}

func newExploreProgress(stderr io.Writer, name string) *exploreProgress {
	p := &exploreProgress{name: name, start: time.Now()}
	p.counter = newCounterOf(stderr, p.String)
	return p
}

// add counts runs, and outcomes that are new.
func (p *exploreProgress) add(runs, fresh int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs += runs
	p.outcomes += fresh
}

func (p *exploreProgress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	rate := float64(p.runs) / max(time.Since(p.start).Seconds(), 0.001)
	return fmt.Sprintf("%s: %d runs, %.0f a second, %d outcomes", p.name, p.runs, rate, p.outcomes)
}
