package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
	"probesim.dev/internal/require"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/apiserver/admission"
)

// Tune finds the least change of each Deployment with which runs meet the requirements of the
// options: of the preStop sleep, the grace period, minReadySeconds, maxSurge and maxUnavailable, or
// a new readiness probe. With always, a sleep is as long as the rule asks for, if there is one, and
// not only as the runs do. The change before the rollout is that of the files from, if they are not
// nil: pods of both templates have the changes. The errors are those of Run.
func Tune(files, from []input.File, o Options, always bool) (*Tuning, error) {
	o.complete()
	workloads, _, err := load(files, from, &o)
	if err != nil {
		return nil, err
	}
	t := &Tuning{Setting: o.setting(), Workloads: []Tuned{}}
	for _, w := range workloads {
		x := &tuner{w: w, o: o.in(w, 0, 1), always: always}
		tuned, err := x.tune()
		if err != nil {
			return nil, err
		}
		t.Workloads = append(t.Workloads, *tuned)
	}
	return t, nil
}

// tuner searches changes of a Deployment.
type tuner struct {
	w      *workload
	o      *Options
	always bool

	before *trial
	best   *trial // that misses the fewest requirements, by the least
}

// trial is the Deployment with some changes, and what its runs show.
type trial struct {
	w       *workload
	results []Verification
	runs    int
	takes   *Row  // nil: it does not complete
	worst   int64 // the seed of the worst run
}

// knob is a field that can change, to some values; the least change comes first.
type knob []func(*appsv1.Deployment)

// mostKnobs is how many fields change at most.
const mostKnobs = 3

func (x *tuner) tune() (*Tuned, error) {
	var s sample
	n := x.o.runsOf(max(*x.w.spec.Spec.Replicas, x.o.Change.Scale))
	if !x.w.never {
		var err error
		if s, err = x.w.runs(x.o, 0, n, "rollouts"); err != nil {
			return nil, err
		}
	}
	x.before = x.trialOf(x.w, s)
	x.best = x.before
	if met(x.before.results) {
		return x.result(x.before)
	}
	for some := 1; some <= mostKnobs && !x.w.never; some++ {
		found, err := x.search(x.knobs(s), some, n, func(*appsv1.Deployment) {})
		if err != nil {
			return nil, err
		} else if found != nil {
			return x.result(found)
		}
	}
	return x.result(nil)
}

// trialOf returns what runs of a Deployment show about the requirements.
func (x *tuner) trialOf(w *workload, s sample) *trial {
	r := w.judge(x.o, s)
	return &trial{w, r.Requirements, len(s), r.row(RowTakes), r.Worst.Seed}
}

func met(list []Verification) bool {
	return !slices.ContainsFunc(list, func(v Verification) bool { return !v.Met })
}

// search tries all values of some of the knobs, together with a change.
func (x *tuner) search(knobs []knob, some, n int, change func(*appsv1.Deployment)) (*trial, error) {
	if some == 0 {
		return x.try(change, n)
	}
	for i, k := range knobs {
		for _, value := range k {
			found, err := x.search(knobs[i+1:], some-1, n, func(d *appsv1.Deployment) { change(d); value(d) })
			if err != nil || found != nil {
				return found, err
			}
		}
	}
	return nil, nil
}

// try makes runs with a change: more of them only if those before meet the requirements.
func (x *tuner) try(change func(*appsv1.Deployment), n int) (*trial, error) {
	w := x.w.changed(change)
	var s sample
	for _, most := range []int{min(fewestRuns, n), max(fewestRuns, n/4), n} {
		more, err := w.runs(x.o, len(s), max(0, min(most, n)-len(s)), "rollouts with a change")
		if err != nil {
			return nil, err
		}
		s = append(s, more...)
		t := x.trialOf(w, s)
		if x.closer(t) {
			x.best = t
		}
		if !met(t.results) {
			return nil, nil
		}
	}
	return x.trialOf(w, s), nil
}

// closer reports whether a trial misses fewer requirements than the best one, or as many by less.
func (x *tuner) closer(t *trial) bool {
	missed := func(t *trial) (n int, by float64) {
		for i, v := range t.results {
			if v.Met {
				continue
			}
			if n++; v.Value == nil {
				by += 1e12
				continue
			}
			limit := x.w.require[i].Limit()
			by += max(limit, *v.Value) - min(limit, *v.Value)
		}
		return n, by
	}
	n, by := missed(t)
	than, least := missed(x.best)
	return n < than || n == than && by < least
}

// knobs returns the fields that can help.
func (x *tuner) knobs(s sample) (list []knob) {
	lacks := map[string]bool{}
	for i, v := range x.before.results {
		lacks[x.w.require[i].Word] = lacks[x.w.require[i].Word] || !v.Met
	}
	if lacks[RowLost] {
		list = append(list, x.longerSleeps(s))
	}
	if lacks[RowLost] || lacks[RowPreStop] {
		var ready knob
		for _, c := range x.w.minReady(x.o) {
			ready = append(ready, c.change)
		}
		list = append(list, ready)
		for _, group := range x.w.candidates(x.o) {
			if c := group[0]; c.service == nil && c.field != "spec.minReadySeconds" && c.field != "spec.strategy" {
				list = append(list, knob{group[0].change})
			}
		}
	}
	if lacks[RowLost] || lacks[RowPreStop] || lacks[RowReplicas] {
		list = append(list, x.carefully())
	}
	if lacks[RowTakes] {
		list = append(list, x.faster())
	}
	return slices.DeleteFunc(list, func(k knob) bool { return len(k) == 0 })
}

