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

// seen is the result of a run of the draft.
type seen struct {
	workloads map[string]podsSeen // by the key of an entry
	stopped   bool                // a probe stopped a container
	unhealthy time.Duration       // the time of the last failed probe
}

// podsSeen is what a run shows about a pod, or about all pods of a workload.
type podsSeen struct {
	ready, succeeded  time.Duration // when the last pod became Ready, and succeeded
	isReady, hasEnded bool          // all pods did
	unready           bool          // a pod stopped being Ready before its end
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
		w := s.workloads[e.key()]
		if e.why == "" && (!w.isReady && !w.hasEnded || max(w.ready, w.succeeded) > duration/2) {
			return false
		}
	}
	return true
}

// key names the workload of a pod in what was seen.
func key(p *plan.PlannedPod) string { return p.Pod.Namespace + "/" + p.Workload }

func (e *entry) key() string { return e.Pod.Namespace + "/" + e.Name }

// summarize collects what the records show about the workloads of a plan.
func summarize(plan *scenarios.Plan, records []trace.Record) *seen {
	found, pods := &seen{workloads: map[string]podsSeen{}}, map[string]*podsSeen{}
	for i := range records {
		switch r := &records[i]; r.Kind {
		case trace.StatusPatched:
			if pods[r.Pod] == nil {
				pods[r.Pod] = &podsSeen{}
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
	for _, planned := range plan.Pods() {
		w, known := found.workloads[key(&planned)]
		p := podsSeen{}
		if seen := pods[planned.Pod.Namespace+"/"+planned.Pod.Name]; seen != nil {
			p = *seen
		}
		found.workloads[key(&planned)] = podsSeen{max(w.ready, p.ready), max(w.succeeded, p.succeeded),
			p.isReady && (w.isReady || !known), p.hasEnded && (w.hasEnded || !known), w.unready || p.unready}
	}
	return found
}

func (p *podsSeen) patched(r *trace.Record) {
	switch {
	case r.Status.Phase == "Succeeded" && !p.hasEnded:
		p.hasEnded, p.succeeded = true, r.T.Offset()
	case r.Status.Ready && !p.isReady:
		p.isReady, p.ready = true, r.T.Offset()
	case !r.Status.Ready && p.isReady && !p.hasEnded:
		p.unready = true
	}
}
