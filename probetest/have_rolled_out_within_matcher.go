package probetest

import (
	"fmt"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// HaveRolledOutWithin succeeds if the last change of the spec of a *Deployment, or its creation, is
// complete within a time after it: all replicas have the new template and are available, and none
// has an old one, as 'kubectl rollout status' waits for.
//
//	web.Restart()
//	n.Advance(5 * time.Minute)
//	Expect(web).To(HaveRolledOutWithin(2 * time.Minute))
func HaveRolledOutWithin(d time.Duration) *HaveRolledOutWithinMatcher {
	m := &HaveRolledOutWithinMatcher{within: d}
	m.function, m.judge = "HaveRolledOutWithin", m
	return m
}

// HaveRolledOutWithinMatcher is the type of HaveRolledOutWithin.
type HaveRolledOutWithinMatcher struct {
	matcher
	within time.Duration
}

func (m *HaveRolledOutWithinMatcher) expected(to string) string {
	return to + "have rolled out within " + value.Format(m.within)
}

func (m *HaveRolledOutWithinMatcher) examine(actual any) (bool, *finding, error) {
	d, states, err := deploymentOf(actual)
	if err != nil {
		return false, nil, err
	}
	var r rollout
	for _, s := range states {
		switch {
		case r.change.Workload == nil || s.Generation != r.change.Generation:
			r = rollout{s, s}
		case !r.complete():
			r.last = s
		}
	}
	due := r.change.t.Add(min(m.within, MaxTime))
	center := r.last.t
	if !r.complete() {
		if due > d.log.end {
			return false, nil, fmt.Errorf("the time ends %s after the change, at %s, but the run has only reached %s%s",
				value.Format(m.within), trace.FormatTime(due), trace.FormatTime(d.log.end), d.node.more())
		}
		center = due
	}
	return r.complete() && r.last.t <= due, d.finding(r.describe(d), center, []int{r.change.record, r.last.record}), nil
}

// rollout is the last rollout of a Deployment.
type rollout struct {
	change state // that began it
	last   state // the first complete state after it, or the last one
}

func (r *rollout) complete() bool {
	return r.last.Generation == r.change.Generation && r.last.Complete()
}

// describe says how long the rollout took, or where it stands.
func (r *rollout) describe(d *Deployment) string {
	began := "the change at " + trace.FormatTime(r.change.t)
	w := r.last.Workload
	if r.complete() {
		took := value.Format(r.last.t.Sub(r.change.t))
		return fmt.Sprintf("It was complete %s after %s, at %s", took, began, trace.FormatTime(r.last.t))
	}
	text := fmt.Sprintf("It is not complete after %s: %d replicas, %d updated, %d Ready, %d available, %d old",
		began, w.Desired, w.Updated, w.Ready, w.Available, w.Replicas-w.Updated)
	if c := w.Condition("Progressing"); c.Reason != "" {
		text += "; Progressing is " + c.Status + " (" + c.Reason + ")"
	}
	if names := d.unready(); names != "" {
		text += "; not Ready: " + names
	}
	return text
}
