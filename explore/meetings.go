package explore

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A meeting is an instant at which a probe changes its verdict and the kubelet begins to sync the
// pod for another reason. Between the two, the kubelet can lose one of them. Such an instant is a
// matter of nanoseconds: no step of a sweep falls on it. The policy meetings therefore computes by
// how much times must move for the two to meet, and then draws the order at that instant.
const (
	meetingSeeds    = 100      // orders of the instant
	meetingVerdicts = 4        // of a probe
	meetingRuns     = 60       // to make the two meet
	nearEnough      = moveSpan // how far a verdict and a sync may be apart in the run as written
)

// verdictOf identifies a verdict in each run.
type verdictOf struct {
	pod, container string
	probe          trace.Probe
	number         int // from 0
}

// meetings has a task for each verdict of the run as written, and each reason for a sync near it.
func meetings(e *Explorer) []task {
	var tasks []task
	for _, v := range verdicts(e.canonical.pods, e.canonical.Records) {
		seen := map[string]bool{}
		for i := range e.canonical.Records {
			r := &e.canonical.Records[i]
			gap := r.T.Sub(v.t)
			if v.number >= meetingVerdicts || !v.syncs(r) || seen[r.Reason] || gap < -nearEnough || gap > nearEnough {
				continue
			}
			seen[r.Reason] = true
			tasks = append(tasks, task{size: 2 * (meetingRuns + meetingSeeds), do: func(run *runner) {
				run.meet(v.verdictOf, r.Reason)
			}})
		}
	}
	return tasks
}

// verdict is the time at which a probe has had as many equal results in a row as its threshold
// says, and differs from its last verdict.
type verdict struct {
	verdictOf
	t virtual.Time
}

// syncs reports whether a record is an item of the sync loop that makes the kubelet sync the pod of
// the verdict, besides the verdict.
func (v *verdictOf) syncs(r *trace.Record) bool {
	return r.Kind == trace.SyncLoop && r.Pod == v.pod && r.Reason != string(v.probe) && r.Reason != "RECONCILE" &&
		r.Reason != "ADD"
}

// verdicts returns the verdicts in the records of a run, in order.
func verdicts(pods []*v1.Pod, records []trace.Record) []verdict {
	type counter struct {
		last, verdict trace.Result
		instance, n   int
		number        int
	}
	counters := map[verdictOf]*counter{}
	var list []verdict
	for i := range records {
		r := &records[i]
		if r.Kind != trace.ProbeExecuted || r.Result == trace.Error || r.T < 0 {
			continue
		}
		of := verdictOf{pod: r.Pod, container: r.Container, probe: r.Probe}
		c := under(counters, of)
		result := r.Result
		if result == trace.Warning {
			result = trace.Success
		}
		if c.last != result || c.instance != r.Instance {
			c.last, c.instance, c.n = result, r.Instance, 0
		}
		if c.n++; c.n != threshold(pods, of, result) || c.verdict == result {
			continue
		}
		c.verdict, of.number = result, c.number
		c.number++
		list = append(list, verdict{of, r.T})
	}
	return list
}

func threshold(pods []*v1.Pod, of verdictOf, result trace.Result) int {
	for _, pod := range pods {
		if c := podutil.Find(pod, of.container); pod.Namespace+"/"+pod.Name == of.pod && c != nil {
			return podutil.Threshold(podutil.ProbeOf(c, string(of.probe)), result == trace.Success)
		}
	}
	return 1
}

// gap returns the time from a verdict to the nearest sync for a reason, and the time of the
// verdict.
func (r *runner) gap(run *Run, of verdictOf, reason string) (gap time.Duration, at virtual.Time, ok bool) {
	for _, v := range verdicts(run.pods, run.Records) {
		if v.verdictOf == of {
			at, ok = v.t, true
		}
	}
	if !ok {
		return 0, 0, false
	}
	ok = false
	for i := range run.Records {
		if s := &run.Records[i]; of.syncs(s) && s.Reason == reason {
			if d := s.T.Sub(at); !ok || d.Abs() < gap.Abs() {
				gap, ok = d, true
			}
		}
	}
	return gap, at, ok
}

