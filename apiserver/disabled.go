package apiserver

import (
	"reflect"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
)

// DropDisabled takes out of the spec of a pod what the API server of a version does not keep, as the feature gate for it
// is off. It says nothing of it (dropDisabledFields in pkg/api/pod/util.go at v1.37.0).
func DropDisabled(p profile.Profile, spec *v1.PodSpec) {
	for c := range podutil.Containers(spec) {
		dropGated(p, c)
	}
	if !p.ContainerRestartRules {
		dropRestartRules(spec)
	}
}

// dropGated is about the fields of probes and hooks.
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

// unset takes the value of a field out of a handler, if there is one, unless it is kept. Only newer releases of k8s.io/api
// have the field, and this package is also built with those of the kubelets that it is compared with.
func unset[T any](handler *T, field string, keep bool) {
	if handler == nil || keep {
		return
	}
	if f := reflect.ValueOf(handler).Elem().FieldByName(field); f.IsValid() {
		f.SetZero()
	}
}

// dropRestartRules leaves the restart policies of sidecars.
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
