package workloads

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/scenarios"
)

// The annotations of a workload, or else of its pod template, that probesim reads.
const (
	AnnotationPrefix  = "probesim.dev/"
	RequireAnnotation = AnnotationPrefix + "require" // what must hold
	StartAnnotation   = AnnotationPrefix + "start"   // how long programs take to start
	StopAnnotation    = AnnotationPrefix + "stop"    // how long they take from SIGTERM to their exit
	IgnoreAnnotation  = AnnotationPrefix + "ignore"  // IDs of findings that do not count
)

// Each calls visit for each workload of the files. A pod that stands for its workload has the name
// of the workload. Each returns what else is in the files. The error is of type scenarios.Errors.
// It lists those of the manifests and of visit.
func Each(files []input.File, visit func(input.File, *manifests.Workload) scenarios.Errors) (rest Rest, err error) {
	var all scenarios.Errors
	for _, f := range files {
		m, err := manifests.Read(f.Name, f.Data)
		if list, invalid := errors.AsType[scenarios.Errors](err); invalid {
			all = append(all, list...)
			continue
		}
		for _, o := range m.Unchecked {
			rest.Unchecked = append(rest.Unchecked, Unchecked{f.Name, o})
		}
		rest.Services = append(rest.Services, m.Services...)
		for i := range m.Workloads {
			w := &m.Workloads[i]
			if w.Owner != nil {
				w.Kind, w.Name, w.Template = w.Owner.Kind, w.Owner.Name, manifests.TemplateOf(w.Owner.Kind)
			}
			all = append(all, visit(f, w)...)
		}
	}
	if len(all) == 0 {
		return rest, nil
	}
	return rest, all
}

// Rest is what files have besides workloads.
type Rest struct {
	Unchecked []Unchecked
	Services  []manifests.Service
}

// Unchecked is an object of a file that is no workload.
type Unchecked struct {
	File string
	manifests.Unchecked
}

// KnowContainers returns an error about the first of some names of containers that no workload of
// the files has, be it as app, web/app or prod/web/app. An empty name stands for no container.
// Without a valid workload there is no error.
func KnowContainers(files []input.File, names []string) error {
	var known []string
	_, _ = Each(files, func(_ input.File, w *manifests.Workload) scenarios.Errors {
		for c := range podutil.Containers(&w.Pod.Spec) {
			known = append(known, c.Name, w.Name+"/"+c.Name, w.Pod.Namespace+"/"+w.Name+"/"+c.Name)
		}
		return nil
	})
	slices.Sort(known)
	known = slices.Compact(known)
	for _, name := range slices.Sorted(slices.Values(names)) {
		if name != "" && len(known) > 0 && !slices.Contains(known, name) {
			plain := slices.DeleteFunc(known, func(name string) bool { return strings.Contains(name, "/") })
			return fmt.Errorf("no workload has a container %s%s", strict.Quote(name), strict.OrList(name, plain))
		}
	}
	return nil
}

// Elsewhere reports whether a container, such as web/app, is one of a workload that files lack.
func Elsewhere(files []input.File, container string) bool {
	in, _ := path.Split(container)
	here := in == ""
	_, _ = Each(files, func(_ input.File, w *manifests.Workload) scenarios.Errors {
		here = here || in == w.Name+"/" || in == w.Pod.Namespace+"/"+w.Name+"/"
		return nil
	})
	return !here
}

// Admitted is a pod as the API server of a version stores it, with its defaults, but without its
// activeDeadlineSeconds: the figures are those of a pod that is not at its deadline.
type Admitted struct {
	Pod      *v1.Pod
	Programs fakeruntime.Pod // of healthy containers
	Profile  profile.Profile
}

// Admit returns the first pod that an object creates, such as a Pod or a Deployment. The error says
// why the API server or a node would reject it.
func Admit(object manifests.APIObject, p profile.Profile) (*Admitted, error) {
	planned, err := scenarios.Compile(object, nil, scenarios.CompileOptions{Profile: p})
	switch {
	case err != nil:
		return nil, err
	case len(planned) == 0:
		return nil, fmt.Errorf("%s creates no pods", object.GetName())
	}
	n := node.New(node.Options{Profile: p})
	defer n.Close()
	if err := n.AddPod(planned[0].Pod, planned[0].Program); err != nil {
		return nil, err
	}
	pod, err := admission.Admit(p, planned[0].Pod)
	if err != nil {
		return nil, err
	}
	pod.Spec.ActiveDeadlineSeconds = nil
	return &Admitted{pod, planned[0].Program, p}, nil
}

// ShortGrace is the time from the stop signal to SIGKILL in which many programs cannot shut down.
const ShortGrace = 5 * time.Second

// Describe describes a probe for people.
func Describe(p *v1.Probe) string {
	var parts []string
	if asks := podutil.Asks(&p.ProbeHandler); asks != "" {
		parts = append(parts, asks)
	}
	if p.InitialDelaySeconds > 0 {
		parts = append(parts, fmt.Sprintf("after %ds", p.InitialDelaySeconds))
	}
	parts = append(parts, fmt.Sprintf("every %ds", p.PeriodSeconds))
	text := strings.Join(parts, " ") +
		fmt.Sprintf(", %d %s, timeout %ds", p.FailureThreshold, printable.Plural(int(p.FailureThreshold), "failure"),
			p.TimeoutSeconds)
	if p.SuccessThreshold > 1 {
		text += fmt.Sprintf(", %d successes", p.SuccessThreshold)
	}
	return text
}
