package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// summary adds up the results and writes them.
type summary struct {
	versions []string
	out      io.Writer
	began    time.Time
	next     time.Time // when to write the progress again
	total    result
	found    int // scenarios with findings
}

func (s *summary) add(r result) {
	s.total.add(r)
	if r.found != nil {
		s.found++
		fmt.Fprintln(s.out, "FOUND", r.found)
	}
	if now := time.Now(); now.After(s.next) {
		s.next = now.Add(time.Minute)
		fmt.Fprintln(s.out, s.counts())
	}
}

// counts says what was simulated so far.
func (s *summary) counts() string {
	hours := s.total.seconds / 3600
	return fmt.Sprintf("%d runs of %d scenarios, %d records, %.0f hours of node time, in %s",
		s.total.runs, s.total.scenarios, s.total.records, hours, time.Since(s.began).Round(time.Second))
}

func (s *summary) write(interrupted bool) {
	fmt.Fprintln(s.out, s.counts())
	fmt.Fprintln(s.out, "Kubernetes", strings.Join(s.versions, ", "))
	switch {
	case s.found >= maxFindings:
		fmt.Fprintf(s.out, "Stopped after findings in %d scenarios\n", s.found)
	case s.found > 0:
		fmt.Fprintf(s.out, "%d scenarios with findings\n", s.found)
	case interrupted:
		fmt.Fprintln(s.out, "Interrupted; nothing was found so far")
	default:
		fmt.Fprintln(s.out, "Nothing was found")
	}
}
