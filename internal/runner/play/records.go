package play

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/kubelet"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// inOrder returns the records of a run in the order of their times, which the records of players
// have by their own clocks, and numbers them again. It adds what only several records tell
// together.
func inOrder(of []trace.Record) []trace.Record {
	records := withProbes(of)
	alignStarts(records)
	slices.SortStableFunc(records, func(a, b trace.Record) int { return cmp.Compare(a.T, b.T) })
	numbers := map[int64]int64{}
	for i := range records {
		if step := records[i].Step; step > 0 {
			numbers[step] = int64(i + 1)
		}
	}
	for i := range records {
		r := &records[i]
		r.Step, r.Cause = int64(i+1), numbers[r.Cause]
		if r.Cause >= r.Step {
			r.Cause = 0
		}
		if r.Kind == trace.ContainerStopping {
			r.Reason = stopReason(records, r)
		}
	}
	return records
}

// alignStarts moves the start of a container to the event about it if the event was seen before the
// player came to its first line.
func alignStarts(records []trace.Record) {
	type start struct {
		pod, container string
		instance       int
	}
	events := map[start]virtual.Time{}
	for i := range records {
		if r := &records[i]; r.Kind == trace.Event && r.Reason == "Started" {
			events[start{r.Pod, r.Container, r.Instance}] = r.T
		}
	}
	for i := range records {
		r := &records[i]
		if at, seen := events[start{r.Pod, r.Container, r.Instance}]; seen && r.Kind == trace.ContainerStarted {
			r.Took, r.T = r.T.Sub(min(r.T, at-1)), min(r.T, at-1)
		}
	}
}

// stopReason returns the reason of a stop: that of the last event about it, or else whether the pod
// was deleted.
func stopReason(records []trace.Record, stop *trace.Record) string {
	reason := "Stopped"
	for i := range records {
		r := &records[i]
		if r.T > stop.T.Add(sameProbe) {
			break
		}
		switch {
		case r.Pod != stop.Pod:
		case r.Kind == trace.PodDeleteRequested:
			reason = "Deleted"
		case r.Kind == trace.Event && r.Reason == "Killing" && r.Container == stop.Container:
			reason = cmp.Or(kubelet.StopReason(r.Message), reason)
		}
	}
	return reason
}

// sameProbe is how far apart the answer of a player and the event about it can be.
const sameProbe = 500 * time.Millisecond

// withProbes returns the records with those of failed probe runs of which the player knows nothing,
// since nothing listened. Of the others, the event has the message.
func withProbes(of []trace.Record) []trace.Record {
	records := slices.Clone(of)
	told := map[int]bool{} // records of probe runs that an event is about
	for _, e := range of {
		probe, result, message := failedProbe(&e)
		if probe == "" {
			continue
		}
		i := slices.IndexFunc(records, func(r trace.Record) bool {
			return r.Kind == trace.ProbeExecuted && r.Probe == probe && r.Pod == e.Pod && r.Container == e.Container &&
				r.Result != trace.Success && e.T.Sub(r.T).Abs() < sameProbe && !told[int(r.Step)]
		})
		if i >= 0 {
			records[i].Message, records[i].Result = message, result
			told[int(records[i].Step)] = true
			continue
		}
		e.Kind, e.Probe, e.Result, e.Message = trace.ProbeExecuted, probe, result, message
		e.Type, e.Reason, e.T, e.Step = "", "", e.T-1, 0
		records = append(records, e)
	}
	return records
}

// failedProbe returns what an event says about a probe run that was no success
// (pkg/kubelet/prober/prober.go at v1.37.2, probe). The probe is empty if the event is about none.
func failedProbe(e *trace.Record) (trace.Probe, trace.Result, string) {
	if e.Kind != trace.Event || e.Reason != "Unhealthy" && e.Reason != "ProbeWarning" {
		return "", "", ""
	}
	name, rest, _ := strings.Cut(e.Message, " probe ")
	how, message, _ := strings.Cut(rest, ": ")
	result := trace.Failure
	switch {
	case strings.HasPrefix(how, "errored"):
		result = trace.Error
	case how == "warning":
		result = trace.Warning
	}
	return trace.Probe(strings.ToLower(name)), result, message
}

// withTraffic returns the records without the losses before the requests to a Service count: they
// do from the first answer on, or the first change of a Deployment (trace/traffic.Entry). A client
// that tells of no request is an error, since nothing was measured then.
func withTraffic(records []trace.Record, streams []traffic.Entry) ([]trace.Record, error) {
	for _, s := range streams {
		of := func(r *trace.Record) bool { return r.Object != nil && r.Object.Name == "Service "+s.Service }
		began, told := virtual.Max, false
		for i := range records {
			switch r := &records[i]; r.Kind {
			case trace.RoutesChanged, trace.LossEnded:
				if told = told || of(r); of(r) && r.Kind == trace.RoutesChanged {
					began = min(began, r.T)
				}
			case trace.Step:
				if r.Reason == trace.RolloutStep {
					began = min(began, r.T)
				}
			}
		}
		if !told {
			return records, Unexpected{fmt.Sprintf("the clients of Service %s have sent no request", s.Service)}
		}
		if began == virtual.Max {
			continue // nothing has ever answered: all requests are lost
		}
		records = slices.DeleteFunc(records, func(r trace.Record) bool {
			return (r.Kind == trace.LossStarted || r.Kind == trace.LossEnded) && of(&r) && r.T.Add(-r.Took) < began
		})
	}
	return records, nil
}
