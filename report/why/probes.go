package why

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// spec returns the container of a record as it is meant to be, or nil.
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

// probeSpec returns a probe as it is meant to be, or nil.
func (r *Run) probeSpec(p probe) *v1.Probe {
	c := r.spec(p.subject)
	if c == nil {
		return nil
	}
	return map[trace.Probe]*v1.Probe{trace.Liveness: c.LivenessProbe, trace.Readiness: c.ReadinessProbe, trace.Startup: c.StartupProbe}[p.kind]
}

func succeeded(rec *trace.Record) bool {
	return rec.Result == trace.Success || rec.Result == trace.Warning
}

// before returns the runs of the probe of a record up to it that count, newest first: what broke counts as nothing.
func (r *Run) before(rec *trace.Record) []*trace.Record {
	var runs []*trace.Record
	for _, p := range slices.Backward(r.probes[probe{subject{rec.Pod, rec.Container}, rec.Probe}]) {
		if p.Step <= rec.Step && p.Result != trace.Error {
			runs = append(runs, p)
		}
	}
	return runs
}

// streak returns the runs up to a record that came to the same one after the other, oldest first and no more than a
// number of them, and the run before them, if there is one.
func (r *Run) streak(rec *trace.Record, most int) ([]*trace.Record, *trace.Record) {
	var runs []*trace.Record
	for _, p := range r.before(rec) {
		if succeeded(p) != succeeded(rec) {
			return runs, p
		}
		if len(runs) < most {
			runs = slices.Insert(runs, 0, p)
		}
	}
	return runs, nil
}

// failuresBefore returns the failed runs right before those that succeeded up to a record, in the same instance,
// oldest first.
func (r *Run) failuresBefore(rec *trace.Record) []*trace.Record {
	var failures []*trace.Record
	for _, p := range r.before(rec) {
		switch {
		case p.Instance != rec.Instance || succeeded(p) && len(failures) > 0:
			return failures
		case !succeeded(p):
			failures = slices.Insert(failures, 0, p)
		}
	}
	return failures
}

// tellFailure says how a probe came to fail for good.
func (r *Run) tellFailure(rec *trace.Record) string {
	threshold := 1
	spec := r.probeSpec(probe{subject{rec.Pod, rec.Container}, rec.Probe})
	if spec != nil {
		threshold = int(spec.FailureThreshold)
	}
	runs, last := r.streak(rec, threshold)
	text := fmt.Sprintf("%s failed %s", rec.Probe, times(runs))
	if spec != nil {
		text += fmt.Sprintf(", failureThreshold %d", threshold)
	}
	if n := slices.IndexFunc(runs, func(p *trace.Record) bool { return p.Instance == rec.Instance }); n > 0 {
		text += fmt.Sprintf(", %d of them in the instance before, which the kubelet counts on", n)
	}
	if last != nil && last.Instance == rec.Instance {
		text += ", after its last success at " + at(last.T)
	}
	return text + said(rec)
}

// tellSuccess says how a probe came to succeed.
func (r *Run) tellSuccess(rec *trace.Record) string {
	text := fmt.Sprintf("%s succeeded ", rec.Probe)
	threshold := 1
	if spec := r.probeSpec(probe{subject{rec.Pod, rec.Container}, rec.Probe}); spec != nil {
		threshold = int(spec.SuccessThreshold)
	}
	if runs, _ := r.streak(rec, threshold); threshold > 1 {
		text += times(runs) + fmt.Sprintf(", successThreshold %d", threshold)
	} else {
		text += "at " + at(rec.T)
	}
	if failures := r.failuresBefore(rec); len(failures) > 0 {
		text += fmt.Sprintf(", after %s since %s", plural(len(failures), "failure"), at(failures[0].T))
	}
	return text
}

// times says when runs of a probe ended, the first and the last of them where there are many.
func times(runs []*trace.Record) string {
	var list []string
	for i, p := range runs {
		switch {
		case len(runs) <= 5 || i < 2 || i == len(runs)-1:
			list = append(list, at(p.T))
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

// number writes small numbers out.
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

// said is what a probe run came back with.
func said(rec *trace.Record) string {
	message := strings.TrimSpace(rec.Message)
	if first, _, more := strings.Cut(message, "\n"); more {
		message = first + " ..."
	}
	if message == "" {
		return ""
	}
	return `: "` + trace.Clean(message) + `"`
}
