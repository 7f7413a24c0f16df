package rollout

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// fewestRuns is the least number of runs: they show a rollout that does not end, which takes long.
const fewestRuns = 3

// runsOf returns how many runs a rollout of some replicas gets. It keeps the time of a measurement
// about the same.
func (o *Options) runsOf(replicas int32) int {
	if o.Runs > 0 {
		return o.Runs
	}
	return int(min(100, max(fewestRuns, 300/replicas)))
}

// sample are the runs of a workload.
type sample []outcome

// runs makes runs of a workload, with the seeds from first on.
func (w *workload) runs(o *Options, first, n int, name string) (sample, error) {
	healthy, err := w.healthy(o)
	if err != nil {
		return nil, err
	}
	list := make(sample, n)
	return list, o.Each(n, name, func(ctx context.Context, i int) (err error) {
		list[i], err = w.simulate(ctx, o, healthy, int64(first+i))
		return err
	})
}

// figures returns the figures of a number of each run, in thousandths.
func (s sample) figures(of func(*outcome) float64) Figures {
	list := make([]float64, 0, len(s))
	for i := range s {
		list = append(list, of(&s[i]))
	}
	slices.Sort(list)
	at := func(share float64) float64 {
		i := int(math.Ceil(share*float64(len(list)))) - 1
		return math.Round(1000*list[max(0, i)]) / 1000
	}
	return Figures{Least: at(0), Median: at(0.5), P95: at(0.95), Greatest: at(1)}
}

// row returns a row of a table about the runs.
func (s sample) row(id, text string, of func(*outcome) float64) Row {
	return Row{Row: id, Text: text, Runs: len(s), Figures: s.figures(of)}
}

func lostOf(o *outcome) float64  { return o.lost }
func takesOf(o *outcome) float64 { return o.took.Seconds() }

// all reports whether something holds in all runs.
func (s sample) all(holds func(*outcome) bool) bool {
	return !slices.ContainsFunc(s, func(o outcome) bool { return !holds(&o) })
}

func (s sample) complete() bool { return s.all(func(o *outcome) bool { return o.took > 0 }) }

