package why

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// at formats a virtual time. All times about a run are alike.
func (r *Run) at(t virtual.Time) string { return trace.FormatTimeOf(r.end, t) }

// span formats a duration, rounded to milliseconds, in the units of at.
func (r *Run) span(d time.Duration) string {
	d = d.Round(time.Millisecond)
	if !trace.InMinutes(r.end) {
		return strconv.FormatFloat(float64(d.Milliseconds())/1000, 'f', -1, 64) + "s"
	}
	return value.Format(d)
}

// clauses describe the records that need no other words.
var clauses = map[trace.Kind]string{
	trace.PodAdded:           "the pod was added",
	trace.PodDeleteRequested: "the deletion of the pod was requested",
	trace.PodRemoved:         "the pod was removed from the API server",
	trace.KubeletStarted:     "the kubelet restarted",
	trace.KubeletStopped:     "the kubelet stopped",
}

// clause describes a record in words that can follow "because". The effect is the previous link of
// the chain, nil for the first one; the cause is the next record. A record that only passes its
// cause on has an empty clause.
func (r *Run) clause(rec, effect, cause *trace.Record) string {
	switch rec.Kind {
	case trace.StatusPatched:
		return r.statusClause(rec, effect, cause)
	case trace.ContainerStarted:
		return r.startClause(rec, effect, cause)
	case trace.ContainerExited:
		return r.exitClause(rec, cause)
	case trace.ContainerStopping:
		return r.stopClause(rec, cause)
	case trace.ProbeExecuted:
		return r.probeClause(rec, cause)
	case trace.Event:
		return r.eventClause(rec, effect)
	case trace.Step:
		return r.stepClause(rec)
	}
	text := around("", clauses[rec.Kind], " at "+r.at(rec.T))
	if rec.Kind == trace.KubeletStarted && effect != nil && effect.Kind == trace.StatusPatched {
		text += " without its earlier probe results"
	}
	return text
}

// statusClause describes a change of Ready if it is the first link. Later links need no status
// patch: its cause says more.
func (r *Run) statusClause(rec, effect, cause *trace.Record) string {
	if effect != nil || !slices.Contains(r.flips(rec.Pod, rec.T), rec) {
		return ""
	}
	text := r.stepText(rec, "") + " at " + r.at(rec.T)
	if cause != nil && rec.T.Sub(cause.T) > noticeable {
		text += appended(append(r.outages(cause.T, rec.T, true),
			r.postStartHooks(noticeable, subject{pod: rec.Pod}, cause.T, rec.T)...))
	}
	return text
}

func (r *Run) startClause(rec, effect, cause *trace.Record) string {
	if effect != nil && effect.Kind == trace.ContainerExited && r.isInitSuccess(effect) {
		return "" // the success of the init container says enough
	}
	text := printable.Text(rec.Container) + " started"
	switch {
	case rec.Instance > 0 && effect == nil:
		text = fmt.Sprintf("restart %d of %s/%s", rec.Instance, nameOf(rec.Pod), printable.Text(rec.Container))
	case rec.Instance > 0:
		text = fmt.Sprintf("%s restarted (restart %d)", printable.Text(rec.Container), rec.Instance)
	}
	text += " at " + r.at(rec.T)
	if hook := r.ofInstance(rec, rec.Step, trace.HookStarted, "postStart"); hook != nil && effect != nil &&
		(effect.Kind == trace.ProbeExecuted || effect.Kind == trace.StatusPatched) &&
		effect.T >= r.hook(hook).end && r.hook(hook).end.Sub(hook.T) > noticeable {
		text += ", and its postStart hook ran until " + r.at(r.hook(hook).end)
	}
	if effect != nil && effect.Kind == trace.StatusPatched {
		text += r.readinessAfterStart(rec, effect.Status.Ready)
	}
	if cause == nil {
		return text
	}
	return text + r.startDelay(rec, cause)
}

