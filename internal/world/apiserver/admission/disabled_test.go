package admission

import (
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/kube/profile"
)

// The restart policy of a sidecar stays in releases without restart rules.
func TestDropDisabled(t *testing.T) {
	always, never := ptr.To(v1.ContainerRestartPolicyAlways), ptr.To(v1.ContainerRestartPolicyNever)
	rules := []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestart}}
	pod := func() v1.PodSpec {
		return v1.PodSpec{
			InitContainers: []v1.Container{{RestartPolicy: always, RestartPolicyRules: rules},
				{RestartPolicy: never, RestartPolicyRules: rules}},
			Containers: []v1.Container{{RestartPolicy: never, RestartPolicyRules: rules}},
		}
	}
	without := v1.PodSpec{InitContainers: []v1.Container{{RestartPolicy: always}, {}}, Containers: []v1.Container{{}}}
	for version, want := range map[string]v1.PodSpec{"v1.34": without, "v1.36": pod(), "v1.37": pod()} {
		p, ok := profile.Named(version)
		got := pod()
		dropped := DropDisabled(p, &got)
		if !ok || len(dropped) != map[string]int{"v1.34": 5}[version] || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", version, got, want)
		}
	}
}

// Fields of probes and hooks stay if their gate is on. A lifecycle without any field left is
// removed.
func TestDropGated(t *testing.T) {
	http := func() *v1.HTTPGetAction { return &v1.HTTPGetAction{Path: "/", Protocol: ptr.To(v1.HTTPProtocolHTTP2)} }
	spec := func() *v1.PodSpec {
		return &v1.PodSpec{Containers: []v1.Container{{
			LivenessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: http()}},
			ReadinessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 1,
				Mode: ptr.To(v1.GRPCProbeModeTLS)}}},
			Lifecycle: &v1.Lifecycle{PreStop: &v1.LifecycleHandler{HTTPGet: http()},
				StopSignal: ptr.To(v1.SIGUSR1)},
		}, {Lifecycle: &v1.Lifecycle{StopSignal: ptr.To(v1.SIGUSR1)}}}}
	}
	got := spec()
	dropped := DropDisabled(profile.V1_37, got)
	want := []Dropped{
		{"spec.containers[0].livenessProbe.httpGet.protocol", "H2CContainerProbe"},
		{"spec.containers[0].lifecycle.preStop.httpGet.protocol", "H2CContainerProbe"},
		{"spec.containers[0].readinessProbe.grpc.mode", "GRPCContainerProbeTLS"},
		{"spec.containers[0].lifecycle.stopSignal", "ContainerStopSignals"},
		{"spec.containers[1].lifecycle.stopSignal", "ContainerStopSignals"},
	}
	if !reflect.DeepEqual(dropped, want) {
		t.Errorf("dropped %v, want %v", dropped, want)
	}
	if again := DropDisabled(profile.V1_37, got); again != nil {
		t.Errorf("dropped again: %v", again)
	}
	c := got.Containers[0]
	if c.LivenessProbe.HTTPGet.Protocol != nil || c.ReadinessProbe.GRPC.Mode != nil ||
		c.Lifecycle.PreStop.HTTPGet.Protocol != nil ||
		c.Lifecycle.StopSignal != nil || got.Containers[1].Lifecycle != nil {
		t.Errorf("with all gates off: %+v", got)
	}
	on := profile.V1_37
	on.GRPCContainerProbeTLS, on.H2CContainerProbe, on.ContainerStopSignals = true, true, true
	got = spec()
	if DropDisabled(on, got); !reflect.DeepEqual(got, spec()) {
		t.Errorf("with all gates on: %+v", got)
	}
}
