package replicaset

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim/choose"
)

// UIDOf is the source of the jitter that stands for the random UID of a pod where the UID decides.
const UIDOf choose.JitterSource = "uid of "

// VictimsOf, followed by a ReplicaSet, is the name of the walk over its pods in the order in which
// they are deleted.
const VictimsOf = "victims of "

// podsToDelete returns a number of the pods of a ReplicaSet, those that are missed least. If all
// go, the order of the Go map that lists them stays (getPodsToDelete in replica_set.go).
func (c *Controller) podsToDelete(rs *appsv1.ReplicaSet, active []*v1.Pod, number int) []*v1.Pod {
	victims := slices.Clone(active)
	walk := VictimsOf + store.Key(rs)
	choose.Guided(&c.env.Sim.Asker, walk, victims, func(pod *v1.Pod) string { return store.Key(pod) })
	choose.Shuffle(&c.env.Sim.Asker, walk, victims)
	if number < len(victims) {
		r := &ranks{now: c.env.Now(), neighbors: c.neighbors(rs), uid: map[types.UID]float64{}}
		r.draw = func(pod *v1.Pod) float64 { return c.env.Sim.Fraction(UIDOf, pod.Namespace+"/"+pod.Name) }
		compare := r.compare
		if c.env.Sim.Places(walk, store.Key(victims[0])) && !isOrder(victims, r.compare) {
			compare = r.compareStates
		}
		slices.SortStableFunc(victims, compare)
	}
	return victims[:number]
}

// isOrder reports whether a comparison orders pods. That of ranks may not: of three pods, the first
// two may have become Ready in one second, so that their restarts or creation decide, while the
// UIDs decide between each of them and the third. What sort.Sort then makes of the order of the Go
// map is not specified, and only a Guide knows it.
func isOrder(pods []*v1.Pod, compare func(a, b *v1.Pod) int) bool {
	for _, a := range pods {
		for _, b := range pods {
			for _, c := range pods {
				if compare(a, b) <= 0 && compare(b, c) <= 0 && compare(a, c) > 0 {
					return false
				}
			}
		}
	}
	return true
}

// neighbors returns the number of active pods on each node that belong to a ReplicaSet of the same
// owner (getIndirectlyRelatedPods and getPodsRankedByRelatedPodsOnSameNode in replica_set.go).
func (c *Controller) neighbors(rs *appsv1.ReplicaSet) map[string]int {
	owner := metav1.GetControllerOfNoCopy(rs)
	related := map[types.UID]bool{}
	for _, o := range controller.List(c.sets,
		func(o *appsv1.ReplicaSet) bool { return owner != nil && controller.OwnedBy(o, owner.UID) }) {
		related[o.UID] = true
	}
	nodes := map[string]int{}
	for _, pod := range controller.List(c.pods, controller.IsPodActive) {
		if set := metav1.GetControllerOfNoCopy(pod); set != nil && related[set.UID] {
			nodes[pod.Spec.NodeName]++
		}
	}
	return nodes
}

// ranks orders pods: those that are deleted first come first (ActivePodsWithRanks in
// pkg/controller/controller_utils.go at v1.37.0).
type ranks struct {
	now       time.Time
	neighbors map[string]int
	draw      func(*v1.Pod) float64
	uid       map[types.UID]float64 // drawn
}

// phases orders phases: the first ones are deleted first.
var phases = map[v1.PodPhase]int{v1.PodPending: 0, v1.PodUnknown: 1, v1.PodRunning: 2}

func (r *ranks) compare(a, b *v1.Pod) int {
	if c := r.compareStates(a, b); c != 0 {
		return c
	}
	restarts, sidecarRestarts := mostRestarts(a)
	otherRestarts, otherSidecarRestarts := mostRestarts(b)
	if controller.IsPodReady(a) {
		if c, decided := r.byAge(a, b, controller.ReadyCondition(a).LastTransitionTime,
			controller.ReadyCondition(b).LastTransitionTime); decided {
			return c
		}
	}
	if c := cmp.Or(cmp.Compare(otherRestarts, restarts), cmp.Compare(otherSidecarRestarts, sidecarRestarts)); c != 0 {
		return c
	}
	c, _ := r.byAge(a, b, a.CreationTimestamp, b.CreationTimestamp)
	return c
}

// compareStates compares what comes before ages and restarts.
func (r *ranks) compareStates(a, b *v1.Pod) int {
	return cmp.Or(
		compareBools(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phases[a.Status.Phase], phases[b.Status.Phase]),
		compareBools(controller.IsPodReady(a), controller.IsPodReady(b)),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		cmp.Compare(r.neighbors[b.Spec.NodeName], r.neighbors[a.Spec.NodeName]),
	)
}

// byAge puts a younger pod first, one without a time before all others, and decides between two
// pods whose ages have the same whole logarithm to the base 2 by their UIDs. It does not decide if
// the times are equal.
func (r *ranks) byAge(a, b *v1.Pod, since, other metav1.Time) (c int, decided bool) {
	switch {
	case since.Equal(&other):
		return 0, false
	case since.IsZero() || other.IsZero():
		return compareBools(!since.IsZero(), !other.IsZero()), true
	}
	if c := cmp.Compare(logarithm(r.now.Sub(since.Time)), logarithm(r.now.Sub(other.Time))); c != 0 {
		return c, true
	}
	return cmp.Or(cmp.Compare(r.uidOf(a), r.uidOf(b)), cmp.Compare(a.UID, b.UID)), true
}

// uidOf returns the first digits of the UID of a pod as a fraction. API servers draw UIDs at
// random, and nothing else sees them.
func (r *ranks) uidOf(pod *v1.Pod) float64 {
	if _, drawn := r.uid[pod.UID]; !drawn {
		r.uid[pod.UID] = r.draw(pod)
	}
	return r.uid[pod.UID]
}

// logarithm returns the whole logarithm of an age, as logarithmicRankDiff does.
func logarithm(age time.Duration) int64 {
	if age <= 0 {
		return -1
	}
	return int64(math.Log2(float64(age)))
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// deletionCost returns the cost that the annotation of a pod gives to its deletion.
func deletionCost(pod *v1.Pod) int32 {
	n, _ := strconv.ParseInt(pod.Annotations["controller.kubernetes.io/pod-deletion-cost"], 10, 32)
	return int32(n)
}

// mostRestarts returns the highest restart counts of the regular containers and the sidecars of a
// pod.
func mostRestarts(pod *v1.Pod) (regular, sidecars int32) {
	for i := range pod.Status.ContainerStatuses {
		regular = max(regular, pod.Status.ContainerStatuses[i].RestartCount)
	}
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		if init := podutil.Find(pod, s.Name); init != nil && podutil.IsRestartableInitContainer(init) {
			sidecars = max(sidecars, s.RestartCount)
		}
	}
	return regular, sidecars
}
