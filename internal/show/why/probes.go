package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// spec returns the spec of a container, or nil if it is unknown.
func (r *Run) spec(c subject) *v1.Container {
	pod := r.pods[c.pod]
	if pod == nil {
		return nil
	}
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == c.container {
				return &list[i]
			}
		}
	}
	return nil
}

// probeSpec returns the spec of a probe at a time, or nil if it is unknown.
func (r *Run) probeSpec(p probe, at virtual.Time) *v1.Probe {
	c := r.spec(p.subject)
	if c == nil || r.probesChanged(p.pod, at) {
		return nil
	}
	return map[trace.Probe]*v1.Probe{trace.Liveness: c.LivenessProbe, trace.Readiness: c.ReadinessProbe,
		trace.Startup: c.StartupProbe}[p.kind]
}

// probesChanged reports whether a patch can have changed a probe of a pod by a time, so that the
// spec does not tell the probes.
func (r *Run) probesChanged(pod string, at virtual.Time) bool {
	change := r.changed[pod]
	return change != nil && change.T <= at
}

func succeeded(rec *trace.Record) bool {
	return rec.Result == trace.Success || rec.Result == trace.Warning
}

// runsUpTo returns the runs of a probe up to a record, newest first. Runs with an error do not
// count: the kubelet ignores them.
func (r *Run) runsUpTo(rec *trace.Record) []*trace.Record {
	var runs []*trace.Record
	for _, p := range slices.Backward(r.probes[probe{subject{rec.Pod, rec.Container}, rec.Probe}]) {
		if p.Step <= rec.Step && p.Result != trace.Error {
			runs = append(runs, p)
		}
	}
	return runs
}

// streak returns the last consecutive runs up to a record with its result, oldest first and at most
// limit of them, and the last run before the streak, or nil.
func (r *Run) streak(rec *trace.Record, limit int) (runs []*trace.Record, before *trace.Record) {
	for _, p := range r.runsUpTo(rec) {
		if succeeded(p) != succeeded(rec) {
			return runs, p
		}
		if len(runs) < limit {
			runs = slices.Insert(runs, 0, p)
		}
	}
	return runs, nil
}

// failuresBefore returns the consecutive failures of the same instance right before the successes
// that end with a record, oldest first.
func (r *Run) failuresBefore(rec *trace.Record) []*trace.Record {
	var failures []*trace.Record
	for _, p := range r.runsUpTo(rec) {
		switch {
		case p.Instance != rec.Instance || succeeded(p) && len(failures) > 0:
			return failures
		case !succeeded(p):
			failures = slices.Insert(failures, 0, p)
		}
	}
	return failures
}

// failureDetails says when a probe failed, how often in a row, and with which message.
func (r *Run) failureDetails(rec *trace.Record) string {
	threshold := 1
	spec := r.probeSpec(probe{subject{rec.Pod, rec.Container}, rec.Probe}, rec.T)
	if spec != nil {
		threshold = int(spec.FailureThreshold)
	}
	runs, last := r.streak(rec, threshold)
	text := r.times(runs)
	if spec != nil {
		text += fmt.Sprintf(", failureThreshold %d", threshold)
	}
	if n := slices.IndexFunc(runs, func(p *trace.Record) bool { return p.Instance == rec.Instance }); n > 0 {
		text += fmt.Sprintf(", %d of them in the previous instance, which the kubelet also counts", n)
	}
	if last != nil && last.Instance == rec.Instance {
		text += ", after its last success at " + r.at(last.T)
	}
	if start := r.kubeletStart(rec.Step); start != nil && r.failedBefore(rec, start) {
		text += fmt.Sprintf("; the kubelet restarted at %s and counted from zero", r.at(start.T))
	}
	text += r.newPeriod(runs[0])
	return text + quotedMessage(rec) + r.timeout(rec, spec)
}

// timeout says that a request over the network failed at the timeout of the probe. Its message does
// not name the timeout, while the message of a command does.
func (r *Run) timeout(rec *trace.Record, spec *v1.Probe) string {
	if spec == nil || spec.Exec != nil || rec.Result != trace.Failure ||
		rec.Took < time.Duration(spec.TimeoutSeconds)*time.Second {
		return ""
	}
	return fmt.Sprintf(", after its timeoutSeconds %d", spec.TimeoutSeconds)
}

