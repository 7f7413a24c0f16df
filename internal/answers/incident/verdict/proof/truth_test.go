package proof

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// ended is the cause of a stop for which there is no verdict: that of a container whose pod has
// ended, such as a sidecar at the end of a Job.
const ended verdict.Cause = "ended"

// truth is what happened to a container in a run.
type truth struct {
	container string
	ends      []verdict.Cause // of its instances, and kills that have begun
	quiet     bool            // the status shows no trouble
	primary   map[verdict.Cause]bool
	also      map[verdict.Cause]bool // true, but not what a person asks about
}

// troubled reports whether the container is in trouble.
func (t *truth) troubled() bool { return !t.primary[verdict.Nothing] && !t.primary[verdict.Waiting] }

// main is the cause that stands for all in a table.
func (t *truth) main() verdict.Cause {
	if n := len(t.ends); n > 0 && t.primary[t.ends[n-1]] {
		return t.ends[n-1]
	}
	return slices.Min(slices.Collect(maps.Keys(t.primary)))
}

// stopping has the causes of the reasons of ContainerStopping records.
var stopping = map[string]verdict.Cause{
	"LivenessProbe": verdict.LivenessProbe, "StartupProbe": verdict.StartupProbe,
	"FailedPostStartHook": verdict.PostStartHook,
	"Deleted":             verdict.Removed, "Stopped": ended, "Evicted": verdict.Removed,
	"ImageChanged": verdict.Changed,
	"Resized":      verdict.Changed, "RestartAllContainers": ended,
}

// stopped has the reasons of events and of a status that say that a pod was stopped or refused.
var stopped = []string{"Evicted", "Terminated", "DeadlineExceeded", "NodeShutdown"}

// killing returns the cause that a Killing event of v1.37 names, or nothing: the kubelet says that
// it stops a container of a deleted pod, and in the same words a sidecar at the end of its pod.
func killing(message string) verdict.Cause {
	switch {
	case strings.Contains(message, "failed liveness probe"):
		return verdict.LivenessProbe
	case strings.Contains(message, "failed startup probe"):
		return verdict.StartupProbe
	case message == "FailedPostStartHook":
		return verdict.PostStartHook
	}
	return ""
}

// history is what the records of a run say about a container up to a time.
type history struct {
	spec                      *v1.Container
	once                      bool // may end with 0
	cause                     map[int]verdict.Cause
	order                     []int // instances that end, in the order of time
	killings                  map[verdict.Cause]bool
	failing, hook, pull, node bool
	sandbox, cannotStart      bool
	status                    *trace.ContainerStatus
	exited                    map[int]bool
	deleted, removed, ready   bool
	shown                     bool // the status shows that the pod ends
	init                      bool
	done                      bool // ended by itself, as it should
}

func (h *history) end(instance int, cause verdict.Cause) {
	if h.cause[instance] == "" {
		h.order = append(h.order, instance)
		h.cause[instance] = cause
	}
}

// truths returns the truth about each container of a pod at a time.
func truths(pod *v1.Pod, records []trace.Record, at virtual.Time) []*truth {
	var list []*truth
	for c := range podutil.Containers(&pod.Spec) {
		init := slices.ContainsFunc(pod.Spec.InitContainers, func(i v1.Container) bool {
			return i.Name == c.Name
		}) && !podutil.IsRestartableInitContainer(c)
		h := &history{spec: c, cause: map[int]verdict.Cause{}, killings: map[verdict.Cause]bool{},
			exited: map[int]bool{}, init: init, once: init || !podutil.ContainerShouldRestart(c, &pod.Spec, 0)}
		h.read(pod.Namespace+"/"+pod.Name, records, at)
		list = append(list, h.truth(pod))
	}
	for i := range records { // a step can add ephemeral containers, of which the events say why they do not run
		r := &records[i]
		if r.T <= at && r.Pod == pod.Namespace+"/"+pod.Name && r.Container != "" && !slices.ContainsFunc(list,
			func(t *truth) bool { return t.container == r.Container }) {
			h := &history{spec: &v1.Container{Name: r.Container}, cause: map[int]verdict.Cause{},
				killings: map[verdict.Cause]bool{}, exited: map[int]bool{}, once: true}
			h.read(r.Pod, records, at)
			list = append(list, h.truth(pod))
		}
	}
	return list
}

func (h *history) read(key string, records []trace.Record, at virtual.Time) {
	var killed *trace.Record // the last kill from outside
	var rebooted virtual.Time
	for i := range records {
		r := &records[i]
		if r.T > at {
			continue
		}
		if r.Kind == trace.Step && (r.Reason == "rebootNode" || r.Reason == "shutdownNode" ||
			r.Reason == "runtimeDown") {
			rebooted, h.node = r.T, true
		}
		if r.Pod != key {
			continue
		}
		h.ofPod(r)
		if r.Container != h.spec.Name {
			continue
		}
		switch r.Kind {
		case trace.Step:
			if r.Reason == "kill" {
				killed = r
			}
		case trace.ContainerStopping:
			h.end(r.Instance, stopping[r.Reason])
		case trace.ContainerExited:
			h.exit(r, killed, rebooted)
		case trace.ProbeExecuted:
			h.failing = h.failing || r.Probe != trace.Readiness && r.Result == trace.Failure
		case trace.Event:
			h.event(r)
		}
	}
}