// firstDeadline returns how soon the progress deadline of a run was over, or 0 if all runs kept it.
func (s sample) firstDeadline() (first time.Duration) {
	for i := range s {
		if d := s[i].deadline; d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}

// lossless reports whether no run loses a thousandth of a request.
func (s sample) lossless() bool { return s.figures(lostOf).Greatest == 0 }

// quickRuns are the runs of a Deployment that loses requests in them, if there is only a line for
// it.
const quickRuns = 20

// stands reports whether more runs would hardly change the line of a Deployment: it loses requests,
// there are none, or a rule says that it loses none.
func (w *workload) stands(o *Options, s sample) bool {
	always, ruled := w.alwaysEnough(o)
	slept := time.Duration(math.MaxInt64)
	for _, name := range w.serve() {
		d, _ := sleepOf(serving(w.outgoing(o), name))
		slept = min(slept, d)
	}
	return len(s) >= min(quickRuns, o.runsOf(*w.spec.Spec.Replicas)) && (!s.lossless() || len(w.counted()) == 0) ||
		len(s) > 0 && s.lossless() && ruled && always <= slept && !w.cuts(o, slept)
}

// measure rolls a workload out, and looks for changes that help. If it is quick, it makes the runs
// of a line, and looks for one change.
func measure(w *workload, o *Options, quick bool) (*Workload, error) {
	n := o.runsOf(max(*w.spec.Spec.Replicas, o.Change.Scale))
	var s sample
	for _, n := range []int{min(fewestRuns, n), min(quickRuns, n), n} {
		if w.never || !s.complete() || quick && w.stands(o, s) {
			break
		}
		more, err := w.runs(o, len(s), n-len(s), "rollouts")
		if err != nil {
			return nil, err
		}
		s = append(s, more...)
	}
	result := w.judge(o, s)
	if result.Verdict == NeverReady || result.Verdict == NeverCompletes {
		return result, nil
	}
	if result.Verdict == Loses {
		var err error
		if result.Fixes, err = w.fixes(o, s, quick); err != nil {
			return nil, err
		}
		if w.sleepsLonger() && o.Change.Kind != Scale && o.Change.Kind != Undo {
			result.say("The old pods do not have the longer preStop hook yet, so this rollout still loses requests.")
		}
	}
	return result, nil
}

// sleepsLonger reports whether the change adds a preStop hook to a container that serves, or
// lengthens it.
func (w *workload) sleepsLonger() bool {
	return slices.ContainsFunc(w.serve(), func(name string) bool {
		before, _ := sleepOf(serving(w.old, name))
		after, _ := sleepOf(serving(w.spec, name))
		return after > before
	})
}

// judge returns what runs of a workload show, without what helps.
func (w *workload) judge(o *Options, s sample) *Workload {
	r := newWorkload(w, o)
	r.Runs = len(s)
	switch {
	case w.never:
		r.Verdict = NeverCompletes
	case !s.all(func(o *outcome) bool { return o.steady }):
		r.neverReady(s)
	case !s.complete():
		r.neverCompletes(w, o, s)
	default:
		r.figures(w, o, s)
	}
	if len(s) > 0 {
		r.Worst.Seed = s.worst()
	}
	r.require(w.require, o)
	return r
}

// figures adds the rows of runs that all complete, and the verdict.
func (r *Workload) figures(w *workload, o *Options, s sample) {
	r.Rows = []Row{s.row(RowTakes, "the rollout takes", takesOf),
		s.row(RowReplicas, "fewest Ready replicas", func(o *outcome) float64 { return float64(o.ready) })}
	r.Outage = value.Seconds(1e9 * s.figures(func(o *outcome) float64 { return o.outage.Seconds() }).Greatest)
	if len(w.counted()) > 0 && o.Rate > 0 {
		r.losses(w, o, s)
	}
	r.verdict(s)
}

// losses adds the rows and parts of the requests that are lost.
func (r *Workload) losses(w *workload, o *Options, s sample) {
	always, ruled := w.alwaysEnough(o)
	if ruled && s.all(func(o *outcome) bool { return !o.helpless && o.restarts == 0 && o.needed }) {
		row := s.row(RowPreStop, "no loss if preStop sleeps",
			func(o *outcome) float64 { return max(0, o.needs.Seconds()) })
		if !w.cuts(o, always) {
			row.Always = new(math.Ceil(10*always.Seconds()) / 10)
		}
		r.Rows = slices.Insert(r.Rows, 0, row)
	}
	lost := s.row(RowLost, "requests lost", lostOf)
	r.Rows = append(r.Rows, lost)
	r.Lost = &Lost{Requests: s.figures(func(o *outcome) float64 {
		return o.requests
	}).Greatest, Figures: lost.Figures, Parts: parts(s)}
	for i := range r.Services {
		r.Services[i].Lost = new(s.figures(func(o *outcome) float64 { return o.each[i].lost }))
	}
	r.Lost.WaitedForSync = !s.all(func(o *outcome) bool { return !o.waited })
}

// parts returns the parts of the lost requests, the largest first.
func parts(s sample) (list []Part) {
	for i := range s {
		for _, p := range s[i].parts {
			sum := partOf(&list, p.Reason, p.Pods)
			sum.Count += p.Count / float64(len(s))
			sum.Window = max(sum.Window, p.Window)
		}
	}
	slices.SortFunc(list, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason), cmp.Compare(b.Pods, a.Pods))
	})
	return list
}

