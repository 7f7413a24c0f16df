package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/prober"
)

// warn adds a sentence, and note names what is not simulated.
func (w *workload) warn(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

func (w *workload) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// doubt adds a sentence about something that may lose requests, and that is not simulated.
func (w *workload) doubt(format string, args ...any) {
	w.unsure = true
	w.warn(format, args...)
}

// meshes are the labels and annotations of pods and of their namespaces that make a service mesh,
// or Dapr, add its proxy, and the values with which a pod has none.
var meshes = []struct{ pod, on, off, space, value, name string }{
	{"sidecar.istio.io/inject", "true", "false", "istio-injection", "enabled", "Istio"},
	{"", "", "", "istio.io/dataplane-mode", "ambient", "Istio"},
	{"linkerd.io/inject", "enabled", "disabled", "linkerd.io/inject", "enabled", "Linkerd"},
	{"consul.hashicorp.com/connect-inject", "true", "false", "", "", "Consul"},
	{"kuma.io/sidecar-injection", "enabled", "disabled", "kuma.io/sidecar-injection", "enabled", "Kuma"},
	{"dapr.io/enabled", "true", "false", "", "", "Dapr"},
}

// mesh returns the mesh that the labels and annotations of a pod or of its namespace ask for, and
// the key that does.
func (r *reader) mesh(w *workload) (name, key string) {
	pod := &w.spec.Spec.Template
	has := func(o metav1.ObjectMeta, key, value string) bool {
		return key != "" && (o.Labels[key] == value || o.Annotations[key] == value)
	}
	for _, m := range meshes {
		if has(pod.ObjectMeta, m.pod, m.on) {
			return m.name, m.pod
		}
		for _, space := range r.around.spaces {
			if space.Name == w.spec.Namespace && has(space.ObjectMeta, m.space, m.value) &&
				!has(pod.ObjectMeta, m.pod, m.off) {
				return m.name, m.space + " of Namespace " + space.Name
			}
		}
	}
	return "", ""
}

// doubtRoutes says which ways of the requests to the pods are not simulated.
func (r *reader) doubtRoutes(w *workload) {
	name, key := r.mesh(w)
	if name != "" && !slices.ContainsFunc(w.spec.Spec.Template.Spec.Containers,
		func(c v1.Container) bool { return workloads.IsProxy(&c) }) {
		w.doubt("%s adds a proxy to the pods (%s), which the requests pass: it is not simulated, and may stop before "+
			"the program does.", name, key)
	}
	for _, t := range w.counted() {
		if t.headless() {
			w.doubt("Service %s is headless: its clients look the pods up by DNS and keep what they find, which is "+
				"not simulated.", t.Name)
		}
		if t.Spec.PublishNotReadyAddresses {
			w.warn("Service %s has publishNotReadyAddresses: pods get requests before they are Ready and "+
				"until they are gone, however long they sleep.", t.Name)
		}
		w.doubtLocality(t.Service)
		if asked, other := w.asksAnotherPort(t); other {
			w.note("whether the port of Service %s is open when the readinessProbe of port %d succeeds", t.Name, asked)
		}
	}
}

// doubtLocality says that a Service sends the requests of some clients only to some of the ready
// pods, which is not simulated: they are lost while those stop, although others are Ready.
func (w *workload) doubtLocality(s *v1.Service) {
	some := func(field, value, pods string) {
		w.doubt("Service %s has %s %s: clients reach only pods %s, which is not simulated. Where such a pod is the "+
			"last one, more is lost.", s.Name, field, value, pods)
	}
	if s.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		some("externalTrafficPolicy", "Local", "on the node that the load balancer chose until its health check fails")
	}
	if p := s.Spec.InternalTrafficPolicy; p != nil && *p == v1.ServiceInternalTrafficPolicyLocal {
		some("internalTrafficPolicy", string(*p), "on their own node")
	}
	if d := s.Spec.TrafficDistribution; d != nil && *d == v1.ServiceTrafficDistributionPreferSameNode {
		some("trafficDistribution", *d, "on their own node, as long as it has a ready one")
	} else if d != nil {
		some("trafficDistribution", *d, "in their own zone, as long as it has a ready one")
	}
	for _, key := range []string{v1.AnnotationTopologyMode, v1.DeprecatedAnnotationTopologyAwareHints} {
		if mode := s.Annotations[key]; strings.EqualFold(mode, "auto") {
			some("the annotation "+key, mode, "in their own zone, if the pods are spread over all zones")
		}
	}
}

// asksAnotherPort returns the port that the readiness probe of the container that serves a Service
// asks, and whether the Service sends no requests to it.
func (w *workload) asksAnotherPort(t *target) (int32, bool) {
	c := serving(w.spec, t.container)
	number := func(port intstr.IntOrString) int32 {
		for _, p := range c.Ports {
			if port.Type == intstr.String && p.Name == port.StrVal {
				return p.ContainerPort
			}
		}
		return port.IntVal
	}
	asked := prober.ProbePort(c, c.ReadinessProbe)
	return asked, asked != 0 && !slices.ContainsFunc(t.Spec.Ports, func(p v1.ServicePort) bool {
		to := number(p.TargetPort)
		return to == asked || to == 0
	})
}

