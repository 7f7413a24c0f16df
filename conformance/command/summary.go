package command

import (
	"fmt"
	"io"
	"time"

	"probesim.dev/conformance/compare"
)

// counts are the numbers of one comparison.
type counts struct {
	Equal             bool
	Records           int
	Choices           int           // choices that differ from the canonical ones
	Runs              int           // simulated runs that the search took
	RealTime, SimTime time.Duration // wall time of the real run, and of the shortest of several simulated runs
	FollowTime        time.Duration // wall time of the search
}

func countsOf(o *compare.Outcome) counts {
	return counts{
		Equal: o.Equal(), Records: o.Records(), Choices: len(o.Made), Runs: o.Runs,
		RealTime: o.RealTime, SimTime: o.SimTime, FollowTime: o.FollowTime,
	}
}

// line returns the output line of a run, from the verdict to the numbers.
func (c counts) line(name string) string {
	verdict := "equal"
	if !c.Equal {
		verdict = "DIFFERS"
	}
	return fmt.Sprintf("%-8s %s  %5d records  %3d choices  %4d simulated runs", verdict, name, c.Records, c.Choices,
		c.Runs)
}

// faultLine returns the output line of a run that failed.
func faultLine(name, why string) string { return fmt.Sprintf("%-8s %s  %s", "FAULT", name, why) }

// summary adds up the comparisons of one command.
type summary struct {
	equal, differ, faults int
	second                int // runs that differ but are explained in a second run of the real kubelet
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

// write writes the totals.
func (s *summary) write(w io.Writer, interrupted bool) error {
	head, second, faults := "", "", ""
	if interrupted {
		head = "interrupted: "
	}
	if s.faults > 0 {
		faults = fmt.Sprintf(", %d faults", s.faults)
	}
	if s.second > 0 {
		second = fmt.Sprintf(" (%d of them in only one of two runs)", s.second)
	}
	_, err := fmt.Fprintf(w, "%s%d equal, %d differ%s%s; %d records compared\n", head, s.equal, s.differ, second,
		faults, s.records)
	if s.equal+s.differ > 0 && err == nil {
		_, err = fmt.Fprintf(w, "wall time: real kubelet %s, simulator %s for the same runs (%.0f times as fast), %s "+
			"to follow (%d simulated runs)\n",
			s.realTime.Round(time.Millisecond), s.simTime.Round(100*time.Microsecond),
			float64(s.realTime)/float64(max(s.simTime, 1)),
			s.followTime.Round(time.Millisecond), s.runs)
	}
	return err
}

// err returns the error that the command ends with.
func (s *summary) err() error {
	switch {
	case s.faults > 0:
		return errFaults
	case s.differ > s.second:
		return errDiffers
	}
	return nil
}

// addSecond adds the result of a second run of the real kubelet.
func (s *summary) addSecond(result string) {
	if result == secondExplained {
		s.second++
	}
}

// secondExplained is the note for a run that differs when a second run of the same scenario is
// explained. Runs of the real kubelet vary, and the simulator explains at least one of the two.
const secondExplained = "a second real run is explained"

// compareSecondRun compares a second run of the real kubelet after one that differs, and describes
// its result.
func compareSecondRun(first *compare.Outcome, run func() (*compare.Outcome, error)) string {
	switch again, err := run(); {
	case err != nil:
		return "a second real run failed: " + err.Error()
	case again.Equal():
		return secondExplained
	case again.Divergence.At == first.Divergence.At && again.Signature() == first.Signature():
		return "a second real run differs in the same way"
	default:
		return "a second real run differs in another way"
	}
}
