package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
)

func seconds(n int64) *int64 { return &n }

// The grace period of a pod that is terminating only becomes shorter: what was known, what the API server
// says and what the kubelet asks for; the pod's own if nobody said anything; never less than a second
// (calculateEffectiveGracePeriod in pkg/kubelet/pod_workers.go).
func TestEffectiveGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name                  string
		known                 int64
		deletion, asked, spec *int64
		want                  int64
	}{
		{"the pod's own", 0, nil, nil, seconds(30), 30},
		{"nothing at all", 0, nil, nil, nil, 1},
		{"the API server's", 0, seconds(45), nil, seconds(30), 45},
		{"the kubelet's", 0, nil, seconds(5), seconds(30), 5},
		{"the shorter of the two", 0, seconds(10), seconds(5), seconds(30), 5},
		{"the shorter of the two", 0, seconds(5), seconds(10), seconds(30), 5},
		{"shorter than known", 20, seconds(10), nil, seconds(30), 10},
		{"longer than known", 20, seconds(25), nil, seconds(30), 20},
		{"known stays", 20, nil, nil, seconds(5), 20},
		{"at once is a second", 20, seconds(0), nil, seconds(30), 1},
		{"the pod's own zero is a second", 0, nil, nil, seconds(0), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &v1.Pod{}
			pod.DeletionGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds = c.deletion, c.spec
			if got := calculateEffectiveGracePeriod(c.known, pod, c.asked); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// The grace period of a container: the deletion's, else for a probe's kill the probe's own, else the pod's
// (setTerminationGracePeriod in pkg/kubelet/kuberuntime/kuberuntime_container.go; B43).
func TestGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name                    string
		reason                  killReason
		deletion, spec          *int64
		liveness, startup, want int64 // probes: 0 for none
	}{
		{"pod", killStopped, nil, seconds(30), 5, 6, 30},
		{"liveness", killLivenessProbe, nil, seconds(30), 5, 6, 5},
		{"startup", killStartupProbe, nil, seconds(30), 5, 6, 6},
		{"longer than the pod's", killLivenessProbe, nil, seconds(30), 300, 0, 300},
		{"liveness without its own", killLivenessProbe, nil, seconds(30), 0, 6, 30},
		{"startup without its own", killStartupProbe, nil, seconds(30), 5, 0, 30},
		{"deletion", killLivenessProbe, seconds(10), seconds(30), 5, 6, 10},
		{"deletion at once", killDeleted, seconds(0), seconds(30), 5, 6, 0},
		{"pod without one", killLivenessProbe, nil, nil, 5, 6, minimumGracePeriod},
	} {
		t.Run(c.name, func(t *testing.T) {
			app := v1.Container{Name: "app", LivenessProbe: probeWith(c.liveness), StartupProbe: probeWith(c.startup)}
			pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "other", LivenessProbe: probeWith(99)}, app}}}
			pod.DeletionGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds = c.deletion, c.spec
			kill := containerKill{container: fakeruntime.Container{Name: "app"}, reason: c.reason}
			if got := terminationGracePeriod(pod, kill); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// probeWith returns a probe with a grace period of its own, or without one.
func probeWith(grace int64) *v1.Probe {
	if grace == 0 {
		return &v1.Probe{}
	}
	return &v1.Probe{TerminationGracePeriodSeconds: &grace}
}

