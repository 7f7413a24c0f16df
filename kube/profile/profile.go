// Package profile describes how Kubernetes releases differ in the behaviour that the simulator models.
//
// A [Profile] is the behaviour of one release: the state of its feature gates, and the changes that pull requests made
// without a gate. Two tables say which release does what: the feature gates with their stages and defaults, and the
// changes with their pull requests. The rest of the simulator reads the fields of a Profile and never compares versions.
package profile

// Profile is the behaviour of one Kubernetes release. Pass it by value and compare it with ==. The zero Profile is no
// release: start from [Newest] or [Named].
//
// Numbers with # in the comments are pull requests of kubernetes/kubernetes.
type Profile struct {
	// Version is the release, such as v1.37.0.
	Version string

	FeatureGates
	Changes
}

// FeatureGates are the feature gates whose effect is modelled. A field has the name of its gate and is true while the
// gate is on (pkg/features/kube_features.go).
type FeatureGates struct {
	// ChangeContainerStatusOnKubeletRestart makes a kubelet that starts treat all containers as new: their probes start
	// over. When it is off, a container that started more than 10 s before the kubelet keeps its readiness until its
	// first probe, the startup probe of a started sidecar counts as successful, and a running container counts as
	// started if an instance before it was. KEP-4781; #134746, #137146.
	ChangeContainerStatusOnKubeletRestart bool
	// ContainerRestartRules gives containers a restart policy and restart rules. When it is off, the API server drops
	// these fields except from sidecars, probe workers end with the last exit only in pods whose restart policy is Never,
	// and the status shows a sidecar as waiting for a restart only if the pod's restart policy allows one. #134631.
	ContainerRestartRules bool
	// ContainerStopSignals keeps lifecycle.stopSignal of containers. When it is off, the API server drops the field.
	// #130556.
	ContainerStopSignals bool
	// GRPCContainerProbeTLS keeps the mode of grpc probes, which selects TLS. When it is off, the API server drops the
	// field. #137762.
	GRPCContainerProbeTLS bool
	// H2CContainerProbe keeps the protocol of httpGet handlers, which selects HTTP/2 without TLS. When it is off, the
	// API server drops the field. #139429.
	H2CContainerProbe bool
	// KubeletCrashLoopBackOffMax lets the kubelet configuration set the longest crash-loop back-off. #135044.
	KubeletCrashLoopBackOffMax bool
	// KubeletEnsureSecretPulledImages makes the kubelet record image pulls on disk. A pod that needs an image while the
	// kubelet pulls it for another pod pulls it too, a kubelet that was killed during a pull lists the images first when
	// it starts again, and the event about an image that is present says that the pod can access it. #135228.
	KubeletEnsureSecretPulledImages bool
	// PLEGOnDemandRelist makes the PLEG relist a pod right after a sync that changed something. #137362.
	PLEGOnDemandRelist bool
	// ReduceDefaultCrashLoopBackOffDecay starts the crash-loop back-off at 1 s instead of 10 s and ends it at 1 min
	// instead of 5 min.
	ReduceDefaultCrashLoopBackOffDecay bool
	// RestartAllContainersOnContainerExits accepts restart rules with the action RestartAllContainers, and rules of
	// sidecars. The status then keeps the last exit and the restart count of a container that the runtime has removed,
	// and the condition Initialized stays true while a sidecar of an initialized pod restarts. #136681.
	RestartAllContainersOnContainerExits bool
}

// Changes are changes of behaviour without a feature gate. A field is true in the releases that behave as it says.
type Changes struct {
	// AddPodSkipsOnlyContainer continues with the next container of a pod when a probe worker exists already. Older
	// kubelets skip the rest of the pod. #138930.
	AddPodSkipsOnlyContainer bool
	// InitializedBySandbox takes a pod for initialized once a regular container has started in its current sandbox. Older
	// kubelets do so only while a regular container runs, in any sandbox: the restart of a sidecar then delays the
	// restart of containers that have exited. #138514.
	InitializedBySandbox bool
	// InspectUsesListing makes the PLEG inspect the sandboxes and containers that it has just listed. Older kubelets list
	// those of a changed pod again. #137471.
	InspectUsesListing bool
	// ManualTrigger makes the readiness worker of a started container that is not ready probe immediately whenever the
	// kubelet generates the pod's status. #98376, #101738.
	ManualTrigger bool
	// ManualTriggerResetsTicker restarts the probe period at such a probe. #119089.
	ManualTriggerResetsTicker bool
	// PodReadyToStartAtSandbox patches the condition PodReadyToStartContainers as soon as the sandbox is ready. #134660.
	PodReadyToStartAtSandbox bool
	// RequeueAtBackOffExpiry syncs a pod in crash-loop back-off when the back-off ends. Older kubelets sync it every 10
	// to 15 s. #133066.
	RequeueAtBackOffExpiry bool
	// SandboxReasonInCondition gives the reason why PodReadyToStartContainers is false. #135300.
	SandboxReasonInCondition bool
	// ShortContainerEvents words events as "Container created" and "Container started", without the container's name.
	// #134043.
	ShortContainerEvents bool
	// StartupOnHoldAfterSuccess stops the startup probe once it has succeeded. #121206.
	StartupOnHoldAfterSuccess bool
	// TerminationCancelsProbes cancels the exec probes of a pod that is asked to terminate. The running probe and all
	// later ones end with an error, and the pod stays as ready as it was. #130487, #140509; reverted by #140882.
	TerminationCancelsProbes bool
	// UnknownPortNotFound reports a port name that the container does not have as not found. Older kubelets report that
	// the name is not a number. #139791.
	UnknownPortNotFound bool
	// UnknownStateInErrorEvent words the event of a probe error as "errored and resulted in unknown state". #125901.
	UnknownStateInErrorEvent bool
	// UpdateNeedsAdmission ignores updates of a pod that the kubelet did not admit. Older kubelets sync the pod. #139522.
	UpdateNeedsAdmission bool
}

// The releases that are compared with the real kubelet.
var (
	V1_34_4 = of("v1.34.4")
	V1_36_3 = of("v1.36.3")
	V1_37_0 = of("v1.37.0")
)

// profiles are all releases, oldest first.
var profiles = []Profile{V1_34_4, V1_36_3, V1_37_0}

// of returns the behaviour of a release according to the tables.
func of(version string) Profile {
	p := Profile{Version: version}
	v, _ := parseRelease(version)
	for _, g := range gates {
		*g.field(&p.FeatureGates) = g.before
		if s := g.at(v); s != nil {
			*g.field(&p.FeatureGates) = s.on
		}
	}
	for _, c := range changes {
		*c.field(&p.Changes) = c.in(v)
	}
	return p
}

// Names returns the known releases, oldest first.
func Names() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.Version)
	}
	return names
}

// Newest returns the behaviour of the newest known release.
func Newest() Profile { return profiles[len(profiles)-1] }

// Named returns the behaviour of a release such as v1.37.0. It reports false if the release is unknown.
func Named(version string) (Profile, bool) {
	for _, p := range profiles {
		if p.Version == version {
			return p, true
		}
	}
	return Profile{}, false
}
