package proof

import (
	"fmt"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// release is the minor version of the kubelet and of kubectl, which decides the words and the
// layout.
type release struct{ minor int }

// The releases whose output differs. v1.0 stands for 2015.
var (
	newest   = release{37}
	releases = []release{newest, {34}, {28}, {20}, {13}, {12}, {7}, {4}, {0}}
)

// startupProbes is the first release with startup probes.
const startupProbes = 16

var (
	quotedURL = regexp.MustCompile(`Get "(https?://[^"]*)"`)
	dialed    = regexp.MustCompile(`(dial tcp \S+): connect: `)
)

// message returns the message of an event in the words of the release
// (pkg/kubelet/container/event.go, dockertools/docker_manager.go and
// kuberuntime/kuberuntime_container.go of the releases; net/http of their Go).
func (v release) message(r *trace.Record, pod *v1.Pod) string {
	id := dockerID(r.Container, r.Instance)
	switch r.Reason {
	case "Created", "Started":
		return v.begun(r, id)
	case "Pulled":
		if v.minor < 36 {
			return strings.TrimSuffix(r.Message, " and can be accessed by the pod")
		}
	case "Killing":
		return v.killing(r, pod, id)
	case "BackOff":
		if v.minor < 26 && strings.HasPrefix(r.Message, "Back-off restarting") {
			return "Back-off restarting failed container"
		}
	case "Unhealthy", "ProbeWarning":
		return v.unhealthy(r.Message)
	}
	return r.Message
}

func (v release) begun(r *trace.Record, id string) string {
	switch {
	case v.minor >= 35:
		return r.Message
	case v.minor >= 30 && r.Reason == "Created":
		return "Created container: " + r.Container
	case v.minor >= 14:
		return r.Reason + " container " + r.Container
	case v.minor > 5:
		return r.Reason + " container"
	case v.minor > 1:
		return fmt.Sprintf("%s container with docker id %.12s", r.Reason, id)
	}
	return fmt.Sprintf("%s with docker id %.12s", r.Reason, id)
}

func (v release) killing(r *trace.Record, pod *v1.Pod, id string) string {
	if v.minor >= 14 {
		return r.Message
	}
	if v.minor <= 1 {
		return fmt.Sprintf("Killing with docker id %.12s", id)
	}
	why := r.Message
	switch {
	case strings.Contains(why, "failed liveness probe") && v.minor > 7:
		why = "Container failed liveness probe.. Container will be killed and recreated."
	case strings.Contains(why, "failed liveness probe"):
		why = fmt.Sprintf(" pod %q container %q is unhealthy, it will be killed and re-created.",
			fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID), r.Container)
	case strings.HasPrefix(why, "Stopping container"):
		why = "Need to kill Pod"
	}
	if v.minor > 5 {
		return fmt.Sprintf("Killing container with id docker://%s:%s", r.Container, why)
	}
	return fmt.Sprintf("Killing container with docker id %.12s:%s", id, why)
}

func (v release) unhealthy(message string) string {
	if v.minor < 19 {
		message = quotedURL.ReplaceAllString(message, "Get $1")
	}
	if v.minor < 11 {
		message = dialed.ReplaceAllString(message, "$1: getsockopt: ")
	}
	if v.minor < 20 {
		message = strings.Replace(message, "context deadline exceeded (Client", "net/http: request canceled (Client", 1)
	}
	return message
}
