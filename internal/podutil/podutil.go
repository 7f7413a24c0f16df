// Package podutil answers questions about the spec of a pod: which init containers are sidecars,
// which containers restart after an exit, and which signal stops a container. The rules follow
// pkg/api/v1/pod/util.go at v1.37.0.
package podutil

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// IsRestartableInitContainer reports whether an init container is a sidecar, which runs as long as
// the pod. The container must be an init container.
func IsRestartableInitContainer(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// HasRestartableInitContainer reports whether the pod has a sidecar.
func HasRestartableInitContainer(pod *v1.Pod) bool {
	for i := range pod.Spec.InitContainers {
		if IsRestartableInitContainer(&pod.Spec.InitContainers[i]) {
			return true
		}
	}
	return false
}

// Containers iterates over the init containers of a pod, then over the regular containers.
func Containers(spec *v1.PodSpec) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// IsInit reports whether a container is an ordinary init container, which ends before the others
// start.
func IsInit(spec *v1.PodSpec, c *v1.Container) bool {
	return !IsRestartableInitContainer(c) &&
		slices.ContainsFunc(spec.InitContainers, func(i v1.Container) bool { return i.Name == c.Name })
}

// DebugTarget returns the container whose processes an ephemeral container of the pod sees, if it
// names one. It is empty for other containers.
func DebugTarget(pod *v1.Pod, name string) string {
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; c.Name == name {
			return c.TargetContainerName
		}
	}
	return ""
}

// Find returns the regular or init container with that name, or nil.
func Find(pod *v1.Pod, name string) *v1.Container {
	for c := range Containers(&pod.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// ProbeOf returns the probe of a type of a container (liveness, readiness or startup), or nil if
// the container does not have it.
func ProbeOf(c *v1.Container, probeType string) *v1.Probe {
	switch probeType {
	case "startup":
		return c.StartupProbe
	case "readiness":
		return c.ReadinessProbe
	case "liveness":
		return c.LivenessProbe
	}
	return nil
}

// Threshold returns how many successes or failures of a probe in a row decide. It is 1 for a probe
// that does not exist.
func Threshold(p *v1.Probe, success bool) int {
	switch {
	case p == nil:
		return 1
	case success:
		return max(1, int(p.SuccessThreshold))
	default:
		return max(1, int(p.FailureThreshold))
	}
}

// RestartPolicyOf returns the restart policy of a container: its own, otherwise that of the pod. It
// alone decides after a failed probe, without the restart rules of the container
// (computePodActions in pkg/kubelet/kuberuntime at v1.37.0).
func RestartPolicyOf(pod *v1.PodSpec, c *v1.Container) v1.RestartPolicy {
	if c.RestartPolicy != nil {
		return v1.RestartPolicy(*c.RestartPolicy)
	}
	return pod.RestartPolicy
}

// ContainerShouldRestart reports whether a container restarts after an exit with this code. The
// first matching restart rule of the container decides, otherwise its restart policy, otherwise the
// restart policy of the pod.
func ContainerShouldRestart(c *v1.Container, pod *v1.PodSpec, exitCode int32) bool {
	if c.RestartPolicy == nil {
		return restarts(string(pod.RestartPolicy), exitCode)
	}
	switch actionFor(c, exitCode) {
	case Restart, RestartAllContainers:
		return true
	}
	return restarts(string(*c.RestartPolicy), exitCode)
}

// actionFor returns the action of the first restart rule that matches an exit code, or an empty
// action (FindMatchingContainerRestartRule).
func actionFor(c *v1.Container, exitCode int32) string {
	for _, rule := range RestartPolicyRules(c) {
		if rule.matches(exitCode) {
			return rule.Action
		}
	}
	return ""
}

// restarts reports whether a restart policy, of a pod or of a container, restarts after an exit
// with this code.
func restarts(policy string, exitCode int32) bool {
	switch policy {
	case string(v1.RestartPolicyNever):
		return false
	case string(v1.RestartPolicyOnFailure):
		return exitCode != 0
	}
	return true
}

// SumOf returns what a pod needs of each resource: the sum of its regular containers and sidecars,
// or the most that an init container and the sidecars before it need together (PodRequests and
// PodLimits in k8s.io/component-helpers/resource v0.37.0).
func SumOf(pod *v1.Pod, of func(*v1.Container) v1.ResourceList) v1.ResourceList {
	sum, sidecars, most := v1.ResourceList{}, v1.ResourceList{}, v1.ResourceList{}
	for i := range pod.Spec.Containers {
		addTo(sum, of(&pod.Spec.Containers[i]))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if IsRestartableInitContainer(c) {
			addTo(sum, of(c))
			addTo(sidecars, of(c))
			RaiseTo(most, sidecars)
			continue
		}
		together := sidecars.DeepCopy()
		addTo(together, of(c))
		RaiseTo(most, together)
	}
	RaiseTo(sum, most)
	return sum
}

func addTo(list, more v1.ResourceList) {
	for name, q := range more {
		total := list[name]
		total.Add(q)
		list[name] = total
	}
}

// RaiseTo raises each quantity of a list to that of another.
func RaiseTo(list, least v1.ResourceList) {
	for name, q := range least {
		if has, ok := list[name]; !ok || has.Cmp(q) < 0 {
			list[name] = q
		}
	}
}

// QOSClass returns the quality of service of a pod, which the requests and limits of its containers
// determine (ComputePodQOS in pkg/apis/core/helper/qos/qos.go at v1.37.0).
func QOSClass(spec *v1.PodSpec) v1.PodQOSClass {
	class := v1.PodQOSClass("") // not known yet
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
				of := resourceQOS(&containers[i].Resources, name)
				if class != "" && class != of {
					return v1.PodQOSBurstable
				}
				class = of
			}
		}
	}
	return cmp.Or(class, v1.PodQOSBestEffort)
}

