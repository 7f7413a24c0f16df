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

// ParseUnhealthy reads the message of an event about a probe (pkg/kubelet/prober/prober.go, probe). Outputs have up to 10 KiB, which a regular
// expression would read slowly.
func ParseUnhealthy(message string) Unhealthy {
	name, rest, _ := strings.Cut(message, " ")
	rest, is := strings.CutPrefix(rest, "probe ")
	if !is || name != "Liveness" && name != "Readiness" && name != "Startup" {
		return Unhealthy{}
	}
	u := Unhealthy{Probe: trace.Probe(strings.ToLower(name))}
	for _, verb := range []struct {
		word   string
		result trace.Result
	}{{"failed", trace.Failure}, {"errored", trace.Error}, {"warning", trace.Warning}, {"error", trace.Error}} {
		if output, has := strings.CutPrefix(rest, verb.word); has {
			if state, has := strings.CutPrefix(output, " and resulted in "); has {
				if word, after, has := strings.Cut(state, " state"); has && !strings.Contains(word, " ") {
					output = after
				}
			}
			u.Result, u.Output = verb.result, strings.TrimPrefix(strings.TrimPrefix(output, ":"), " ")
			return u
		}
	}
	return Unhealthy{}
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

// ParseKilling reads the message of a Killing event. Its texts have changed: "Killing container with docker id" in old versions, "Killing
// container with id" until v1.13 and "Container app failed liveness probe" from v1.14 on (killContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go; the last two compared in v1.13.0 and v1.14.0).
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

// wordings are the messages that tell the version of the kubelet. The comments name the releases whose source shows the bounds;
// the messages are in pkg/kubelet/kuberuntime/kuberuntime_container.go unless another file is named.
var wordings = []struct {
	reason  string
	pattern *regexp.Regexp
	Wording
}{
	// v1.35.4, not v1.34.4.
	{"Created", regexp.MustCompile(`^Container created$`), Wording{35, 0, "Container created"}},
	// v1.32.0 and v1.34.4, and in late patch releases: v1.30.14 and v1.31.14, not v1.31.0.
	{"Created", regexp.MustCompile(`^Created container: `), Wording{30, 35, "Created container: NAME"}},
	// v1.14.0 and v1.31.0, not v1.13.0 and v1.32.0.
	{"Created", regexp.MustCompile(`^Created container [a-z0-9][-a-z0-9]*$`), Wording{14, 32, "Created container NAME"}},
	// v1.13.0, not v1.14.0.
	{"Created", regexp.MustCompile(`^Created container$`), Wording{0, 14, "Created container"}},
	{"Created", regexp.MustCompile(`with docker id`), Wording{0, 14, "with docker id"}},
	{"Killing", regexp.MustCompile(`^Killing container with id`), Wording{0, 14, "Killing container with id"}},
	// net/url quotes the URL since Go 1.14: v1.18.0 is built with Go 1.13, v1.19.0 with Go 1.15 (build/build-image/cross/VERSION).
	{"Unhealthy", regexp.MustCompile(`Get "http`), Wording{19, 0, `Get "http://…" with quotes`}},
	{"Unhealthy", regexp.MustCompile(`Get http`), Wording{0, 19, `Get http://… without quotes`}},
	// v1.26.0 (kuberuntime_manager.go); the change, kubernetes/kubernetes#113216, is younger than v1.25.0.
	{"BackOff", regexp.MustCompile(`failed container \S+ in pod`), Wording{26, 0, "Back-off restarting failed container NAME in pod"}},
	// Startup probes are alpha in v1.16 (KEP-950).
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