// roundUp returns a duration as a whole number of seconds that is at least as long.
func roundUp(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// worst returns the seed of the run that shows the verdict best: the first that does not complete,
// or else one that misses its deadline, or else the one that loses most, or else the longest.
func (s sample) worst() int64 {
	worst := 0
	for i := range s {
		if slices.Compare(s[i].rank(), s[worst].rank()) > 0 {
			worst = i
		}
	}
	return int64(worst)
}

// rank orders the runs of a sample.
func (o *outcome) rank() []float64 {
	switch {
	case o.took == 0:
		return []float64{2}
	case o.deadline > 0:
		return []float64{1, o.lost, o.took.Seconds()}
	}
	return []float64{0, o.lost, o.took.Seconds()}
}

func (r *Workload) verdict(s sample) {
	if r.Verdict = LosesNone; !s.lossless() {
		r.Verdict = Loses
	}
	stay := s.figures(func(o *outcome) float64 { return (o.gone - o.took).Seconds() }).Greatest
	most := s.figures(func(o *outcome) float64 { return float64(o.pods) }).Greatest
	if !s.all(func(o *outcome) bool { return !o.lingers }) {
		r.say("Old pods are still there %s after the change, and the figures end: up to %.0f pods at once.",
			value.Format(limit), most)
	} else if stay > 10 {
		r.say("When the rollout is complete, old pods are there for up to %s more: up to %.0f pods at once.",
			Format(RowTakes, stay), most)
	}
	if first := s.firstDeadline(); first > 0 {
		r.Verdict = MissesDeadline
		r.say("kubectl rollout status fails %s after the change, and the rollout goes on.",
			Format(RowTakes, first.Seconds()))
		wait := s.figures(func(o *outcome) float64 { return o.standing.Seconds() }).Greatest
		r.Fix = fmt.Sprintf("progressDeadlineSeconds: %d, as the runs wait up to %s for progress",
			60*(1+int((wait+30)/60)), Format(RowTakes, wait))
	}
	worst := slices.MaxFunc(s, func(a, b outcome) int { return cmp.Compare(a.restarts, b.restarts) })
	if worst.restarts > 0 {
		r.restarts(&worst, fmt.Sprintf("up to %d times", worst.restarts))
	}
}

// restarts says what restarts the containers of the new pods, and what helps if a probe or a hook
// does.
func (r *Workload) restarts(o *outcome, often string) {
	switch {
	case o.killed == "":
		r.say("Containers of the new pods restart %s.", often)
	case strings.HasPrefix(o.killed, postStart):
		r.say("The %s kills the program before it is up, %s.", o.killed, often)
		r.Fix = "a hook that waits until the program is up: its request fails before"
	default:
		r.say("The %s kills the program before it is up, %s.", o.killed, often)
		r.Fix = "add a startup probe that gives the program the time to start: 'probesim check' has its settings"
	}
}

// say adds a sentence to the reason.
func (r *Workload) say(format string, args ...any) {
	r.Reason = strings.TrimSpace(r.Reason + " " + fmt.Sprintf(format, args...))
}

func (r *Workload) neverReady(s sample) {
	r.Verdict = NeverReady
	r.say("The pods before the change are not all available within %s.", value.Format(settling))
	if s[0].unready != "" {
		r.say("The last probe that failed: %s.", s[0].unready)
	}
	r.Fix = "see 'probesim check', which says what is wrong with the probes"
}

// neverCompletes says what the rollout waits for in the first run that does not complete.
func (r *Workload) neverCompletes(w *workload, options *Options, s sample) {
	r.Verdict = NeverCompletes
	var o *outcome
	for i := range s {
		if s[i].took == 0 {
			if r.Incomplete++; o == nil {
				o = &s[i]
			}
		}
	}
	switch {
	case o.restarts > 0 && !options.App.neverStarts():
		r.restarts(o, "again and again")
	case o.unready != "":
		r.say("The new pods do not become Ready. The last probe that failed: %s.", o.unready)
	default:
		r.say("The new pods do not become available.")
	}
	scales, replicas := options.Change.Kind == Scale, r.Replicas
	if scales {
		replicas = options.Change.Scale
	}
	switch {
	case !scales && r.MaxUnavailable == 0 && r.Strategy == string(appsv1.RollingUpdateDeploymentStrategyType):
		r.say("The Deployment may not stop an old pod before (maxUnavailable 0), so the old ones go on to serve.")
	case o.ready == 0 && o.last == 0:
		r.say("No pod is Ready.")
	case o.ready == 0:
		r.say("At times no pod is Ready.")
	default:
		r.say("At least %d of %d pods are Ready all the time.", o.ready, replicas)
	}
	if o.deadline > 0 {
		r.say("progressDeadlineSeconds (%ds) is over %s after the change.", *w.spec.Spec.ProgressDeadlineSeconds,
			Format(RowTakes, o.deadline.Seconds()))
	} else if scales {
		r.say("progressDeadlineSeconds does not count while a Deployment is scaled: kubectl rollout status waits for " +
			"ever.")
	} else {
		r.say("The run ends %s after the change.", value.Format(limit))
	}
}

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
