package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/check"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
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

// Show makes the run with a seed again, for each Deployment: a Report has the seed of the worst run. The errors are those of Run.
func Show(ctx context.Context, files, from []check.File, o Options, seed int64) ([]*Shown, error) {
	o.complete()
	workloads, _, err := load(files, from, &o)
	if err != nil {
		return nil, err
	}
	var list []*Shown
	for _, w := range workloads {
		shown, err := w.show(ctx, &o, seed)
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

func (w *workload) title() string { return check.Title("Deployment", w.spec.Namespace, w.spec.Name) }

// healthy returns the programs of the pods before and after the change, without what the options say about them.
func (w *workload) healthy(o *Options) (map[bool]fakeruntime.Pod, error) {
	programs := map[bool]fakeruntime.Pod{}
	for i, d := range []*appsv1.Deployment{w.old, w.spec} {
		one := d.DeepCopy()
		one.Spec.Replicas = new(int32(1)) // a Deployment without pods can be scaled
		admitted, err := check.Admit(one, o.Profile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.title(), err)
		}
		programs[i == 1] = admitted.Programs
	}
	return programs, nil
}

// worst returns the seed of the run that shows the verdict best: the first that does not complete, or else the one that loses most, or else
// the longest.
func (s sample) worst() int64 {
	worst := 0
	for i := range s {
		o, than := &s[i], &s[worst]
		switch {
		case !than.steady || than.took == 0:
			return int64(worst)
		case !o.steady || o.took == 0, o.lost > than.lost, o.lost == than.lost && o.took > than.took:
			worst = i
		}
	}
	return int64(worst)
}

// command returns the command that shows a run of a workload of several.
func (o *Options) command(w *workload, several bool, seed int64) string {
	if o.Command == "" {
		return ""
	}
	text := o.Command
	if several {
		text += " --workload " + w.spec.Namespace + "/" + w.spec.Name
	}
	return fmt.Sprintf("%s --seed %d", text, seed)
}

// chooses reports whether a Deployment has the name of the options, if there is one.
func (o *Options) chooses(w *workload) bool {
	return o.Workload == "" || o.Workload == w.spec.Name || o.Workload == w.spec.Namespace+"/"+w.spec.Name
}

// only leaves out the Deployments with another name than that of the options.
func (o *Options) only(list []*workload) ([]*workload, error) {
	var names []string
	chosen := slices.DeleteFunc(slices.Clone(list), func(w *workload) bool {
		names = append(names, w.spec.Name)
		return !o.chooses(w)
	})
	if len(chosen) == 0 {
		_, name, _ := strings.Cut("/"+o.Workload, "/")
		return nil, fmt.Errorf("%w %s%s; there are: %s", ErrNoDeployment, strict.Quote(o.Workload), strict.DidYouMean(name, names), printable.Few(names))
	}
	return chosen, nil
}

// behind leaves out the Deployments whose pods the Service of the options does not select.
func (o *Options) behind(list []*workload) ([]*workload, error) {
	if o.Service == "" {
		return list, nil
	}
	var names []string
	chosen := slices.DeleteFunc(slices.Clone(list), func(w *workload) bool {
		names = append(names, w.services...)
		return len(w.counted()) == 0
	})
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case len(names) == 0:
		return nil, fmt.Errorf("%w %s: no Service in the files selects pods of a Deployment", ErrNoService, strict.Quote(o.Service))
	}
	return nil, fmt.Errorf("%w %s%s; there are: %s", ErrNoService, strict.Quote(o.Service), strict.DidYouMean(o.Service, names), printable.Few(names))
}
