package scenarios

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/strict"
	"probesim.dev/kube/podutil"
)

// later is a field that the format has and this version does not: whatever is written in it is refused.
type later struct{}

// UnmarshalNode refuses the field.
func (later) UnmarshalNode(n *strict.Node) { n.Errorf("%s is not supported yet", n.Name()) }

// Refused tells documentation to leave the field out.
func (later) Refused() {}

// unsupportedInPods are the fields of a pod that change what a kubelet does and that this version does
// not simulate. They are refused in the pods that a scenario runs.
var unsupportedInPods = []struct {
	path string // of the field in the pod
	used func(*v1.Pod) bool
}{
	{"metadata.finalizers", func(p *v1.Pod) bool {
		return slices.Contains(p.Finalizers, metav1.FinalizerOrphanDependents) || slices.Contains(p.Finalizers, metav1.FinalizerDeleteDependents)
	}},
	{"spec.schedulingGates", func(p *v1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 }},
	{"spec.resourceClaims", func(p *v1.Pod) bool { return len(p.Spec.ResourceClaims) > 0 }},
	{"spec.os", func(p *v1.Pod) bool { return p.Spec.OS != nil && p.Spec.OS.Name != v1.Linux }},
}

// unsupportedInHTTPGet are the same of an httpGet handler, of a probe or a lifecycle hook.
var unsupportedInHTTPGet = []struct {
	path string // of the field in the handler
	what string
	used func(*v1.HTTPGetAction) bool
}{
	{"host", "a host that is not written in ASCII", func(h *v1.HTTPGetAction) bool { return !isASCII(h.Host) }},
	{"httpHeaders", "a header that cannot be sent as it is", func(h *v1.HTTPGetAction) bool {
		return slices.ContainsFunc(h.HTTPHeaders, isOddHeader)
	}},
	{"httpHeaders", "a header that HTTP/2 has none of", func(h *v1.HTTPGetAction) bool {
		return podutil.IsHTTP2(h) && slices.ContainsFunc(h.HTTPHeaders, isOfConnection)
	}},
}

// isOddHeader reports whether a request with this header could not be sent, or not as it is.
func isOddHeader(h v1.HTTPHeader) bool {
	isControl := func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
	isHost := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("-.:[]", c)
	}
	return strings.ContainsFunc(h.Value, isControl) ||
		strings.EqualFold(h.Name, "Host") && strings.ContainsFunc(h.Value, func(c rune) bool { return !isHost(c) })
}

// isOfConnection reports whether a client of HTTP/2 may refuse to send this header, instead of leaving it out.
func isOfConnection(h v1.HTTPHeader) bool {
	name, value := http.CanonicalHeaderKey(h.Name), strings.ToLower(h.Value)
	return name == "Upgrade" || name == "Transfer-Encoding" || name == "Connection" && value != "close" && value != "keep-alive"
}

// isASCII reports whether a host is looked up as it is: package net/http looks others up in Punycode.
func isASCII(host string) bool {
	return !strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf })
}
