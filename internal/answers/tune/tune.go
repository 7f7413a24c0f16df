package tune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// Tuner tunes the workloads of manifests. It splits its work into tasks, which can run at the same
// time, as a check.Checker does.
type Tuner struct {
	// Margin is by which share limits shall exceed their requirements, and grace periods what
	// programs need: how long something takes in a program is seldom known well. Set it before Do.
	// The times that the kubelet takes need none.
	Margin float64

	options check.Options
	report  *Report
	tasks   []*task
}

// task tunes a container.
type task struct {
	workload, container int // in the report
	of                  *manifests.Workload
	terms               *check.Terms
	pod                 *v1.Pod
	spec                *v1.Container
	readiness           *v1.Probe // to add; nil: none
	require             check.Requirements
	start               *value.Interval // how long it is known to take; nil: not known
	stops               func() error    // tunes the grace period of the pod, and no container; nil: it does not
	err                 error
}

// New returns a Tuner for all workloads with requirements, or with a known time from SIGTERM to the
// exit. The error lists all errors of the manifests.
func New(files []input.File, o check.Options) (*Tuner, error) {
	if len(o.Profiles) == 0 {
		o.Profiles = []profile.Profile{profile.Newest()}
	}
	t := &Tuner{options: o, report: &Report{Delays: o.Delays, Workloads: []Workload{}}}
	for _, p := range o.Profiles {
		t.report.Kubernetes = append(t.report.Kubernetes, p.Version)
	}
	_, err := workloads.Each(files, t.add)
	return t, err
}

func (t *Tuner) add(f input.File, w *manifests.Workload) scenarios.Errors {
	terms, errs := t.options.TermsOf(f.Name, w)
	if len(errs) > 0 || len(terms.Required)+len(terms.LongestStops()) == 0 {
		return errs
	}
	at := len(t.report.Workloads)
	added := Workload{Kind: w.Kind, Namespace: w.Pod.Namespace, Name: w.Name, File: f.Name, Line: w.Line,
		Containers: []Container{}, template: w.Template}
	for spec := range podutil.Containers(&w.Pod.Spec) {
		own := slices.DeleteFunc(terms.Of(spec.Name), func(q check.Requirement) bool { return !tunable(spec, q.Row) })
		if len(own) == 0 {
			continue
		}
		x := &task{workload: at, container: len(added.Containers), of: w, terms: terms, pod: w.Pod,
			spec: spec, require: own, start: terms.Start(spec.Name)}
		for _, q := range own {
			if p := readinessFor(spec, q.Row); p != nil {
				x.readiness = p
			}
		}
		t.tasks = append(t.tasks, x)
		init := slices.ContainsFunc(w.Pod.Spec.InitContainers, func(c v1.Container) bool { return c.Name == spec.Name })
		added.Containers = append(added.Containers, Container{Name: spec.Name, Init: init, Changes: []Change{}})
	}
	for _, q := range terms.Required {
		text := q.String()
		added.Requirements = append(added.Requirements, text)
		has := func(name string) bool { return tunable(podutil.Find(w.Pod, name), q.Row) }
		if without := slices.DeleteFunc(slices.Clone(q.Containers), has); len(without) > 0 {
			added.Missing = append(added.Missing, Missing{text, without, q.Row.Missing(without)})
		}
	}
	t.report.Workloads = append(t.report.Workloads, added)
	if len(terms.LongestStops()) > 0 {
		t.tasks = append(t.tasks, &task{workload: at, stops: func() (err error) {
			t.report.Workloads[at].Grace, err = t.grace(w, terms)
			return err
		}})
	}
	return nil
}

// tunable reports whether a container has a probe for a row, or can get one.
func tunable(c *v1.Container, row check.RowID) bool {
	return decides(settingOf(c), row) || readinessFor(c, row) != nil
}

// decides reports whether a container has a probe without which it has no value of a row.
func decides(s setting, row check.RowID) bool {
	return slices.ContainsFunc(row.Probes(),
		func(p trace.Probe) bool { return s.has(kind(slices.Index(types[:], p))) })
}

// Workloads returns the number of workloads with requirements.
func (t *Tuner) Workloads() int { return len(t.report.Workloads) }

