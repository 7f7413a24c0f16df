package whatif

import (
	"fmt"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
)

// The events that change a Deployment, which then has controllers.
const (
	rollout = "rollout" // kubectl rollout restart
	undo    = "undo"
	scale   = "scale"

	refuse = "refuse" // new connections, after SIGTERM
)

// The traffic and the program of a Deployment that is rolled out, where no event says something
// else: those of 'probesim rollout'.
const (
	usualRate    = 100
	usualLatency = "10ms..50ms"
	usualRefusal = "{afterSigterm: 0s, refuse: true}"
	usualExit    = "{afterSigterm: 100ms, exit: 0}"
)

// mostReplicas is the most replicas of a rollout: how many requests it loses hardly depends on
// their number.
const mostReplicas = 10

// changesDeployment reports whether the event needs controllers.
func (e *event) changesDeployment() bool {
	return e.what == rollout || e.what == undo || e.what == scale
}

// controlled reports whether the scenario has controllers.
func (w *writer) controlled() bool { return slices.ContainsFunc(w.events, (*event).changesDeployment) }

// isRolledOut reports whether controllers create the pods of a workload.
func (w *writer) isRolledOut(of *manifests.Workload) bool {
	return w.controlled() && of.Kind == "Deployment"
}

// deployments returns the Deployments that an event changes.
func (w *writer) deployments(e *event) (names []string) {
	for i := range w.manifest.Workloads {
		of := &w.manifest.Workloads[i]
		if of.Kind == "Deployment" && (e.container == "" || means(e.container, of)) {
			names = append(names, of.Ref)
		}
	}
	return names
}

// action returns the step of an event that changes a Deployment.
func (e *event) action(deployment string) string {
	switch name := quoted(deployment); e.what {
	case scale:
		return fmt.Sprintf("scale: {workload: %s, replicas: %s}", name, e.answer)
	case undo:
		return fmt.Sprintf("rollout: {workload: %s, undo: 0}", name)
	default:
		return fmt.Sprintf("rollout: {workload: %s, restart: true}", name)
	}
}

// replicas writes how many pods a workload has.
func (w *writer) replicas(of *manifests.Workload) {
	switch {
	case w.isRolledOut(of) && of.Replicas > mostReplicas:
		w.line("    replicas: %d # of %d", mostReplicas, of.Replicas)
	case w.isRolledOut(of), of.Kind == "Pod", of.Replicas == 1:
	default:
		w.line("    replicas: 1 # of %d", of.Replicas)
	}
}

// usual returns the rules of a container of a Deployment that is rolled out, about its stop, that
// no event replaces.
func (w *writer) usual(of *manifests.Workload, c *v1.Container) (rules []string) {
	isMain := slices.ContainsFunc(of.Pod.Spec.Containers, func(x v1.Container) bool { return x.Name == c.Name })
	says := func(what string) bool {
		return slices.ContainsFunc(w.events, func(e *event) bool {
			_, applies := e.rule(of, c)
			return e.what == what && applies
		})
	}
	if !w.isRolledOut(of) || !isMain || !w.stops(of) {
		return nil
	}
	if !says(refuse) {
		rules = append(rules, usualRefusal)
	}
	if !says(stop) {
		rules = append(rules, usualExit)
	}
	return rules
}

// stops reports whether an event stops pods of a Deployment.
func (w *writer) stops(of *manifests.Workload) bool {
	return slices.ContainsFunc(w.events, func(e *event) bool {
		n, _ := strconv.Atoi(e.answer)
		return e.what == rollout || e.what == undo || e.what == scale && n < min(of.Replicas, mostReplicas)
	})
}

// service is an entry of spec.services.
type service struct{ name, entry string }

// services returns the Services that select pods of Deployments which controllers create.
func (w *writer) services() (found []service) {
	for i := range w.manifest.Workloads {
		of := &w.manifest.Workloads[i]
		for _, s := range w.manifest.Services {
			if !w.isRolledOut(of) || !s.Selects(of) {
				continue
			}
			one := service{name: quoted(s.Name)}
			if one.entry = "{name: " + one.name + ", file: " + quoted(w.File) + "}"; w.File == "" {
				one.name = quoted(of.Ref)
				one.entry = "{name: " + one.name + "} # made from the labels of the pods"
			}
			if !slices.Contains(found, one) {
				found = append(found, one)
			}
		}
	}
	return found
}

// traffic writes the Services, and requests to them.
func (w *writer) traffic() {
	list := w.services()
	if len(list) == 0 {
		return
	}
	w.line("  services:")
	for _, s := range list {
		w.line("  - %s", s.entry)
	}
	w.line("  traffic: # New connections only.")
	for _, s := range list {
		w.line("  - {service: %s, rps: %d, latency: %s}", s.name, usualRate, usualLatency)
	}
}

// parseChange reads an event that changes a Deployment, or that is about its requests. It reports
// false if the words say something else.
func (e *event) parseChange(tokens []string) (is bool, err error) {
	switch first := tokens[0]; {
	case (first == rollout || first == undo || first == refuse) && len(tokens) == 1:
		e.what = first
		return true, nil
	case first == scale && len(tokens) == 2:
		n, err := strconv.Atoi(tokens[1])
		if err != nil || n < 0 {
			return true, fmt.Errorf("%s is no number of replicas: write scale 5 at 2m", strict.Quote(tokens[1]))
		}
		e.what, e.answer = scale, tokens[1]
		return true, nil
	case first == scale && len(tokens) == 1:
		return true, fmt.Errorf("scale needs the number of replicas: write scale 5 at 2m")
	}
	return false, nil
}

// checkChange reports times that do not fit an event of parseChange.
func (e *event) checkChange() error {
	switch {
	case e.changesDeployment() && (e.at == nil || e.length != nil || e.every != nil || e.chance != ""):
		return fmt.Errorf("%s happens once: write at and a time, such as %s at 2m", e.what, words(e))
	case e.what == refuse && e.length == nil:
		return fmt.Errorf("refuse needs the time after SIGTERM, such as refuse 0s")
	case e.what == refuse && (e.at != nil || e.after != nil || e.every != nil || e.chance != ""):
		return fmt.Errorf("refuse has only the time after SIGTERM, such as refuse 0s")
	}
	return nil
}

func words(e *event) string {
	if e.what == scale {
		return scale + " " + e.answer
	}
	return e.what
}

// noDeployment says why an event changes none.
func (w *writer) noDeployment(e *event) string {
	var names []string
	for i := range w.manifest.Workloads {
		of := &w.manifest.Workloads[i]
		if names = append(names, of.Ref); e.container != "" && means(e.container, of) {
			return fmt.Sprintf("%s is a %s: only Deployments are rolled out yet", strict.Quote(e.container), of.Kind)
		}
	}
	if e.container == "" {
		return "there is no Deployment, and only Deployments are rolled out yet"
	}
	return fmt.Sprintf("there is no Deployment %s%s; the workloads are %s", strict.Quote(e.container),
		strict.DidYouMean(e.container, names), list(names))
}
