package admission

import (
	"iter"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
	"probesim.dev/kube/profile"
)

// ValidateGated returns the errors with which the API server of a release rejects a pod because of
// its feature gates. Use it after Validate. Fields that DropDisabled drops are not errors.
func ValidateGated(p profile.Profile, pod *v1.Pod) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec")
	for i := range pod.Spec.Containers {
		c, path := &pod.Spec.Containers[i], path.Child("containers").Index(i)
		errs = append(errs, validateActions(p, c, path)...)
		errs = append(errs, validateStopSignal(p, c, pod.Spec.OS, path)...)
		errs = append(errs, validateGatedHandlers(p, c, path)...)
	}
	for i := range pod.Spec.InitContainers {
		c, path := &pod.Spec.InitContainers[i], path.Child("initContainers").Index(i)
		errs = append(errs, validateStopSignal(p, c, pod.Spec.OS, path)...)
		errs = append(errs, validateGatedHandlers(p, c, path)...)
		if podutil.IsRestartableInitContainer(c) && len(podutil.RestartPolicyRules(c)) > 0 && p.ContainerRestartRules &&
			!p.RestartAllContainersOnContainerExits {
			errs = append(errs, field.Forbidden(path.Child("restartPolicyRules"),
				"restartPolicyRules are not allowed for init containers with restart policy Always"))
			continue
		}
		errs = append(errs, validateActions(p, c, path)...)
	}
	return errs
}

// validateActions checks the actions of restart rules. (validateContainerRestartPolicy)
func validateActions(p profile.Profile, c *v1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range podutil.RestartPolicyRules(c) {
		if p.ContainerRestartRules && !p.RestartAllContainersOnContainerExits &&
			rule.Action == podutil.RestartAllContainers {
			errs = append(errs, oneOf(path.Child("restartPolicyRules").Index(i).Child("action"),
				podutil.RestartAllContainers, podutil.Restart)...)
		}
	}
	return errs
}

// validateGatedHandlers checks the modes and protocols of probes and hooks. (validateGRPCAction,
// validateHTTPGetAction)
func validateGatedHandlers(p profile.Profile, c *v1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, probe := range podutil.Probes(c) {
		if mode := optional(probe.GRPC, "Mode"); mode != nil && p.GRPCContainerProbeTLS {
			errs = append(errs, oneOf(path.Child(probe.Field, "grpc", "mode"), *mode, "Plaintext", "TLS")...)
		}
	}
	for at, get := range httpGets(c, path) {
		errs = append(errs, validateProtocol(p, get, at)...)
	}
	return errs
}

// validateStopSignal checks the stop signal: it must be a signal of the pod's operating system.
func validateStopSignal(p profile.Profile, c *v1.Container, os *v1.PodOS, path *field.Path) field.ErrorList {
	if !p.ContainerStopSignals || c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return nil
	}
	path = path.Child("lifecycle", "stopSignal")
	if os == nil {
		return field.ErrorList{field.Forbidden(path, "may not be set for containers with empty `spec.os.name`")}
	}
	if name, number := podutil.StopSignal(c); number == 0 {
		return field.ErrorList{field.NotSupported(path, name, podutil.Signals())}
	}
	return nil
}

func validateProtocol(p profile.Profile, get *v1.HTTPGetAction, path *field.Path) field.ErrorList {
	protocol := optional(get, "Protocol")
	switch {
	case !p.H2CContainerProbe || protocol == nil:
		return nil
	case *protocol != http2:
		return oneOf(path.Child("protocol"), *protocol, "HTTP1", http2)
	case get.Scheme != v1.URISchemeHTTP:
		return field.ErrorList{field.Invalid(path.Child("protocol"), *protocol, "is only supported with HTTP (H2C)")}
	case get.Host != "":
		return field.ErrorList{field.Invalid(path.Child("host"), get.Host,
			"must be empty when `protocol` is \"HTTP2\"")}
	}
	return nil
}

const http2 = "HTTP2"

// httpGets returns the httpGet handlers of the probes and hooks of a container by the path of the
// handler.
func httpGets(c *v1.Container, path *field.Path) iter.Seq2[*field.Path, *v1.HTTPGetAction] {
	return func(yield func(*field.Path, *v1.HTTPGetAction) bool) {
		for _, r := range podutil.Requests(c) {
			if r.HTTPGet != nil && !yield(path.Child(r.Field, "httpGet"), r.HTTPGet) {
				return
			}
		}
	}
}

// optional returns the string in a field of a handler, or nil. It finds the field by reflection:
// the releases of k8s.io/api that older kubelets are built with do not have it.
func optional[T any](handler *T, name string) *string {
	if handler == nil {
		return nil
	}
	f := reflect.ValueOf(handler).Elem().FieldByName(name)
	if !f.IsValid() || f.IsNil() {
		return nil
	}
	return new(f.Elem().String())
}
