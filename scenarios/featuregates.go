package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
)

// checkGates refuses feature gates that a version of the scenario does not have, or that the simulator does not know.
func (c *checker) checkGates(set map[string]bool, n *strict.Node) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		for _, v := range c.versions {
			p, _ := profile.Named(v.String())
			if _, err := p.SetGate(name, set[name]); err != nil {
				n.Field(name).Errorf("%s", err)
				break
			}
		}
	}
	for _, p := range c.profiles() {
		if on, off := p.CheckGates(); on != "" {
			at := n.Field(on)
			if !at.Written() {
				at = n.Field(off)
			}
			at.Errorf("%s needs %s, which is off in %s: set both", on, off, p.Version)
			break
		}
	}
}

// profiles are the behaviours of the versions that the scenario runs, with its feature gates.
func (c *checker) profiles() []profile.Profile {
	var profiles []profile.Profile
	for _, v := range c.versions {
		if p, ok := profile.Named(v.String()); ok {
			profiles = append(profiles, withGates(p, c.scenario.Spec.Kubelet.Config.compile()))
		}
	}
	return profiles
}

// withGates leaves out gates that are refused.
func withGates(p profile.Profile, config kubeletconfig.Config) profile.Profile {
	for _, name := range slices.Sorted(maps.Keys(config.FeatureGates)) {
		p, _ = p.SetGate(name, config.FeatureGates[name])
	}
	return p
}

// Profile returns the behaviour of the version of the run, with the feature gates of the scenario. It reports false if
// the version is not known.
func (p *Plan) Profile() (profile.Profile, bool) {
	known, ok := profile.Named(p.Version)
	return withGates(known, p.Config), ok
}

// checkGated reports what the API server of a version would not take of a pod as its feature gates are.
func (c *checker) checkGated(w *workload) {
	if w.unread {
		return
	}
	said := map[string]bool{}
	for _, p := range c.profiles() {
		for _, e := range admission.ValidateGated(p, w.pod) {
			if !said[e.Field] {
				w.errs.at(w.pod, e.Field).Errorf("%s, in %s with its feature gates", e.ErrorBody(), p.Version)
			}
			said[e.Field] = true
		}
	}
}

// checkStopSignals refuses SIGSTOP, after which a program is frozen, where the feature gate lets a container have it.
func (c *checker) checkStopSignals(w *workload) {
	if !slices.ContainsFunc(c.profiles(), func(p profile.Profile) bool { return p.ContainerStopSignals }) {
		return
	}
	check := func(field string, list []v1.Container) {
		for i := range list {
			if name, _ := podutil.StopSignal(&list[i]); name == v1.SIGSTOP {
				w.errs.at(w.pod, fmt.Sprintf("spec.%s[%d].lifecycle.stopSignal", field, i)).Errorf("SIGSTOP is not supported yet")
			}
		}
	}
	check("initContainers", w.pod.Spec.InitContainers)
	check("containers", w.pod.Spec.Containers)
}

// checkRedirects refuses what a probe over HTTP/2 without TLS makes of a redirect to https: unlike others it looks at the
// certificate, and programs have none.
func (c *checker) checkRedirects(w *workload, containers *strict.Node) {
	kept := func(p profile.Profile) bool { return p.H2CContainerProbe }
	for i, listed := range w.spec.Containers {
		container := podutil.Find(w.pod, listed.Name)
		if container == nil || !slices.ContainsFunc(c.profiles(), kept) || !slices.ContainsFunc(probesOf(container), isHTTP2) {
			continue
		}
		for j, a := range listed.Answers {
			if location := containers.Index(i).Field("answers").Index(j).Field("location"); strings.HasPrefix(strings.ToLower(a.Location), "https:") && !location.Bad() {
				location.Errorf("a redirect of a probe over HTTP/2 to https is not supported yet")
			}
		}
	}
}

func isHTTP2(p probeOf) bool { return podutil.IsHTTP2(p.probe.HTTPGet) }
