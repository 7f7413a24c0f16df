// Package profile says how the kubelets of different Kubernetes versions behave, as flags. A flag is
// a rule that is known to differ between versions; nothing else in the simulator compares versions.
package profile

import "time"

// Profile is the behaviour of one Kubernetes version. It is passed by value. Where a comment names no
// version, all known profiles agree so far; the numbers in brackets are pull requests of
// kubernetes/kubernetes.
type Profile struct {
	// Version is the release, as in v1.37.0.
	Version string

	// ManualTrigger has the readiness worker of a started container that is not ready probe at once
	// each time the pod's status is generated; 1.21 on (#98376, #101738).
	ManualTrigger bool
	// ManualTriggerResetsTicker starts the period anew at such a run; 1.32 on (#119089).
	ManualTriggerResetsTicker bool
	// StartupOnHoldAfterSuccess stops the startup probe once it has succeeded; 1.32 on (#121206).
	StartupOnHoldAfterSuccess bool
	// AddPodSkipsOnlyContainer goes on with the next container when a worker exists already, instead
	// of leaving the rest of the pod out; 1.37 on (#138930).
	AddPodSkipsOnlyContainer bool
	// StartedCarriedOver publishes a running container as started if a container of its name was;
	// 1.35.0 to 1.37.0 (#134746, #141342).
	StartedCarriedOver bool
	// KeptOnKubeletRestart leaves a container that started 10 s before the kubelet or earlier as it was until it is
	// probed: its workers store no first result, it stays ready if the pod was and not ready otherwise, and the
	// startup probe of a sidecar that counts as started has succeeded. Before, all begins as with a new container;
	// 1.35 on (#134746, and #137146 in 1.35.4 and 1.36.0; KEP-4781).
	KeptOnKubeletRestart bool
	// WorkerEndsWithLastExit ends a worker as soon as its container has ended and is not restarted after such
	// an exit, instead of only in pods whose restart policy is Never; 1.35 on (#134631).
	WorkerEndsWithLastExit bool
	// ContainerRestartRules has the API server keep the restart policies and rules that containers have of their
	// own; before, it takes out all but those that make sidecars, and the status has a sidecar wait to be started
	// again only if the pod's policy would have it so; 1.35 on (#134631).
	ContainerRestartRules bool
	// RestartAllContainers has the API server take restart rules with that action, and rules of sidecars; 1.36 on
	// (#136681).
	RestartAllContainers bool
	// InitializedBySandbox takes a pod for initialized once a regular container has been started in the sandbox in use;
	// before, only while one runs, in any sandbox, so that the restart of a sidecar holds up those that have ended;
	// 1.37 on (#138514).
	InitializedBySandbox bool
	// RemovedInstanceKept, which goes with RestartAllContainers, keeps in the status how the run before ended, and the number of restarts, when the
	// runtime has no more instances to tell them by; 1.36 on (#136681).
	RemovedInstanceKept bool
	// InitializedKept, which goes with RestartAllContainers, leaves the condition Initialized true when a sidecar of an initialized pod has to start again
	// and no regular container runs; 1.36 on (#136681).
	InitializedKept bool
	// UnknownStateInErrorEvent words the event of a probe error as "errored and resulted in unknown
	// state"; 1.33 on (#125901).
	UnknownStateInErrorEvent bool
	// TerminationCancelsProbes cancels the exec probes of a pod that is asked to terminate: the one under way
	// and all later ones end with an error, so that the pod stays as ready as it was; 1.35 (#130487) and from
	// 1.36.3 on, until 1.37.0 (#140882).
	TerminationCancelsProbes bool
	// RequeueAtBackOffExpiry requeues a pod in crash-loop back-off for the moment when it ends, instead
	// of every 10 to 15 s; 1.35 on (#133066).
	RequeueAtBackOffExpiry bool
	// OnDemandRelist has the PLEG look at a pod right after a sync that did something; 1.36 on (#137362).
	OnDemandRelist bool
	// InspectUsesListing has the PLEG inspect the sandboxes and containers that it has listed, instead of
	// listing those of a changed pod once more in between; 1.36 on (#137471).
	InspectUsesListing bool
	// PodReadyToStartAtSandbox patches PodReadyToStartContainers as soon as the sandbox is ready; 1.36 on
	// (#134660).
	PodReadyToStartAtSandbox bool
	// SandboxReasonInCondition says in the condition PodReadyToStartContainers what is missing; 1.37 on
	// (#135300).
	SandboxReasonInCondition bool
	// ShortContainerEvents words the events as "Container created" and "Container started", without
	// the container's name; 1.35 on (#134043).
	ShortContainerEvents bool
	// PullsNoted has the kubelet note on the disk what it pulls. A pod that needs the image meanwhile pulls it too, also if
	// the node has it, and a kubelet that was killed during a pull lists the images first when it is started again; 1.35
	// on, with the feature gate KubeletEnsureSecretPulledImages.
	PullsNoted bool
	// ImageAccessInPulledEvent says in the event about an image that is there that the pod can access it:
	// the kubelet verifies that; 1.35 on (#135228).
	ImageAccessInPulledEvent bool

	// UpdateNeedsAdmission passes over updates of a pod that was not admitted; before, such a pod is synced; 1.37 on (#139522).
	UpdateNeedsAdmission bool
	// UnknownPortNotFound says of a port's name that the container does not have that it is not found, instead of
	// trying to read it as a number; 1.37 on (#139791).
	UnknownPortNotFound bool

	// GRPCProbeTLS has the API server keep the mode of grpc probes, which asks over TLS; alpha in 1.37 (#137762).
	GRPCProbeTLS bool
	// H2CProbe has it keep the protocol of httpGet handlers, which can be HTTP/2 without TLS; alpha in 1.37 (#139429).
	H2CProbe bool
	// StopSignals has it keep the stop signals of containers; alpha in 1.33 (#130556).
	StopSignals bool

	// CrashLoopBackOffMaxInConfig lets the configuration of the kubelet set CrashLoopBackOffMax; 1.35 on, before behind
	// the feature gate KubeletCrashLoopBackOffMax (#135044).
	CrashLoopBackOffMaxInConfig bool
	// CrashLoopBackOffInitial and CrashLoopBackOffMax bound the delay before a crashed container is
	// started again; CrashLoopBackOffReset is the time without a restart that ends it.
	CrashLoopBackOffInitial, CrashLoopBackOffMax, CrashLoopBackOffReset time.Duration
}