// resourceQOS returns the class of one resource of a container.
func resourceQOS(r *v1.ResourceRequirements, name v1.ResourceName) v1.PodQOSClass {
	request, limit := r.Requests[name], r.Limits[name]
	switch {
	case !request.Equal(limit):
		return v1.PodQOSBurstable
	case request.IsZero():
		return v1.PodQOSBestEffort
	}
	return v1.PodQOSGuaranteed
}

// signals has the numbers of the Linux signals on x86 and ARM, by their names in the API
// (signal(7)).
var signals = func() map[v1.Signal]int {
	numbers := map[v1.Signal]int{"SIGIOT": 6, "SIGCLD": 17, "SIGPOLL": 29, "SIGRTMIN": 34, "SIGRTMAX": 64}
	for i, name := range strings.Fields("SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 " +
		"SIGSEGV SIGUSR2 SIGPIPE SIGALRM SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG " +
		"SIGXCPU SIGXFSZ SIGVTALRM SIGPROF SIGWINCH SIGIO SIGPWR SIGSYS") {
		numbers[v1.Signal(name)] = i + 1
	}
	for i := 1; i <= 15; i++ {
		numbers[v1.Signal(fmt.Sprint("SIGRTMIN+", i))] = 34 + i
	}
	for i := 1; i <= 14; i++ {
		numbers[v1.Signal(fmt.Sprint("SIGRTMAX-", i))] = 64 - i
	}
	return numbers
}()

// Signals returns the valid stop signals in alphabetical order.
func Signals() []v1.Signal { return slices.Sorted(maps.Keys(signals)) }

// StopSignal returns the name and the number of the signal that stops a container. The default is
// SIGTERM, as for an image without a stop signal (getContainerConfigStopSignal in
// pkg/kubelet/kuberuntime/helpers.go at v1.37.0). The number is 0 if the name is not a signal.
func StopSignal(c *v1.Container) (v1.Signal, int) {
	name := v1.SIGTERM
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		name = *c.Lifecycle.StopSignal
	}
	return name, signals[name]
}

// Annotations of static pods and mirror pods (pkg/kubelet/types/pod_update.go at v1.37.0).
const (
	ConfigSource = "kubernetes.io/config.source"
	ConfigHash   = "kubernetes.io/config.hash"
	FileSource   = "file" // the value of ConfigSource in a pod from a file
)

// IsStatic reports whether the kubelet has read the pod from a file. A mirror pod has the same
// annotation, but each pod in the API has a generation, and a pod from a file has none.
func IsStatic(pod *v1.Pod) bool {
	return pod.Generation == 0 && pod.Annotations[ConfigSource] == FileSource
}

// IsMirror reports whether a pod is a mirror pod: it has the annotation, with any value
// (IsMirrorPod in pkg/kubelet/types/pod_update.go at v1.37.0).
func IsMirror(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror
}

// IsMirrorOf reports whether a mirror pod was made from a static pod of the same name
// (IsMirrorPodOf in pkg/kubelet/pod/pod_manager.go at v1.37.0).
func IsMirrorOf(mirror, static *v1.Pod) bool {
	return mirror.Namespace == static.Namespace && mirror.Name == static.Name &&
		mirror.Annotations[v1.MirrorPodAnnotationKey] == static.Annotations[ConfigHash]
}

// DelaysOf returns the UID of the pod whose delays apply to calls about a pod: that of the static
// pod for its mirror pod.
func DelaysOf(pod *v1.Pod) string {
	if hash := pod.Annotations[v1.MirrorPodAnnotationKey]; hash != "" {
		return hash
	}
	return string(pod.UID)
}

// Handler describes how the kubelet asks a program. HandlerOf knows all kinds of handlers: only the
// code that sends, answers or validates a request needs to know more about a kind.
type Handler struct {
	Field  string              // the field in a probe, such as httpGet
	Scheme string              // exec, http, https, tcp or grpc
	Port   *intstr.IntOrString // nil: a command asks no port
	Host   string              // in place of the IP of the pod; may be empty
	Path   string              // of an HTTP request, or the service of a gRPC health check; may be empty
}