// longerSleeps are longer preStop sleeps, with the grace period that they need: if nothing may be
// lost, those that Run tries, and else also the shorter ones.
func (x *tuner) longerSleeps(s sample) (k knob) {
	w, _, _ := x.w.prepared(x.o)
	list := w.sleeps(x.o, s, x.always && x.losesNothing())
	if _, balanced := x.o.balancer(); len(list) > 1 && !balanced {
		now, _ := w.sleep()
		for seconds := list[0] - 1; seconds > int64(now/time.Second); seconds-- {
			list = slices.Insert(list, 0, seconds)
		}
	}
	for _, seconds := range list {
		_, change := x.w.withSleep(x.o, seconds)
		k = append(k, change)
	}
	return k
}

// losesNothing reports whether no request may be lost.
func (x *tuner) losesNothing() bool {
	return slices.ContainsFunc(x.w.require,
		func(r require.Requirement) bool { return r.Word == RowLost && r.Count == 0 })
}

// carefully adds a pod before it stops another one, unless it may need what an old one has.
func (x *tuner) carefully() knob {
	surge, unavailable := x.w.fenceposts()
	if unavailable == 0 || x.o.Change.Kind == Scale || len(x.w.conflicts) > 0 {
		return nil
	}
	return knob{func(d *appsv1.Deployment) { rolling(d, max(1, surge), 0) }}
}

// faster adds more pods at once.
func (x *tuner) faster() (k knob) {
	surge, unavailable := x.w.fenceposts()
	replicas := *x.w.spec.Spec.Replicas
	if x.w.spec.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || x.o.Change.Kind == Scale {
		return nil
	}
	for step := int32(1); surge < replicas; step *= 2 {
		surge = min(replicas, surge+step)
		more := surge
		k = append(k, func(d *appsv1.Deployment) { rolling(d, more, unavailable) })
	}
	return k
}

// result describes the changes of a trial, or the closest one if there is none.
func (x *tuner) result(found *trial) (*Tuned, error) {
	w := x.w
	t := &Tuned{Object: w.object(), Router: w.router.described(), Met: found != nil}
	if found == nil {
		found = x.best
	}
	t.Runs, t.Changes = found.runs, x.changes(found.w)
	for i := range x.w.require {
		t.Requirements = append(t.Requirements,
			TunedRow{x.w.require[i].String(), &x.before.results[i], &found.results[i]})
	}
	if before, after := x.before.takes, found.takes; before != nil && after != nil {
		t.Takes = &BeforeAfter{before.Median, after.Median}
	}
	if w.never {
		t.Note = strings.Join(w.warnings, " ")
		return t, nil
	}
	if t.Met && x.losesNothing() {
		if w.unsure && (w.trusts(x.o) == "" || found.w.trusts(x.o) != "") {
			t.Note = "What is not simulated may lose requests: 'probesim rollout' names it. "
		}
		t.Note = strings.TrimSpace(t.Note + found.note(x.o))
	}
	err := x.show(t, found)
	if err != nil || !t.Met || len(t.Changes) == 0 {
		return t, err
	}
	if t.Patch, err = admission.Diff(w.spec, found.w.spec); err == nil {
		t.Patch, err = withoutDirectives(t.Patch)
	}
	return t, err
}

// show keeps the worst runs before and with the changes.
func (x *tuner) show(t *Tuned, found *trial) error {
	if !x.o.Keep {
		return nil
	}
	trials := []*trial{x.before, found}
	if len(t.Changes) == 0 {
		trials = trials[:1]
	}
	for _, of := range trials {
		run, err := of.w.show(context.Background(), x.o, of.worst)
		if err != nil {
			return err
		}
		t.Worst = append(t.Worst, run)
	}
	return nil
}

// note says what a rule knows about the sleep of a trial that loses nothing.
func (t *trial) note(o *Options) string {
	enough, ruled := t.w.alwaysEnough(o)
	now, _ := t.w.sleep()
	if !ruled || enough == 0 || t.w.cuts(o, max(now, enough)) {
		return ""
	}
	text := "A rule says that a preStop sleep of " + Format(RowPreStop, math.Ceil(10*enough.Seconds())/10) +
		" is always enough."
	if now < enough {
		text = "It loses nothing in these runs. " + text
	}
	return text
}

// Tuning is the result of a search for changes that meet requirements. Its JSON is stable: fields
// are only added.
type Tuning struct {
	Setting
	Workloads []Tuned `json:"workloads"`
}

