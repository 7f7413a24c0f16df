package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// spec returns the spec of a container, or nil if it is unknown.
func (r *Run) spec(c subject) *v1.Container {
	if pod := r.pods[c.pod]; pod != nil {
		return podutil.Find(pod, c.container)
	}
	return nil
}

// probeSpec returns the spec of a probe at a time, or nil if it is unknown.
func (r *Run) probeSpec(p subject, at virtual.Time) *v1.Probe {
	c := r.spec(p)
	if c == nil || r.probesChanged(p.pod, at) {
		return nil
	}
	return podutil.ProbeOf(c, string(p.probe))
}

// threshold returns how many results like that of a probe run decide, or 1 if it is unknown.
func (r *Run) threshold(run *trace.Record) int {
	return podutil.Threshold(r.probeSpec(probeOf(run), run.T), succeeded(run))
}

// probesChanged reports whether a patch can have changed a probe of a pod by a time, so that the
// spec does not tell the probes.
func (r *Run) probesChanged(pod string, at virtual.Time) bool {
	return slices.ContainsFunc(r.about[topic{trace.Step, subject{pod: pod}}],
		func(rec *trace.Record) bool { return rec.T <= at && rec.ChangesProbes() })
}

func succeeded(rec *trace.Record) bool {
	return rec.Result == trace.Success || rec.Result == trace.Warning
}

// runsUpTo returns the runs of a probe up to a record, newest first. Runs with an error do not
// count: the kubelet ignores them.
func (r *Run) runsUpTo(rec *trace.Record) []*trace.Record {
	var runs []*trace.Record
	for _, p := range slices.Backward(r.about[topic{trace.ProbeExecuted, probeOf(rec)}]) {
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
	threshold, spec := r.threshold(rec), r.probeSpec(probeOf(rec), rec.T)
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
	text += r.newPeriod(runs[0]) + quotedMessage(rec)
	// The message of a request over the network does not name the timeout, while that of a command
	// does.
	if spec != nil && spec.Exec == nil && rec.Result == trace.Failure && rec.Took >= seconds(spec.TimeoutSeconds) {
		text += fmt.Sprintf(", after its timeoutSeconds %d", spec.TimeoutSeconds)
	}
	return text
}

func seconds[T int32 | int64](n T) time.Duration { return time.Duration(n) * time.Second }

// successDetails says when a probe succeeded, and how often it failed before.
func (r *Run) successDetails(rec *trace.Record) string {
	text := "at " + r.at(rec.T)
	if threshold := r.threshold(rec); threshold > 1 {
		runs, _ := r.streak(rec, threshold)
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
	spec, began := r.probeSpec(probeOf(run), run.T), run.T.Add(-run.Took)
	if spec == nil {
		return ""
	}
	reset := last(r.about[topic{trace.TriggerTaken, probeOf(run)}],
		func(rec *trace.Record) bool { return rec.T < began })
	if reset == nil || began.Sub(reset.T) != seconds(spec.PeriodSeconds) {
		return ""
	}
	return fmt.Sprintf("; its period of %ds began anew at %s%s", spec.PeriodSeconds, r.at(reset.T), r.trigger(reset))
}

// trigger says why the kubelet triggered a readiness probe: each sync of a pod triggers the probes
// of the containers that are not ready yet.
func (r *Run) trigger(reset *trace.Record) string {
	sync := last(r.about[topic{trace.PodSync, subject{pod: reset.Pod}}],
		func(rec *trace.Record) bool { return rec.Step < reset.Step })
	if sync == nil {
		return ""
	}
	text := ", when the kubelet synced the pod"
	cause := r.cause(sync)
	if cause == nil {
		return text
	}
	what := map[trace.Kind]string{trace.ProbeExecuted: fmt.Sprintf("a run of the %s probe", cause.Probe),
		trace.ContainerStarted: "the start", trace.ContainerExited: "the exit"}[cause.Kind]
	return text + around(" after ", what, " of "+printable.Text(cause.Container))
}

// kubeletStart returns the last start of the kubelet before a step, or nil.
func (r *Run) kubeletStart(step int64) *trace.Record {
	return last(r.about[kubelet],
		func(rec *trace.Record) bool { return rec.Kind == trace.KubeletStarted && rec.Step < step })
}

// failedBefore reports whether the failures in a row up to a run began before the kubelet started.
func (r *Run) failedBefore(run, start *trace.Record) bool {
	failures := r.failuresBefore(run)
	return len(failures) > 0 && failures[0].Step < start.Step
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
	often := number(len(runs)) + " times"
	switch len(runs) {
	case 1:
		return "at " + list[0]
	case 2:
		often = "twice"
	}
	return often + " in a row (" + strings.Join(list, ", ") + ")"
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
	return around(`: "`, printable.Text(message), `"`)
}

// tick says what decides that a probe runs at a moment.
func (r *Run) tick(p subject, spec *v1.Probe, began virtual.Time) string {
	if slices.ContainsFunc(r.about[topic{trace.TriggerTaken, p}],
		func(rec *trace.Record) bool { return rec.T == began }) {
		return "when the kubelet syncs the pod"
	}
	return fmt.Sprintf("periodSeconds %d", spec.PeriodSeconds)
}

// firstRun says what a success without earlier failures waited for, if the probe first ran long
// after its cause.
func (r *Run) firstRun(rec, cause *trace.Record) string {
	spec, began := r.probeSpec(probeOf(rec), rec.T), rec.T.Add(-rec.Took)
	if spec == nil || cause == nil || len(r.failuresBefore(rec)) > 0 || began.Sub(cause.T) <= noticeable {
		return ""
	}
	if runs := r.runsUpTo(rec); len(runs) > 1 && runs[1].T >= cause.T {
		return ""
	}
	after := ""
	if spec.InitialDelaySeconds > 0 && cause.Kind == trace.ContainerStarted {
		after = fmt.Sprintf(" after initialDelaySeconds %d", spec.InitialDelaySeconds)
	}
	return fmt.Sprintf(", its first run%s (%s)", after, r.tick(probeOf(rec), spec, began))
}

// WhyNot says which probes of a container failed in its last instance, and why that did not restart
// it, in sentences.
func (r *Run) WhyNot(pod, container string) (reasons []string) {
	instance := r.Restarts(pod, container)
	for _, kind := range trace.ProbeTypes {
		failures, row, most := 0, 0, 0
		var latest *trace.Record
		for _, run := range r.about[topic{trace.ProbeExecuted, subject{pod, container, kind}}] {
			if run.Instance != instance || run.Result == trace.Error {
				continue
			}
			if row++; succeeded(run) {
				row = 0
				continue
			}
			failures, most, latest = failures+1, max(most, row), run
		}
		if failures == 0 {
			continue
		}
		because := "a readiness probe restarts nothing: it takes the pod out of its Service."
		if kind != trace.Readiness {
			because = fmt.Sprintf("%d in a row at most, and failureThreshold is %d.", most, r.threshold(latest))
			if most >= r.threshold(latest) {
				because = "the kubelet did not start it again until the run ended."
			}
		}
		reasons = append(reasons, fmt.Sprintf("The %s probe of %s failed %d times, the last time at %s: %s", kind,
			printable.Text(container), failures, r.at(latest.T), because))
	}
	return reasons
}
