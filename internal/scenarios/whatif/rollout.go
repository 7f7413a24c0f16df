package whatif

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

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
