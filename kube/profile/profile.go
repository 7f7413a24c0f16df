// Package profile describes how Kubernetes releases differ in the behavior that the simulator
// models.
//
// A [Profile] describes one release: the states of its feature gates, and its changes without a
// gate. Two tables define the releases: the feature gates with their stages and defaults, and the
// changes with their pull requests. The rest of the simulator reads the fields of a Profile and
// never compares versions.
package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Profile is the behavior of one Kubernetes release. Pass it by value and compare it with ==. The
// zero Profile is not a release: start from [Newest] or [Named].
//
// Numbers such as #134746 in the comments are pull requests of kubernetes/kubernetes.
type Profile struct {
	// Version is the release, such as v1.37, or the preview, such as v1.38-preview.
	Version string
	// Patch is the tag that is compared with the real kubelet, such as v1.37.2 or v1.38.0-beta.0. A
	// preview has none.
	Patch string

	FeatureGates
	Changes
}

// FeatureGates are the feature gates whose effect is modeled. A field has the name of its gate and
// is true while the gate is on (pkg/features/kube_features.go).
type FeatureGates struct {
	// ChangeContainerStatusOnKubeletRestart makes a starting kubelet treat all containers as new:
	// their probes start over. When it is off, a container that started more than 10 s before the
	// kubelet keeps its readiness until its first probe, the startup probe of a started sidecar
	// counts as successful, and a running container counts as started if its previous instance was
	// started. KEP-4781; #134746, #137146.
	ChangeContainerStatusOnKubeletRestart bool
	// ContainerRestartRules gives containers a restart policy and restart rules. When it is off,
	// the API server drops these fields except from sidecars. The probe workers of a container that
	// will not restart then end only in pods whose restart policy is Never, and the status shows a
	// sidecar as waiting for a restart only if the pod's restart policy allows a restart. #134631.
	ContainerRestartRules bool
	// ContainerScopedProbes binds each probe worker to one instance of a container: it starts with
	// the instance, counts the initial delay and the period from its start, and ends with it. When
	// it is off, the workers of a container tick as long as its pod lives. #140704.
	ContainerScopedProbes bool
	// ContainerStopSignals keeps lifecycle.stopSignal of containers. When it is off, the API server
	// drops the field. #130556.
	ContainerStopSignals bool
	// DeploymentReplicaSetTerminatingReplicas counts pods that terminate in the status of
	// Deployments and ReplicaSets. KEP-3973.
	DeploymentReplicaSetTerminatingReplicas bool
	// GRPCContainerProbeTLS keeps the mode of grpc probes, which selects TLS. When it is off, the
	// API server drops the field. #137762.
	GRPCContainerProbeTLS bool
	// H2CContainerProbe keeps the protocol of httpGet handlers, which selects HTTP/2 without TLS.
	// When it is off, the API server drops the field. #139429.
	H2CContainerProbe bool
	// InPlacePodLevelResourcesVerticalScaling writes the requests and limits of the whole pod to
	// its status. KEP-5419.
	InPlacePodLevelResourcesVerticalScaling bool
	// InPlacePodVerticalScalingInitContainers lets a resize change the resources of init containers
	// that are not sidecars. KEP-1287.
	InPlacePodVerticalScalingInitContainers bool
	// KubeletCrashLoopBackOffMax lets the kubelet configuration set the longest crash-loop
	// back-off. #135044.
	KubeletCrashLoopBackOffMax bool
	// KubeletEnsureSecretPulledImages makes the kubelet record image pulls on disk. A pod that
	// needs an image while the kubelet pulls it for another pod causes a second pull. A kubelet
	// that was killed during a pull lists the images before it starts again. The event about an
	// image that is present says that the pod can access the image. #135228.
	KubeletEnsureSecretPulledImages bool
	// MutableContainerProbes makes the API server accept changes of the probes of a running pod,
	// which the kubelet applies. It counts the period of a probe from the end of the run before it,
	// and cancels the run of a worker that stops. KEP-6318; #142096.
	MutableContainerProbes bool
	// PLEGOnDemandRelist makes the PLEG relist a pod right after a sync that changed its
	// containers. #137362.
	PLEGOnDemandRelist bool
	// PodObservedGenerationTracking writes the generation of the pod's spec to the status. A change
	// of the spec or a request to delete the pod then changes the status, and the kubelet patches
	// it, even if nothing else is different. KEP-5067; #130352, #130573.
	PodObservedGenerationTracking bool
	// ReduceDefaultCrashLoopBackOffDecay starts the crash-loop back-off at 1 s instead of 10 s and
	// limits it to 1 min instead of 5 min.
	ReduceDefaultCrashLoopBackOffDecay bool
	// RestartAllContainersOnContainerExits makes the API server accept restart rules with the
	// action RestartAllContainers, and restart rules of sidecars. The status keeps the last exit
	// and the restart count of a container that the runtime has removed, and the condition
	// Initialized stays true while a sidecar of an initialized pod restarts. #136681.
	RestartAllContainersOnContainerExits bool
	// StaleControllerConsistencyReplicaSet makes the ReplicaSet controller wait until its cache
	// shows its own writes. KEP-5647.
	StaleControllerConsistencyReplicaSet bool
}

