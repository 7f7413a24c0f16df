package validation

import (
	"slices"
	"strings"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
)

// checkSupported reports fields of the pod that this version does not simulate.
func (c *checker) checkSupported(w *workload) {
	for _, e := range admission.ValidateSupported(w.Pod) {
		w.errs.At(w.Pod, e.Field).Errorf("%s", e.Detail)
	}
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
			containers.Index(i).Field("answers").Index(j).Field("location").ErrorIf(
				strings.HasPrefix(strings.ToLower(a.Location), "https:"),
				"a redirect from HTTP/2 without TLS to https is not supported yet")
		}
	}
}

func isHTTP2(p podutil.Probe) bool { return podutil.IsHTTP2(p.HTTPGet) }
