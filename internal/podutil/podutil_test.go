package podutil

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// The first matching rule decides, otherwise the restart policy of the container, otherwise the
// pod's (ContainerShouldRestart in pkg/api/v1/pod/util.go).
func TestContainerShouldRestart(t *testing.T) {
	rule := func(op v1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) v1.ContainerRestartRule {
		return v1.ContainerRestartRule{
			Action:    v1.ContainerRestartRuleActionRestart,
			ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: op, Values: codes},
		}
	}
	const in, notIn = v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn
	for _, c := range []struct {
		pod   v1.RestartPolicy
		own   v1.ContainerRestartPolicy // empty: none
		rules []v1.ContainerRestartRule
		want  string // for the exit codes 0, 1, 2
	}{
		{"Always", "", nil, "true true true"},
		{"OnFailure", "", nil, "false true true"},
		{"Never", "", nil, "false false false"},
		{"Always", "Never", nil, "false false false"},
		{"Always", "OnFailure", nil, "false true true"},
		{"Never", "Always", nil, "true true true"},
		{"Never", "OnFailure", nil, "false true true"},
		{"Always", "Never", []v1.ContainerRestartRule{rule(in, 1)}, "false true false"},
		{"Always", "Never", []v1.ContainerRestartRule{rule(notIn, 1)}, "true false true"},
		{"Always", "Never", []v1.ContainerRestartRule{rule(notIn)}, "true true true"},
		{"Always", "Never", []v1.ContainerRestartRule{rule(in)}, "false false false"},
		{"Never", "OnFailure", []v1.ContainerRestartRule{rule(in, 0)}, "true true true"},
		{"Always", "Never", []v1.ContainerRestartRule{rule(in, 5), rule(in, 2, 0)}, "true false true"},
		{"Always", "Never", []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestart}},
			"false false false"},
		{"Always", "", []v1.ContainerRestartRule{rule(notIn)}, "true true true"},
		{"Never", "", []v1.ContainerRestartRule{rule(notIn)}, "false false false"}, // rules need a policy
	} {
		container := &v1.Container{RestartPolicyRules: c.rules}
		if c.own != "" {
			container.RestartPolicy = &c.own
		}
		spec := &v1.PodSpec{RestartPolicy: c.pod}
		restarts := func(code int32) bool { return ContainerShouldRestart(container, spec, code) }
		if got := fmt.Sprint(restarts(0), " ", restarts(1), " ", restarts(2)); got != c.want {
			t.Errorf("%s, %s, %v: %s, want %s", c.pod, c.own, c.rules, got, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: &always}},
		Containers:     []v1.Container{{Name: "app"}},
	}}
	for _, name := range []string{"setup", "proxy", "app"} {
		if c := Find(pod, name); c == nil || c.Name != name {
			t.Errorf("%s: found %v", name, c)
		}
	}
	if c := Find(pod, "other"); c != nil {
		t.Errorf("found %s", c.Name)
	}
	if !HasRestartableInitContainer(pod) {
		t.Error("HasRestartableInitContainer does not find the sidecar")
	}
	if pod.Spec.InitContainers = pod.Spec.InitContainers[:1]; HasRestartableInitContainer(pod) {
		t.Error("a regular init container is taken for a sidecar")
	}
}

// All containers restart if a rule matches an exit, or if the status has the condition
// (ShouldAllContainersRestart in pkg/kubelet/container/helpers.go).
func TestShouldAllContainersRestart(t *testing.T) {
	rule := func(action v1.ContainerRestartRuleAction, code int32) v1.ContainerRestartRule {
		return v1.ContainerRestartRule{Action: action, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
			Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code},
		}}
	}
	never := v1.ContainerRestartPolicyNever
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}, {
		Name: "watch", RestartPolicy: &never, RestartPolicyRules: []v1.ContainerRestartRule{
			rule(v1.ContainerRestartRuleActionRestart, 1), rule(RestartAllContainers, 1),
			rule(RestartAllContainers, 42),
		},
	}}}}
	ended := func(name string, code int32) v1.PodStatus {
		return v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{
			{Name: name, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code}}},
		}}
	}
	const runs = -1
	for _, c := range []struct {
		name    string
		status  v1.PodStatus
		runtime map[string]int32 // exit codes; nil: exitCode is nil
		want    bool
	}{
		{"nothing has ended", v1.PodStatus{}, map[string]int32{"watch": runs}, false},
		{"an exit in the runtime", v1.PodStatus{}, map[string]int32{"watch": 42}, true},
		{"another rule matches first", v1.PodStatus{}, map[string]int32{"watch": 1}, false},
		{"an exit of another container", v1.PodStatus{}, map[string]int32{"app": 42}, false},
		{"an exit in the status", ended("watch", 42), nil, true},
		{"another exit code in the status", ended("watch", 0), nil, false},
		{"running again in the runtime", ended("watch", 42), map[string]int32{"watch": runs}, false},
		{"different exits in the status and the runtime", ended("watch", 42), map[string]int32{"watch": 0}, true},
		{"the condition " +
			"is true", v1.PodStatus{Conditions: []v1.PodCondition{{Type: AllContainersRestarting,
			Status: v1.ConditionTrue}}}, nil, true},
		{"the condition is " +
			"false", v1.PodStatus{Conditions: []v1.PodCondition{{Type: AllContainersRestarting,
			Status: v1.ConditionFalse}}}, nil, false},
	} {
		var exitCode func(string) (int32, bool)
		if c.runtime != nil {
			exitCode = func(name string) (int32, bool) {
				code, known := c.runtime[name]
				return code, known && code != runs
			}
		}
		if got := ShouldAllContainersRestart(pod, &c.status, exitCode); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
