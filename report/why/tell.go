package why

import (
	"fmt"
	"strings"
	"time"

	"probesim.dev/trace"
)

// at writes a time of the run.
func at(t time.Duration) string { return trace.FormatTime(t) }

// span writes how long something took, to the millisecond.
func span(d time.Duration) string { return d.Round(time.Millisecond).String() }

// tell says what happened, as a clause that can follow "because"; effect is what it led to in the chain, nil for the first
// link, and cause what led to it. Nothing is said of what only passes things on.
func (r *Run) tell(rec, effect, cause *trace.Record) string {
	name := trace.Clean(rec.Container)
	switch rec.Kind {
	case trace.StatusPatched:
		return r.tellStatus(rec, effect, cause)
	case trace.ContainerStarted:
		return r.tellStart(rec, effect, cause)
	case trace.ContainerExited:
		return r.tellExit(rec, cause)
	case trace.ContainerStopping:
		return r.tellStop(rec, cause)
	case trace.ProbeExecuted:
		return r.tellProbe(rec)
	case trace.Event:
		return r.tellEvent(rec, effect, cause)
	case trace.Step:
		return tellStep(rec, name)
	case trace.PodAdded:
		return fmt.Sprintf("the pod was added at %s", at(rec.T))
	case trace.PodDeleteRequested:
		return fmt.Sprintf("its deletion was requested at %s", at(rec.T))
	case trace.PodRemoved:
		return fmt.Sprintf("the pod was removed from the API server at %s", at(rec.T))
	case trace.KubeletStarted:
		if effect != nil && effect.Kind == trace.StatusPatched {
			return fmt.Sprintf("the kubelet was started again at %s, without the probe results of the one before", at(rec.T))
		}
		return fmt.Sprintf("the kubelet was started again at %s", at(rec.T))
	case trace.KubeletStopped:
		return fmt.Sprintf("the kubelet was stopped at %s", at(rec.T))
	}
	return ""
}

// tellStatus tells only of a status that is asked about: others lead to nothing but a look at the pod.
func (r *Run) tellStatus(rec, effect, cause *trace.Record) string {
	if effect != nil {
		return ""
	}
	text := trace.Clean(trace.PodName(rec.Pod)) + " stopped being Ready at " + at(rec.T)
	if rec.Status.Ready {
		text = trace.Clean(trace.PodName(rec.Pod)) + " became Ready at " + at(rec.T)
	}
	if cause != nil && rec.T-cause.T > soon {
		text += listed(r.outages(cause.T, rec.T, true))
	}
	return text
}

// tellStart is a restart, with what held it up since its cause.
func (r *Run) tellStart(rec, effect, cause *trace.Record) string {
	if effect != nil && effect.Kind == trace.ContainerExited && r.isStepOfInit(effect) {
		return "" // that it succeeded says enough
	}
	name := trace.Clean(rec.Container)
	text := fmt.Sprintf("%s was started at %s", name, at(rec.T))
	if rec.Instance > 0 {
		text = fmt.Sprintf("%s was restarted (restart %d) at %s", name, rec.Instance, at(rec.T))
	}
	if effect == nil && rec.Instance > 0 {
		text = fmt.Sprintf("restart %d of %s at %s", rec.Instance, trace.Clean(trace.PodName(rec.Pod))+"/"+name, at(rec.T))
	}
	if effect != nil && effect.Kind == trace.StatusPatched {
		text += r.tellProbesOf(rec, effect.Status.Ready)
	}
	if cause == nil {
		return text
	}
	return text + r.holdUps(rec, cause)
}

// tellProbesOf says why Ready follows from a start alone.
func (r *Run) tellProbesOf(start *trace.Record, ready bool) string {
	c := r.spec(subject{start.Pod, start.Container})
	switch {
	case c == nil:
	case c.ReadinessProbe == nil && c.StartupProbe == nil:
		return " and has no probe to wait for"
	case !ready && c.StartupProbe != nil:
		return " and its startup probe had not succeeded yet"
	case !ready:
		return " and its readiness probe had not succeeded yet"
	}
	return ""
}

// listed appends what else there is to say.
func listed(what []string) string {
	if len(what) == 0 {
		return ""
	}
	return "; " + strings.Join(what, "; ")
}

// codeKilled is the exit code of what SIGKILL has ended.
const codeKilled = 137

func (r *Run) tellExit(rec, cause *trace.Record) string {
	name := trace.Clean(rec.Container)
	text := fmt.Sprintf("%s exited at %s with code %d", name, at(rec.T), rec.ExitCode)
	switch {
	case cause != nil && cause.Kind == trace.Step && cause.Reason == "kill" && cause.T == rec.T:
		return "" // the step says it
	case exitsByItself(cause) && r.isStepOfInit(rec):
		return fmt.Sprintf("the init container %s succeeded at %s", name, at(rec.T))
	case exitsByItself(cause):
		text = fmt.Sprintf("the program in %s exited by itself at %s with code %d", name, at(rec.T), rec.ExitCode)
		if cause != nil {
			text += ", " + span(rec.T-cause.T) + " after its start"
		}
	case cause.Kind == trace.ContainerStopping && rec.T-cause.T >= time.Duration(cause.GraceSeconds)*time.Second && rec.ExitCode == codeKilled:
		text = fmt.Sprintf("%s was killed at %s, when its grace of %ds was over", name, at(rec.T), cause.GraceSeconds)
	case cause.Kind == trace.ContainerStopping:
		text += fmt.Sprintf(", which took it %s of a grace of %ds", span(rec.T-cause.T), cause.GraceSeconds)
	}
	return text
}

