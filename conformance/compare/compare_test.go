package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/library"
)

// TestLibrary checks that the simulator explains each record of the real kubelet for every scenario
// of the library, both with the middle value of each jitter and with random jitter, and that the
// scenario's expectations hold. The real kubelet has races, so a failed run must succeed when
// repeated.
func TestLibrary(t *testing.T) {
	all, err := library.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, jitter := range []*int64{nil, new(int64(1))} {
		for _, s := range all {
			if err := realkubelet.Refuse(s); err != nil {
				t.Logf("%s: %v", s.Metadata.Name, err)
				continue
			}
			changes := func(step *format.Step) bool { return step.Patch != nil && step.Patch.ChangesProbes() }
			known, _ := profile.Named(release.Version)
			if slices.ContainsFunc(s.Spec.Steps, changes) && !known.MutableContainerProbes {
				continue // the API server refuses it
			}
			first := runAndCheck(t, s, jitter)
			if first == nil {
				continue
			}
			if again := runAndCheck(t, s, jitter); again != nil {
				t.Errorf("%s: failed twice; the second time: %v", s.Metadata.Name, again)
			} else {
				t.Logf("%s: failed in the first of two runs: %v", s.Metadata.Name, first)
			}
		}
	}
}

// runAndCheck runs a scenario on both sides, and returns an error if the comparison or an
// expectation fails.
func runAndCheck(t *testing.T, s *scenarios.Scenario, jitter *int64) error {
	p := s.Plan(release.Version, nil)
	o, err := Plan(t, p, Options{JitterSeed: jitter})
	switch {
	case err != nil:
		return err
	case !o.Equal():
		return errors.New(o.Text())
	case o.Records() < 5 || o.RealTime <= 0 || o.SimTime <= 0:
		return fmt.Errorf("%d records, %v and %v", o.Records(), o.RealTime, o.SimTime)
	case len(s.PlansWith(release.Version)) > 0:
		return checkExpectations(p, o)
	}
	return nil
}

// checkExpectations checks on the real kubelet what the scenario expects for this release.
func checkExpectations(p *scenarios.Plan, o *Outcome) error {
	results, err := expect.Check(p, expect.Run{Records: o.Real})
	for _, r := range results {
		if r.Outcome == report.Failed {
			err = errors.Join(err, fmt.Errorf("%s does not hold: %+v", r.Expect.Name, r.Failures))
		}
	}
	return err
}

func plan(t *testing.T, file string) *scenarios.Plan {
	t.Helper()
	all, err := scenarios.Load("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Plan(release.Version, nil)
}

// TestWrongRule checks that the comparison detects a simulator with one wrong rule, at the first
// record where the rule matters, and that no choice explains the difference away.
func TestWrongRule(t *testing.T) {
	for name, test := range map[string]struct {
		file      string
		change    func(*profile.Profile)
		at        time.Duration // in whole seconds
		signature string
	}{
		"ManualTriggerResetsTicker": {
			"one-pod.yaml", func(p *profile.Profile) { p.ManualTriggerResetsTicker = false },
			10 * time.Second, "+ProbeExecuted readiness success",
		},
		"StartupOnHoldAfterSuccess": {
			"crash.yaml", func(p *profile.Profile) { p.StartupOnHoldAfterSuccess = false },
			30 * time.Second, "+Event BackOff",
		},
		"ShortContainerEvents": {
			"one-pod.yaml", func(p *profile.Profile) { p.ShortContainerEvents = !p.ShortContainerEvents },
			0, "-Event Created",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := profile.Named(release.Version)
			test.change(&p)
			o, err := Plan(t, plan(t, test.file), Options{Profile: &p, Internal: true, Budget: 300})
			if err != nil {
				t.Fatal(err)
			}
			if o.Equal() {
				t.Fatal("the comparison found no difference")
			}
			if got := o.Divergence.At.Offset().Truncate(time.Second); got != test.at ||
				o.Signature() != test.signature {
				t.Errorf("at %v: %s; want at %v: %s\n%s", o.Divergence.At, o.Signature(), test.at, test.signature,
					o.Text())
			}
			if c := o.Calls(); !strings.Contains(c, "ExecSync") && !strings.Contains(c, "CreateContainer") &&
				!strings.Contains(c, "APIPatch") {
				t.Errorf("no calls are shown around the difference:\n%s", c)
			}
		})
	}
}

func TestStepEndsTheComparison(t *testing.T) {
	enough := errors.New("enough")
	for last := range 3 {
		steps := 0
		_, err := Plan(t, plan(t, "one-pod.yaml"), Options{
			// without gates: it differs, and the search takes many runs to give up
			Profile: &profile.Profile{Version: "v1.37"},
			Step: func() error {
				if steps++; steps > last {
					return enough
				}
				return nil
			},
		})
		if !errors.Is(err, enough) {
			t.Errorf("after %d steps: %v", last, err)
		}
	}
}
