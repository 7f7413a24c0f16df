package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/manifests"
)

// Tuner tunes the workloads of manifests. It splits its work into tasks, which can run at the same time, as a check.Checker does.
type Tuner struct {
	options check.Options
	files   []check.File
	report  *Report
	tasks   []*task
}

// task tunes a container.
type task struct {
	workload  *Workload
	pod       *v1.Pod
	container *Container
	spec      *v1.Container
	require   check.Requirements
	err       error
}

// New returns a Tuner for all workloads with requirements. The error lists all errors of the manifests.
func New(files []check.File, o check.Options) (*Tuner, error) {
	if len(o.Profiles) == 0 {
		o.Profiles = []profile.Profile{profile.Newest()}
	}
	t := &Tuner{options: o, files: files, report: &Report{Delays: o.Delays, Workloads: []Workload{}}}
	for _, p := range o.Profiles {
		t.report.Kubernetes = append(t.report.Kubernetes, p.Version)
	}
	err := check.EachWorkload(files, t.add)
	for i := range t.report.Workloads { // which no longer moves
		t.plan(&t.report.Workloads[i])
	}
	return t, err
}

// add adds a workload with requirements.
func (t *Tuner) add(f check.File, w *manifests.Workload) scenarios.Errors {
	require, _, errs := t.options.RequirementsOf(w)
	if len(errs) > 0 || len(require) == 0 {
		return errs
	}
	added := Workload{Kind: w.Kind, Namespace: w.Pod.Namespace, Name: w.Name, File: f.Name, Line: w.Line, Containers: []Container{}, template: w.Template}
	for _, q := range require {
		added.Requirements = append(added.Requirements, q.String())
	}
	var tasks []*task
	for _, spec := range containers(w.Pod) {
		s := settingOf(spec)
		own := slices.DeleteFunc(slices.Clone(require), func(q check.Requirement) bool { return len(decides(s, q.Row)) == 0 })
		if len(own) > 0 {
			tasks = append(tasks, &task{pod: w.Pod, spec: spec, require: own})
		}
	}
	for _, q := range require {
		if !slices.ContainsFunc(tasks, func(x *task) bool { return slices.Contains(x.require, q) }) {
			added.Impossible = append(added.Impossible, q.String())
		}
	}
	for _, x := range tasks {
		init := slices.ContainsFunc(w.Pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == x.spec.Name })
		added.Containers = append(added.Containers, Container{Name: x.spec.Name, Init: init, Changes: []Change{}})
	}
	t.report.Workloads = append(t.report.Workloads, added)
	t.tasks = append(t.tasks, tasks...)
	return nil
}

// plan connects the tasks of a workload with their results.
func (t *Tuner) plan(w *Workload) {
	for i := range w.Containers {
		for _, x := range t.tasks {
			if x.container == nil {
				x.workload, x.container = w, &w.Containers[i]
				break
			}
		}
	}
}

// containers returns the containers that can have probes.
func containers(pod *v1.Pod) []*v1.Container {
	var list []*v1.Container
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; podutil.IsRestartableInitContainer(c) {
			list = append(list, c)
		}
	}
	for i := range pod.Spec.Containers {
		list = append(list, &pod.Spec.Containers[i])
	}
	return list
}

// decides returns the probes without which a container has no value of a row.
func decides(s setting, row check.RowID) []kind {
	var list []kind
	for _, p := range row.Probes() {
		if k := kind(slices.Index(kindNames[:], string(p))); s.has(k) {
			list = append(list, k)
		}
	}
	return list
}

// Workloads returns the number of workloads with requirements.
func (t *Tuner) Workloads() int { return len(t.report.Workloads) }

// Tasks returns the number of tasks.
func (t *Tuner) Tasks() int { return len(t.tasks) }

// Do does a task. The error is that of the context; other errors are part of the Report.
func (t *Tuner) Do(ctx context.Context, task int) error {
	x := t.tasks[task]
	o := &oracle{ctx: ctx, options: t.options, pod: x.pod, container: x.spec.Name, old: settingOf(x.spec)}
	if x.err = x.tune(o); x.err != nil { // a part of a result is none
		*x.container = Container{Name: x.container.Name, Init: x.container.Init, Changes: []Change{}}
	}
	x.container.Tries, x.container.Settings = o.tries, o.settings
	return ctx.Err()
}