// The phase of a pod by the states of its containers (getPhase in pkg/kubelet/kubelet_pods.go). terminal:
// none of them will run again.
func TestPhaseOf(t *testing.T) {
	states := map[string]func(*v1.ContainerStatus){
		"running": func(c *v1.ContainerStatus) { c.State.Running = &v1.ContainerStateRunning{} },
		"waiting": func(c *v1.ContainerStatus) { c.State.Waiting = &v1.ContainerStateWaiting{} },
		"exit 0":  func(c *v1.ContainerStatus) { c.State.Terminated = &v1.ContainerStateTerminated{} },
		"exit 1":  func(c *v1.ContainerStatus) { c.State.Terminated = &v1.ContainerStateTerminated{ExitCode: 1} },
		"crashed": func(c *v1.ContainerStatus) { // and waits for its back-off
			c.State.Waiting = &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
			c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: 1}
		},
		"nothing": func(*v1.ContainerStatus) {},
	}
	const always, onFailure, never = v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever
	for _, c := range []struct {
		policy   v1.RestartPolicy
		terminal bool
		states   []string // empty: the container has no status
		want     v1.PodPhase
	}{
		{always, false, []string{"", ""}, v1.PodPending},
		{always, false, []string{"nothing", "running"}, v1.PodPending},
		{always, false, []string{"waiting", "waiting"}, v1.PodPending},
		{always, false, []string{"waiting", "running"}, v1.PodPending},
		{always, false, []string{"", "running"}, v1.PodPending},
		{always, false, []string{"running", "running"}, v1.PodRunning},
		{always, false, []string{"running", "exit 1"}, v1.PodRunning},
		{always, false, []string{"crashed", "running"}, v1.PodRunning},
		{always, false, []string{"crashed", "crashed"}, v1.PodRunning},
		{always, false, []string{"exit 0", "exit 1"}, v1.PodRunning},
		{onFailure, false, []string{"exit 0", "exit 1"}, v1.PodRunning},
		{onFailure, false, []string{"exit 0", "exit 0"}, v1.PodSucceeded},
		{onFailure, false, []string{"exit 0", "running"}, v1.PodRunning},
		{never, false, []string{"exit 0", "exit 1"}, v1.PodFailed},
		{never, false, []string{"exit 0", "exit 0"}, v1.PodSucceeded},
		{never, false, []string{"exit 1", "running"}, v1.PodRunning},
		{never, false, []string{"exit 1", "waiting"}, v1.PodPending},
		{always, true, []string{"exit 0", "exit 0"}, v1.PodSucceeded},
		{always, true, []string{"exit 0", "exit 1"}, v1.PodFailed},
		{always, true, []string{"crashed", "exit 0"}, v1.PodFailed},
		{onFailure, true, []string{"exit 0", "exit 1"}, v1.PodFailed},
		{always, true, []string{"waiting", "exit 0"}, v1.PodPending},
		{always, true, []string{"running", "exit 0"}, v1.PodRunning},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: c.policy, Containers: []v1.Container{{Name: "a"}, {Name: "b"}}}}
		var statuses []v1.ContainerStatus
		for i, name := range []string{"a", "b"} {
			if c.states[i] != "" {
				statuses = append(statuses, v1.ContainerStatus{Name: name})
				states[c.states[i]](&statuses[len(statuses)-1])
			}
		}
		if got := getPhase(pod, &v1.PodStatus{ContainerStatuses: statuses}, c.terminal, false); got != c.want {
			t.Errorf("%s, terminal %v, %q: %s, want %s", c.policy, c.terminal, c.states, got, c.want)
		}
	}
}

// A pod keeps a terminal phase.
func TestMergePhase(t *testing.T) {
	for _, c := range []struct{ computed, stored, api, want v1.PodPhase }{
		{v1.PodRunning, v1.PodPending, v1.PodPending, v1.PodRunning},
		{v1.PodRunning, v1.PodFailed, v1.PodRunning, v1.PodFailed},
		{v1.PodSucceeded, v1.PodFailed, v1.PodRunning, v1.PodSucceeded},
		{v1.PodRunning, v1.PodRunning, v1.PodFailed, v1.PodFailed},
		{v1.PodSucceeded, v1.PodRunning, v1.PodFailed, v1.PodFailed},
	} {
		pod := &v1.Pod{Status: v1.PodStatus{Phase: c.api}}
		if got := mergePhase(c.computed, &v1.PodStatus{Phase: c.stored}, pod); got != c.want {
			t.Errorf("computed %s, stored %s, in the API %s: %s, want %s", c.computed, c.stored, c.api, got, c.want)
		}
	}
}

