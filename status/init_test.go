package status_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/status"
)

// initPod returns a pod with the init container setup, the sidecar proxy and the regular container
// app.
func initPod() *v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	return &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: &always}},
		Containers:     []v1.Container{{Name: "app"}},
	}}
}

// statusesOf parses a list of statuses, each NAME waiting, running, exit 0 or exit 1, and
// optionally started and ready.
func statusesOf(text string) []v1.ContainerStatus {
	var list []v1.ContainerStatus
	for part := range strings.SplitSeq(text, ", ") {
		name, words, ok := strings.Cut(part, " ")
		if !ok {
			continue
		}
		c := v1.ContainerStatus{Name: name, Ready: strings.Contains(words, "ready")}
		started := strings.Contains(words, "started")
		switch {
		case strings.HasPrefix(words, "waiting"):
			c.State.Waiting = &v1.ContainerStateWaiting{}
		case strings.HasPrefix(words, "exit 0"):
			c.State.Terminated = &v1.ContainerStateTerminated{}
		case strings.HasPrefix(words, "exit 1"):
			c.State.Terminated = &v1.ContainerStateTerminated{ExitCode: 1}
		default:
			c.State.Running, c.Started = &v1.ContainerStateRunning{}, &started
		}
		list = append(list, c)
	}
	return list
}

// A pod becomes Initialized when its regular init containers have succeeded and its sidecars have
// started, and it stays Initialized (GeneratePodInitializedCondition in
// pkg/kubelet/status/generate.go).
func TestInitialized(t *testing.T) {
	for _, c := range []struct {
		statuses string
		phase    v1.PodPhase
		was      bool // initialized
		want     string
	}{
		{"", v1.PodPending, false, "False UnknownContainerStatuses"},
		{"setup waiting", v1.PodPending, false,
			"False ContainersNotInitialized containers with unknown status: [proxy], containers with incomplete " +
				"status: [setup]"},
		{"setup running, proxy waiting", v1.PodPending, false,
			"False ContainersNotInitialized containers with incomplete status: [setup proxy]"},
		{"setup exit 0 ready, proxy running, app waiting", v1.PodPending, false,
			"False ContainersNotInitialized containers with incomplete status: [proxy]"},
		{"setup exit 0 ready, proxy running started, app waiting", v1.PodPending, false, "True"},
		{"setup exit 1, proxy waiting", v1.PodFailed, false,
			"False ContainersNotInitialized containers with incomplete status: [setup proxy]"},
		{"setup exit 0 ready, proxy exit 1, app running", v1.PodRunning, false, "True"},
		{"setup exit 0 ready, proxy exit 1, app exit 1", v1.PodRunning, false, "True"},
		{"setup exit 0 ready, proxy exit 1, app waiting", v1.PodPending, true, "True"},
		{"setup exit 0 ready, proxy exit 1, app exit 0", v1.PodSucceeded, true, "True PodCompleted"},
	} {
		var before []v1.PodCondition
		if c.was {
			before = []v1.PodCondition{{Type: v1.PodInitialized, Status: v1.ConditionTrue}}
		}
		got := status.GeneratePodInitializedCondition(initPod(), before, statusesOf(c.statuses), c.phase)
		if text := strings.TrimSpace(string(got.Status) + " " + got.Reason + " " + got.Message); text != c.want {
			t.Errorf("%s, %s: %s, want %s", c.statuses, c.phase, text, c.want)
		}
	}
}

// The ContainersReady condition requires ready sidecars. It ignores regular init containers.
func TestContainersReadyWithSidecars(t *testing.T) {
	for statuses, want := range map[string]string{
		"setup exit 0, proxy running ready, app running ready": "",
		"setup exit 0, proxy running, app running ready":       "containers with unready status: [proxy]",
		"setup exit 0, app running": "containers with unknown status: [proxy], containers " +
			"with unready status: [app]",
	} {
		if c := status.GenerateContainersReadyCondition(initPod(), statusesOf(statuses), v1.PodRunning); c.Message !=
			want || (c.Status == v1.ConditionTrue) != (want == "") {
			t.Errorf("%s: %s %q, want %q", statuses, c.Status, c.Message, want)
		}
	}
}

// TerminatePod marks every container that may have run as terminated. Containers after an init
// container that never started stay in their waiting state (pkg/kubelet/status/status_manager.go).
func TestTerminatePodWithInitContainers(t *testing.T) {
	for _, c := range []struct{ init, regular, want string }{
		{"setup waiting, proxy waiting", "app waiting", "137 - -"},
		{"setup exit 1, proxy waiting", "app waiting", "1 - -"},
		{"setup exit 0, proxy running", "app waiting", "0 137 -"},
		{"setup exit 0, proxy running started", "app waiting", "0 137 137"},
		{"setup exit 0, proxy waiting", "app running", "0 - 137"},
		{"setup exit 0, proxy exit 1", "app exit 0", "0 1 0"},
	} {
		w := newWorld(t)
		pod := w.pod("web")
		pod = w.change(pod, func(p *v1.Pod) {
			p.Spec.InitContainers = initPod().Spec.InitContainers
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = statusesOf(c.init), statusesOf(c.regular)
		})
		w.TerminatePod(pod)
		s := w.cached(pod)
		var ends []string
		for _, s := range status.AllContainerStatuses(s) {
			end := "-"
			if s.State.Terminated != nil {
				end = map[int32]string{0: "0", 1: "1", 137: "137"}[s.State.Terminated.ExitCode]
			}
			ends = append(ends, end)
		}
		if got := strings.Join(ends, " "); got != c.want || s.Phase != v1.PodFailed {
			t.Errorf("%s, %s: ends %s, want %s; %s", c.init, c.regular, got, c.want, s.Phase)
		}
	}
}

// The manager drops a status in which an init container that must not restart leaves its terminated
// state. Sidecars always restart (checkContainerStateTransition in
// pkg/kubelet/status/status_manager.go).
func TestIllegalTransitionsOfInitContainers(t *testing.T) {
	for _, c := range []struct {
		policy     v1.RestartPolicy
		from, to   string
		wantStored bool
	}{
		{v1.RestartPolicyNever, "setup exit 0, proxy running", "setup waiting, proxy running", false},
		{v1.RestartPolicyNever, "setup exit 1, proxy waiting", "setup running, proxy waiting", false},
		{v1.RestartPolicyNever, "setup exit 0, proxy exit 1", "setup exit 0, proxy running", true},
		{v1.RestartPolicyOnFailure, "setup exit 1, proxy waiting", "setup running, proxy waiting", true},
		{v1.RestartPolicyOnFailure, "setup exit 0, proxy running", "setup running, proxy running", false},
		{v1.RestartPolicyAlways, "setup exit 0, proxy running", "setup running, proxy running", true},
	} {
		w := newWorld(t)
		pod := w.change(w.pod("web"), func(p *v1.Pod) {
			p.Spec.RestartPolicy, p.Spec.InitContainers = c.policy, initPod().Spec.InitContainers
		})
		w.SetPodStatus(pod, &v1.PodStatus{InitContainerStatuses: statusesOf(c.from)})
		w.SetPodStatus(pod, &v1.PodStatus{InitContainerStatuses: statusesOf(c.to), Phase: v1.PodRunning})
		if stored := w.cached(pod).Phase == v1.PodRunning; stored != c.wantStored {
			t.Errorf("%s: from %s to %s: stored %v, want %v", c.policy, c.from, c.to, stored, c.wantStored)
		}
	}
}
