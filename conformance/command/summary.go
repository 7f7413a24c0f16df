package command

import (
	"fmt"
	"io"
	"time"

	"probesim.dev/conformance/compare"
)

// counts are the figures of a comparison.
type counts struct {
	Equal             bool
	Records           int
	Choices           int           // other than canonical ones, that it takes to follow
	Runs              int           // simulated ones, to find them
	RealTime, SimTime time.Duration // wall time of the real run and of one simulated run
	FollowTime        time.Duration // wall time of all that followed
}

func countsOf(o *compare.Outcome) counts {
	return counts{
		Equal: o.Equal(), Records: o.Records(), Choices: len(o.Made), Runs: o.Runs,
		RealTime: o.RealTime, SimTime: o.SimTime, FollowTime: o.FollowTime,
	}
}

// line is what the line about a run says, between verdict and whatever else there is to say.
func (c counts) line(name string) string {
	verdict := "equal"
	if !c.Equal {
		verdict = "DIFFERS"
	}
	return fmt.Sprintf("%-8s %s  %5d records  %3d choices  %4d simulated runs", verdict, name, c.Records, c.Choices, c.Runs)
}

// faultLine is the line about a run that could not be compared.
func faultLine(name, why string) string { return fmt.Sprintf("%-8s %s  %s", "FAULT", name, why) }

// summary adds comparisons up.
type summary struct {
	equal, differ, faults int
	second                int // of those that differ, how many are explained in a second run of the real kubelet
	records               int
	realTime, simTime     time.Duration
	runs                  int
	followTime            time.Duration
}

func (s *summary) add(c counts) {
	if c.Equal {
		s.equal++
	} else {
		s.differ++
	}
	s.records += c.Records
	s.realTime += c.RealTime
	s.simTime += c.SimTime
	s.runs += c.Runs
	s.followTime += c.FollowTime
}

// write writes what came of all.
func (s *summary) write(w io.Writer, interrupted bool) error {
	head, second, faults := "", "", ""
	if interrupted {
		head = "interrupted: "
	}
	if s.faults > 0 {
		faults = fmt.Sprintf(", %d faults", s.faults)
	}
	if s.second > 0 {
		second = fmt.Sprintf(" (%d of them in one of two runs)", s.second)
	}
	_, err := fmt.Fprintf(w, "%s%d equal, %d differ%s%s; %d records compared\n", head, s.equal, s.differ, second, faults, s.records)
	if s.equal+s.differ > 0 && err == nil {
		_, err = fmt.Fprintf(w, "wall time: real kubelet %s, simulator %s for the same runs (%.0f times as fast), %s to follow (%d simulated runs)\n",
			s.realTime.Round(time.Millisecond), s.simTime.Round(100*time.Microsecond), float64(s.realTime)/float64(max(s.simTime, 1)),
			s.followTime.Round(time.Millisecond), s.runs)
	}
	return err
}

// err is what the command ends with.
func (s *summary) err() error {
	switch {
	case s.faults > 0:
		return errFaults
	case s.differ > s.second:
		return errDiffers
	}
	return nil
}