// What the PLEG says of a container whose state has changed between two listings (generateEvents in
// pkg/kubelet/pleg/generic.go). A container that was only created is unknown to it.
func TestPLEGEvents(t *testing.T) {
	pod := func(state fakeruntime.ContainerState) *runtimePod {
		if state == "" {
			return &runtimePod{}
		}
		return &runtimePod{containers: []fakeruntime.Container{{ID: "c", State: state}}}
	}
	const none, created, running, exited = "", fakeruntime.Created, fakeruntime.Running, fakeruntime.Exited
	for _, c := range []struct {
		from, to fakeruntime.ContainerState
		want     []plegEventType
	}{
		{none, created, []plegEventType{containerChanged}},
		{none, running, []plegEventType{containerStarted}},
		{none, exited, []plegEventType{containerDied}}, // it ran between two relists
		{created, running, []plegEventType{containerStarted}},
		{created, exited, []plegEventType{containerDied}},
		{running, running, nil},
		{running, exited, []plegEventType{containerDied}},
		{running, none, []plegEventType{containerDied, containerRemoved}},
		{created, none, []plegEventType{containerDied, containerRemoved}},
		{exited, none, []plegEventType{containerRemoved}},
		{exited, running, []plegEventType{containerStarted}},
	} {
		var want []plegEvent
		for _, typ := range c.want {
			want = append(want, plegEvent{"uid", typ, "c"})
		}
		got := computeEvents("uid", pod(c.from), pod(c.to))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(plegEvent{})); diff != "" {
			t.Errorf("from %q to %q (-want +got):\n%s", c.from, c.to, diff)
		}
	}
}

// The order of the events of a pod: what the old listing has, containers before sandboxes, then what is new.
// A sandbox that is not ready counts as exited.
func TestPLEGEventOrder(t *testing.T) {
	old := &runtimePod{
		containers: []fakeruntime.Container{{ID: "c2", State: fakeruntime.Running}, {ID: "c1", State: fakeruntime.Exited}},
		sandboxes:  []fakeruntime.Sandbox{{ID: "s1", Ready: true}},
	}
	current := &runtimePod{
		containers: []fakeruntime.Container{{ID: "c3", State: fakeruntime.Running}, {ID: "c2", State: fakeruntime.Exited}},
		sandboxes:  []fakeruntime.Sandbox{{ID: "s2", Ready: true}, {ID: "s1"}},
	}
	want := []plegEvent{
		{"uid", containerDied, "c2"}, {"uid", containerRemoved, "c1"}, {"uid", containerDied, "s1"},
		{"uid", containerStarted, "c3"}, {"uid", containerStarted, "s2"},
	}
	if diff := cmp.Diff(want, computeEvents("uid", old, current), cmp.AllowUnexported(plegEvent{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := computeEvents("uid", nil, nil); got != nil {
		t.Errorf("of a pod that is in neither listing: %v", got)
	}
}

// What has changed about a pod in the API decides what the sync loop is told.
func TestConfigOp(t *testing.T) {
	base := &v1.Pod{}
	base.Generation = 1
	with := func(f func(*v1.Pod)) *v1.Pod { p := base.DeepCopy(); f(p); return p }
	deleted := with(func(p *v1.Pod) {
		p.Generation, p.DeletionGracePeriodSeconds, p.DeletionTimestamp = 2, seconds(30), &p.CreationTimestamp
	})
	for _, c := range []struct {
		name          string
		before, after *v1.Pod
		want          configOp
	}{
		{"new", nil, base, configAdd},
		{"as it was", base, base.DeepCopy(), ""},
		{"another spec", base, with(func(p *v1.Pod) { p.Generation = 2 }), configUpdated},
		{"deletion", base, deleted, configDelete},
		{"a shorter grace period", deleted, func() *v1.Pod { p := deleted.DeepCopy(); p.DeletionGracePeriodSeconds = seconds(5); return p }(), configDelete},
		{"the status", base, with(func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }), configReconcile},
	} {
		if got := configOpFor(c.before, c.after); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