// Changes are changes of behavior without a feature gate. A field is true for the releases with the
// change.
type Changes struct {
	// ActuatedAtEachSync makes each sync of a pod whose volumes are mounted note the resources of
	// its containers, if the kubelet does not know them. Before, since v1.36.4, only the sync notes
	// them that creates the pod's cgroup. #140387.
	ActuatedAtEachSync bool
	// AddPodSkipsOnlyContainer continues with the next container of a pod when a probe worker
	// exists already. Older kubelets skip the rest of the pod. #138930.
	AddPodSkipsOnlyContainer bool
	// AvailabilityChecksOnTime makes the ReplicaSet controller look again when the first of its
	// pods becomes available. Older controllers look one second after minReadySeconds. #132121.
	AvailabilityChecksOnTime bool
	// EachUpdateRetriesResizes makes each update of a pod with a pending resize try all pending
	// resizes again. Older kubelets do so only if the update changes resources (HandlePodUpdates in
	// pkg/kubelet/kubelet.go at v1.38.0-beta.0).
	EachUpdateRetriesResizes bool
	// EndpointsFollowPhase makes the EndpointSlice controller look at the endpoints of a pod when
	// the pod ends, and not when a pod changes that can have no endpoint before and after
	// (util/controller_utils.go of k8s.io/endpointslice at v0.38.0-beta.0).
	EndpointsFollowPhase bool
	// FailureIsKept keeps the phase Failed of a pod that a node shutdown or an eviction stops, also
	// if its containers end with exit code 0, and writes its reason with the last status. #142761.
	FailureIsKept bool
	// GRPCConnectsOnce makes a gRPC probe fail as soon as it cannot connect. Older probes connect
	// again until their timeout. #142457.
	GRPCConnectsOnce bool
	// InitializedBySandbox treats a pod as initialized once a regular container has started in its
	// current sandbox. In older releases, a pod is initialized only while a regular container runs,
	// in any sandbox: the restart of a sidecar then delays the restart of containers that have
	// exited. #138514.
	InitializedBySandbox bool
	// InspectReadsResources makes the inspection of a container read the resources that the kubelet
	// gave to it, and the container garbage collection forget those of pods that were evicted or
	// are gone. Older kubelets read them for each status, and forget them with the pod. #132873.
	InspectReadsResources bool
	// InspectUsesListing makes the PLEG inspect the sandboxes and containers that it has just
	// listed. Older kubelets first list the sandboxes and containers of a changed pod again.
	// #137471.
	InspectUsesListing bool
	// KillsAtOnce makes a sync kill containers at the same time, and the others too if one cannot
	// be killed. In older releases it kills one after the other. kubernetes/kubernetes#138146
	// (killContainers in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.38.0-beta.0).
	KillsAtOnce bool
	// ManualTrigger makes the readiness worker of a started container that is not ready probe
	// immediately whenever the kubelet generates the pod's status. #98376, #101738.
	ManualTrigger bool
	// ManualTriggerResetsTicker makes a manually triggered probe restart the probe period. #119089.
	ManualTriggerResetsTicker bool
	// PodLimitsOfAll leaves a limit of cpu or memory out of the limits of the whole pod unless all
	// its containers have it. Older kubelets add up those that have it. #141014.
	PodLimitsOfAll bool
	// PodMemoryRequestFollows makes the memory request of the whole pod in the status of a running
	// pod follow a resize. #140646.
	PodMemoryRequestFollows bool
	// PodReadyToStartAtSandbox patches the condition PodReadyToStartContainers as soon as the
	// sandbox is ready. #134660.
	PodReadyToStartAtSandbox bool
	// ProbeStateOfInstance makes a kubelet that starts keep Ready and Started of a container only
	// if the API knows this instance of it. #141487.
	ProbeStateOfInstance bool
	// ProxyWithoutBurst makes kube-proxy wait for minSyncPeriod after each sync. Older kube-proxies
	// make up to two syncs without a wait. #131615.
	ProxyWithoutBurst bool
	// RecreateSyncsOnEachDeletion makes the Deployment controller sync a Deployment with the
	// strategy Recreate when any of its pods is gone. Older controllers first list its ReplicaSets
	// through the API, and sync only if no pod is left (deletePod in deployment_controller.go at
	// v1.36.3). #136639.
	RecreateSyncsOnEachDeletion bool
	// ReinspectionEventAlone makes a relist that inspects a pod because of a resize ask for a sync
	// only if it has no other event of the pod. Older kubelets always ask for a sync then. #137363.
	ReinspectionEventAlone bool
	// RequestsInUseOfPod makes the requests in use by a pod the most of the sums of its containers:
	// of the desired requests, of the allocated ones and of those in use. In older releases it is
	// the sum of the most of each container. #140047.
	RequestsInUseOfPod bool
	// RequeueAtBackOffExpiry makes the kubelet sync a pod in crash-loop back-off when the back-off
	// ends. Older kubelets sync the pod every 10 to 15 s. #133066.
	RequeueAtBackOffExpiry bool
	// ResizeEvents makes the kubelet record an event when it begins or fails to resize a pod, and
	// adds the generation of the pod to the event of a completed resize. #134825.
	ResizeEvents bool
	// ResizeReasonOfAdmission gives the event about a resize that the node does not admit the
	// reason of the rejection, for example NodeShutdown. In older releases the reason is Deferred,
	// or Infeasible if the resize exceeds the node. #133427.
	ResizeReasonOfAdmission bool
	// ResizesAreQueued makes the sync loop allocate resources as soon as it sees a resize. Older
	// kubelets allocate them in the sync of the pod. It also makes the resources of a container
	// part of the key of its back-off. #131612, #131681.
	ResizesAreQueued bool
	// ResizesRetriedWhenPodsEnd makes the kubelet try to allocate pending resizes again when it
	// learns that a pod is terminal. Without it, the kubelet tries again only when a pod is
	// removed. #136231.
	ResizesRetriedWhenPodsEnd bool
	// ResizesWithStarts makes the start of a container with other resources than before count as a
	// resize, which makes the next relist inspect the pod. It also makes a sync resize the pod
	// before it starts containers, not between init containers and regular ones. #140387.
	ResizesWithStarts bool
	// SandboxReasonInCondition adds the reason to the condition PodReadyToStartContainers while it
	// is false. #135300.
	SandboxReasonInCondition bool
	// SandboxesByAttempt makes the sandbox with the highest attempt the newest one of its pod. In
	// older releases it is the last one that was created by the wall clock. #130551.
	SandboxesByAttempt bool
	// ScaleDownErrorsAreRetried makes the Deployment controller sync again, with back-off, if it
	// cannot scale old ReplicaSets down, and write the status before. Older controllers take this
	// for a success. #142650, #142902.
	ScaleDownErrorsAreRetried bool
	// ShortContainerEvents words events as "Container created" and "Container started", without the
	// container's name. #134043.
	ShortContainerEvents bool
	// StartedOfInstance carries Started over to the next status of the same instance only. Up to
	// 1.37 a restarted container also counts as started if the instance before it was. #141342.
	StartedOfInstance bool
	// StartupOnHoldAfterSuccess stops the startup probe once it has succeeded. #121206.
	StartupOnHoldAfterSuccess bool
	// TerminationCancelsProbes cancels the exec probes of a pod when its termination is requested.
	// The running probe and all later ones end with an error, and the readiness of the pod no
	// longer changes. #130487, #140509; reverted by #140882.
	TerminationCancelsProbes bool
	// TerminationEndsResizes makes the kubelet forget the pending resize of a pod that terminates
	// (IsPodTerminatingOrTerminal in pkg/kubelet/kubelet_pods.go at v1.38.0-beta.0).
	TerminationEndsResizes bool
	// TerminationStopsSidecarProbes stops the liveness and startup probes of sidecars when their
	// pod terminates. #141766.
	TerminationStopsSidecarProbes bool
	// UnknownPortNotFound reports a port name that the container does not have as not found. Older
	// kubelets report that the name is not a number. #139791.
	UnknownPortNotFound bool
	// UnknownStateInErrorEvent words the event of a probe error as "errored and resulted in unknown
	// state". #125901.
	UnknownStateInErrorEvent bool
	// UpdateNeedsAdmission makes the kubelet ignore updates of a pod that it did not admit. Older
	// kubelets sync the pod. #139522.
	UpdateNeedsAdmission bool
}

