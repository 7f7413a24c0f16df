package admission

import (
	"fmt"
	"iter"
	"reflect"
	"strings"

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

// Dropped is a field that the API server removed from a pod because its feature gate is off.
type Dropped struct {
	Field string // path, as in spec.containers[0].restartPolicyRules
	Gate  string // name of the feature gate
}

// DropDisabled removes the fields of a pod's spec whose feature gate is off, and returns those that
// were set. The API server does so without an error or a warning (dropDisabledFields in
// pkg/api/pod/util.go at v1.37.0).
func DropDisabled(p profile.Profile, spec *v1.PodSpec) []Dropped {
	d := &dropper{p: p}
	for i := range spec.InitContainers {
		d.container(&spec.InitContainers[i], field.NewPath("spec", "initContainers").Index(i), true)
	}
	for i := range spec.Containers {
		d.container(&spec.Containers[i], field.NewPath("spec", "containers").Index(i), false)
	}
	return d.dropped
}

// dropper removes fields and collects their names.
type dropper struct {
	p       profile.Profile
	dropped []Dropped
}

func (d *dropper) drop(path *field.Path, gate string) {
	d.dropped = append(d.dropped, Dropped{path.String(), gate})
}

func (d *dropper) container(c *v1.Container, path *field.Path, init bool) {
	if !d.p.ContainerRestartRules {
		d.restartRules(c, path, init)
	}
	for at, get := range httpGets(c, path) {
		d.unset(get, "Protocol", d.p.H2CContainerProbe, at.Child("protocol"), "H2CContainerProbe")
	}
	for _, probe := range podutil.Probes(c) {
		d.unset(probe.GRPC, "Mode", d.p.GRPCContainerProbeTLS, path.Child(probe.Field, "grpc", "mode"),
			"GRPCContainerProbeTLS")
	}
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil && !d.p.ContainerStopSignals {
		d.drop(path.Child("lifecycle", "stopSignal"), "ContainerStopSignals")
		if c.Lifecycle.StopSignal = nil; *c.Lifecycle == (v1.Lifecycle{}) {
			c.Lifecycle = nil
		}
	}
}

// restartRules removes the restart policy and rules of a container, except the policy that makes a
// sidecar.
func (d *dropper) restartRules(c *v1.Container, path *field.Path, init bool) {
	const gate = "ContainerRestartRules"
	if c.RestartPolicy != nil && !(init && *c.RestartPolicy == v1.ContainerRestartPolicyAlways) {
		c.RestartPolicy = nil
		d.drop(path.Child("restartPolicy"), gate)
	}
	if len(podutil.RestartPolicyRules(c)) > 0 {
		d.drop(path.Child("restartPolicyRules"), gate)
	}
	podutil.RemoveRestartPolicyRules(c)
}

// unset clears a field of a handler, which may be a nil pointer, unless keep is set. It finds the
// field by reflection: the releases of k8s.io/api that older kubelets are built with do not have
// it.
func (d *dropper) unset(handler any, name string, keep bool, path *field.Path, gate string) {
	h := reflect.ValueOf(handler)
	if h.IsNil() || keep {
		return
	}
	if f := h.Elem().FieldByName(name); f.IsValid() && !f.IsZero() {
		f.SetZero()
		d.drop(path, gate)
	}
}

// Notes describes dropped fields of an object for people, with one sentence for each feature gate.
// The object has a name such as "Deployment web", and its pod template the path template, or "" if
// it is a pod.
func Notes(p profile.Profile, object, template string, all []Dropped) []string {
	var gates []string
	fields := map[string][]string{}
	for _, d := range all {
		if fields[d.Gate] == nil {
			gates = append(gates, d.Gate)
		}
		path := d.Field
		if template != "" {
			path = template + "." + path
		}
		fields[d.Gate] = append(fields[d.Gate], path)
	}
	var notes []string
	for _, gate := range gates {
		notes = append(notes, fmt.Sprintf("the API server of %s drops %s of %s, because the feature gate %s is off",
			p.Version, strings.Join(fields[gate], ", "), object, gate))
	}
	return notes
}