// postStarts names what is not known about the postStart hooks of containers.
func (w *workload) postStarts(o *Options) {
	for _, c := range w.spec.Spec.Template.Spec.Containers {
		if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
			continue
		}
		switch hook := c.Lifecycle.PostStart; {
		case hook.HTTPGet != nil && o.App.Start.In(c.Name, true) == nil:
			w.note("whether container %s listens when the kubelet sends the request of its %s, and kills it if not: "+
				"say --start", c.Name, postStart)
		case hook.Exec != nil:
			if _, known := program.SleepOf(hook.Exec.Command); !known {
				w.note("how long the %s of container %s takes", postStart, c.Name)
			}
		}
	}
}

// allAtOnce says that the Deployment may stop all old pods before a new one is available, and
// whether it could do otherwise.
func (w *workload) allAtOnce() {
	replicas := *w.spec.Spec.Replicas
	_, unavailable := w.fenceposts()
	if unavailable < replicas {
		return
	}
	pods, meant := "the only old pod", ""
	if replicas > 1 {
		pods = fmt.Sprintf("all %d old pods", replicas)
	}
	if unavailable > replicas {
		meant = " is a number of pods, not percent, and"
	}
	if w.spec.Spec.Strategy.RollingUpdate != nil {
		w.warn("maxUnavailable %d%s lets the Deployment stop %s at once, before a new one is available.", unavailable,
			meant, pods)
	}
	if len(w.conflicts) > 0 {
		w.warn("A rolling update that stops none first may never complete: a new pod needs %s.",
			strings.Join(w.conflicts, "; "))
	}
}

// warnUnprobed names the containers that can get requests before they listen. A pod is Ready only
// when the probes of all its containers succeed.
func (w *workload) warnUnprobed(o *Options) {
	probed := func(c v1.Container) bool { return c.ReadinessProbe != nil || c.StartupProbe != nil }
	pod, when := &w.spec.Spec.Template.Spec, "it runs"
	if slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), probed) {
		when = "the probes of the other containers succeed"
	}
	for _, name := range w.serve() {
		if !probed(*serving(w.spec, name)) && o.App.Start.In(name, true) == nil {
			w.warn("Container %s has no readinessProbe: its pods get requests as soon as %s, and lose them "+
				"until its program listens. Say how long that takes, such as --start 5s.", name, when)
		}
	}
}

// warnOfHooks names the preStop hooks that stop the program before they end, so that what they do
// afterwards does not help.
func (w *workload) warnOfHooks() {
	for _, name := range w.serve() {
		c := serving(w.spec, name)
		after, stops := program.HookStop(c)
		if !stops {
			continue
		}
		when := "at once"
		if after > 0 {
			when = value.Format(after) + " after the deletion"
		}
		w.warn("The preStop hook of container %s stops the program %s.", name, when)
	}
}

// doubtStops names the containers that get SIGTERM before the first one that serves.
func (w *workload) doubtStops() {
	c := serving(w.spec, w.serve()[0])
	slept, _ := sleepOf(c)
	slept = min(slept, graceOf(w.spec))
	for _, other := range w.spec.Spec.Template.Spec.Containers {
		if sleeps, _ := sleepOf(&other); sleeps < slept {
			w.doubt("Container %s gets SIGTERM %s before container %s does, because its preStop hook is shorter or "+
				"missing: requests that need both are not simulated, and may be lost.",
				other.Name, value.Format(slept-sleeps), c.Name)
		}
	}
}

// leastGrace is the shortest time from SIGTERM to SIGKILL (minimumGracePeriodInSeconds in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
const leastGrace = 2 * time.Second

// warnOfKill says when SIGKILL comes before the program ends.
func (w *workload) warnOfKill(o *Options) {
	of := w.outgoing(o)
	slept, _ := sleepOf(serving(of, w.serve()[0]))
	stop, grace := w.longestStop(o), graceOf(of)
	if slept+stop <= grace {
		return
	}
	grace = max(grace, leastGrace)
	text := fmt.Sprintf("SIGKILL comes %s after the deletion (terminationGracePeriodSeconds)", value.Format(grace))
	switch {
	case slept+stop <= grace:
	case slept > 0:
		text += ", and the preStop hook and the stop take " + value.Format(slept+stop)
	default:
		text += ", and the stop takes " + value.Format(stop)
	}
	w.warn("%s.", text)
	if stop > grace && o.App.Refuse.Ordinary == nil && len(o.App.Refuse.Of) == 0 {
		w.warn("If the program ignores SIGTERM and goes on to accept requests, say --app 'refuse never'.")
	}
}

// evictions names the disruption budgets of the pods of a Deployment.
func (a *around) evictions(w *workload) {
	for _, b := range a.budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && w.in(b.Namespace) && selector.Matches(labels.Set(w.spec.Spec.Template.Labels)) {
			w.note("evictions such as those of kubectl drain, for which PodDisruptionBudget %s counts; it does not "+
				"count for a rollout", b.Name)
		}
	}
}

// notSimulated names what can decide about the rollout and is not simulated.
func (w *workload) notSimulated() {
	if w.node.Find("spec.template.spec.readinessGates").Written() {
		w.note("readinessGates: a pod counts as Ready without them")
	}
	if slices.ContainsFunc(w.counted(),
		func(t *target) bool { return t.Spec.SessionAffinity == v1.ServiceAffinityClientIP }) {
		w.note("sessionAffinity")
	}
	if _, known := w.sleep(); !known {
		w.note("how long the preStop hook takes, and whether it stops the program")
	}
}
