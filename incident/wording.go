package incident

import (
	"regexp"
	"strings"

	"probesim.dev/trace"
)

// Unhealthy is the content of the message of an Unhealthy or ProbeWarning event.
type Unhealthy struct {
	Probe  trace.Probe // empty if the message is none of these
	Result trace.Result
	Output string
}

var unhealthy = regexp.MustCompile(`(?s)^(Liveness|Readiness|Startup) probe (failed|errored|warning|error)(?: and resulted in \w+ state)?:? ?(.*)$`)

// ParseUnhealthy reads the message of an event about a probe (pkg/kubelet/prober/prober.go, probe).
func ParseUnhealthy(message string) Unhealthy {
	m := unhealthy.FindStringSubmatch(message)
	if m == nil {
		return Unhealthy{}
	}
	u := Unhealthy{Probe: trace.Probe(strings.ToLower(m[1])), Result: trace.Failure, Output: m[3]}
	switch m[2] {
	case "errored", "error":
		u.Result = trace.Error
	case "warning":
		u.Result = trace.Warning
	}
	return u
}

// Cause is the reason of the end of a container, in a Killing event.
type Cause string

// The reasons of the end of a container.
const (
	ByLiveness   Cause = "liveness"
	ByStartup    Cause = "startup"
	ByDeletion   Cause = "deletion"   // or another reason to stop the pod
	ByDefinition Cause = "definition" // the spec of the container has changed
	ByOther      Cause = "other"
)

// ParseKilling reads the message of a Killing event. Its texts have changed: "Killing container with docker id" up to 1.6,
// "Killing container with id" up to 1.13, "Container app failed liveness probe" from 1.14 on.
func ParseKilling(message string) Cause {
	switch {
	case strings.Contains(message, "failed startup probe"):
		return ByStartup
	case strings.Contains(message, "failed liveness probe") || strings.Contains(message, "is unhealthy, it will be killed"):
		return ByLiveness
	case strings.Contains(message, "definition changed"):
		return ByDefinition
	case strings.HasPrefix(message, "Stopping container") || strings.Contains(message, "Need to kill"):
		return ByDeletion
	}
	return ByOther
}

// Wording is a range of versions of Kubernetes that write a message in the same way. Since and Before are minor versions of
// Kubernetes 1; 0 is unknown.
type Wording struct {
	Since, Before int
	Says          string
}

// wordings are the messages that tell the version of the kubelet.
var wordings = []struct {
	reason  string
	pattern *regexp.Regexp
	Wording
}{
	{"Created", regexp.MustCompile(`^Container created$`), Wording{35, 0, "Container created"}},
	{"Created", regexp.MustCompile(`^Created container: `), Wording{32, 35, "Created container: NAME"}},
	{"Created", regexp.MustCompile(`^Created container [a-z0-9][-a-z0-9]*$`), Wording{14, 32, "Created container NAME"}},
	{"Created", regexp.MustCompile(`^Created container$`), Wording{9, 14, "Created container"}},
	{"Created", regexp.MustCompile(`with docker id`), Wording{0, 6, "with docker id"}},
	{"Killing", regexp.MustCompile(`^Killing container with id`), Wording{7, 14, "Killing container with id"}},
	{"Unhealthy", regexp.MustCompile(`Get "http`), Wording{19, 0, `Get "http://…" with quotes`}},
	{"Unhealthy", regexp.MustCompile(`Get http`), Wording{0, 20, `Get http://… without quotes`}},
	{"BackOff", regexp.MustCompile(`failed container \S+ in pod`), Wording{26, 0, "Back-off restarting failed container NAME in pod"}},
	{"Unhealthy", regexp.MustCompile(`^Startup probe`), Wording{16, 0, "Startup probe"}},
}

// Version returns what the wordings of the pod's events say about the version of the kubelet.
func (p *Pod) Version() Wording {
	var w Wording
	var says []string
	for _, k := range wordings {
		for _, f := range p.Facts {
			if f.Kind != Event || f.Reason != k.reason || !k.pattern.MatchString(f.Message) {
				continue
			}
			w.Since = max(w.Since, k.Since)
			if k.Before != 0 && (w.Before == 0 || k.Before < w.Before) {
				w.Before = k.Before
			}
			says = append(says, k.Says)
			break
		}
	}
	w.Says = strings.Join(says, "; ")
	return w
}
