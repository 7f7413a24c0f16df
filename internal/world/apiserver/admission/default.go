package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/podutil"
)

// Default sets the API server's defaults in the pod, the namespace "default" and a UID. It does not
// set the defaults of volumes, which the simulator does not read. Values that are set stay.
func Default(pod *v1.Pod) {
	setDefault(&pod.Namespace, v1.NamespaceDefault)
	setDefault(&pod.UID, UID(pod.Namespace, pod.Name))
	defaultSpec(&pod.Spec)
	defaultResources(&pod.Spec)
	for c := range podutil.Containers(&pod.Spec) {
		defaultContainer(c, pod.Spec.HostNetwork)
	}
}

// defaultSpec is SetDefaults_PodSpec and the part of SetDefaults_Pod for the spec. For
// compatibility, a negative grace period becomes 1 s there.
func defaultSpec(spec *v1.PodSpec) {
	setDefault(&spec.DNSPolicy, v1.DNSClusterFirst)
	setDefault(&spec.RestartPolicy, v1.RestartPolicyAlways)
	setDefault(&spec.SchedulerName, v1.DefaultSchedulerName)
	setDefault(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	setDefaultPointer(&spec.SecurityContext, v1.PodSecurityContext{})
	setDefaultPointer(&spec.EnableServiceLinks, v1.DefaultEnableServiceLinks)
	setDefaultPointer(&spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds)
	if *spec.TerminationGracePeriodSeconds < 0 {
		spec.TerminationGracePeriodSeconds = ptr.To[int64](1)
	}
}

// defaultContainer is SetDefaults_Container and the part of SetObjectDefaults_Pod for the fields of
// a container.
func defaultContainer(c *v1.Container, hostNetwork bool) {
	setDefault(&c.ImagePullPolicy, pullPolicy(c.Image))
	setDefault(&c.TerminationMessagePath, v1.TerminationMessagePathDefault)
	setDefault(&c.TerminationMessagePolicy, v1.TerminationMessageReadFile)
	for i := range c.Ports {
		port := &c.Ports[i]
		setDefault(&port.Protocol, v1.ProtocolTCP)
		if hostNetwork { // defaultHostNetworkPorts
			setDefault(&port.HostPort, port.ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil { // SetDefaults_ObjectFieldSelector
			setDefault(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, probe := range podutil.Probes(c) {
		defaultProbe(probe.Probe)
	}
	for _, r := range podutil.Requests(c) {
		defaultHTTPGet(r.HTTPGet)
	}
}

// defaultProbe is SetDefaults_Probe.
func defaultProbe(probe *v1.Probe) {
	setDefault(&probe.TimeoutSeconds, 1)
	setDefault(&probe.PeriodSeconds, 10)
	setDefault(&probe.SuccessThreshold, 1)
	setDefault(&probe.FailureThreshold, 3)
	if probe.GRPC != nil { // zz_generated.defaults.go
		setDefaultPointer(&probe.GRPC.Service, "")
	}
}

// defaultHTTPGet is SetDefaults_HTTPGetAction.
func defaultHTTPGet(action *v1.HTTPGetAction) {
	if action != nil {
		setDefault(&action.Path, "/")
		setDefault(&action.Scheme, v1.URISchemeHTTP)
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func setDefaultPointer[T any](value **T, to T) {
	if *value == nil {
		*value = ptr.To(to)
	}
}