// Tasks returns the number of tasks.
func (t *Tuner) Tasks() int { return len(t.tasks) }

// Do does a task. The error is that of the context; other errors are part of the Report.
func (t *Tuner) Do(ctx context.Context, task int) error {
	x := t.tasks[task]
	if x.stops != nil {
		x.err = x.stops()
	} else {
		x.err = x.tune(&t.report.Workloads[x.workload].Containers[x.container], &t.options, t.Margin)
	}
	return ctx.Err()
}

func (x *task) tune(c *Container, o *check.Options, margin float64) error {
	var rows []check.RowID
	for _, q := range x.require {
		rows = append(rows, q.Row)
	}
	of, broken, err := x.newSubject(rows, o)
	switch {
	case err != nil:
		return err
	case broken != "":
		c.Why = []string{broken}
		return nil
	}
	for _, q := range x.require {
		if len(of.values(of.old, q.Row)) == 0 {
			c.Why = append(c.Why, q.String()+": the container never restarts")
		}
	}
	if len(c.Why) > 0 {
		return nil
	}
	defer func() { c.Settings = of.settings }()
	s, found := of.findWithMargin(x.require, margin)
	if !found.met() {
		c.Why = s.why(x.require)
		return nil
	}
	brings, err := x.brings(found.setting, o)
	if err != nil {
		return err
	}
	if len(brings) > 0 {
		of.cautious = true
		other, safe := of.findWithMargin(x.require, margin)
		fewer, err := x.brings(safe.setting, o)
		if err == nil && safe.met() && len(fewer) < len(brings) {
			s, found, brings = other, safe, fewer
		}
	}
	c.Met, c.now, c.Changes = true, found.setting, changed(s.now, found.setting)
	c.Tight = margin > 0 && len(c.Changes) > 0 && !s.meets(c.now, withMargin(x.require, margin))
	c.added = x.added(c.now)
	for _, q := range x.require {
		c.Margins = append(c.Margins, s.marginOf(c.now, q))
	}
	c.Costs, c.Note = s.costs(c.now), s.note(c.now, x.require)
	if p := c.added[readiness]; p != nil && p.TCPSocket != nil {
		c.Note = strings.TrimSpace(c.Note + " The readiness probe asks whether the port accepts connections. If the " +
			"program has an endpoint that says whether it can serve, ask that.")
	}
	for _, f := range brings {
		c.Note = strings.TrimSpace(fmt.Sprintf("%s With the changes, check finds that %s (%s).", c.Note, f.Summary,
			f.ID))
	}
	return nil
}

// added returns the probes of a setting that are new.
func (x *task) added(now setting) (added [kinds]*v1.Probe) {
	if x.spec.StartupProbe == nil {
		added[startup] = now.probe(startup, nil, x.spec.LivenessProbe)
	}
	if x.readiness != nil {
		added[readiness] = now.probe(readiness, nil, x.readiness)
	}
	return added
}

// brings returns what check finds with a setting, and not in the manifest.
func (x *task) brings(now setting, o *check.Options) ([]check.Finding, error) {
	return o.NewFindings(x.of, x.terms, x.spec.Name,
		func(_ *v1.PodSpec, c *v1.Container) { now.apply(c, x.added(now)) })
}

// findWithMargin finds a setting that exceeds the limits by a margin, or one that just meets the
// requirements if there is none. What meets them already stays as it is.
func (s *subject) findWithMargin(require check.Requirements, margin float64) (*search, result) {
	tight := s.search(s.implied(require...))
	if found := tight.result(s.old); margin == 0 || found.met() && s.old == s.now {
		return tight, tight.findWithGrace(s.podGrace())
	}
	wide := s.search(s.implied(withMargin(require, margin)...))
	if found := wide.findWithGrace(s.podGrace()); found.met() {
		return wide, found
	}
	return tight, tight.findWithGrace(s.podGrace())
}

