package validation

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
)

// unsupportedInHTTPGet are the unsupported fields of an httpGet handler of a probe or hook.
var unsupportedInHTTPGet = []struct {
	path string // path in the handler
	what string
	used func(*v1.HTTPGetAction) bool
}{
	{"host", "a host with characters outside ASCII", func(h *v1.HTTPGetAction) bool { return !isASCII(h.Host) }},
	{"httpHeaders", "a header that cannot be sent unchanged", func(h *v1.HTTPGetAction) bool {
		return slices.ContainsFunc(h.HTTPHeaders, isUnsendable)
	}},
	{"httpHeaders", "a header that HTTP/2 forbids", func(h *v1.HTTPGetAction) bool {
		return podutil.IsHTTP2(h) && slices.ContainsFunc(h.HTTPHeaders, isConnectionHeader)
	}},
}

// checkSupported reports fields of the pod that this version does not simulate.
func (c *checker) checkSupported(w *workload) {
	refuse := func(field, name string) {
		w.errs.At(w.Pod, field).Errorf("%s is not supported yet", name)
	}
	for _, e := range admission.ValidateSupported(w.Pod) {
		w.errs.At(w.Pod, e.Field).Errorf("%s", e.Detail)
	}
	for path, container := range manifests.Containers(w.Pod) {
		checkContainerSupported(container, path+".", refuse)
	}
}

// checkContainerSupported reports the unsupported fields of a container, whose paths begin with
// prefix.
func checkContainerSupported(c *v1.Container, prefix string, refuse func(field, name string)) {
	if c.Image != "" && !admission.IsImage(c.Image) {
		name := "an image name that is not a valid reference"
		if strings.ContainsAny(c.Image, "$<{") {
			name = "an image name with a placeholder, which is not filled in,"
		}
		refuse(prefix+"image", name)
	}
	for _, asks := range podutil.Requests(c) {
		checkHTTPGetSupported(asks.HTTPGet, prefix+asks.Field, refuse)
	}
}

// checkHTTPGetSupported reports the unsupported fields of an httpGet handler at path of.
func checkHTTPGetSupported(h *v1.HTTPGetAction, of string, refuse func(field, name string)) {
	if h == nil {
		return
	}
	for _, u := range unsupportedInHTTPGet {
		if u.used(h) {
			refuse(of+".httpGet."+u.path, u.what)
		}
	}
}

// isUnsendable reports whether net/http rejects this header or changes it.
func isUnsendable(h v1.HTTPHeader) bool {
	isControl := func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
	isHost := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("-.:[]", c)
	}
	return strings.ContainsFunc(h.Value, isControl) ||
		strings.EqualFold(h.Name, "Host") && strings.ContainsFunc(h.Value, func(c rune) bool { return !isHost(c) })
}

// isConnectionHeader reports whether an HTTP/2 client may refuse to send this header, instead of
// leaving it out.
func isConnectionHeader(h v1.HTTPHeader) bool {
	name, value := http.CanonicalHeaderKey(h.Name), strings.ToLower(h.Value)
	return name == "Upgrade" || name == "Transfer-Encoding" ||
		name == "Connection" && value != "close" && value != "keep-alive"
}

// isASCII reports whether a host consists of ASCII characters. Package net/http looks up other
// hosts in Punycode.
func isASCII(host string) bool {
	return !strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf })
}

// checkGated reports fields of the pod that the API server rejects because of the feature gates of
// a version.
func (c *checker) checkGated(w *workload) {
	if w.unread {
		return
	}
	said := map[string]bool{}
	for _, p := range c.profiles() {
		for _, e := range admission.ValidateGated(p, w.Pod) {
			if !said[e.Field] {
				w.errs.At(w.Pod, e.Field).Errorf("%s (in %s with its feature gates)", e.ErrorBody(), p.Version)
			}
			said[e.Field] = true
		}
	}
}

// checkStopSignals reports SIGSTOP, which freezes a program, in versions whose feature gates allow
// stop signals.
func (c *checker) checkStopSignals(w *workload) {
	if !slices.ContainsFunc(c.profiles(), func(p profile.Profile) bool { return p.ContainerStopSignals }) {
		return
	}
	for path, container := range manifests.Containers(w.Pod) {
		if name, _ := podutil.StopSignal(container); name == v1.SIGSTOP {
			w.errs.At(w.Pod, path+".lifecycle.stopSignal").Errorf("SIGSTOP is not supported yet")
		}
	}
}

// checkRedirects reports redirects from HTTP/2 without TLS to https. Unlike other probes, such a
// probe verifies the certificate, and simulated programs have none.
func (c *checker) checkRedirects(w *workload, containers *strict.Node) {
	kept := func(p profile.Profile) bool { return p.H2CContainerProbe }
	for i, listed := range w.Spec.Containers {
		container := podutil.Find(w.Pod, listed.Name)
		if container == nil || !slices.ContainsFunc(c.profiles(), kept) ||
			!slices.ContainsFunc(podutil.Probes(container), isHTTP2) {
			continue
		}
		for j, a := range listed.Answers {
			if location := containers.Index(i).Field("answers").Index(j).
				Field("location"); strings.HasPrefix(strings.ToLower(a.Location), "https:") && !location.Bad() {
				location.Errorf("a redirect from HTTP/2 without TLS to https is not supported yet")
			}
		}
	}
}

func isHTTP2(p podutil.Probe) bool { return podutil.IsHTTP2(p.HTTPGet) }