// V1_34_4 is the behaviour of Kubernetes v1.34.4.
var V1_34_4 = Profile{
	Version:                   "v1.34.4",
	ManualTrigger:             true,
	ManualTriggerResetsTicker: true,
	StartupOnHoldAfterSuccess: true,
	UnknownStateInErrorEvent:  true,
	CrashLoopBackOffInitial:   10 * time.Second,
	CrashLoopBackOffMax:       300 * time.Second,
	CrashLoopBackOffReset:     600 * time.Second,
}

// V1_36_3 is the behaviour of Kubernetes v1.36.3.
var V1_36_3 = Profile{
	Version:                     "v1.36.3",
	ManualTrigger:               true,
	ManualTriggerResetsTicker:   true,
	StartupOnHoldAfterSuccess:   true,
	StartedCarriedOver:          true,
	KeptOnKubeletRestart:        true,
	WorkerEndsWithLastExit:      true,
	ContainerRestartRules:       true,
	RestartAllContainers:        true,
	RemovedInstanceKept:         true,
	InitializedKept:             true,
	UnknownStateInErrorEvent:    true,
	TerminationCancelsProbes:    true,
	RequeueAtBackOffExpiry:      true,
	OnDemandRelist:              true,
	InspectUsesListing:          true,
	PodReadyToStartAtSandbox:    true,
	ShortContainerEvents:        true,
	PullsNoted:                  true,
	ImageAccessInPulledEvent:    true,
	CrashLoopBackOffMaxInConfig: true,
	CrashLoopBackOffInitial:     10 * time.Second,
	CrashLoopBackOffMax:         300 * time.Second,
	CrashLoopBackOffReset:       600 * time.Second,
}

// V1_37_0 is the behaviour of Kubernetes v1.37.0.
var V1_37_0 = Profile{
	Version:                     "v1.37.0",
	ManualTrigger:               true,
	ManualTriggerResetsTicker:   true,
	StartupOnHoldAfterSuccess:   true,
	AddPodSkipsOnlyContainer:    true,
	InitializedBySandbox:        true,
	StartedCarriedOver:          true,
	KeptOnKubeletRestart:        true,
	WorkerEndsWithLastExit:      true,
	ContainerRestartRules:       true,
	RestartAllContainers:        true,
	RemovedInstanceKept:         true,
	InitializedKept:             true,
	UnknownStateInErrorEvent:    true,
	RequeueAtBackOffExpiry:      true,
	OnDemandRelist:              true,
	InspectUsesListing:          true,
	PodReadyToStartAtSandbox:    true,
	SandboxReasonInCondition:    true,
	ShortContainerEvents:        true,
	PullsNoted:                  true,
	ImageAccessInPulledEvent:    true,
	UnknownPortNotFound:         true,
	CrashLoopBackOffMaxInConfig: true,
	UpdateNeedsAdmission:        true,
	CrashLoopBackOffInitial:     10 * time.Second,
	CrashLoopBackOffMax:         300 * time.Second,
	CrashLoopBackOffReset:       600 * time.Second,
}

// profiles are all of them, oldest first.
var profiles = []Profile{V1_34_4, V1_36_3, V1_37_0}

// Names returns the known versions, oldest first.
func Names() []string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.Version)
	}
	return names
}

// Newest returns the profile of the newest known version.
func Newest() Profile { return profiles[len(profiles)-1] }

// Named returns the profile of a version.
func Named(version string) (Profile, bool) {
	for _, p := range profiles {
		if p.Version == version {
			return p, true
		}
	}
	return Profile{}, false
}
