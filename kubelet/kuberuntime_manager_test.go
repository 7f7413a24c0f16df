package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
)

func (a podActions) text() string {
	var list []string
	if a.killPod {
		list = append(list, "kill the pod")
	}
	for _, k := range a.kill {
		list = append(list, fmt.Sprintf("kill %s for %s (%s)", k.container.Name, k.reason, k.message))
	}
	for _, c := range a.reset {
		list = append(list, "remove "+c.Name)
	}
	if a.createSandbox {
		list = append(list, fmt.Sprint("create sandbox ", a.attempt))
	}
	if start := slices.Concat(a.startInit, a.start); len(start) > 0 {
		names := "start"
		for _, c := range start {
			names += " " + c.Name
		}
		list = append(list, names)
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// The states of containers a and b at the start of a sync, and their probe results, determine the
// actions of the sync (computePodActions in pkg/kubelet/kuberuntime/kuberuntime_manager.go at
// v1.37.0).
func TestComputePodActions(t *testing.T) {
	const always, onFailure, never = v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever
	for _, c := range []struct {
		policy  v1.RestartPolicy
		sandbox string // none, ready, lost
		a, b    string // none, created, running, exit 0 or exit 1, then probe results
		deleted bool
		want    string
	}{
		{always, "none", "none", "none", false, "kill the pod, create sandbox 0, start a b"},
		{always, "ready", "none", "none", false, "start a b"},
		{always, "ready", "created", "running", false, "start a"},
		{always, "ready", "running", "running", false, "nothing"},
		{always, "ready", "exit 0", "running", false, "start a"},
		{onFailure, "ready", "exit 0", "running", false, "nothing"},
		{onFailure, "ready", "exit 1", "running", false, "start a"},
		{never, "ready", "exit 1", "running", false, "nothing"},
		{never, "ready", "exit 1", "exit 0", false, "kill the pod"},
		{onFailure, "ready", "exit 0", "exit 0", false, "kill the pod"},
		{always, "ready", "exit 1", "running", true, "nothing"},
		{always, "ready", "exit 1", "exit 1", true, "kill the pod"},
		{always, "ready", "running liveness=Failure", "running", false,
			"kill a for LivenessProbe (Container a failed liveness probe, will be restarted), start a"},
		{always, "ready", "running startup=Failure", "running", false,
			"kill a for StartupProbe (Container a failed startup probe, will be restarted), start a"},
		{
			onFailure, "ready", "running liveness=Failure startup=Failure", "running", false,
			"kill a for LivenessProbe (Container a failed liveness probe, will be restarted), start a",
		},
		{never, "ready", "running liveness=Failure", "running", false,
			"kill a for LivenessProbe (Container a failed liveness probe)"},
		{never, "ready", "running liveness=Failure", "exit 0", false,
			"kill the pod, kill a for LivenessProbe (Container a failed liveness probe)"},
		{always, "ready", "running liveness=Success startup=Unknown", "running", false, "nothing"},
		{always, "lost", "exit 1", "exit 0", false, "kill the pod, create sandbox 1, start a b"},
		{onFailure, "lost", "exit 1", "exit 0", false, "kill the pod, create sandbox 1, start a"},
		{onFailure, "lost", "exit 0", "exit 0", false, "kill the pod"},
		{never, "lost", "exit 1", "exit 0", false, "kill the pod"},
		{never, "lost", "none", "none", false, "kill the pod, create sandbox 1, start a b"},
	} {
		t.Run(fmt.Sprint(c.policy, ", ", c.sandbox, ", ", c.a, ", ", c.b), func(t *testing.T) {
			w := newBackOffWorld(t)
			pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: c.policy,
				Containers: []v1.Container{{Name: "a"}, {Name: "b"}}}}
			if c.deleted {
				pod.DeletionTimestamp = &pod.CreationTimestamp
			}
			s := &podStatus{}
			if c.sandbox != "none" {
				s.sandboxes = []fakeruntime.Sandbox{{ID: "s", Ready: c.sandbox == "ready"}}
			}
			w.addContainer(s, "a", c.a)
			w.addContainer(s, "b", c.b)
			if got := w.computePodActions(pod, s, false).text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// A container's own restart policy overrides the pod's, even after a failed probe. Restart rules
// need an exit code and do not apply then.
func TestContainerRestartPolicies(t *testing.T) {
	const always, onFailure, never = v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyOnFailure,
		v1.ContainerRestartPolicyNever
	rules := []v1.ContainerRestartRule{{
		Action: v1.ContainerRestartRuleActionRestart,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn,
			Values: []int32{1}},
	}}
	for _, c := range []struct {
		pod     v1.RestartPolicy
		own     v1.ContainerRestartPolicy
		rules   []v1.ContainerRestartRule
		sandbox string // ready or lost
		a       string
		want    string
	}{
		{v1.RestartPolicyNever, always, nil, "ready", "exit 0", "start a"},
		{v1.RestartPolicyNever, onFailure, nil, "ready", "exit 1", "start a"},
		{v1.RestartPolicyAlways, never, nil, "ready", "exit 1", "nothing"},
		{v1.RestartPolicyAlways, never, rules, "ready", "exit 1", "start a"},
		{v1.RestartPolicyAlways, never, rules, "ready", "exit 0", "nothing"},
		{
			v1.RestartPolicyAlways, never, rules, "ready", "running liveness=Failure",
			"kill a for LivenessProbe (Container a failed liveness probe)",
		},
		{
			v1.RestartPolicyNever, always, nil, "ready", "running liveness=Failure",
			"kill a for LivenessProbe (Container a failed liveness probe, will be restarted), start a",
		},
		{v1.RestartPolicyOnFailure, always, nil, "lost", "exit 0", "kill the pod, create sandbox 1, start a b"},
		{v1.RestartPolicyAlways, onFailure, nil, "lost", "exit 0", "kill the pod, create sandbox 1, start b"},
	} {
		t.Run(fmt.Sprint(c.pod, ", ", c.own, ", ", len(c.rules), " rules, ", c.sandbox, ", ", c.a), func(t *testing.T) {
			w := newBackOffWorld(t)
			a := v1.Container{Name: "a", RestartPolicy: &c.own, RestartPolicyRules: c.rules}
			pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: c.pod, Containers: []v1.Container{a, {Name: "b"}}}}
			s := &podStatus{sandboxes: []fakeruntime.Sandbox{{ID: "s", Ready: c.sandbox == "ready"}}}
			w.addContainer(s, "a", c.a)
			w.addContainer(s, "b", map[string]string{"ready": "running", "lost": "exit 1"}[c.sandbox])
			if got := w.computePodActions(pod, s, false).text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// In an in-place restart, a sync only removes containers, and last the one whose exit triggered the
// restart. A lost sandbox is handled first (computePodActions and getContainersToReset in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func TestRestartAllContainers(t *testing.T) {
	never := v1.ContainerRestartPolicyNever
	rules := []v1.ContainerRestartRule{{
		Action: podutil.RestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn,
			Values: []int32{1}},
	}}
	pod := &v1.Pod{Spec: v1.PodSpec{
		RestartPolicy:  v1.RestartPolicyNever,
		InitContainers: []v1.Container{{Name: "init"}},
		Containers:     []v1.Container{{Name: "a", RestartPolicy: &never, RestartPolicyRules: rules}, {Name: "b"}},
	}}
	for _, c := range []struct {
		sandbox    string // ready or lost
		a, b, init string
		want       string
	}{
		{"ready", "exit 1", "running", "exit 0", "remove b, remove init, remove a"},
		{"ready", "exit 0", "running", "none", "remove a, remove b"},
		{"ready", "none", "exit 1", "none", "remove b"},
		{"ready", "none", "none", "none", "nothing"},
		{"lost", "exit 1", "running", "exit 0", "kill the pod, create sandbox 1"},
	} {
		t.Run(fmt.Sprint(c.sandbox, ", ", c.a, ", ", c.b), func(t *testing.T) {
			w := newBackOffWorld(t)
			s := &podStatus{sandboxes: []fakeruntime.Sandbox{{ID: "s", Ready: c.sandbox == "ready"}}}
			w.addContainer(s, "init", c.init)
			w.addContainer(s, "a", c.a)
			w.addContainer(s, "b", c.b)
			if got := w.computePodActions(pod, s, true).text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
