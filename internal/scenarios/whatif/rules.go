package whatif

import (
	"path"
	"slices"
	"strings"
	"time"

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

// The traffic and the program of a Deployment that is rolled out, where no event says something
// else: those of 'probesim rollout'.
const usualRate = 100

var (
	usualLatency = value.Draw{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}
	usualStop    = value.Draw{Min: 100 * time.Millisecond, Max: 100 * time.Millisecond}
)

// mostReplicas is the most replicas of a rollout: how many requests it loses hardly depends on
// their number.
const mostReplicas = 10

// controlled reports whether the scenario has controllers.
func (w *maker) controlled() bool { return slices.ContainsFunc(w.events, (*Event).changesDeployment) }

// isRolledOut reports whether controllers create the pods of a workload.
func (w *maker) isRolledOut(of *manifests.Workload) bool {
	return w.controlled() && of.Kind == "Deployment"
}

// usual returns the rules of a container of a Deployment that is rolled out, about its stop, that
// no event replaces.
func (w *maker) usual(of *manifests.Workload, c *v1.Container) (rules []format.Rule) {
	stops := slices.ContainsFunc(w.events, func(e *Event) bool {
		return e.What == Rollout || e.What == Undo || e.What == Scale && int(e.Number) < min(of.Replicas, mostReplicas)
	})
	if !stops || !w.isRolledOut(of) || !isMain(of, c) {
		return nil
	}
	tells := func(what string) bool {
		return slices.ContainsFunc(w.events, func(e *Event) bool { return e.What == what && e.isAbout(of, c) })
	}
	if !tells(Refuse) {
		rules = append(rules, format.Rule{AfterSigterm: &value.Draw{}, Refuse: true})
	}
	if !tells(Stop) {
		rules = append(rules, format.Rule{AfterSigterm: &usualStop, Exit: &value.Exit{}})
	}
	return rules
}

// routed returns the Services that select pods of Deployments which controllers create.
func (w *maker) routed() (found []format.Service) {
	for _, of := range w.workloads {
		if !w.isRolledOut(of) {
			continue
		}
		made := format.Service{Pos: strict.Pos{File: name}, Name: of.Ref}
		isOther := func(s manifests.Service) bool { return !s.Selects(of) }
		selecting := slices.DeleteFunc(slices.Clone(w.services), isOther)
		for _, s := range selecting {
			if one := (format.Service{Pos: made.Pos, Name: s.Name, File: w.File}); w.File != "" && !has(found, s.Name) {
				found = append(found, one)
			}
		}
		if w.File == "" && len(selecting) > 0 && !has(found, of.Ref) {
			found = append(found, made)
		}
	}
	return found
}

func has(services []format.Service, name string) bool {
	return slices.ContainsFunc(services, func(s format.Service) bool { return s.Name == name })
}