// withMargin returns requirements whose limits have a margin.
func withMargin(require check.Requirements, margin float64) check.Requirements {
	all := slices.Clone(require)
	for i := range all {
		if all[i].Row.IsLimit() {
			all[i].Duration = min(more(all[i].Duration, margin), bounds.LongestLimit)
		}
	}
	return all
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

// Modify changes a workload of the manifests as the report says. It is an Options.Modify of package
// check.
func (r *Report) Modify(file string, w *manifests.Workload) {
	of := r.of(file, w.Line, w.Name)
	if of == nil {
		return
	}
	for _, c := range of.Containers {
		if len(c.Changes) > 0 {
			c.now.apply(podutil.Find(w.Pod, c.Name), c.added)
		}
	}
	if of.Grace != nil {
		w.Pod.Spec.TerminationGracePeriodSeconds = new(of.Grace.After)
	}
}

// of returns the result for a workload in a line of the manifests, or nil.
func (r *Report) of(file string, line int, name string) *Workload {
	i := slices.IndexFunc(r.Workloads,
		func(w Workload) bool { return w.File == file && w.Line == line && w.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Workloads[i]
}

// subject is a container whose rows to compute with other settings of its probes.
type subject struct {
	versions []*bounds.Container // in each version of Kubernetes
	now      setting             // of the manifest, without the probes that can never run
	old      setting             // the same with an added readiness probe: a search begins with it
	added    [fields]int32       // a startup probe that a search can add
	start    time.Duration       // the longest start, if it is known
	settings int                 // number of rows that were computed
	cautious bool                // a search leaves out settings that check warns of, unless the old one is so
}

// newSubject returns the container of a task. The text says why none of some rows has a meaning, if
// a probe can never run.
func (x *task) newSubject(rows []check.RowID, o *check.Options) (s *subject, broken string, err error) {
	pod, spec := x.pod, x.spec
	s = &subject{now: settingOf(spec)}
	if x.readiness != nil {
		pod = pod.DeepCopy()
		spec = podutil.Find(pod, spec.Name)
		spec.ReadinessProbe = x.readiness
	}
	s.old = settingOf(spec)
	if liveness := spec.LivenessProbe; liveness != nil {
		s.added = settingOf(&v1.Container{StartupProbe: check.StartupLike(liveness)})[startup]
	}
	if x.start != nil {
		s.start = x.start.Max
	}
	for _, p := range o.Profiles {
		admitted, err := check.Admit(pod, p)
		if err != nil {
			return nil, "", err
		}
		b, err := admitted.Bounds(spec.Name, o.Nodes)
		if err != nil {
			return nil, "", err
		}
		if broken := admitted.Broken(spec.Name, rows); broken != "" {
			return nil, broken, nil
		}
		for k, row := range [kinds]check.RowID{liveness: check.Detect, readiness: check.Unready} {
			if row != "" && admitted.Broken(spec.Name, []check.RowID{row}) != "" {
				s.old[k], s.now[k] = [fields]int32{}, [fields]int32{}
			}
		}
		s.versions = append(s.versions, b)
	}
	return s, "", nil
}

// values returns the values of a row with a setting, in all cases and versions: none if the
// container does not have the row.
func (s *subject) values(x setting, row check.RowID) (all []check.Value) {
	s.settings++
	for _, v := range s.versions {
		var own [kinds]*v1.Probe
		for k := range kinds {
			own[k] = x.probe(k, v.Probe(types[k]), v.Probe(trace.Liveness))
		}
		all = append(all, check.Values(v.With(own[startup], own[liveness], own[readiness]), row, s.start)...)
	}
	return all
}

// margin returns by how much a setting meets a requirement, or misses it. It is bounds.Never if
// nothing limits what must be possible.
func (s *subject) margin(x setting, q check.Requirement) time.Duration {
	found := s.values(x, q.Row)
	if len(found) == 0 {
		return bounds.Never
	}
	m, _ := q.Margin(found)
	return m
}

func (s *subject) meets(x setting, list check.Requirements) bool {
	for _, q := range list {
		if s.margin(x, q) < 0 {
			return false
		}
	}
	return true
}

// guaranteed returns the limit that always holds, or the worst time. Without a readiness and a
// startup probe, a container is ready at once. Without the probe of another row, nothing ever
// happens.
func (s *subject) guaranteed(x setting, row check.RowID) value.Seconds {
	found := s.values(x, row)
	switch {
	case len(found) == 0 && row == check.Ready:
		return 0
	case len(found) == 0:
		return value.Seconds(bounds.Never)
	}
	return value.Seconds(row.End(row.Worst(found).Range))
}

// podGrace returns the grace period of the pod, in seconds.
func (s *subject) podGrace() int64 { return *s.versions[0].Pod().Spec.TerminationGracePeriodSeconds }

// readinessFor returns a readiness probe with which a container that has none gets a row, or nil.
// It asks what the liveness or the startup probe asks, or else whether the first port accepts
// connections.
func readinessFor(c *v1.Container, row check.RowID) *v1.Probe {
	if c.ReadinessProbe != nil || decides(settingOf(c), row) || !slices.Contains(row.Probes(), trace.Readiness) {
		return nil
	}
	added := v1.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3, SuccessThreshold: 1}
	for _, like := range []*v1.Probe{c.LivenessProbe, c.StartupProbe} {
		if like != nil {
			added.ProbeHandler, added.TimeoutSeconds = like.ProbeHandler, max(1, like.TimeoutSeconds)
			return &added
		}
	}
	for _, port := range c.Ports {
		if port.Protocol == v1.ProtocolTCP || port.Protocol == "" {
			added.TCPSocket = &v1.TCPSocketAction{}
			added.TCPSocket.Port.IntVal = port.ContainerPort
			return &added
		}
	}
	return nil
}

// Grace is a change of the grace period of a pod: all programs exit by themselves when the pod is
// deleted.
type Grace struct {
	Field  string `json:"field"` // of the pod
	Before int64  `json:"before"`
	After  int64  `json:"after"`
	// Container is the one of those without enough time that takes the longest, Stop how long it
	// takes after SIGTERM, and Left the time that it has between SIGTERM and SIGKILL.
	Container string        `json:"container"`
	Stop      value.Seconds `json:"stop"`
	Left      value.Seconds `json:"left"`
}

// graceField is the field of a pod, and of the liveness probe.
const graceField = "terminationGracePeriodSeconds"

func (g *Grace) String() string {
	return fmt.Sprintf("%s: %d -> %d", graceField, g.Before, g.After)
}

// Why says for people what the change is good for.
func (g *Grace) Why() string {
	return fmt.Sprintf("%s takes up to %s to exit after SIGTERM: SIGKILL comes after %s.", g.Container,
		check.FormatUp(g.Stop), check.FormatDown(g.Left))
}

// grace returns the grace period with which all programs of a pod exit by themselves, in all
// versions, or nil if they do already.
func (t *Tuner) grace(w *manifests.Workload, terms *check.Terms) (*Grace, error) {
	g := &Grace{Field: "spec." + graceField}
	pod := w.Pod.DeepCopy()
	for range 3 { // a greater one can let the stop signal of a sidecar come later
		need := int64(0)
		for _, p := range t.options.Profiles {
			admitted, err := check.Admit(pod, p)
			if err != nil {
				return nil, err
			}
			now := *admitted.Pod.Spec.TerminationGracePeriodSeconds
			if g.After == 0 {
				g.Before, g.After = now, now
			}
			for c := range podutil.Containers(&admitted.Pod.Spec) {
				stop := terms.Stop(c.Name)
				if stop == nil {
					continue
				}
				d := admitted.Deleted(c.Name, t.options.Nodes, terms)
				left := d.SIGKILL - d.SIGTERM
				if least := math.Ceil((time.Duration(d.SIGTERM) + more(stop.Max, t.Margin)).Seconds()); left <
					value.Seconds(stop.Max+check.StopMargin) {
					if need = max(need, int64(least)); value.Seconds(stop.Max) > g.Stop {
						g.Container, g.Stop = c.Name, value.Seconds(stop.Max)
					}
				}
				if c.Name == g.Container {
					g.Left = left
				}
			}
		}
		switch {
		case need == 0 && g.After == g.Before:
			return nil, nil
		case need == 0:
			return g, nil
		}
		g.After = need
		pod.Spec.TerminationGracePeriodSeconds = &need
	}
	return nil, fmt.Errorf("no %s was found with which the programs exit in time", graceField)
}

// more returns how long a program needs to stop, with a margin.
func more(d time.Duration, margin float64) time.Duration {
	return d + max(time.Duration(float64(d)*margin), check.StopMargin)
}