// The releases that are compared with the real kubelet.
var (
	V1_33 = of("v1.33", "v1.33.13")
	V1_34 = of("v1.34", "v1.34.10")
	V1_35 = of("v1.35", "v1.35.8")
	V1_36 = of("v1.36", "v1.36.5")
	V1_37 = of("v1.37", "v1.37.2")
)

// A release that is not out: its newest tag, which is compared with the real kubelet, and the
// preview, which adds what open pull requests plan. Nothing of the addition is compared.
var (
	V1_38         = of("v1.38", "v1.38.0-beta.0")
	V1_38_preview = of("v1.38-preview", "")
)

// releases are all releases, oldest first.
var releases = []Profile{V1_33, V1_34, V1_35, V1_36, V1_37}

// profiles are all releases and then what is not out, oldest first.
var profiles = append(slices.Clone(releases), V1_38, V1_38_preview)

// of returns the profile of a release according to the tables.
func of(version, patch string) Profile {
	p := Profile{Version: version, Patch: patch}
	v, _ := parseRelease(cmp.Or(patch, version))
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

// Names returns the known releases, oldest first. What runs all versions by default runs these.
func Names() []string { return names(releases) }

// NamesWithPreviews returns the known releases and then those that are not out, oldest first. The
// latter run only on request, by their names.
func NamesWithPreviews() []string { return names(profiles) }

func names(of []Profile) []string {
	var names []string
	for _, p := range of {
		names = append(names, p.Version)
	}
	return names
}

// Newest returns the profile of the newest known release.
func Newest() Profile { return releases[len(releases)-1] }

// Preview reports whether the profile describes a release that is not out.
func (p Profile) Preview() bool { return !slices.Contains(Names(), p.Version) }

// Named returns the profile of a release such as v1.37, or of a preview such as v1.38-preview. A
// patch number, as in v1.37.0, does not count. It returns false if the version is unknown.
func Named(version string) (Profile, bool) {
	if r, ok := parseRelease(version); ok && !strings.HasSuffix(version, previewSuffix) {
		version = fmt.Sprintf("v%d.%d", r[0], r[1])
	}
	for _, p := range profiles {
		if p.Version == version {
			return p, true
		}
	}
	return Profile{}, false
}
