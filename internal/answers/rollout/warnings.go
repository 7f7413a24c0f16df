package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/router"
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
	pod, space := w.node.Find("spec.template"), r.around.space(w)
	for _, m := range meshes {
		if has(pod, m.pod, m.on) {
			return m.name, m.pod
		} else if has(space, m.space, m.value) && !has(pod, m.pod, m.off) {
			return m.name, m.space + " of Namespace " + w.spec.Namespace
		}
	}
	return "", ""
}

// has reports whether an object has a label or an annotation with a value.
func has(n *strict.Node, key, value string) bool {
	meta := n.Field("metadata")
	return key != "" && (meta.Field("labels").Field(key).Value == value ||
		meta.Field("annotations").Field(key).Value == value)
}

// space returns the Namespace of a Deployment, or an empty node.
func (a *around) space(w *workload) *strict.Node {
	for _, n := range a.others {
		if n.Field("kind").Value == "Namespace" && n.Find("metadata.name").Value == w.spec.Namespace {
			return n
		}
	}
	return &strict.Node{}
}

// doubtRoutes says which ways of the requests to the pods are not simulated.
func (r *reader) doubtRoutes(w *workload) {
	name, key := r.mesh(w)
	if name != "" && !slices.ContainsFunc(w.spec.Spec.Template.Spec.Containers,
		func(c v1.Container) bool { return workloads.IsProxy(&c) }) {
		w.doubt("%s adds a proxy (%s), which the requests pass: it is not simulated, and may stop or follow the pods "+
			"later than the figures say.", name, key)
	}
	for _, t := range w.counted() {
		if t.headless() && w.byDNS(r.o) {
			w.doubt("Service %s is headless: its clients look the pods up by DNS and keep what they find, which is "+
				"not simulated: the figures are those of kube-proxy. Say how long it takes, such as "+
				"--router 'dns: add 5s..30s, remove 5s..35s'.", t.Name)
		}
		if !selects(t.Service, w.spec.Namespace, w.old.Spec.Template.Labels) {
			w.warn("Service %s selects no old pod (%s): it has no endpoints until new pods are Ready.", t.Name,
				labels.SelectorFromSet(t.Spec.Selector))
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
	} else if w.spec.Spec.Strategy.RollingUpdate == nil {
		w.warn("Unlike Recreate, a rolling update lets old and new pods run at once.")
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

// trusts says which commands of preStop hooks the figures take for granted. The kubelet stops a
// container at once if the command of its hook fails (executePreStopHook in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (w *workload) trusts(o *Options) string {
	for _, t := range w.counted() {
		c := serving(w.outgoing(o), t.container)
		if slept, _ := sleepOf(c); slept == 0 || c.Lifecycle.PreStop.Exec == nil {
			continue
		}
		needs := c.Lifecycle.PreStop.Exec.Command[0]
		if !strings.HasSuffix(needs, "sleep") {
			needs += " and sleep"
		}
		return fmt.Sprintf("The preStop hook of container %s needs %s in the image: else it fails "+
			"(FailedPreStopHook), and SIGTERM comes at once. preStop.sleep needs nothing.", c.Name, needs)
	}
	return ""
}

// warnOfHooks names the preStop hooks that stop the program before they end, so that what they do
// afterwards does not help.
func (w *workload) warnOfHooks(o *Options) {
	if text := w.trusts(o); text != "" {
		w.doubt("%s", text)
	}
	for _, name := range w.serve() {
		c := serving(w.spec, name)
		if hook := podutil.Hook(c, "preStop"); hook != nil && hook.Exec != nil && program.LacksC(hook.Exec.Command) {
			w.warn("The preStop hook of container %s fails at once: without -c, the shell looks for a file of "+
				"the name of the script.", name)
		}
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
	switch {
	case slept > 0 && slept >= grace:
		w.warn("The preStop hook takes %s, and terminationGracePeriodSeconds %d ends it: SIGTERM comes after %s, and "+
			"SIGKILL 2s later. Raise it to %d.", value.Format(slept), int(grace.Seconds()), value.Format(grace),
			w.graceFor(o, roundUp(slept)))
		return
	case slept+stop <= grace:
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
	for _, n := range a.of(w, "PodDisruptionBudget") {
		var s *metav1.LabelSelector
		err := json.Unmarshal(n.Find("spec.selector").JSON(), &s)
		selector, wrong := metav1.LabelSelectorAsSelector(s)
		if err == nil && wrong == nil && selector.Matches(labels.Set(w.spec.Spec.Template.Labels)) {
			w.note("evictions such as those of kubectl drain, for which PodDisruptionBudget %s counts; it does not "+
				"count for a rollout", n.Find("metadata.name").Value)
		}
	}
}

// notSimulated names what can decide about the rollout and is not simulated.
func (w *workload) notSimulated() {
	if lb, _ := router.NamedLoadBalancer(w.router.Name); w.router.gate != "" {
		w.note("how long a new pod waits for its readiness gate (%s), up to %s: %s sends it requests once it is Ready",
			w.router.gate, value.Format(lb.AddMost), router.Short(lb.Name))
	} else if w.node.Find("spec.template.spec.readinessGates").Written() {
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

// findings are what the manifests say about a rollout without a simulation.
type findings struct {
	waits     []string // what a new pod may not get before an old one is gone, if the Deployment stops none before
	conflicts []string // what new and old pods may not have at once
	never     bool     // it never completes, because of what is around
	unsure    bool     // something that is not simulated may lose requests
	warnings  []string // sentences
}

// around are the objects beside the Deployments that can hold a rollout up. None of them is
// simulated.
type around struct {
	quotas []v1.ResourceQuota
	others []*strict.Node // all that are no workloads
}

// read adds the objects of a file. It leaves out what it cannot read: the API server says more
// about it.
func (a *around) read(f *manifests.Objects) {
	for _, n := range f.OfKind("v1", "ResourceQuota") {
		var q v1.ResourceQuota
		if json.Unmarshal(n.JSON(), &q) == nil {
			a.quotas = append(a.quotas, q)
		}
	}
	a.others = append(a.others, f.Others()...)
}

// of returns the objects of a kind in the namespace of a Deployment.
func (a *around) of(w *workload, kind string) []*strict.Node {
	return slices.DeleteFunc(slices.Clone(a.others),
		func(n *strict.Node) bool { return n.Field("kind").Value != kind || namespaceOf(n) != w.spec.Namespace })
}

// warn adds what can hold the rollout up, and what else the manifest says that the figures do not.
func (r *reader) warn(w *workload) {
	scales := r.o.Change.Kind == Scale
	// Old pods that terminate count for quotas, whatever maxSurge is.
	quotas, shared := r.around.limits(w, *w.spec.Spec.Replicas+1)
	w.conflicts = slices.Concat(r.around.obstacles(w, *w.spec.Spec.Replicas+1), quotas)
	if w.spec.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType && !scales {
		w.notes = append(w.notes, shared...)
		r.warnOfWaits(w, quotas)
	}
	if !scales {
		w.allAtOnce()
	}
	r.around.autoscaled(w, r.o.Replicas)
	r.around.evictions(w)
	r.around.controlled(w)
	if r.o.Rate > 0 && slices.ContainsFunc(w.counted(),
		func(t *target) bool { return !t.Spec.PublishNotReadyAddresses }) {
		w.warnUnprobed(r.o)
	}
	w.postStarts(r.o)
	w.doubtStops()
	w.warnOfHooks(r.o)
	r.doubtRoutes(w)
	w.warnOfKill(r.o)
}

// warnOfWaits says what a new pod of a rolling update may wait for.
func (r *reader) warnOfWaits(w *workload, quotas []string) {
	relief := "The Deployment stops no old pod before the new one is available (maxUnavailable 0); " +
		r.around.relief(w) + "."
	replicas := *w.spec.Spec.Replicas
	surge, unavailable := w.fenceposts()
	if needs := requests(&w.spec.Spec.Template.Spec); needs != "" && surge > 0 {
		w.note("room for %d more (%s a pod)", surge, needs)
	}
	waits := r.around.obstacles(w, replicas+min(surge, 1))
	switch {
	case unavailable > 0:
		if unavailable < replicas { // else a sentence names them
			w.notes = append(w.notes, waits...)
		}
		for _, room := range quotas {
			w.note("how long new pods wait for %s", room)
		}
	case len(quotas) > 0:
		w.never = true
		w.warn("A new pod needs %s. %s", strings.Join(quotas, "; "), relief)
	case len(waits) > 0:
		w.waits = waits
		w.warn("Not simulated, and it may never complete: a new pod needs %s. %s", strings.Join(waits, "; "), relief)
	}
}

// relief says what lets new pods have what the old ones have. One old pod less is enough for what
// each pod has for itself, but not for a claim or a lease of all of them.
func (a *around) relief(w *workload) string {
	if pod := &w.spec.Spec.Template.Spec; *w.spec.Spec.Replicas > 1 && len(a.volumes(w)) == 0 &&
		len(electing(pod)) == 0 {
		return "maxUnavailable: 1 stops one first, strategy Recreate all of them"
	}
	return "strategy Recreate stops them first"
}

// limits names the quotas that do not suffice for some pods of a Deployment, and those that do
// unless others use too much of them.
func (a *around) limits(w *workload, pods int32) (exceeded, shared []string) {
	for _, q := range a.quotas {
		if cmp.Or(q.Namespace, metav1.NamespaceDefault) != w.spec.Namespace || len(q.Spec.Scopes) > 0 ||
			q.Spec.ScopeSelector != nil {
			continue
		}
		for _, name := range []v1.ResourceName{v1.ResourcePods, "count/pods", v1.ResourceRequestsCPU,
			v1.ResourceRequestsMemory, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceLimitsCPU,
			v1.ResourceLimitsMemory} {
			hard, limited := q.Spec.Hard[name]
			needs := usage(&w.spec.Spec.Template.Spec, name, pods)
			if limited && needs.Cmp(hard) > 0 {
				exceeded = append(exceeded, fmt.Sprintf("room in ResourceQuota %s, whose %s %s is less than the %s "+
					"of %d pods", q.Name, name, hard.String(), needs.String(), pods))
			} else if limited && !needs.IsZero() {
				shared = append(shared, fmt.Sprintf("what others use of ResourceQuota %s: %d pods need %s of its %s %s",
					q.Name, pods, needs.String(), name, hard.String()))
			}
		}
	}
	return exceeded, shared
}

// obstacles names what some pods of a Deployment may not all have at once.
func (a *around) obstacles(w *workload, most int32) (list []string) {
	pod := &w.spec.Spec.Template.Spec
	list = slices.Concat(ports(pod), a.volumes(w), w.places(most))
	needed := resources(pod, false)
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if strings.Contains(string(name), "/") { // such as nvidia.com/gpu
			needs := needed[name]
			list = append(list, fmt.Sprintf("%s %s beside what the old pods have", needs.String(), name))
		}
	}
	if elects := electing(pod); len(elects) > 0 {
		list = append(list, fmt.Sprintf("the lease of the leader election (%s), if a pod is Ready only as the leader",
			strings.Join(elects, ", ")))
	}
	return list
}

// electing names the containers that elect a leader, each with the first of its arguments that says
// so.
func electing(pod *v1.PodSpec) (list []string) {
	for _, c := range pod.Containers {
		words := slices.Concat(c.Command, c.Args)
		i := slices.IndexFunc(words, func(word string) bool {
			return strings.Contains(strings.ReplaceAll(word, "leaderelect", "leader-elect"), "leader-elect") &&
				!strings.HasSuffix(word, "=false")
		})
		if i >= 0 {
			list = append(list, fmt.Sprintf("%s of container %s", words[i], c.Name))
		}
	}
	return list
}

// places names the domains that a new pod needs for itself, because pods with its labels repel each
// other.
func (w *workload) places(most int32) (list []string) {
	pod := &w.spec.Spec.Template.Spec
	matches := func(s *metav1.LabelSelector, keys []string) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		return err == nil && len(keys) == 0 && selector.Matches(labels.Set(w.spec.Spec.Template.Labels))
	}
	if pod.Affinity != nil && pod.Affinity.PodAntiAffinity != nil {
		for _, t := range pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if matches(t.LabelSelector, t.MatchLabelKeys) {
				list = append(list, fmt.Sprintf("a %s without a pod of its own kind, so %d of them (podAntiAffinity)",
					t.TopologyKey, most))
			}
		}
	}
	for _, t := range pod.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == v1.DoNotSchedule && matches(t.LabelSelector, t.MatchLabelKeys) {
			list = append(list, fmt.Sprintf("a %s with few enough pods, old ones included (topologySpreadConstraints)",
				t.TopologyKey))
		}
	}
	return list
}

// resources returns what the containers of a pod together request, or their limits.
func resources(pod *v1.PodSpec, limits bool) v1.ResourceList {
	return podutil.SumOf(&v1.Pod{Spec: *pod}, func(c *v1.Container) v1.ResourceList {
		if limits {
			return c.Resources.Limits
		}
		return c.Resources.Requests
	})
}

// ports names the ports of the node that a pod has for itself.
func ports(pod *v1.PodSpec) (list []string) {
	for _, c := range pod.Containers {
		for _, p := range c.Ports {
			port, why := p.HostPort, "hostPort"
			if pod.HostNetwork {
				port, why = p.ContainerPort, "hostNetwork"
			}
			if port > 0 {
				list = append(list, fmt.Sprintf("port %d of a node (%s of container %s)", port, why, c.Name))
			}
		}
	}
	return list
}

// volumes names the volumes that pods on several nodes cannot have at once.
func (a *around) volumes(w *workload) (list []string) {
	for _, v := range w.spec.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim := v.PersistentVolumeClaim.ClaimName
		who := "pods of one node can have if it is ReadWriteOnce"
		for _, n := range a.of(w, "PersistentVolumeClaim") {
			switch modes := n.Find("spec.accessModes").Text(); {
			case n.Find("metadata.name").Value != claim:
			case strings.Contains(modes, "Many"):
				who = ""
			case strings.Contains(modes, "ReadWriteOncePod"):
				who = "one pod can have (ReadWriteOncePod)"
			default:
				who = "pods of one node can have (ReadWriteOnce)"
			}
		}
		if who == "" {
			continue
		}
		list = append(list, fmt.Sprintf("claim %s, which only %s", claim, who))
	}
	return list
}

// usage returns what some pods use of a quota.
func usage(pod *v1.PodSpec, of v1.ResourceName, pods int32) resource.Quantity {
	name, isLimit := strings.CutPrefix(string(of), "limits.")
	name = strings.TrimPrefix(name, "requests.")
	if strings.HasSuffix(name, "pods") {
		return *resource.NewQuantity(int64(pods), resource.DecimalSI)
	}
	sum := resources(pod, isLimit)[v1.ResourceName(name)]
	sum.Mul(int64(pods))
	return sum
}

// requests returns what a pod requests of a node.
func requests(pod *v1.PodSpec) string {
	var list []string
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if sum := usage(pod, name, 1); !sum.IsZero() {
			list = append(list, fmt.Sprintf("%s %s", name, sum.String()))
		}
	}
	return strings.Join(list, ", ")
}

