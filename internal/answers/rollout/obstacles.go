package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
)

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
	claims  []v1.PersistentVolumeClaim
	quotas  []v1.ResourceQuota
	scalers []autoscalingv2.HorizontalPodAutoscaler
	budgets []policyv1.PodDisruptionBudget
	spaces  []v1.Namespace
}

// read adds the objects of a file. It leaves out what it cannot read: the API server says more
// about it.
func (a *around) read(f *manifests.Objects) {
	a.claims = append(a.claims, readAll[v1.PersistentVolumeClaim](f.OfKind("v1", "PersistentVolumeClaim"))...)
	a.spaces = append(a.spaces, readAll[v1.Namespace](f.OfKind("v1", "Namespace"))...)
	a.quotas = append(a.quotas, readAll[v1.ResourceQuota](f.OfKind("v1", "ResourceQuota"))...)
	a.budgets = append(a.budgets, readAll[policyv1.PodDisruptionBudget](f.OfKind("policy/v1",
		"PodDisruptionBudget"))...)
	for _, version := range []string{"autoscaling/v1", "autoscaling/v2"} { // the fields that count are the same
		a.scalers = append(a.scalers, readAll[autoscalingv2.HorizontalPodAutoscaler](f.OfKind(version,
			"HorizontalPodAutoscaler"))...)
	}
}

func readAll[T any](nodes []*strict.Node) (list []T) {
	for _, n := range nodes {
		var object T
		if json.Unmarshal(n.JSON(), &object) == nil {
			list = append(list, object)
		}
	}
	return list
}

// in reports whether an object is in the namespace of a Deployment.
func (w *workload) in(namespace string) bool {
	return namespace == w.spec.Namespace || namespace == "" && w.spec.Namespace == "default"
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
	if len(w.counted()) > 0 && r.o.Rate > 0 {
		w.warnUnprobed(r.o)
	}
	w.postStarts(r.o)
	w.doubtStops()
	w.warnOfHooks()
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
		if !w.in(q.Namespace) || len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
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
			switch {
			case pod.HostNetwork:
				list = append(list, fmt.Sprintf("port %d of a node (hostNetwork of container %s)", p.ContainerPort,
					c.Name))
			case p.HostPort > 0:
				list = append(list, fmt.Sprintf("port %d of a node (hostPort of container %s)", p.HostPort, c.Name))
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
		i := slices.IndexFunc(a.claims,
			func(c v1.PersistentVolumeClaim) bool { return c.Name == claim && w.in(c.Namespace) })
		modes := []v1.PersistentVolumeAccessMode{}
		if i >= 0 {
			modes = a.claims[i].Spec.AccessModes
		}
		switch {
		case i < 0:
			list = append(list, fmt.Sprintf("claim %s, which only pods of one node can have if it is ReadWriteOnce",
				claim))
		case slices.Contains(modes, v1.ReadWriteMany) || slices.Contains(modes, v1.ReadOnlyMany):
		case slices.Contains(modes, v1.ReadWriteOncePod):
			list = append(list, fmt.Sprintf("claim %s, which only one pod can have (ReadWriteOncePod)", claim))
		default:
			list = append(list, fmt.Sprintf("claim %s, which only pods of one node can have (ReadWriteOnce)", claim))
		}
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

// autoscaled says how many replicas an autoscaler makes of those in the manifest.
func (a *around) autoscaled(w *workload, replicas *int32) {
	for _, s := range a.scalers {
		if t := s.Spec.ScaleTargetRef; t.Kind != "Deployment" || t.Name != w.spec.Name || !w.in(s.Namespace) {
			continue
		}
		least := int32(1)
		if s.Spec.MinReplicas != nil {
			least = *s.Spec.MinReplicas
		}
		if w.node.Find("spec.replicas").Written() {
			w.warn("HorizontalPodAutoscaler %s makes %d to %d replicas, and kubectl apply of this manifest makes %s "+
				"at once: it stops the others together. Leave spec.replicas out.", s.Name, least, s.Spec.MaxReplicas,
				w.node.Find("spec.replicas").Value)
		}
		if replicas == nil && *w.spec.Spec.Replicas < least {
			w.warn("The figures are about %d: say --replicas %d, the least of HorizontalPodAutoscaler %s.",
				*w.spec.Spec.Replicas, least, s.Name)
		}
	}
}
