package rollout

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Shown is one of the random runs of a Deployment with its trace.
type Shown struct {
	Title   string // of the Deployment
	Seed    int64
	Change  virtual.Time  // when the change is made; 0: not all pods were available before
	Took    time.Duration // until the rollout is complete; 0: it is not
	Lost    []ServiceLoss // requests since the change, by Service
	End     virtual.Time
	Pods    []*v1.Pod // all of the run
	Records []trace.Record

	recorder trace.Recorder
}

// ServiceLoss is the number of requests to a Service that a run loses.
type ServiceLoss struct {
	Service string
	Lost    float64
}

// Show makes the run with a seed again, for each Deployment: a Report has the seed of the worst
// run. The errors are those of Run.
func Show(ctx context.Context, files, from []input.File, o Options, seed int64) ([]*Shown, error) {
	o.complete()
	workloads, _, err := load(files, from, &o)
	if err != nil {
		return nil, err
	}
	var list []*Shown
	for _, w := range workloads {
		shown, err := w.show(ctx, o.in(w, 0, 1), seed)
		if err != nil {
			return nil, err
		}
		list = append(list, shown)
	}
	return list, nil
}

// show makes a run and keeps its trace.
func (w *workload) show(ctx context.Context, o *Options, seed int64) (*Shown, error) {
	healthy, err := w.healthy(o)
	if err != nil {
		return nil, err
	}
	c := *w
	c.shown = &Shown{Title: w.title(), Seed: seed, recorder: trace.Recorder{Internal: true}}
	out, err := c.simulate(ctx, o, healthy, seed)
	if err != nil {
		return nil, err
	}
	shown := c.shown
	shown.Change, shown.Took, shown.End, shown.Records = out.changed, out.took, out.end, shown.recorder.Records()
	for i, t := range w.counted() {
		shown.Lost = append(shown.Lost, ServiceLoss{t.Name, out.each[i].lost})
	}
	return shown, nil
}

// From returns the full second that is at least as much before the change, or 0.
func (s *Shown) From(before time.Duration) virtual.Time {
	return virtual.At(max(0, s.Change.Offset()-before).Truncate(time.Second))
}

func (w *workload) object() Object {
	return Object{"Deployment", w.spec.Namespace, w.spec.Name, w.file, w.node.Pos.Line}
}

func (w *workload) title() string {
	return manifests.Title("Deployment", w.spec.Namespace, w.spec.Name)
}