// controlled names the custom resources that refer to a Deployment to decide about its rollouts, as
// a Canary of Flagger and a Rollout of Argo do.
func (a *around) controlled(w *workload) {
	for _, n := range a.others {
		for _, field := range []string{"spec.targetRef", "spec.workloadRef", "spec.objectRef.workloadRef"} {
			if w.isIn(n, field) && !strings.HasSuffix(n.Field("kind").Value, "Autoscaler") {
				w.doubt("%s has the Deployment in %s: its controller decides about the rollout, and is not simulated.",
					&front{Node: n}, field)
			}
		}
	}
}

// isIn reports whether a field of an object refers to a Deployment.
func (w *workload) isIn(n *strict.Node, field string) bool {
	ref := n.Find(field)
	return ref.Field("kind").Value == "Deployment" && ref.Field("name").Value == w.spec.Name &&
		namespaceOf(n) == w.spec.Namespace
}

// autoscaled says how many replicas an autoscaler makes of those in the manifest.
func (a *around) autoscaled(w *workload, replicas *int32) {
	for _, s := range a.of(w, "HorizontalPodAutoscaler") {
		if !w.isIn(s, "spec.scaleTargetRef") {
			continue
		}
		name, least := s.Find("metadata.name").Value, 1
		_, _ = fmt.Sscan(s.Find("spec.minReplicas").Value, &least) // it stays 1 without a number
		if w.node.Find("spec.replicas").Written() {
			w.warn("HorizontalPodAutoscaler %s makes %d to %s replicas, and kubectl apply of this manifest makes %s "+
				"at once: it stops the others together. Leave spec.replicas out.", name, least,
				s.Find("spec.maxReplicas").Value, w.node.Find("spec.replicas").Value)
		}
		if replicas == nil && int(*w.spec.Spec.Replicas) < least {
			w.warn("The figures are about %d: say --replicas %d, the least of HorizontalPodAutoscaler %s.",
				*w.spec.Spec.Replicas, least, name)
		}
	}
}