// readinessAfterStart says why the start alone changed Ready.
func (r *Run) readinessAfterStart(start *trace.Record, ready bool) string {
	c := r.spec(containerOf(start))
	switch {
	case c == nil || r.probesChanged(start.Pod, start.T):
	case c.ReadinessProbe == nil && c.StartupProbe == nil:
		return " and has no startup or readiness probe"
	case !ready && c.StartupProbe != nil:
		return " and its startup probe had not succeeded yet"
	case !ready:
		return " and its readiness probe had not succeeded yet"
	}
	return ""
}

// appended joins parts to the clause before them.
func appended(parts []string) string { return around("; ", strings.Join(parts, "; "), "") }

// exitCodeSIGKILL is the exit code of a process that SIGKILL ended.
const exitCodeSIGKILL = 137

func (r *Run) exitClause(rec, cause *trace.Record) string {
	name := printable.Text(rec.Container)
	exited := fmt.Sprintf("%s exited with code %d at %s", name, rec.ExitCode, r.at(rec.T))
	switch {
	case cause != nil && cause.Kind == trace.Step && cause.Reason == "kill" && cause.T == rec.T:
		return "" // the clause of the step describes the exit
	case exitsOnItsOwn(cause) && r.isInitSuccess(rec):
		return fmt.Sprintf("the init container %s succeeded at %s", name, r.at(rec.T))
	case cause == nil:
		return "the program in " + exited
	case cause.Kind == trace.ContainerStarted:
		return fmt.Sprintf("the program in %s, %s after it started", exited, r.span(rec.T.Sub(cause.T)))
	case cause.Kind != trace.ContainerStopping:
		return exited
	case rec.ExitCode == exitCodeSIGKILL && rec.T.Sub(cause.T) >= time.Duration(cause.GraceSeconds)*time.Second:
		return fmt.Sprintf("%s was killed at %s, when its %ds grace period ended", name, r.at(rec.T),
			cause.GraceSeconds) + r.inParentheses(r.exitRule(rec))
	}
	return fmt.Sprintf("%s, %s into its %ds grace period", exited, r.span(rec.T.Sub(cause.T)), cause.GraceSeconds) +
		r.inParentheses(r.exitRule(rec))
}

// stopReasons explain the reasons of ContainerStopping.
var stopReasons = map[string]string{
	"LivenessProbe":        "after its liveness probe failed",
	"StartupProbe":         "after its startup probe failed",
	"FailedPostStartHook":  "after its postStart hook failed",
	"ImageChanged":         "to change its image",
	"Resized":              "to change its resources",
	"RestartAllContainers": "to restart all containers of the pod",
	"Deleted":              "to delete the pod",
	"Evicted":              "to evict the pod",
	"Stopped":              "along with its pod",
}

func (r *Run) stopClause(rec, cause *trace.Record) string {
	text := fmt.Sprintf("the kubelet told %s to stop at %s", printable.Text(rec.Container), r.at(rec.T)) +
		around(" ", stopReasons[rec.Reason], "")
	killing := r.killing(rec)
	if killing == nil {
		return text
	}
	if rec.T.Sub(killing.T) > time.Second/10 {
		text += fmt.Sprintf(" (decided at %s%s)", r.at(killing.T), r.stopDelay(killing, rec.T))
	}
	if cause != nil && cause.Kind == trace.ProbeExecuted && killing.T.Sub(cause.T) > noticeable {
		text += appended(r.obstacles(containerOf(rec), cause.T, killing.T))
	}
	return text
}

// stopDelay says why the kubelet does not send the stop signal as soon as it decides to.
func (r *Run) stopDelay(killing *trace.Record, until virtual.Time) string {
	text := ""
	if h := r.preStopHook(killing); h != nil {
		if h.end > until {
			return "; its preStop hook ran first, and was not over when its grace period ended"
		}
		text += "; its preStop hook ran first, until " + r.at(h.end)
		if until.Sub(h.end) <= noticeable {
			return text
		}
	}
	if c := r.spec(containerOf(killing)); c != nil && podutil.IsRestartableInitContainer(c) {
		text += "; sidecars stop last"
	}
	return text
}

