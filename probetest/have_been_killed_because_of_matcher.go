package probetest

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/strict"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// HaveBeenKilledBecauseOf succeeds if the container, or a container of the pod, was stopped for a
// reason. The reasons of the kubelet are LivenessProbe, StartupProbe, FailedPostStartHook,
// ImageChanged, Resized, RestartAllContainers, Deleted, Evicted and Stopped (the pod or its sandbox
// ended); they count when the kubelet sends the stop signal. A kill from outside has the reason
// OOMKilled, or the reason given to node.KillContainer.
//
//	Expect(web.Container("app")).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1).Within(2 * time.Minute))
//
// Any other reason is an error, even with NotTo.
func HaveBeenKilledBecauseOf(reason string) *HaveBeenKilledBecauseOfMatcher {
	words := "been killed because of " + reason
	return newCount("HaveBeenKilledBecauseOf", words, func(s *subject) ([]occurrence, error) {
		known := slices.Contains(stopReasons, reason)
		killed := s.records(func(r *trace.Record) bool { return killReason(r) != "" })
		for i := range killed {
			if of := killReason(s.record(killed[i].record)); of != reason {
				killed[i].miss = "because of " + of
			} else {
				known = true
			}
		}
		if !known {
			return nil, fmt.Errorf("no container is ever killed because of %q%s; the reasons are %s",
				reason, strict.DidYouMean(reason, stopReasons), strings.Join(stopReasons, ", "))
		}
		needed := map[string]trace.Probe{"LivenessProbe": trace.Liveness, "StartupProbe": trace.Startup}[reason]
		if needed != "" && !slices.Contains(s.probes(), needed) {
			return nil, fmt.Errorf("%s has no %s probe", s, needed)
		}
		return killed, nil
	})
}

// killReason returns the reason for which a container is stopped or killed; empty: the record is
// about something else.
func killReason(r *trace.Record) string {
	switch {
	case r.Kind == trace.ContainerStopping:
		return r.Reason
	case r.Kind == trace.Step && r.Reason == "kill":
		return r.Message
	}
	return ""
}

// HaveBeenKilledBecauseOfMatcher is the type of HaveBeenKilledBecauseOf.
type HaveBeenKilledBecauseOfMatcher = CountMatcher

// stopReasons are the reasons of ContainerStopping records and the usual reason of a kill from
// outside.
var stopReasons = append(match.ReasonsOf(trace.ContainerStopping), "OOMKilled")