func (h *history) ofPod(r *trace.Record) {
	switch r.Kind {
	case trace.PodDeleteRequested:
		h.deleted, h.shown = true, true
	case trace.PodRemoved:
		h.removed = true
	case trace.StatusPatched:
		h.ready = r.Status.Ready
		h.shown = h.shown || slices.Contains(stopped, r.Status.Reason)
		for i := range r.Status.Containers {
			if s := &r.Status.Containers[i]; s.Name == h.spec.Name {
				h.status = s
			}
		}
	case trace.Event:
		h.deleted = h.deleted || slices.Contains(stopped, r.Reason)
		h.sandbox = h.sandbox || r.Reason == "FailedCreatePodSandBox" || r.Reason == "NetworkNotReady"
		h.node = h.node || r.Reason == "SandboxChanged"
	}
}

func (h *history) event(r *trace.Record) {
	switch r.Reason {
	case "Killing":
		if cause := killing(r.Message); cause != "" {
			h.end(r.Instance, cause)
			h.killings[cause] = true
		}
	case "FailedPostStartHook":
		h.hook = true
	case "Failed":
		h.cannotStart = true
		h.pull = h.pull || strings.Contains(r.Message, "pull image")
	case "BackOff":
		h.pull = h.pull || strings.Contains(r.Message, "pulling image")
	}
}

func (h *history) exit(r, killed *trace.Record, rebooted virtual.Time) {
	h.exited[r.Instance] = true
	switch {
	case killed != nil && killed.Instance == r.Instance && killed.T <= r.T &&
		strings.HasPrefix(killed.Message, "OOMKilled"):
		// memory before a kill that has begun
		if h.cause[r.Instance] = ""; len(h.order) > 0 && h.order[len(h.order)-1] == r.Instance {
			h.order = h.order[:len(h.order)-1]
		}
		h.end(r.Instance, verdict.OutOfMemory)
	case r.ExitCode == 255 && h.node && r.T == rebooted:
		h.end(r.Instance, verdict.Node)
	case h.once && r.ExitCode == 0:
		h.done = true
	default:
		h.end(r.Instance, verdict.OwnExit)
	}
}

// truth says which causes are true.
func (h *history) truth(pod *v1.Pod) *truth {
	t := &truth{container: h.spec.Name, primary: map[verdict.Cause]bool{}, also: map[verdict.Cause]bool{}}
	counts := map[verdict.Cause]int{}
	for _, i := range h.order {
		t.ends = append(t.ends, h.cause[i])
		counts[h.cause[i]]++
		t.also[h.cause[i]] = true
	}
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	for cause, n := range counts {
		if n == most || cause == t.ends[len(t.ends)-1] {
			t.primary[cause] = true
		}
	}
	maps.Copy(t.also, h.killings) // a container can end while the kubelet decides to kill it
	h.now(t, pod)
	if h.deleted || h.removed || h.shown {
		t.primary[verdict.Removed] = true
	} else if t.also[ended] {
		t.primary[verdict.Nothing] = true // as a sidecar at the end of a Job
	}
	if len(t.primary) == 0 {
		maps.Copy(t.primary, t.also)
	}
	for cause, is := range map[verdict.Cause]bool{verdict.Node: h.node, verdict.PostStartHook: h.hook,
		verdict.Sandbox: h.sandbox, verdict.CannotStart: h.cannotStart, verdict.Failing: h.failing,
		verdict.OwnExit: h.done, verdict.Image: h.pull} {
		if is {
			t.also[cause] = true
		}
	}
	return t
}

// now adds what the status says.
func (h *history) now(t *truth, pod *v1.Pod) {
	s := h.status
	if s == nil {
		t.also[verdict.Waiting] = true
		return
	}
	state := t.also
	if n := len(h.order); n == 0 || n == 1 && !h.exited[h.order[0]] { // a kill that has begun does not show yet
		state = t.primary
	}
	t.quiet = !h.shown && s.RestartCount == 0 && (s.State == "running" && s.Ready ||
		s.State == "terminated" && s.ExitCode == 0 && h.once)
	if t.quiet && len(h.order) == 1 && len(h.killings) == 0 {
		t.primary[verdict.Nothing] = true // it has just ended, and neither a status nor an event shows it yet
	}
	switch s.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
		t.primary[verdict.Image] = true
		return
	case "CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun":
		state[verdict.CannotStart] = true
	case "PostStartHookError":
		t.primary[verdict.PostStartHook] = true
	case "ContainerStatusUnknown":
		t.primary[verdict.Node] = true
	}
	switch {
	case s.State == "waiting" && len(state) == 0, s.State == "running" && h.init:
		state[verdict.Waiting], t.also[verdict.Nothing] = true, true
	case s.State == "running" && !s.Ready:
		state[verdict.NotReady] = true
		if h.failing {
			state[verdict.Failing] = true
		}
		if h.spec.ReadinessProbe == nil && h.spec.StartupProbe == nil {
			state[verdict.Waiting] = true
		}
	case s.State == "running":
		t.runsReady(state, h, pod)
	case s.State == "terminated" && s.ExitCode == 0 && h.once:
		state[verdict.Nothing] = true // it has ended as it should
	}
}

// runsReady: a probe may fail nonetheless, and a readiness gate may be closed.
func (t *truth) runsReady(state map[verdict.Cause]bool, h *history, pod *v1.Pod) {
	if h.failing {
		state[verdict.Failing] = true
	}
	if !h.ready && len(pod.Spec.ReadinessGates) > 0 {
		state[verdict.ReadinessGate] = true
	}
	if len(t.ends) == 0 {
		state[verdict.Nothing] = true
	}
}