// successDetails says when a probe succeeded, and how often it failed before.
func (r *Run) successDetails(rec *trace.Record) string {
	text := "at " + r.at(rec.T)
	threshold := 1
	if spec := r.probeSpec(probe{subject{rec.Pod, rec.Container}, rec.Probe}, rec.T); spec != nil {
		threshold = int(spec.SuccessThreshold)
	}
	if runs, _ := r.streak(rec, threshold); threshold > 1 {
		text = r.times(runs) + fmt.Sprintf(", successThreshold %d", threshold)
	}
	if failures := r.failuresBefore(rec); len(failures) > 0 {
		text += fmt.Sprintf(", after %s since %s", plural(len(failures), "failure"), r.at(failures[0].T)) +
			r.newPeriod(rec)
	}
	return text
}

// newPeriod says that the readiness probe ran when it did because its period had begun anew at a
// trigger.
func (r *Run) newPeriod(run *trace.Record) string {
	p := probe{subject{run.Pod, run.Container}, run.Probe}
	spec, began := r.probeSpec(p, run.T), run.T.Add(-run.Took)
	if spec == nil {
		return ""
	}
	for _, reset := range slices.Backward(r.resets[p]) {
		if reset.T >= began {
			continue
		}
		if began.Sub(reset.T) != time.Duration(spec.PeriodSeconds)*time.Second {
			return ""
		}
		return fmt.Sprintf("; its period of %ds began anew at %s%s", spec.PeriodSeconds, r.at(reset.T),
			r.trigger(reset))
	}
	return ""
}

// trigger says why the kubelet triggered a readiness probe: each sync of a pod triggers the probes
// of the containers that are not ready yet.
func (r *Run) trigger(reset *trace.Record) string {
	syncs := r.syncs[reset.Pod]
	i := slices.IndexFunc(syncs, func(rec *trace.Record) bool { return rec.Step > reset.Step })
	if i < 0 {
		i = len(syncs)
	}
	if i == 0 {
		return ""
	}
	cause := r.cause(syncs[i-1])
	if cause == nil {
		return ", when the kubelet synced the pod"
	}
	name := printable.Text(cause.Container)
	switch cause.Kind {
	case trace.ProbeExecuted:
		return fmt.Sprintf(", when the kubelet synced the pod after a run of the %s probe of %s", cause.Probe, name)
	case trace.ContainerStarted:
		return fmt.Sprintf(", when the kubelet synced the pod after the start of %s", name)
	case trace.ContainerExited:
		return fmt.Sprintf(", when the kubelet synced the pod after the exit of %s", name)
	}
	return ", when the kubelet synced the pod"
}

// kubeletStart returns the last start of the kubelet before a step, or nil.
func (r *Run) kubeletStart(step int64) *trace.Record {
	for _, rec := range slices.Backward(r.kubelet) {
		if rec.Kind == trace.KubeletStarted && rec.Step < step {
			return rec
		}
	}
	return nil
}

// failedBefore reports whether the failures in a row up to a run began before the kubelet started.
func (r *Run) failedBefore(run, start *trace.Record) bool {
	for _, p := range r.runsUpTo(run) {
		if succeeded(p) || p.Instance != run.Instance {
			return false
		}
		if p.Step < start.Step {
			return true
		}
	}
	return false
}

// times lists when probe runs ended. Of more than five runs it lists the first two and the last.
func (r *Run) times(runs []*trace.Record) string {
	var list []string
	for i, p := range runs {
		switch {
		case len(runs) <= 5 || i < 2 || i == len(runs)-1:
			list = append(list, r.at(p.T))
		case i == 2:
			list = append(list, "...")
		}
	}
	if len(runs) == 1 {
		return "at " + list[0]
	}
	if len(runs) == 2 {
		return "twice in a row (" + strings.Join(list, ", ") + ")"
	}
	return number(len(runs)) + " times in a row (" + strings.Join(list, ", ") + ")"
}

// number writes numbers below ten as words.
func number(n int) string {
	if n < 10 {
		return [...]string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}[n]
	}
	return fmt.Sprint(n)
}

func plural(n int, word string) string {
	if n == 1 {
		return "one " + word
	}
	return number(n) + " " + word + "s"
}

// quotedMessage returns the first line of the message of a probe run, quoted, or "".
func quotedMessage(rec *trace.Record) string {
	message := strings.TrimSpace(rec.Message)
	if first, _, more := strings.Cut(message, "\n"); more {
		message = first + " ..."
	}
	if message == "" {
		return ""
	}
	return `: "` + printable.Text(message) + `"`
}