// meet moves times until the verdict and the sync meet, and then draws the order of that instant.
// It does so for kubelets that are a second apart in age: every other second, the sync loop is busy
// with its housekeeping.
func (r *runner) meet(of verdictOf, reason string) {
	for i := range 2 {
		older := r.subject.Plan.Uptime + time.Duration(i)*time.Second
		if c, at, ok := r.approach(Change{Uptime: &older}, of, reason); ok {
			for seed := range meetingSeeds {
				if r.shake(c, at, choose.Seeded(seed+1)) == nil {
					return
				}
			}
		}
	}
}

// approach returns a change with which the verdict and the sync meet, and the instant.
func (r *runner) approach(c Change, of verdictOf, reason string) (_ Change, at virtual.Time, ok bool) {
	runs, nearest := 0, c
	try := func(c Change) (time.Duration, virtual.Time, bool) {
		runs++
		run := r.run(c, runOptions{also: []trace.Kind{trace.SyncLoop}})
		if run == nil || run.Err != nil || runs > meetingRuns {
			return 0, 0, false
		}
		return r.gap(run, of, reason)
	}
	gap, at, ok := try(c)
	for ok && gap != 0 {
		ok = false
		best := gap
		for _, moved := range r.moved(c, gap) {
			if best == 0 {
				break
			}
			if g, t, found := try(moved); found && g.Abs() < best.Abs() {
				best, at, nearest, ok = g, t, moved, true
			}
		}
		gap, c = best, nearest
	}
	return c, at, ok
}

// moved returns changes that move one more time by a gap, in both directions.
func (r *runner) moved(c Change, gap time.Duration) []Change {
	var list []Change
	for _, by := range []time.Duration{gap, -gap} {
		uptime := r.subject.Plan.Uptime + by
		if c.Uptime != nil {
			uptime = *c.Uptime + by
		}
		if uptime >= 0 {
			list = append(list, c.with(Change{Uptime: &uptime}))
		}
	}
	for _, t := range r.subject.Plan.Scenario.Times() {
		for _, by := range []time.Duration{gap, -gap} {
			if moved := c.shifted(t.Path, by); t.Value.Min+moved.shiftOf(t.Path) >= 0 {
				list = append(list, moved)
			}
		}
	}
	return list
}

// shiftOf returns by how much the change moves a time.
func (c *Change) shiftOf(path string) time.Duration {
	var by time.Duration
	for _, s := range c.Shifts {
		if s.Path == path {
			by += s.By
		}
	}
	return by
}

// shifted returns the change with a time moved further.
func (c *Change) shifted(path string, by time.Duration) Change {
	moved := *c
	moved.Shifts = []plan.Shift{}
	for _, s := range c.Shifts {
		if s.Path != path {
			moved.Shifts = append(moved.Shifts, s)
		}
	}
	moved.Shifts = append(moved.Shifts, plan.Shift{Path: path, By: c.shiftOf(path) + by})
	return moved
}

// shake draws the order of an instant from a seed, makes the run, and notes its outcome with the
// choices that were drawn.
func (r *runner) shake(c Change, at virtual.Time, seed choose.Seeded) *Run {
	s := &shaker{Seeded: seed, at: at}
	return r.make(func() (Change, *Run) {
		run := r.subject.run(c, runOptions{ctx: r.ctx, chooser: s})
		c.Choices = s.made
		return c, run
	})
}

// shaker draws the choices of one instant from a seed, except jitters, and keeps those that are not
// canonical.
type shaker struct {
	choose.Seeded
	clock
	at    virtual.Time
	asked int
	made  []Choice
}

func (s *shaker) draws() bool {
	s.asked++
	return s.now != nil && s.now() == s.at
}

func (s *shaker) keep(m choose.Made) { s.made = append(s.made, choiceOf(m, s.asked-1, s.at.Offset())) }

func (s *shaker) Choose(c choose.Choice, n int) int {
	if !s.draws() {
		return 0
	}
	v := s.Seeded.Choose(c, n)
	if v != 0 {
		s.keep(choose.Made{Choice: c, Value: v})
	}
	return v
}

func (s *shaker) Next(candidates []choose.Choice) int {
	if !s.draws() {
		return 0
	}
	i := s.Seeded.Next(candidates)
	if i != 0 {
		s.keep(choose.Made{Choice: candidates[i], Before: candidates[0]})
	}
	return i
}

func (s *shaker) Fraction(choose.Choice) float64 {
	s.asked++
	return 0.5
}
