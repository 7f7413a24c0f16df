package random

import (
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/long"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

type records func(*trace.Record) bool

func of(kind trace.Kind, is records) records {
	return func(r *trace.Record) bool { return r.Kind == kind && is(r) }
}

// occurrences are the records that must occur in runs of random scenarios, by name.
var occurrences = map[string]records{
	"a liveness kill": of(trace.ContainerStopping,
		func(r *trace.Record) bool { return r.Reason == "LivenessProbe" }),
	"a startup kill": of(trace.ContainerStopping,
		func(r *trace.Record) bool { return r.Reason == "StartupProbe" }),
	"a restart of all containers": of(trace.ContainerStopping,
		func(r *trace.Record) bool { return r.Reason == "RestartAllContainers" }),
	"a stop for a deletion": of(trace.ContainerStopping,
		func(r *trace.Record) bool { return r.Reason == "Deleted" }),
	"a killed program":  of(trace.ContainerExited, func(r *trace.Record) bool { return r.ExitCode == 137 }),
	"a stopped program": of(trace.ContainerExited, func(r *trace.Record) bool { return r.ExitCode == 143 }),
	"a fourth restart":  of(trace.ContainerStarted, func(r *trace.Record) bool { return r.Instance == 4 }),
	"a back-off":        of(trace.Event, func(r *trace.Record) bool { return r.Reason == "BackOff" }),
	"a pull":            of(trace.Event, func(r *trace.Record) bool { return r.Reason == "Pulling" }),
	"a probe error": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return r.Result == trace.Error }),
	"a timeout": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.Contains(r.Message, "timed out") }),
	"a timeout of HTTP": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.Contains(r.Message, "Client.Timeout") }),
	"a timeout of HTTPS": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.HasSuffix(r.Message, "deadline exceeded") }),
	"a timeout of TCP": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.HasSuffix(r.Message, "i/o timeout") }),
	"a timeout of gRPC": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.HasPrefix(r.Message, "timeout: health") }),
	"a gRPC connection failure": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.HasPrefix(r.Message, "timeout: failed") }),
	"a late gRPC connection": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return r.Message == "service healthy" && r.Took > time.Second }),
	"an unhealthy service": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.HasPrefix(r.Message, "service unhealthy") }),
	"a refused connection": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.HasSuffix(r.Message, "connection refused") }),
	"a lost request": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.HasSuffix(r.Message, ": EOF") }),
	"too many redirects": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return strings.HasSuffix(r.Message, "10 redirects") }),
	"a truncated body": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return r.Message == "unexpected EOF" }),
	"an unknown port": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return r.Message == `port "nowhere" not found` }),
	"a warning": of(trace.Event, func(r *trace.Record) bool { return r.Reason == "ProbeWarning" }),
	"a timeout 2m late": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return r.Took > 2*time.Minute }),
	"a long success": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return r.Result == trace.Success && r.Took > time.Second }),
	"a long message": of(trace.ProbeExecuted,
		func(r *trace.Record) bool { return len(r.Message) >= 10<<10-1 }),
	"a ready pod": of(trace.StatusPatched, func(r *trace.Record) bool { return r.Status.Ready }),
	"a pod that succeeds": of(trace.StatusPatched,
		func(r *trace.Record) bool { return r.Status.Phase == "Succeeded" }),
	"a pod that fails": of(trace.StatusPatched,
		func(r *trace.Record) bool { return r.Status.Phase == "Failed" }),
	"a removed pod": of(trace.PodRemoved, func(*trace.Record) bool { return true }),
}

// TestOccurrences checks that each occurrence is in at least one run of many scenarios.
func TestOccurrences(t *testing.T) {
	count := map[string]int{}
	for seed := uint64(1); seed <= uint64(long.Sample(400, 700)); seed++ {
		seen := map[string]bool{}
		for _, r := range run(t, seed, load(t, seed, Scenario(seed))) {
			for name, is := range occurrences {
				seen[name] = seen[name] || is(&r)
			}
			if known := match.ReasonsOf(r.Kind); known != nil && !slices.Contains(known, r.Reason) {
				t.Errorf("seed %d: %s has a reason that expectations reject: %s", seed, r.Kind, r.Reason)
			}
			if r.Kind == trace.Event && match.AboutPod(r.Reason) != (r.Container == "") {
				t.Errorf("seed %d: match.AboutPod is wrong about the reason %s of an event of the container %q", seed,
					r.Reason, r.Container)
			}
		}
		for name, yes := range seen {
			if yes {
				count[name]++
			}
		}
	}
	for name := range occurrences {
		if count[name] == 0 {
			t.Errorf("no run has %s", name)
		}
	}
	t.Log(count)
}
