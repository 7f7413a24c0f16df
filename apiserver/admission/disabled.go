package admission

import (
	"reflect"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
)

// DropDisabled removes the fields of a pod's spec whose feature gate is off. The API server does so without an error
// (dropDisabledFields in pkg/api/pod/util.go at v1.37.0).
func DropDisabled(p profile.Profile, spec *v1.PodSpec) {
	for c := range podutil.Containers(spec) {
		dropGated(p, c)
	}
	if !p.ContainerRestartRules {
		dropRestartRules(spec)
	}
}

// dropGated removes disabled fields of probes and hooks.
func dropGated(p profile.Profile, c *v1.Container) {
	for _, probe := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			unset(probe.HTTPGet, "Protocol", p.H2CContainerProbe)
			unset(probe.GRPC, "Mode", p.GRPCContainerProbeTLS)
		}
	}
	if c.Lifecycle == nil {
		return
	}
	for _, hook := range []*v1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if hook != nil {
			unset(hook.HTTPGet, "Protocol", p.H2CContainerProbe)
		}
	}
	if c.Lifecycle.StopSignal != nil && !p.ContainerStopSignals {
		if c.Lifecycle.StopSignal = nil; *c.Lifecycle == (v1.Lifecycle{}) {
			c.Lifecycle = nil
		}
	}
}

// unset clears a field of a handler unless keep is set. It finds the field by reflection: the releases of k8s.io/api that
// older kubelets are built with do not have it.
func unset[T any](handler *T, field string, keep bool) {
	if handler == nil || keep {
		return
	}
	if f := reflect.ValueOf(handler).Elem().FieldByName(field); f.IsValid() {
		f.SetZero()
	}
}

// dropRestartRules removes the restart policies and rules of containers, except the policies that make sidecars.
func dropRestartRules(spec *v1.PodSpec) {
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		c.RestartPolicyRules = nil
		if c.RestartPolicy != nil && *c.RestartPolicy != v1.ContainerRestartPolicyAlways {
			c.RestartPolicy = nil
		}
	}
	for i := range spec.Containers {
		spec.Containers[i].RestartPolicy, spec.Containers[i].RestartPolicyRules = nil, nil
	}
}