// Tuned is the result for a Deployment.
type Tuned struct {
	Object
	Router Router `json:"router"`
	// Met reports whether the changes meet all requirements. Without it they are those that come
	// closest, if there are any.
	Met          bool          `json:"met"`
	Changes      []FieldChange `json:"changes"`
	Requirements []TunedRow    `json:"requirements"`
	Runs         int           `json:"runs"` // with the changes
	// Takes are the seconds that the rollout takes in the median; nil: it does not complete.
	Takes *BeforeAfter `json:"takes,omitempty"`
	Note  string       `json:"note,omitempty"`
	// Patch is a strategic merge patch, in JSON.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Worst are the worst runs before and with the changes, with Options.Keep.
	Worst []*Shown `json:"-"`
}

// FieldChange is a field of the Deployment that changes.
type FieldChange struct {
	Field  string `json:"field"`
	Line   int    `json:"line"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// BeforeAfter is a figure before and after the changes.
type BeforeAfter struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// TunedRow is a requirement before and after the changes.
type TunedRow struct {
	Requirement string        `json:"requirement"`
	Before      *Verification `json:"before"`
	After       *Verification `json:"after"`
}

// Edit returns a file of manifests with the changes of its Deployments made in place, as
// workloads.Edit does.
func (t *Tuning) Edit(f input.File) (edited []byte, comments []inplace.Comment, err error) {
	return workloads.Edit(f, func(m *manifests.Object) map[string]any {
		i := slices.IndexFunc(t.Workloads,
			func(w Tuned) bool { return w.File == f.Name && w.Line == m.Node.Pos.Line && w.Name == m.Name })
		if i < 0 {
			return nil
		}
		return t.Workloads[i].Fields()
	})
}

// Fields returns the fields of the patch, or nil. Numbers stay whole.
func (t *Tuned) Fields() (fields map[string]any) {
	_ = utiljson.Unmarshal(t.Patch, &fields) // no patch has no fields
	return fields
}

// Met reports whether the requirements of all Deployments are met.
func (t *Tuning) Met() bool {
	return !slices.ContainsFunc(t.Workloads, func(w Tuned) bool { return !w.Met })
}

// changes lists the fields in which a Deployment differs.
func (x *tuner) changes(to *workload) []FieldChange {
	list := []FieldChange{}
	add := func(field, before, after string) {
		if before != after {
			list = append(list, FieldChange{field, x.w.node.Find(field).Pos.Line, before, after})
		}
	}
	was, is := &x.w.spec.Spec, &to.spec.Spec
	for i := range was.Template.Spec.Containers {
		before, after := &was.Template.Spec.Containers[i], &is.Template.Spec.Containers[i]
		add(x.w.path(before.Name, "lifecycle.preStop"), hookText(before), hookText(after))
		add(x.w.path(before.Name, "readinessProbe"), probeText(before.ReadinessProbe), probeText(after.ReadinessProbe))
	}
	add("spec.template.spec.terminationGracePeriodSeconds",
		fmt.Sprint(*was.Template.Spec.TerminationGracePeriodSeconds),
		fmt.Sprint(*is.Template.Spec.TerminationGracePeriodSeconds))
	add("spec.minReadySeconds", fmt.Sprint(was.MinReadySeconds), fmt.Sprint(is.MinReadySeconds))
	add("spec.progressDeadlineSeconds", fmt.Sprint(*was.ProgressDeadlineSeconds),
		fmt.Sprint(*is.ProgressDeadlineSeconds))
	add("spec.strategy.type", string(was.Strategy.Type), string(is.Strategy.Type))
	surge, unavailable := x.w.fenceposts()
	more, fewer := to.fenceposts()
	add("spec.strategy.rollingUpdate.maxSurge", fmt.Sprint(surge), fmt.Sprint(more))
	add("spec.strategy.rollingUpdate.maxUnavailable", fmt.Sprint(unavailable), fmt.Sprint(fewer))
	return list
}

func hookText(c *v1.Container) string {
	switch {
	case c.Lifecycle == nil || c.Lifecycle.PreStop == nil:
		return "none"
	case c.Lifecycle.PreStop.Exec != nil:
		return fmt.Sprintf("{exec: {command: [%s]}}", strings.Join(c.Lifecycle.PreStop.Exec.Command, ", "))
	case c.Lifecycle.PreStop.Sleep != nil:
		return fmt.Sprintf("{sleep: {seconds: %d}}", c.Lifecycle.PreStop.Sleep.Seconds)
	}
	return "another hook"
}

func probeText(p *v1.Probe) string {
	if p == nil {
		return "none"
	}
	return workloads.Describe(p)
}

// withoutDirectives leaves out of a patch what it does not need: the order of lists, and the keys
// of the strategy, which only get more.
func withoutDirectives(patch []byte) ([]byte, error) {
	var value any
	if err := json.Unmarshal(patch, &value); err != nil {
		return nil, err
	}
	var clean func(any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			maps.DeleteFunc(v, func(key string, value any) bool {
				clean(value)
				return strings.HasPrefix(key, "$setElementOrder/") || key == "$retainKeys"
			})
		case []any:
			for _, x := range v {
				clean(x)
			}
		}
	}
	clean(value)
	return json.Marshal(value)
}