// HandlerOf returns the handler of a probe or a hook, which may be nil or have none: the Field is
// then empty. If there are several, the kubelet uses the first (pkg/kubelet/prober/prober.go at
// v1.37.0).
func HandlerOf(h *v1.ProbeHandler) Handler {
	switch {
	case h == nil:
	case h.Exec != nil:
		return Handler{Field: "exec", Scheme: "exec"}
	case h.HTTPGet != nil:
		get := h.HTTPGet
		return Handler{"httpGet", strings.ToLower(string(get.Scheme)), &get.Port, get.Host, get.Path}
	case h.TCPSocket != nil:
		return Handler{"tcpSocket", "tcp", &h.TCPSocket.Port, h.TCPSocket.Host, ""}
	case h.GRPC != nil:
		service := ""
		if h.GRPC.Service != nil {
			service = *h.GRPC.Service
		}
		return Handler{"grpc", "grpc", new(intstr.FromInt32(h.GRPC.Port)), "", service}
	}
	return Handler{}
}

// Asks describes what a handler asks, such as http :8080/healthz or exec cat /tmp/healthy. It is
// empty without a handler.
func Asks(h *v1.ProbeHandler) string {
	of := HandlerOf(h)
	switch {
	case of.Field == "":
		return ""
	case of.Port == nil:
		return "exec " + strings.Join(h.Exec.Command, " ")
	case of.Field == "httpGet":
		return of.Scheme + " :" + of.Port.String() + of.Path
	}
	return of.Scheme + " :" + of.Port.String()
}

// Endpoint returns what a handler asks, in the notation of rules, such as http:8080/healthz.
func Endpoint(h *v1.ProbeHandler) string {
	of := HandlerOf(h)
	switch path := strings.TrimPrefix(of.Path, "/"); {
	case of.Port == nil:
		return "exec:" + strings.Join(strings.Fields(strings.Join(h.Exec.Command, " ")), " ")
	case path == "" && of.Field != "httpGet":
		return of.Scheme + ":" + of.Port.String()
	default:
		return of.Scheme + ":" + of.Port.String() + "/" + path
	}
}

// Probe is a probe of a container.
type Probe struct {
	Key   string // the name in rules, such as liveness
	Field string // in the container, such as livenessProbe
	*v1.Probe
}

// Probes returns the probes of a container.
func Probes(c *v1.Container) []Probe {
	var list []Probe
	for _, p := range []Probe{
		{"liveness", "livenessProbe", c.LivenessProbe},
		{"readiness", "readinessProbe", c.ReadinessProbe},
		{"startup", "startupProbe", c.StartupProbe},
	} {
		if p.Probe != nil {
			list = append(list, p)
		}
	}
	return list
}

// HookKeys are the names of the lifecycle hooks, in rules and in containers.
var HookKeys = []string{"postStart", "preStop"}

// Hook returns a lifecycle hook of a container, or nil.
func Hook(c *v1.Container, key string) *v1.LifecycleHandler {
	switch {
	case c.Lifecycle == nil:
		return nil
	case key == "postStart":
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}

// RequestOf returns the request that a hook sends to the program, or nil if it sends none. The
// kubelet does not support TCP sockets in hooks (pkg/kubelet/lifecycle/handlers.go at v1.37.0).
func RequestOf(hook *v1.LifecycleHandler) *v1.ProbeHandler {
	if hook == nil || hook.Exec == nil && hook.HTTPGet == nil {
		return nil
	}
	return &v1.ProbeHandler{Exec: hook.Exec, HTTPGet: hook.HTTPGet}
}

// Request is a probe or hook that asks the program in a container.
type Request struct {
	Key    string // the name in rules, such as liveness or preStop
	Field  string // in the container, such as livenessProbe or lifecycle.preStop
	IsHook bool
	*v1.ProbeHandler
}

// Requests returns the probes and then the hooks of a container that ask its program.
func Requests(c *v1.Container) []Request {
	var list []Request
	for _, p := range Probes(c) {
		if HandlerOf(&p.ProbeHandler).Field != "" {
			list = append(list, Request{p.Key, p.Field, false, &p.ProbeHandler})
		}
	}
	for _, key := range HookKeys {
		if h := RequestOf(Hook(c, key)); h != nil {
			list = append(list, Request{key, "lifecycle." + key, true, h})
		}
	}
	return list
}

// IsHTTP2 reports whether a handler uses HTTP/2 without TLS. The handler can be nil. IsHTTP2 finds
// the field by reflection: the releases of k8s.io/api that older kubelets are built with do not
// have it.
func IsHTTP2(get *v1.HTTPGetAction) bool {
	if get == nil {
		return false
	}
	protocol := reflect.ValueOf(get).Elem().FieldByName("Protocol")
	return protocol.IsValid() && !protocol.IsNil() && protocol.Elem().String() == "HTTP2"
}
