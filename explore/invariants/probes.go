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
	readyWhileKilled = &Known{Bug: "C16", Issue: "#131690"}
	readyWhileEnding = &Known{Bug: "C17", Issue: "#129552"}
	readyAfterFailed = &Known{Issue: "#135248"}
)

// checkProbe checks a run of a probe.
func (c *checker) checkProbe(p *pod, k *container, r *trace.Record) {
	spec := k.probes[r.Probe]
	if spec == nil {
		return
	}
	begin := began(r)
	if end, known := k.ended[r.Instance]; known && begin > end {
		c.broken(r, r.Container, noProbeAfterExit, "the "+string(r.Probe)+" probe", nil)
	}
	if r.Instance == k.instance && k.started != 0 {
		if early := delay(spec) - begin.Sub(k.started); early > 0 {
			var known *Known
			what := "the " + string(r.Probe) + " probe, by a second or more"
			if early < time.Second {
				known, what = earlyProbe, "the "+string(r.Probe)+" probe, by less than a second"
			}
			c.broken(r, r.Container, noProbeBeforeDelay, what, known)
		}
	}
	if p.ending && begin > p.ends && r.Probe != trace.Readiness {
		var known *Known
		what := "the " + string(r.Probe) + " probe"
		if k.sidecar {
			known, what = sidecarProbes, what+" of a sidecar"
		}
		c.broken(r, r.Container, noProbeWhileTerminates, what, known)
	}
}

// reasons are the reasons of a stop that a probe causes.
var reasons = map[string]trace.Probe{"LivenessProbe": trace.Liveness, "StartupProbe": trace.Startup}

// checkStop checks a stop of a container.
func (c *checker) checkStop(k *container, r *trace.Record) {
	probe, ok := reasons[r.Reason]
	if !ok || r.Instance != k.instance || k.probes[probe] == nil {
		return
	}
	failures, threshold := k.streak[probe], k.threshold(probe, trace.Failure)
	switch {
	case failures >= threshold:
	case failures > 0 && failures+k.before[probe] >= threshold:
		c.broken(r, r.Container, killNeedsFailures, fmt.Sprintf("the instance before had failures of the %s probe, and they count", probe), carriedFailures)
	case failures == 0:
		c.broken(r, r.Container, killNeedsFailures, fmt.Sprintf("the %s probe has not failed last", probe), nil)
	default:
		c.broken(r, r.Container, killNeedsFailures, fmt.Sprintf("the %s probe has failed too few times", probe), nil)
	}
}