// whyStopped says for the reasons of ContainerStopping what they mean.
var whyStopped = map[string]string{
	"LivenessProbe": "for its liveness probe", "StartupProbe": "for its startup probe", "FailedPostStartHook": "as its postStart hook failed",
	"ImageChanged": "as it is to have another image", "Deleted": "as the pod was deleted", "Evicted": "as the pod was evicted",
	"Stopped": "with the pod",
}

func (r *Run) tellStop(rec, cause *trace.Record) string {
	text := fmt.Sprintf("the kubelet stopped %s at %s", trace.Clean(rec.Container), at(rec.T))
	if why, ok := whyStopped[rec.Reason]; ok {
		text += " " + why
	}
	killing := r.killing(rec)
	if killing != nil && cause != nil && cause.Kind == trace.ProbeExecuted && killing.T-cause.T > soon {
		text += listed(r.inTheWay(subject{rec.Pod, rec.Container}, cause.T, killing.T))
	}
	if killing != nil && rec.T-killing.T > time.Second/10 {
		text += fmt.Sprintf(", which it had decided at %s", at(killing.T))
		switch c := r.spec(subject{rec.Pod, rec.Container}); {
		case c != nil && c.Lifecycle != nil && c.Lifecycle.PreStop != nil:
			text += ": its preStop hook came first"
		case c != nil && isSidecar(c):
			text += ": sidecars are stopped last"
		}
	}
	return text
}

// killing returns the event with which the kubelet says that it will stop an instance, or nil.
func (r *Run) killing(stop *trace.Record) *trace.Record {
	for _, rec := range r.lives[subject{stop.Pod, stop.Container}] {
		if rec.Kind == trace.Event && rec.Reason == "Killing" && rec.Instance == stop.Instance {
			return rec
		}
	}
	return nil
}

func (r *Run) tellProbe(rec *trace.Record) string {
	text := r.tellSuccess(rec)
	if !succeeded(rec) {
		text = r.tellFailure(rec)
	}
	if p := r.pods[rec.Pod]; p != nil && len(p.Spec.Containers)+len(p.Spec.InitContainers) > 1 {
		text = fmt.Sprintf("%s of %s", rec.Probe, trace.Clean(rec.Container)) + strings.TrimPrefix(text, string(rec.Probe))
	}
	return text
}

// tellEvent tells of the events that hold something up or end something, of several back-offs in a row the last.
func (r *Run) tellEvent(rec, effect, cause *trace.Record) string {
	name := trace.Clean(rec.Container)
	switch {
	case rec.Reason == "BackOff" && effect != nil && effect.Kind == trace.Event && effect.Reason == "BackOff":
		return ""
	case rec.Reason == "BackOff":
		return r.tellBackOff(rec, cause)
	case rec.Reason == "FailedPostStartHook":
		return fmt.Sprintf("the postStart hook of %s failed at %s", name, at(rec.T))
	case rec.Reason == "DeadlineExceeded":
		return fmt.Sprintf("the pod had run for longer than its activeDeadlineSeconds at %s", at(rec.T))
	case rec.Type == "Warning" && rec.Reason != "Unhealthy" && rec.Reason != "Evicted":
		return fmt.Sprintf("there was %s at %s: %s", rec.Reason, at(rec.T), trace.Clean(rec.Message))
	}
	return ""
}

// tellBackOff says how long the kubelet waits before it starts a container or pulls an image again.
func (r *Run) tellBackOff(rec, cause *trace.Record) string {
	exit := r.lastExit(rec)
	delay, known := r.backOff[rec.Step]
	switch {
	case !known || exit == nil:
		return fmt.Sprintf("the kubelet was backing off at %s: %s", at(rec.T), trace.Clean(rec.Message))
	}
	return fmt.Sprintf("it had to wait for its back-off of %s from its exit on, until %s", span(delay), at(exit.T+delay))
}

// lastExit returns the last exit of the container of a record before it, or nil.
func (r *Run) lastExit(before *trace.Record) *trace.Record {
	var exit *trace.Record
	for _, rec := range r.lives[subject{before.Pod, before.Container}] {
		if rec.Kind == trace.ContainerExited && rec.Step < before.Step {
			exit = rec
		}
	}
	return exit
}

func tellStep(rec *trace.Record, name string) string {
	when, message := at(rec.T), trace.Clean(rec.Message)
	if message == trace.StepOver {
		return fmt.Sprintf("the step %s was over at %s", rec.Reason, when)
	}
	switch rec.Reason {
	case "kill":
		return fmt.Sprintf("%s was killed from outside at %s (%s)", name, when, message)
	case "evict":
		return fmt.Sprintf("the node was short of memory at %s", when)
	case "patch":
		return fmt.Sprintf("somebody patched the pod at %s: %s", when, message)
	case "rebootNode":
		return fmt.Sprintf("the node went down at %s and was started again", when)
	case "shutdownNode":
		return fmt.Sprintf("the node was told at %s that it would be shut down", when)
	}
	return strings.TrimSpace(fmt.Sprintf("the step %s was done at %s", rec.Reason, when) + " " + message)
}
