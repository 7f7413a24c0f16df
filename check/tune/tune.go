package tune

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/check"
	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/trace"
)

// Tuner tunes the workloads of manifests. It splits its work into tasks, which can run at the same time, as a check.Checker does.
type Tuner struct {
	options check.Options
	report  *Report
	tasks   []*task
}

// task tunes a container.
type task struct {
	workload, container int // in the report
	pod                 *v1.Pod
	spec                *v1.Container
	require             check.Requirements
	start               *check.Interval // how long it is known to take; nil: not known
	err                 error
}

// New returns a Tuner for all workloads with requirements. The error lists all errors of the manifests.
func New(files []check.File, o check.Options) (*Tuner, error) {
	if len(o.Profiles) == 0 {
		o.Profiles = []profile.Profile{profile.Newest()}
	}
	t := &Tuner{options: o, report: &Report{Delays: o.Delays, Workloads: []Workload{}}}
	for _, p := range o.Profiles {
		t.report.Kubernetes = append(t.report.Kubernetes, p.Version)
	}
	return t, check.EachWorkload(files, t.add)
}

func (t *Tuner) add(f check.File, w *manifests.Workload) scenarios.Errors {
	terms, errs := t.options.TermsOf(f.Name, w)
	if len(errs) > 0 || len(terms.Required) == 0 {
		return errs
	}
	added := Workload{Kind: w.Kind, Namespace: w.Pod.Namespace, Name: w.Name, File: f.Name, Line: w.Line, Containers: []Container{}, Overrides: terms.Overrides, template: w.Template}
	for spec := range podutil.Containers(&w.Pod.Spec) {
		own := slices.DeleteFunc(terms.Of(spec.Name), func(q check.Requirement) bool { return !decides(settingOf(spec), q.Row) })
		if len(own) == 0 {
			continue
		}
		t.tasks = append(t.tasks, &task{workload: len(t.report.Workloads), container: len(added.Containers), pod: w.Pod, spec: spec, require: own, start: terms.Start(spec.Name)})
		init := slices.ContainsFunc(w.Pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == spec.Name })
		added.Containers = append(added.Containers, Container{Name: spec.Name, Init: init, Changes: []Change{}})
	}
	for _, q := range terms.Required {
		text := q.String()
		added.Requirements = append(added.Requirements, text)
		has := func(name string) bool { return decides(settingOf(podutil.Find(w.Pod, name)), q.Row) }
		if without := slices.DeleteFunc(slices.Clone(q.Containers), has); len(without) > 0 {
			added.Impossible = append(added.Impossible, text)
			added.Missing = append(added.Missing, Missing{text, without, q.Row.Missing(without)})
		}
	}
	t.report.Workloads = append(t.report.Workloads, added)
	return nil
}

// decides reports whether a container has a probe without which it has no value of a row.
func decides(s setting, row check.RowID) bool {
	return slices.ContainsFunc(row.Probes(), func(p trace.Probe) bool { return s.has(kind(slices.Index(kindNames[:], string(p)))) })
}

// Workloads returns the number of workloads with requirements.
func (t *Tuner) Workloads() int { return len(t.report.Workloads) }

// Tasks returns the number of tasks.
func (t *Tuner) Tasks() int { return len(t.tasks) }

// Do does a task. The error is that of the context; other errors are part of the Report.
func (t *Tuner) Do(ctx context.Context, task int) error {
	x := t.tasks[task]
	x.err = x.tune(&t.report.Workloads[x.workload].Containers[x.container], &t.options)
	return ctx.Err()
}

func (x *task) tune(c *Container, o *check.Options) error {
	var rows []check.RowID
	for _, q := range x.require {
		rows = append(rows, q.Row)
	}
	of, broken, err := x.newSubject(rows, o)
	switch {
	case err != nil:
		return err
	case broken != "":
		c.Contradictions = []Contradiction{noSetting(x.require, "%s", broken)}
		return nil
	}
	for _, q := range x.require {
		if len(of.values(of.old, q.Row)) == 0 {
			c.Contradictions = append(c.Contradictions, noSetting(check.Requirements{q}, "%s: the container never restarts", q))
		}
	}
	if len(c.Contradictions) > 0 {
		return nil
	}
	s := of.search(of.implied(x.require...))
	defer func() { c.Settings = of.settings }()
	found := s.findWithGrace(of.podGrace())
	if !found.met() {
		c.Contradictions = s.contradictions(x.require)
		return nil
	}
	c.Met, c.now, c.Changes = true, found.setting, changed(s.old, found.setting)
	if !s.old.has(startup) {
		c.added = c.now.probe(startup, nil, x.spec.LivenessProbe)
	}
	for _, q := range x.require {
		c.Margins = append(c.Margins, s.marginOf(c.now, q))
	}
	c.Wider, c.Costs = s.wider(c), s.costs(c.now)
	c.Note = s.note(c.now, x.require)
	s.frontiers(c)
	return nil
}

// changed returns the fields in which a setting differs from the old one.
func changed(old, now setting) []Change {
	list := []Change{}
	for _, p := range now.changes(old) {
		change := Change{Field: p.String(), After: now.at(p), place: p}
		if old.has(p.kind) && (p.field != grace || old.at(p) > 0) {
			change.Before = new(old.at(p))
		}
		list = append(list, change)
	}
	return list
}

// Report returns the report. Call it when all tasks are done.
func (t *Tuner) Report() *Report {
	for _, x := range t.tasks {
		if of := &t.report.Workloads[x.workload]; x.err != nil && !strings.Contains(of.Problem, x.err.Error()) {
			of.Problem = strings.TrimPrefix(of.Problem+"\n"+x.err.Error(), "\n")
		}
	}
	return t.report
}

// Modify changes a workload of the manifests as the report says. It is an Options.Modify of package check.
func (r *Report) Modify(file string, w *manifests.Workload) {
	for _, c := range r.changedIn(file, w) {
		c.now.apply(w.Pod, c.Name)
	}
}

func (r *Report) changedIn(file string, w *manifests.Workload) (list []*Container) {
	for i := range r.Workloads {
		of := &r.Workloads[i]
		for k := range of.Containers {
			if c := &of.Containers[k]; of.File == file && of.Line == w.Line && of.Name == w.Name && len(c.Changes) > 0 {
				list = append(list, c)
			}
		}
	}
	return list
}
