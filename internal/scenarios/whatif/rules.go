package whatif

import (
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// Means reports whether a name, with or without a namespace, means a workload.
func Means(name string, of *manifests.Workload) bool {
	return name == of.Name || name == of.Pod.Namespace+"/"+of.Name
}

// isAbout reports whether an event is about a container. Without a name it is about the containers
// with probes, and an answer to a hook or at an endpoint about all containers with the hook or
// endpoint.
func (e *Event) isAbout(of *manifests.Workload, c *v1.Container) bool {
	switch {
	case e.IsStep():
		return false
	case e.Container != "":
		return e.Container == c.Name || path.Base(e.Container) == c.Name && Means(path.Dir(e.Container), of)
	case e.What == Refuse:
		return isMain(of, c)
	}
	return hasProbes(c) || slices.Contains(podutil.HookKeys, e.target) || strings.Contains(e.target, ":")
}

// isMain reports whether a container is no init container.
func isMain(of *manifests.Workload, c *v1.Container) bool {
	return slices.ContainsFunc(of.Pod.Spec.Containers, func(x v1.Container) bool { return x.Name == c.Name })
}

func hasProbes(c *v1.Container) bool {
	return c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil
}

// Rule returns what happens in a container. It returns false if the event is not about the
// container, or if the container has no such probe.
func (e *Event) Rule(of *manifests.Workload, c *v1.Container) (r format.Rule, applies bool) {
	if !e.isAbout(of, c) {
		return r, false
	}
	switch applies = true; e.What {
	case Start:
		r, applies = program.Down(c, e.Length), hasProbes(c)
	case Stop:
		if r = (format.Rule{AfterSigterm: e.Length, Exit: &value.Exit{}}); e.Never {
			r = format.Rule{AfterSigterm: &value.Draw{}, Exit: &value.Exit{Never: true}}
		}
	case Refuse:
		r, applies = format.Rule{AfterSigterm: e.Length, Refuse: true}, !e.Never
	default:
		r = format.Rule{At: e.At, After: e.After, For: e.Length, Every: e.Every, Chance: e.chance}
		if e.Every != nil && e.At == nil && e.After == nil {
			r.After = &value.Draw{Max: e.Every.Max} // at any phase
		}
		if e.What == Exit {
			r.Exit = &value.Exit{Code: e.Number}
		} else {
			applies = e.answers(&r, c)
		}
	}
	r.Pos, r.Flag = e.pos(), e.Text
	return r, applies
}

// answers adds the answer of an event to a rule, and reports whether the container has what it
// answers to.
func (e *Event) answers(r *format.Rule, c *v1.Container) bool {
	series := value.One(e.answer)
	if at, asks := program.FindEndpoint(c, e.target); strings.Contains(e.target, ":") {
		r.Endpoints = map[string]*format.EndpointAnswers{at.Text: {Series: series}}
		return asks
	}
	switch e.target {
	case "", "probes":
		r.Probes = series
		return hasProbes(c)
	case "liveness":
		r.Liveness = series
	case "readiness":
		r.Readiness = series
	case "startup":
		r.Startup = series
	case "postStart":
		r.PostStart = &e.answer
	case "preStop":
		r.PreStop = &e.answer
	}
	return slices.ContainsFunc(program.Endpoints(c), func(at program.Endpoint) bool {
		return slices.Contains(at.Keys, e.target)
	})
}

// pos returns the place of an event in messages.
func (e *Event) pos() strict.Pos { return strict.Pos{File: flag + strict.Quote(e.Text)} }

const flag = "--app "
