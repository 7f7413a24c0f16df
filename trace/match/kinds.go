package match

import (
	"maps"
	"slices"

	"probesim.dev/internal/lists"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// About is the subject of a record.
type About string

const (
	Node      About = "node"
	Pod       About = "pod"
	Container About = "container" // the record also has an instance
)

// Kind describes the records of a kind. The table of kinds is the only source for matchers, for
// their checks and for the tables of docs/trace.md; a test compares it with the traces of many
// runs.
type Kind struct {
	Kind   trace.Kind
	Fields []string // the fields that a matcher can have
	Shapes []Shape  // each record has one of these shapes
}

// Shape describes some of the records of a kind: their subject, and the possible values of their
// text fields. A text field that Words does not list can have any text if it is a field of the
// kind.
type Shape struct {
	About About
	Words map[string][]string
}

// words is the map of a shape, shorter in the table.
type words = map[string][]string

// one returns a table of one shape.
func one(about About, w words) []Shape {
	return []Shape{{about, w}}
}

// table lists the kinds, observable kinds first. The reasons of events are those in the simulated
// part of the kubelet (pkg/kubelet/events/event.go, pkg/kubelet/eviction/helpers.go,
// pkg/kubelet/kubelet.go and pkg/kubelet/active_deadline.go at v1.37.0).
var table = []Kind{
	{trace.PodAdded, nil, one(Pod, nil)},
	{trace.PodDeleteRequested, nil, one(Pod, nil)},
	{trace.PodRemoved, nil, one(Pod, nil)},
	{trace.ContainerStarted, nil, one(Container, nil)},
	{trace.ContainerStopping, []string{"graceSeconds", "reason"}, one(Container, words{"reason": {
		"LivenessProbe", "StartupProbe", "FailedPostStartHook", "ImageChanged", "Resized", "RestartAllContainers",
		"Deleted", "Evicted", "Stopped",
	}})},
	{trace.ContainerExited, []string{"exitCode"}, one(Container, nil)},
	{trace.ProbeExecuted, []string{"probe", "result", "message", "took"},
		one(Container, words{"probe": probes, "result": results})},
	{trace.StatusPatched, nil, one(Pod, nil)},
	{trace.Event, []string{"type", "reason", "message"}, []Shape{
		{Container, words{"type": {"Normal"},
			"reason": {"BackOff", "ContainerProbeChanged", "Created", "Killing", "Pulled", "Pulling", "Started"}}},
		{Container, words{"type": {"Warning"},
			"reason": {"BackOff", "ErrImageNeverPull", "Failed", "FailedPostStartHook",
				"FailedPreStopHook", "InspectFailed", "ProbeWarning", "Unhealthy"}}},
		{Pod, words{"type": {"Normal"},
			"reason": {"DeadlineExceeded", "ResizeCompleted", "ResizeStarted", "SandboxChanged"}}},
		{Pod, words{"type": {"Warning"},
			"reason": {"Evicted", "ExceededGracePeriod", "FailedCreatePodSandBox", "FailedKillPod",
				"FailedPodSandBoxStatus", "FailedScheduling", "FailedSync", "NetworkNotReady", "NodeShutdown",
				"OutOfcpu",
				"OutOfmemory", "ResizeDeferred",
				"ResizeError", "ResizeInfeasible"}}},
		{Node, words{"type": {"Normal"}, "reason": {"ScalingReplicaSet", "SuccessfulCreate", "SuccessfulDelete"}}},
		{Node, words{"type": {"Warning"}, "reason": {"FailedCreate", "FailedDelete"}}},
	}},
	{trace.ImagePullStarted, []string{"message"}, one(Container, nil)},
	{trace.ImagePullEnded, []string{"result", "message", "took"}, one(Container, words{"result": ends})},
	{trace.HookStarted, []string{"reason"}, one(Container, words{"reason": hooks})},
	{trace.HookEnded, []string{"reason", "result", "message", "took"},
		one(Container, words{"reason": hooks, "result": ends})},
	{trace.VolumeWaitEnded, []string{"reason", "result", "took"},
		one(Pod, words{"reason": {"mount", "unmount"}, "result": ends})},
	{trace.KubeletStopped, nil, one(Node, nil)},
	{trace.KubeletStarted, nil, one(Node, nil)},
	{trace.Step, []string{"reason", "message"}, []Shape{
		{Container, words{"reason": {"failCall", "kill"}}},
		{Pod, words{"reason": {"debug", "evict", "failCall", "patch", "removeManifest", "resize", "setManifest"}}},
		{Node, words{"reason": {"apiDown", "failCall", "rebootNode", "registryDown", "rollout", "runtimeDown",
			"setDelays", "shutdownNode", "stepClock"}}},
	}},
	{trace.WorkloadChanged, []string{"reason"}, one(Node, words{"reason": {"spec", "status", "deleted"}})},
	{trace.Scaled, nil, one(Node, nil)},
	{trace.PodScheduled, []string{"message"}, one(Pod, nil)},
	{trace.EndpointsWritten, nil, one(Node, nil)},
	{trace.RoutesChanged, []string{"reason", "took", "message"}, one(Node, nil)},
	{trace.ListenerChanged, []string{"reason"}, one(Container, words{"reason": {"closed", "opened"}})},
	{trace.LossStarted, []string{"reason"}, []Shape{
		{Pod, words{"reason": {"refused", "exited", "notListening"}}},
		{Node, words{"reason": {"noEndpoints"}}},
	}},
	{trace.LossEnded, []string{"reason", "took"}, []Shape{
		{Pod, words{"reason": {"refused", "exited", "notListening", "inFlight"}}},
		{Node, words{"reason": {"noEndpoints"}}},
	}},

	{trace.CRICall, []string{"reason", "probe", "message", "took"}, []Shape{
		{Container, words{"reason": {"ExecSync"}, "probe": append([]string{""}, probes...)}},
		{Container, words{"reason": {"ContainerStatus", "CreateContainer", "RemoveContainer", "StartContainer",
			"StopContainer", "UpdateContainerResources"}, "probe": {""}}},
		{Pod, words{"reason": {"APICreate", "APIDelete", "APIGet", "APIPatch", "ContainerStatus", "CreateContainer",
			"ExecSync", "ImageStatus",
			"ListContainers", "ListPodSandbox", "PodSandboxStatus", "PullImage", "RemoveContainer", "RemovePodSandbox",
			"RunPodSandbox",
			"StartContainer", "StopContainer", "StopPodSandbox", "UpdateContainerResources"}, "probe": {""}}},
		{Node, words{"reason": {"ExecSync"}, "probe": append([]string{""}, probes...)}},
		{Node, words{"reason": {"ContainerStatus", "ImageStatus", "ListContainers", "ListImages", "ListPodSandbox",
			"PodSandboxStatus",
			"RemoveContainer", "RemovePodSandbox", "StartContainer", "Status", "StopContainer", "StopPodSandbox",
			"UpdateContainerResources"}, "probe": {""}}},
	}},
	{trace.SyncLoop, []string{"reason", "message"}, one(Pod, words{"reason": {
		"ADD", "UPDATE", "DELETE", "REMOVE", "RECONCILE", "PLEG", "SYNC", "liveness", "readiness", "startup",
	}})},
	{trace.PodSync, []string{"reason"}, one(Pod, words{"reason": {"sync", "terminating", "terminated"}})},
	{trace.Relist, []string{"reason", "message"}, one(Pod, words{"reason": {"global", "pod"}})},
	{trace.ProbeSkipped, []string{"probe", "reason"}, one(Container, words{"probe": probes, "reason": {
		"the pod has no stored status", "the stored status does not show the container",
		"on hold until the status shows a new container",
		"initialDelaySeconds has not passed", "the container has started", "the container has not started",
	}})},
	{trace.ResultChanged, []string{"probe", "reason", "message"}, one(Container, words{
		"probe": probes, "message": {"Success", "Failure", "Unknown"},
	})},
	{trace.ManualTrigger, []string{"probe"}, one(Container, words{"probe": {"readiness"}})},
	{trace.TriggerTaken, []string{"probe"}, one(Container, words{"probe": {"readiness"}})},
	{trace.Behavior, []string{"probe", "reason", "message"}, []Shape{
		{Container, words{"probe": probes, "reason": {""}}},
		{Container, words{"probe": {""}, "reason": {"postStart", "preStop", "exit", "listener"}}},
	}},
	{trace.BackOff, []string{"took"}, one(Container, nil)},
	{trace.SyncFailed, []string{"reason", "message"}, one(Node, nil)},
}

// PodReasons are the reasons of the status of a pod.
var PodReasons = []string{"", "DeadlineExceeded", "Evicted", "NodeShutdown", "OutOfcpu", "OutOfmemory", "Terminated"}

// ContainerReasons are the reasons of the status of a container. One that is created and not
// started, which a restart of the kubelet can leave behind, has none. A kill from outside can give
// another reason.
var ContainerReasons = []string{
	"", "Completed", "ContainerCreating", "ContainerStatusUnknown", "CrashLoopBackOff", "CreateContainerConfigError",
	"CreateContainerError", "ErrImageNeverPull", "ErrImagePull", "Error", "ImageInspectError", "ImagePullBackOff",
	"PodInitializing", "PostStartHookError", "RestartingAllContainers", "RunContainerError", "Unknown",
}

// Kinds returns the kinds of records, observable kinds first. Do not modify the result.
func Kinds() []Kind { return table }

// kindOf returns the description of a kind, or nil.
func kindOf(kind trace.Kind) *Kind {
	return lists.Find(table, func(x *Kind) bool { return x.Kind == kind })
}

// words returns all possible values of a text field of the kind, or nil if it can have any text.
func (k *Kind) words(field string) []string {
	var all []string
	for _, s := range k.Shapes {
		if s.Words[field] == nil {
			return nil
		}
		if len(k.Shapes) == 1 {
			return s.Words[field]
		}
		all = append(all, s.Words[field]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ReasonsOf returns all possible reasons of records of a kind, or nil if they are not known.
func ReasonsOf(kind trace.Kind) []string {
	if k := kindOf(kind); k != nil {
		return slices.Clone(k.words("reason"))
	}
	return nil
}

// TypesOf returns the types of the events with a reason.
func TypesOf(reason string) []string {
	var types []string
	for _, s := range kindOf(trace.Event).Shapes {
		if slices.Contains(s.Words["reason"], reason) {
			types = append(types, s.Words["type"]...)
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// AboutPod reports whether events with a reason are about a pod, and never about a container.
func AboutPod(reason string) bool {
	has := func(s Shape) bool { return slices.Contains(s.Words["reason"], reason) }
	about := func(a About) bool {
		return slices.ContainsFunc(kindOf(trace.Event).Shapes, func(s Shape) bool { return s.About == a && has(s) })
	}
	return about(Pod) && !about(Container)
}

// Shapes returns the shapes of the records that r can match, each with the words that match. If
// ofContainer is set, it leaves out records that are not about a container.
func (r *Record) Shapes(ofContainer bool) []Shape {
	var possible []Shape
	for _, s := range kindOf(r.Kind).Shapes {
		if narrowed, ok := r.narrow(s); ok && (s.About == Container || !ofContainer) {
			possible = append(possible, narrowed)
		}
	}
	return possible
}

// narrow returns a shape with the words that match, or false if a field has none.
func (r *Record) narrow(s Shape) (Shape, bool) {
	w := maps.Clone(s.Words)
	for _, f := range r.Fields {
		if list, closed := s.Words[f.Name]; closed {
			w[f.Name] = slices.DeleteFunc(slices.Clone(list),
				func(word string) bool { return !f.Match.Matches(value.TextOf(word)) })
			if len(w[f.Name]) == 0 {
				return s, false
			}
		}
	}
	return Shape{s.About, w}, true
}