func (x *task) tune(o *oracle) error {
	s := o.search(settingOf(x.spec), x.require)
	c := x.container
	c.old, c.now = s.old, s.old
	if err := x.unverifiable(o); err != nil || len(c.Contradictions) > 0 {
		return err
	}
	found, ok, err := s.find()
	if err != nil {
		return err
	}
	if !ok {
		return s.contradictions(c)
	}
	c.Met, c.now = true, found
	c.Changes = changed(s.old, found)
	for _, q := range x.require {
		m, err := s.margins(found, q)
		if err != nil {
			return err
		}
		c.Margins = append(c.Margins, m)
	}
	if err := s.wider(c); err != nil {
		return err
	}
	if err := s.explain(c); err != nil {
		return err
	}
	return s.frontiers(c)
}

// changed returns the fields in which a setting differs from the old one.
func changed(old, now setting) []Change {
	list := []Change{}
	for _, p := range now.changes(old) {
		change := Change{Field: p.String(), After: now.at(p), place: p}
		if old.has(p.kind) {
			change.Before = new(old.at(p))
		}
		list = append(list, change)
	}
	return list
}

// unverifiable adds a contradiction if no setting can meet the requirements, because a probe can never run or the container never restarts.
func (x *task) unverifiable(o *oracle) error {
	add := func(list check.Requirements, text string) {
		c := Contradiction{Best: seconds(bounds.Never), By: seconds(bounds.Never), Text: text}
		for _, q := range list {
			c.Requirements = append(c.Requirements, q.String())
		}
		x.container.Contradictions = append(x.container.Contradictions, c)
	}
	var rows []check.RowID
	for _, q := range x.require {
		rows = append(rows, q.Row)
	}
	for _, p := range o.options.Profiles {
		broken, err := check.Broken(o.ctx, x.pod, x.spec.Name, p, rows, o.options)
		if err != nil {
			return err
		}
		if broken != "" {
			add(x.require, broken)
			return nil
		}
		other, err := check.Broken(o.ctx, x.pod, x.spec.Name, p, rows, o.options)
		if err != nil {
			return err
		}
		o.broken = o.broken || other != ""
	}
	for _, q := range x.require {
		found, err := o.values(o.old, q.Row, false)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			add(check.Requirements{q}, q.String()+": the container never restarts")
		}
	}
	return nil
}

// margins returns the margin of a requirement.
func (s *search) margins(x setting, q check.Requirement) (Margin, error) {
	found, err := s.values(x, q.Row, true)
	if err != nil {
		return Margin{}, err
	}
	m := Margin{Requirement: q.String()}
	margin, worst := q.Margin(found)
	m.Margin, m.Value = seconds(margin), seconds(worst.Greatest)
	if q.Row.IsLimit() {
		m.Value = seconds(worst.Least)
	}
	return m, nil
}

// Report returns the report. Call it when all tasks are done.
func (t *Tuner) Report() *Report {
	for _, x := range t.tasks {
		if x.err != nil && !strings.Contains(x.workload.Problem, x.err.Error()) {
			x.workload.Problem = strings.TrimPrefix(x.workload.Problem+"\n"+x.err.Error(), "\n")
		}
	}
	return t.report
}

// Modify changes a workload of the manifests as the report says. It is an Options.Modify of package check.
func (r *Report) Modify(file string, w *manifests.Workload) {
	for i := range r.Workloads {
		found := &r.Workloads[i]
		if found.File != file || found.Line != w.Line || found.Name != w.Name {
			continue
		}
		for _, c := range found.Containers {
			if len(c.Changes) > 0 {
				c.now.apply(w.Pod, c.Name)
			}
		}
	}
}

// together lists requirements for people.
func together(requirements []string) string {
	if len(requirements) == 1 {
		return requirements[0]
	}
	return fmt.Sprintf("%s and %s", strings.Join(requirements[:len(requirements)-1], ", "), requirements[len(requirements)-1])
}
