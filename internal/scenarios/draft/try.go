package draft

import (
	"context"
	"time"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
	"probesim.dev/trace"
)

// seen is the result of a run of the draft. The maps are by name of workload.
type seen struct {
	ready     map[string]time.Duration // when the last pod became Ready; only if all pods did
	succeeded map[string]time.Duration // when the last pod succeeded; only if all pods did
	unready   map[string]bool          // a pod stopped being Ready before its end
	stopped   bool                     // a probe stopped a container
	unhealthy time.Duration            // the time of the last failed probe
}

// durations are the possible durations of a draft. The draft takes the first in which the workloads
// settle.
var durations = []time.Duration{5 * time.Minute, 30 * time.Minute, 3 * time.Hour}

// try runs the draft, sets its duration, and returns the result.
func (d *draft) try() (*seen, error) {
	var first *seen
	for _, duration := range durations {
		d.duration = duration
		s, err := d.load(d.text(nil))
		if err != nil {
			return nil, err
		}
		plan := s.Plan(profile.Newest().Version, nil) // without a seed
		run := simulate.Run(context.Background(), plan, simulate.Options{})
		if run.Err != nil {
			return nil, run.Err
		}
		found := summarize(plan, run.Records)
		if found.settled(d.entries, duration) {
			return found, nil
		}
		if first == nil {
			first = found
		}
	}
	d.duration = durations[0]
	return first, nil
}

// settled reports whether all workloads became Ready or succeeded in the first half of the run.
func (s *seen) settled(entries []*entry, duration time.Duration) bool {
	for _, e := range entries {
		ready, isReady := s.ready[e.key()]
		ended, hasEnded := s.succeeded[e.key()]
		if e.why == "" && (!isReady && !hasEnded || ready > duration/2 || ended > duration/2) {
			return false
		}
	}
	return true
}

// key names the workload of a pod in what was seen.
func key(p *plan.PlannedPod) string { return p.Pod.Namespace + "/" + p.Workload }

func (e *entry) key() string { return e.Pod.Namespace + "/" + e.Name }

// podSeen is what a run shows about a pod.
type podSeen struct {
	ready, succeeded  time.Duration
	isReady, hasEnded bool
	notReady          bool
}

// summarize collects what the records show about the workloads of a plan.
func summarize(plan *scenarios.Plan, records []trace.Record) *seen {
	found := &seen{ready: map[string]time.Duration{}, succeeded: map[string]time.Duration{}, unready: map[string]bool{}}
	pods := map[string]*podSeen{}
	for i := range records {
		switch r := &records[i]; r.Kind {
		case trace.StatusPatched:
			if pods[r.Pod] == nil {
				pods[r.Pod] = &podSeen{}
			}
			pods[r.Pod].patched(r)
		case trace.ContainerStopping:
			found.stopped = found.stopped || r.Reason == "LivenessProbe" || r.Reason == "StartupProbe"
		case trace.Event:
			if r.Reason == "Unhealthy" {
				found.unhealthy = r.T.Offset()
			}
		}
	}
	found.sum(plan, pods)
	return found
}

func (p *podSeen) patched(r *trace.Record) {
	switch {
	case r.Status.Phase == "Succeeded" && !p.hasEnded:
		p.hasEnded, p.succeeded = true, r.T.Offset()
	case r.Status.Ready && !p.isReady:
		p.isReady, p.ready = true, r.T.Offset()
	case !r.Status.Ready && p.isReady && !p.hasEnded:
		p.notReady = true
	}
}

// sum combines the pods of each workload.
func (s *seen) sum(plan *scenarios.Plan, pods map[string]*podSeen) {
	missing := map[string][2]bool{}
	for _, planned := range plan.Pods() {
		name, p := key(&planned), pods[planned.Pod.Namespace+"/"+planned.Pod.Name]
		if p == nil {
			p = &podSeen{}
		}
		m := missing[name]
		missing[name] = [2]bool{m[0] || !p.isReady, m[1] || !p.hasEnded}
		s.ready[name], s.succeeded[name] = max(s.ready[name], p.ready), max(s.succeeded[name], p.succeeded)
		s.unready[name] = s.unready[name] || p.notReady
	}
	for _, planned := range plan.Pods() {
		name := key(&planned)
		if missing[name][0] {
			delete(s.ready, name)
		}
		if missing[name][1] {
			delete(s.succeeded, name)
		}
	}
}
