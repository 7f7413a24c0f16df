package status

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/podutil"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
)

// Start starts the process that brings statuses to the API server.
func (m *Manager) Start() {
	ticker := m.o.Sim.NewTicker("status sync", syncPeriod)
	m.o.Sim.Go("status manager", func(p *sim.Proc) {
		cases := []sim.Case{sim.On(m.signal, m.syncChanged), sim.OnTick(ticker, m.syncAll)}
		for {
			p.Select(cases...)
		}
	})
}

// syncChanged syncs the pods with a new version.
func (m *Manager) syncChanged(p *sim.Proc, _ struct{}) { m.syncBatch(p, false) }

// syncAll syncs every pod that needs it.
func (m *Manager) syncAll(p *sim.Proc) { m.syncBatch(p, true) }

// pending is a status that was newest when its batch began.
type pending struct {
	uid types.UID
	*versioned
}

// syncBatch syncs the pods with a new version, one after the other; with all, also those that can be
// deleted or whose status in the API differs.
func (m *Manager) syncBatch(p *sim.Proc, all bool) {
	candidates := m.changed
	if all {
		candidates = m.order
		m.forgetOrphanedVersions()
	}
	var batch []pending
	for _, uid := range candidates {
		s, ok := m.statuses[uid]
		if ok && (m.apiVersions[uid] < s.version || all && m.isDue(uid, s)) {
			batch = append(batch, pending{uid, s})
		}
	}
	m.changed = m.changed[:0]
	choose.Shuffle(m.o.Sim, "status batch", batch)
	for _, s := range batch {
		if !m.syncPod(p, s) && !slices.Contains(m.changed, s.uid) {
			m.changed = append(m.changed, s.uid)
		}
	}
}

func (m *Manager) forgetOrphanedVersions() {
	for uid := range m.apiVersions {
		if _, ok := m.statuses[uid]; !ok {
			delete(m.apiVersions, uid)
		}
	}
}

// isDue reports whether a pod without a new version is to be synced all the same.
func (m *Manager) isDue(uid types.UID, s *versioned) bool {
	pod, ok := m.o.Pods.GetPodByUID(uid)
	return ok && (canBeDeleted(pod, s) || m.needsReconcile(pod, s))
}

// needsReconcile reports whether the API, as far as the kubelet heard, has another status. It makes
// the next sync count as one of a new version.
func (m *Manager) needsReconcile(pod *v1.Pod, s *versioned) bool {
	if s.reconciled == pod {
		return false
	}
	api := pod.Status.DeepCopy()
	normalize(api)
	if equalByKubelet(api, s.Status) {
		s.reconciled = pod
		return false
	}
	delete(m.apiVersions, pod.UID)
	return true
}

// syncPod brings one status to the API: GET, then PATCH if it changes anything, then DELETE if the
// pod is finished and was to be deleted. It reports false if the API has no such pod or cannot be reached, so that
// the next batch tries again; a DELETE that fails waits for the next look at everything.
func (m *Manager) syncPod(p *sim.Proc, s pending) bool {
	pod, ok := m.o.API.GetPod(p, s.namespace, s.name)
	if !ok {
		return false
	}
	if pod.UID != s.uid {
		m.forget(s.uid)
		return true
	}
	merged := m.merge(pod, s.Status)
	if s.sent = true; !sameInAPI(&pod.Status, merged) {
		if pod, ok = m.o.API.PatchStatus(p, s.namespace, s.name, &pod.Status, merged, s.cause); !ok {
			s.sent = false
			return false
		}
	}
	m.apiVersions[s.uid] = s.version
	if canBeDeleted(pod, s.versioned) && m.o.API.DeletePod(p, s.namespace, s.name, s.cause) {
		m.forget(s.uid)
	}
	return true
}

// sameInAPI compares statuses as a patch does, for which the order of conditions is no difference
// (preparePatchBytesForPodStatus in pkg/util/pod/pod.go at v1.37.0).
func sameInAPI(a, b *v1.PodStatus) bool {
	for i := range a.Conditions {
		if c := FindCondition(b, a.Conditions[i].Type); c == nil || !reflect.DeepEqual(c, &a.Conditions[i]) {
			return false
		}
	}
	c := *a
	c.Conditions = b.Conditions
	return len(a.Conditions) == len(b.Conditions) && reflect.DeepEqual(&c, b)
}

// canBeDeleted reports whether a pod that was to be deleted has come to its end, in the kubelet and
// in the API.
func canBeDeleted(pod *v1.Pod, s *versioned) bool {
	return s.finished && pod.DeletionTimestamp != nil && IsTerminal(pod.Status.Phase)
}

// merge returns what the API is to have: conditions of others are kept, a terminal phase is held back
// while containers may run, and with a terminal phase nothing is ready.
func (m *Manager) merge(pod *v1.Pod, status *v1.PodStatus) *v1.PodStatus {
	old, merged := &pod.Status, status.DeepCopy()
	merged.Conditions = slices.DeleteFunc(slices.Clone(old.Conditions), func(c v1.PodCondition) bool { return ConditionByKubelet(c.Type) })
	if !IsTerminal(old.Phase) && IsTerminal(merged.Phase) {
		if m.o.CouldHaveRunningContainers(pod.UID) {
			merged.Phase, merged.Reason, merged.Message = old.Phase, old.Reason, old.Message
		} else {
			m.mergeDisruption(merged, old, status)
		}
	}
	for _, c := range status.Conditions {
		if ConditionByKubelet(c.Type) {
			merged.Conditions = append(merged.Conditions, c)
		}
	}
	if IsTerminal(merged.Phase) && (isTrue(FindCondition(merged, v1.PodReady)) || isTrue(FindCondition(merged, v1.ContainersReady))) {
		m.setNotReady(pod, merged)
	}
	return merged
}

// mergeDisruption has the condition that the pod was disrupted appear together with its terminal phase, as of
// now.
func (m *Manager) mergeDisruption(merged, old, status *v1.PodStatus) {
	disrupted := FindCondition(status, v1.DisruptionTarget)
	if disrupted == nil {
		return
	}
	c := *disrupted
	c.LastTransitionTime = cut(metav1.NewTime(m.o.Now()))
	if before := FindCondition(old, c.Type); before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	SetCondition(merged, c)
}

func (m *Manager) setNotReady(pod *v1.Pod, status *v1.PodStatus) {
	reason := podCompleted
	if status.Phase == v1.PodFailed {
		reason = podFailed
	}
	for _, t := range []v1.PodConditionType{v1.ContainersReady, v1.PodReady} {
		c := v1.PodCondition{Type: t, ObservedGeneration: pod.Generation, Status: v1.ConditionFalse, Reason: reason}
		c.LastTransitionTime = cut(metav1.NewTime(m.o.Now()))
		if old := FindCondition(status, t); old != nil && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		SetCondition(status, c)
	}
}

func isTrue(c *v1.PodCondition) bool { return c != nil && c.Status == v1.ConditionTrue }

// ConditionByKubelet reports whether the kubelet owns conditions of this type
// (pkg/kubelet/types/pod_status.go at v1.37.0).
func ConditionByKubelet(t v1.PodConditionType) bool {
	switch t {
	case v1.PodScheduled, v1.PodReady, v1.PodInitialized, v1.ContainersReady, v1.PodReadyToStartContainers, podutil.AllContainersRestarting:
		return true
	}
	return false
}
