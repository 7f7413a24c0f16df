package incident

import (
	"strings"

	"probesim.dev/trace"
)

// Unhealthy is the content of the message of an Unhealthy or ProbeWarning event.
type Unhealthy struct {
	Probe  trace.Probe // empty if the message is none of these
	Result trace.Result
	Output string
}

var unhealthy = pattern("unhealthyMessage")

// results are the results of probes in events and logs.
var results = map[string]trace.Result{"failed": trace.Failure, "errored": trace.Error, "succeeded": trace.Success,
	"error":   trace.Failure, // of a ProbeError, which the kubelet of OpenShift writes beside an Unhealthy
	"warning": trace.Warning, "terminated redirects": trace.Warning}

// ParseUnhealthy reads the message of an event about a probe (pkg/kubelet/prober/prober.go, probe).
func ParseUnhealthy(message string) Unhealthy {
	m := unhealthy.FindStringSubmatch(message)
	if m == nil {
		return Unhealthy{}
	}
	return Unhealthy{trace.Probe(strings.ToLower(m[1])), results[m[2]], message[len(m[0]):]}
}

// Unhealthy returns the result of a probe in an event or a line of a log, or the zero value.
func (f *Fact) Unhealthy() Unhealthy {
	if f.Kind == ProbeRun {
		return Unhealthy{Probe: f.Probe, Result: f.Result, Output: f.Message}
	}
	return ParseUnhealthy(f.Message)
}

// Cause is the reason of the end of a container, in a Killing event.
type Cause string

// The reasons of the end of a container. Others are empty.
const (
	ByLiveness  Cause = "liveness"
	ByStartup   Cause = "startup"
	ByDeletion  Cause = "deletion"  // or another reason to stop the pod, or a sidecar at the end of its pod
	ByHook      Cause = "hook"      // its postStart hook failed
	ByUnhealthy Cause = "unhealthy" // a kubelet of 2015 says so after a failure of any probe
	ByChange    Cause = "change"    // its definition changed, or a resize needs a restart
)

// ParseKilling reads the message of a Killing event. Its texts have changed: "Killing container
// with docker id" in old versions, "Killing container with id" until v1.13 and "Container app
// failed liveness probe" from v1.14 on (killContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go; the last two compared in v1.13.0 and v1.14.0;
// the changes in computePodActions of kuberuntime_manager.go at v1.37.2, the hash at v1.11.0).
func ParseKilling(message string) Cause {
	for _, p := range killings {
		if p.Words.MatchString(message) {
			return Cause(p.Name)
		}
	}
	return ""
}

var killings = Patterns(table("killings"))