func (r *Run) probeClause(rec, cause *trace.Record) string {
	name := fmt.Sprintf("the %s probe", rec.Probe)
	if p := r.pods[rec.Pod]; p != nil && len(p.Spec.Containers)+len(p.Spec.InitContainers) > 1 {
		name += " of " + printable.Text(rec.Container)
	}
	if succeeded(rec) {
		return name + " succeeded " + r.successDetails(rec) + r.firstRun(rec, cause)
	}
	return name + " failed " + r.failureDetails(rec)
}

// eventClause describes events that delay or end something. Of several back-offs in a row it
// describes the last.
func (r *Run) eventClause(rec, effect *trace.Record) string {
	name, when := printable.Text(rec.Container), r.at(rec.T)
	switch {
	case rec.Reason == "Killing" && effect == nil:
		return fmt.Sprintf("the kubelet began to stop %s at %s", name, when)
	case rec.Reason == "BackOff" && effect != nil && effect.Kind == trace.Event && effect.Reason == "BackOff":
		return ""
	case rec.Reason == "BackOff":
		return r.backOffClause(rec)
	case rec.Reason == "FailedPostStartHook":
		return fmt.Sprintf("the postStart hook of %s failed at %s", name, when)
	case rec.Reason == "DeadlineExceeded":
		return "the pod reached its activeDeadlineSeconds at " + when
	case rec.Type == "Warning" && rec.Reason != "Unhealthy" && rec.Reason != "Evicted":
		return fmt.Sprintf("the kubelet reported %s at %s: %s", rec.Reason, when, printable.Text(rec.Message))
	}
	return ""
}

// backOffClause says how long the kubelet waits before it starts a container or pulls an image
// again.
func (r *Run) backOffClause(rec *trace.Record) string {
	exit := r.lastExit(rec)
	delay, known := r.backOff[rec.Step]
	if !known || exit == nil {
		return fmt.Sprintf("the kubelet was backing off at %s: %s", r.at(rec.T), printable.Text(rec.Message))
	}
	return fmt.Sprintf("the %s back-off after its exit lasted until %s", r.span(delay), r.at(exit.T.Add(delay)))
}

// lastExit returns the last exit of the record's container before the record, or nil.
func (r *Run) lastExit(before *trace.Record) *trace.Record {
	return last(r.about[topic{lives, containerOf(before)}],
		func(rec *trace.Record) bool { return rec.Kind == trace.ContainerExited && rec.Step < before.Step })
}

// stepClauses describe the steps of a scenario by their actions. The message of a record with more
// to tell follows the time.
var stepClauses = map[string]string{
	"evict":        "the node ran short of memory",
	"patch":        "the pod was patched",
	"resize":       "the resources of the pod were changed",
	"debug":        "an ephemeral container was added to the pod",
	"rebootNode":   "the node went down to reboot",
	"shutdownNode": "the node began a graceful shutdown",
}

func (r *Run) stepClause(rec *trace.Record) string {
	when, message, name := r.at(rec.T), printable.Text(rec.Message), printable.Text(rec.Container)
	switch {
	case message == trace.StepOver:
		return fmt.Sprintf("the %s step ended at %s", rec.Reason, when)
	case rec.Reason == "kill" && message == "SIGTERM":
		return fmt.Sprintf("a kill step sent %s SIGTERM at %s", name, when)
	case rec.Reason == "kill":
		return fmt.Sprintf("a kill step killed %s at %s (%s)", name, when, message)
	case rec.Reason == "failCall":
		return "at " + when + " a call failed: " + message
	case stepClauses[rec.Reason] != "":
		return stepClauses[rec.Reason] + " at " + when + around(": ", message, "")
	}
	return fmt.Sprintf("the %s step ran at %s", rec.Reason, when) + around(" ", message, "")
}
