package invariants

import (
	"fmt"
	"time"

	"probesim.dev/trace"
)

// Bugs that scenarios of the library assert.
var (
	earlyProbe       = &Known{Bug: "B8"}
	carriedStarted   = &Known{Bug: "B18", Issue: "#141155"}
	startedByRestart = &Known{Bug: "B19", Issue: "#142305"}
	carriedFailures  = &Known{Bug: "B22"}
	sidecarProbes    = &Known{Bug: "B36", Issue: "#141766"}
	startedUnstopped = &Known{Bug: "B70", Issue: "#135248"}
	readyWhileKilled = &Known{Bug: "C16", Issue: "#131690"}
	readyWhileEnding = &Known{Bug: "C17", Issue: "#129552"}
	readyUnstarted   = &Known{Scenario: "explored/ready-and-not-started-after-a-restart"}
	readyUnprobed    = &Known{Scenario: "explored/ready-before-a-new-kubelet-probes"}
	readyInFailed    = &Known{Scenario: "explored/ready-while-a-failed-pod-stops"}
	countFalls       = &Known{Scenario: "explored/restart-count-falls"}
	startedLate      = &Known{Scenario: "explored/started-after-its-deadline"}
	readyWaits       = &Known{Scenario: "explored/ready-waits-for-a-stop"}
	dueTick          = &Known{Scenario: "explored/stopped-worker-takes-a-tick"}
	lostResult       = &Known{Bug: "B54", Issue: "#139244"}
	lastProbe        = &Known{Scenario: "explored/stopped-worker-probes-once"}
)

func (c *checker) checkProbe(p *pod, k *container, r *trace.Record) {
	probe := k.of(r.Probe)
	spec := probe.spec
	if spec == nil {
		return
	}
	begin := began(r)
	if end, known := k.ended[r.Instance]; known && begin > end {
		c.broken(r, r.Container, noProbeAfterExit, "the "+string(r.Probe)+" probe", nil)
	}
	if r.Instance == k.instance && k.started > c.node.jumped {
		if early := delay(spec) - begin.Sub(k.started); early > 0 {
			var known *Known
			what := "the " + string(r.Probe) + " probe, by more than the fraction of the second of its start"
			if early <= c.node.fraction(k.started) {
				known, what = earlyProbe, "the "+string(r.Probe)+" probe, by less than a second"
			}
			c.broken(r, r.Container, noProbeBeforeDelay, what, known)
		}
	}
	if p.ending && begin > p.ends && r.Probe != trace.Readiness {
		var known *Known
		what := "the " + string(r.Probe) + " probe"
		switch {
		case k.sidecar:
			known, what = sidecarProbes, what+" of a sidecar"
		case !probe.worked && begin < c.node.since.Add(2*time.Duration(spec.PeriodSeconds)*time.Second):
			// A worker of a young kubelet sleeps before its first run, and then runs once before it
			// looks whether it was stopped: run in pkg/kubelet/prober/worker.go.
			known, what = lastProbe, what+", for the first time on a young kubelet"
		case probe.due && probe.last > p.ends && begin.Sub(probe.last) < atOnce:
			// After a probe, the worker selects among the stop and a tick that is due.
			known, what = dueTick, what+", after one that the stop did not wait for"
		}
		c.broken(r, r.Container, noProbeWhileTerminates, what, known)
	}
}

// reasons are the reasons of a stop that a probe causes.
var reasons = map[string]trace.Probe{"LivenessProbe": trace.Liveness, "StartupProbe": trace.Startup}

func (c *checker) checkStop(k *container, r *trace.Record) {
	probe, ok := reasons[r.Reason]
	of := k.of(probe)
	if !ok || r.Instance != k.instance || of.spec == nil {
		return
	}
	failures, threshold := of.streak, of.threshold(trace.Failure)
	switch {
	case failures >= threshold:
	case failures > 0 && failures+of.before >= threshold:
		c.broken(r, r.Container, killNeedsFailures,
			fmt.Sprintf("the instance before had failures of the %s probe, and they count", probe), carriedFailures)
	case failures == 0:
		c.broken(r, r.Container, killNeedsFailures, fmt.Sprintf("the %s probe has not failed last", probe), nil)
	default:
		c.broken(r, r.Container, killNeedsFailures, fmt.Sprintf("the %s probe has failed too few times", probe), nil)
	}
}
