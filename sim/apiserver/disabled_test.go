package apiserver

import (
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/sim/profile"
)

// TestDropDisabled: what makes a sidecar stays.
func TestDropDisabled(t *testing.T) {
	always, never := ptr.To(v1.ContainerRestartPolicyAlways), ptr.To(v1.ContainerRestartPolicyNever)
	rules := []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestart}}
	pod := func() v1.PodSpec {
		return v1.PodSpec{
			InitContainers: []v1.Container{{RestartPolicy: always, RestartPolicyRules: rules}, {RestartPolicy: never, RestartPolicyRules: rules}},
			Containers:     []v1.Container{{RestartPolicy: never, RestartPolicyRules: rules}},
		}
	}
	without := v1.PodSpec{InitContainers: []v1.Container{{RestartPolicy: always}, {}}, Containers: []v1.Container{{}}}
	for version, want := range map[string]v1.PodSpec{"v1.34.4": without, "v1.36.3": pod(), "v1.37.0": pod()} {
		p, ok := profile.Named(version)
		got := pod()
		if DropDisabled(p, &got); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", version, got, want)
		}
	}
}
