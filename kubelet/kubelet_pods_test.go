package kubelet

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/profile"
)

// The states of its containers determine the phase of a pod. terminal means that no container will
// run again (getPhase in pkg/kubelet/kubelet_pods.go at v1.37.0).
func TestGetPhase(t *testing.T) {
	states := map[string]func(*v1.ContainerStatus){
		"running": func(c *v1.ContainerStatus) { c.State.Running = &v1.ContainerStateRunning{} },
		"waiting": func(c *v1.ContainerStatus) { c.State.Waiting = &v1.ContainerStateWaiting{} },
		"exit 0":  func(c *v1.ContainerStatus) { c.State.Terminated = &v1.ContainerStateTerminated{} },
		"exit 1":  func(c *v1.ContainerStatus) { c.State.Terminated = &v1.ContainerStateTerminated{ExitCode: 1} },
		"crashed": func(c *v1.ContainerStatus) { // and waits in its back-off
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

// The status has the image with a tag, as the kubelet asks the runtime for it.
func TestApplyDefaultImageTag(t *testing.T) {
	for image, want := range map[string]string{
		"app": "app:latest", "shop/app": "shop/app:latest", "registry:5000/app": "registry:5000/app:latest",
		"app:1":               "app:1",
		"registry:5000/app:1": "registry:5000/app:1", "app@sha256:ab": "app@sha256:ab",
	} {
		if got := applyDefaultImageTag(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

// A terminal phase in the API never changes, from 1.38 on nor does a failure that only the kubelet
// knows.
func TestMergePhase(t *testing.T) {
	for _, c := range []struct {
		computed, stored, api, until137, want v1.PodPhase
	}{
		{v1.PodRunning, v1.PodPending, v1.PodPending, v1.PodRunning, v1.PodRunning},
		{v1.PodRunning, v1.PodFailed, v1.PodRunning, v1.PodFailed, v1.PodFailed},
		{v1.PodSucceeded, v1.PodFailed, v1.PodRunning, v1.PodSucceeded, v1.PodFailed},
		{v1.PodSucceeded, v1.PodRunning, v1.PodRunning, v1.PodSucceeded, v1.PodSucceeded},
		{v1.PodFailed, v1.PodSucceeded, v1.PodRunning, v1.PodFailed, v1.PodFailed},
		{v1.PodRunning, v1.PodRunning, v1.PodFailed, v1.PodFailed, v1.PodFailed},
		{v1.PodSucceeded, v1.PodRunning, v1.PodFailed, v1.PodFailed, v1.PodFailed},
	} {
		pod := &v1.Pod{Status: v1.PodStatus{Phase: c.api}}
		for _, of := range []struct {
			p    profile.Profile
			want v1.PodPhase
		}{{profile.V1_37, c.until137}, {profile.V1_38, c.want}} {
			k := &Kubelet{profile: of.p}
			if got := k.mergePhase(c.computed, &v1.PodStatus{Phase: c.stored}, pod); got != of.want {
				t.Errorf("%s, computed %s, stored %s, in the API %s: %s, want %s", of.p.Version, c.computed,
					c.stored, c.api, got, of.want)
			}
		}
	}
}

// The states of the init containers contribute to the phase of a pod. The notation is the same as
// in TestGetPhase; "started" is a sidecar that has started (getPhase in pkg/kubelet/kubelet_pods.go
// at v1.37.0).
func TestGetPhaseOfInitContainers(t *testing.T) {
	for _, c := range []struct {
		policy           v1.RestartPolicy
		init             string
		states           string // of the init containers, then of app
		initialized, end bool
		want             v1.PodPhase
	}{
		{v1.RestartPolicyAlways, "a b", "waiting waiting waiting", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a b", "done running waiting", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a b", "failed waiting waiting", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a b", "crashed waiting waiting", false, false, v1.PodPending},
		{v1.RestartPolicyNever, "a b", "failed waiting waiting", false, false, v1.PodFailed},
		{v1.RestartPolicyOnFailure, "a b", "failed waiting waiting", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a b", "done done running", true, false, v1.PodRunning},
		{v1.RestartPolicyAlways, "a*", "running running", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a*", "running running", true, false, v1.PodRunning},
		{v1.RestartPolicyAlways, "a*", "started running", false, false, v1.PodRunning},
		{v1.RestartPolicyAlways, "a*", "waiting running", true, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a*", "crashed running", true, false, v1.PodRunning},
		{v1.RestartPolicyNever, "a*", "started done", true, false, v1.PodRunning},
		{v1.RestartPolicyNever, "a*", "failed done", true, false, v1.PodSucceeded},
		{v1.RestartPolicyNever, "a*", "failed failed", true, true, v1.PodFailed},
	} {
		pod := podWithInit(c.policy, c.init)
		var all []v1.ContainerStatus
		words := strings.Fields(c.states)
		for i, name := range append(strings.FieldsFunc(c.init, func(r rune) bool {
			return strings.ContainsRune(" +*", r)
		}), "app") {
			all = append(all, stateWith(name, words[i]))
		}
		n := len(all) - 1
		s := &v1.PodStatus{InitContainerStatuses: all[:n], ContainerStatuses: all[n:]}
		if got := getPhase(pod, s, c.end, c.initialized); got != c.want {
			t.Errorf("%s, %s: %s: %s, want %s", c.policy, c.init, c.states, got, c.want)
		}
	}
}
