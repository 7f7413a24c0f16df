package main

import (
	"fmt"
	"io"
	"time"

	"probesim.dev/conformance/v1.37/compare"
)

// summary adds comparisons up.
type summary struct {
	equal, differ, faults int
	records               int
	realTime, simTime     time.Duration
	followed              int // simulated runs
	followTime            time.Duration
}

// add takes in a comparison, or why there is none.
func (s *summary) add(o *compare.Outcome, err error) {
	if err != nil {
		s.faults++
		return
	}
	if o.Equal() {
		s.equal++
	} else {
		s.differ++
	}
	s.records += o.Records()
	s.realTime += o.RealTime
	s.simTime += o.SimTime
	s.followed += o.Runs
	s.followTime += o.FollowTime
}

// write writes what came of all.
func (s *summary) write(w io.Writer, interrupted bool) error {
	head := ""
	if interrupted {
		head = "interrupted: "
	}
	faults := ""
	if s.faults > 0 {
		faults = fmt.Sprintf(", %d faults", s.faults)
	}
	_, err := fmt.Fprintf(w, "%s%d equal, %d differ%s; %d records compared\n", head, s.equal, s.differ, faults, s.records)
	if s.equal+s.differ > 0 && err == nil {
		_, err = fmt.Fprintf(w, "wall time: the real kubelet %s, the simulator %s for the same runs (%.0f times as fast), %s to follow (%d simulated runs)\n",
			s.realTime.Round(time.Millisecond), s.simTime.Round(10*time.Microsecond), float64(s.realTime)/float64(max(s.simTime, 1)),
			s.followTime.Round(time.Millisecond), s.followed)
	}
	return err
}

// err is what the command ends with.
func (s *summary) err() error {
	switch {
	case s.faults > 0:
		return errFaults
	case s.differ > 0:
		return errDiffers
	}
	return nil
}
