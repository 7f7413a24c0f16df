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
	return errorsIn(field.NewPath("spec"), func(s scope) {
		eachContainer(s, &pod.Spec, func(s scope, c *v1.Container, init bool) {
			validateStopSignal(s.at("lifecycle", "stopSignal"), p, c, pod.Spec.OS)
			validateGatedHandlers(s, p, c)
			rules := podutil.RestartPolicyRules(c)
			if len(rules) == 0 || !p.ContainerRestartRules || p.RestartAllContainersOnContainerExits {
				return
			}
			s = s.at("restartPolicyRules")
			if init && podutil.IsRestartableInitContainer(c) {
				s.forbid(true, "restartPolicyRules are not allowed for init containers with restart policy Always")
				return
			}
			for i, rule := range rules { // validateContainerRestartPolicy
				if rule.Action == podutil.RestartAllContainers {
					oneOf(s.index(i).at("action"), podutil.RestartAllContainers, podutil.Restart)
				}
			}
		})
	})
}

// validateGatedHandlers checks the modes and protocols of probes and hooks. (validateGRPCAction,
// validateHTTPGetAction)
func validateGatedHandlers(s scope, p profile.Profile, c *v1.Container) {
	for _, probe := range podutil.Probes(c) {
		if mode := optional(probe.GRPC, "Mode"); mode != nil && p.GRPCContainerProbeTLS {
			oneOf(s.at(probe.Field, "grpc", "mode"), *mode, "Plaintext", "TLS")
		}
	}
	for at, get := range httpGets(c, s.path) {
		s := scope{at, s.errs}
		switch protocol := optional(get, "Protocol"); {
		case !p.H2CContainerProbe || protocol == nil:
		case *protocol != http2:
			oneOf(s.at("protocol"), *protocol, "HTTP1", http2)
		case get.Scheme != v1.URISchemeHTTP:
			s.at("protocol").invalid(true, *protocol, "is only supported with HTTP (H2C)")
		default:
			s.at("host").invalid(get.Host != "", get.Host, "must be empty when `protocol` is \"HTTP2\"")
		}
	}
}

// validateStopSignal checks the stop signal: it must be a signal of the pod's operating system.
func validateStopSignal(s scope, p profile.Profile, c *v1.Container, os *v1.PodOS) {
	if !p.ContainerStopSignals || c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return
	}
	if s.forbid(os == nil, "may not be set for containers with empty `spec.os.name`"); os != nil {
		oneOf(s, *c.Lifecycle.StopSignal, podutil.Signals()...)
		s.forbid(*c.Lifecycle.StopSignal == v1.SIGSTOP, "SIGSTOP, which freezes a program, is not supported yet")
	}
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
