package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/require"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/kube/profile"
	"probesim.dev/prober"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// Options say for which nodes to check, and what is known and required. The zero value checks for
// the newest version of Kubernetes and nodes with the default delays.
type Options struct {
	Profiles []profile.Profile  // versions of Kubernetes; empty: the newest
	Nodes    fakeruntime.Delays // the latencies of the nodes; a nil field is the default of its delay
	Delays   string             // name of the delays of Nodes, for reports
	Start    value.Durations    // how long the programs take to start
	Stop     value.Durations    // how long they take from SIGTERM to their exit
	// Require lists what must hold for each workload. The annotations of a workload, or else of its
	// pod template, can ask for more than Start, Stop and Require.
	Require Requirements
	// Rollouts are requirements about rollouts, which package rollout judges: a report lists them.
	Rollouts []require.Requirement
	// Measured says how long the programs of some workloads take, by their pods; nil: nothing is
	// measured. Start, Stop and annotations count before it.
	Measured *measure.Report
	// RequireMeasured requires that the probes that can stop a start allow the measured ones of a
	// container.
	RequireMeasured bool
	// AllowAnnotations lets annotations ask for less too: they replace Start and Stop of a
	// container, and what Require says about a row.
	AllowAnnotations bool
	Ignore           []Ignore // findings that do not count
	Excluded         []string // files that the configuration excludes, for the report
	// Base, unless nil, is an earlier report, such as one of the base of a pull request:
	// annotations ignore only findings that it ignores too, its Start, Stop and requirements hold
	// too, and annotations can only ask for more than these.
	Base     *Report
	Baseline *Report // an earlier report, whose findings are known; nil: none is
	// IgnoreAnnotations makes Start, Stop and Require hold for all workloads, whatever their
	// annotations say, and all findings count.
	IgnoreAnnotations bool
	// Modify, unless nil, changes each workload of a file before the check: the pod, but not which
	// containers it has.
	Modify func(file string, w *manifests.Workload)
}

// Checker checks the workloads of manifests.
type Checker struct {
	options   Options
	workloads []*workload
	results   []*result // one for each container and version
	others    []Other
}

// workload is a workload with the results for its containers.
type workload struct {
	*manifests.Workload
	file       string
	terms      *Terms
	service    string       // a Service in the files that selects its pods; empty if there is none
	containers []*container // with probes
}

// container is a container that runs as long as its pod. It need not have probes.
type container struct {
	workload *workload
	spec     *v1.Container
	path     string // of the container in the pod
	results  []*result
}

// New returns a Checker for all containers that run as long as their pods. The error lists all
// errors of the manifests. A workload that is valid but cannot be simulated is a part of the
// Report.
func New(files []input.File, o Options) (*Checker, error) {
	if len(o.Profiles) == 0 {
		o.Profiles = []profile.Profile{profile.Newest()}
	}
	c := &Checker{options: o}
	rest, err := workloads.Each(files, c.add)
	for _, w := range c.workloads {
		for _, s := range rest.Services {
			if s.Selects(w.Workload) {
				w.service = cmp.Or(w.service, s.Name)
			}
		}
	}
	for _, o := range rest.Unchecked {
		c.others = append(c.others, Other{o.Kind, o.Name, o.File, o.Line, o.Template})
	}
	return c, err
}

// add adds the tasks for a workload.
func (c *Checker) add(f input.File, w *manifests.Workload) scenarios.Errors {
	terms, errs := c.options.TermsOf(f.Name, w)
	if len(errs) > 0 {
		return errs
	}
	if c.options.Modify != nil {
		c.options.Modify(f.Name, w)
	}
	added := &workload{Workload: w, file: f.Name, terms: terms}
	c.workloads = append(c.workloads, added)
	add := func(list []v1.Container, field string) {
		for i := range list {
			spec := &list[i]
			// it runs before the program
			if field == "initContainers" && !podutil.IsRestartableInitContainer(spec) && !hasProbes(spec) {
				continue
			}
			found := &container{workload: added, spec: spec, path: fmt.Sprintf("spec.%s[%d]", field, i)}
			added.containers = append(added.containers, found)
		}
	}
	add(w.Pod.Spec.InitContainers, "initContainers")
	add(w.Pod.Spec.Containers, "containers")
	for _, found := range added.containers {
		for _, p := range c.options.Profiles {
			r := &result{profile: p, options: &c.options, container: found}
			found.results, c.results = append(found.results, r), append(c.results, r)
		}
	}
	return nil
}

// ordinary returns the containers that are neither sidecars nor init containers: at least one.
func (w *workload) ordinary() []v1.Container {
	return slices.DeleteFunc(slices.Clone(w.Pod.Spec.Containers),
		func(c v1.Container) bool { return w.terms.sidecars[c.Name] != "" })
}

// hasProbes reports whether a container has a probe.
func hasProbes(c *v1.Container) bool {
	return c.StartupProbe != nil || c.LivenessProbe != nil || c.ReadinessProbe != nil
}

// UnknownContainers names a container of the options that no workload of the files has, as an
// error: what the options have about it would count for nothing.
func (o *Options) UnknownContainers(files []input.File) error {
	named := slices.Concat(o.Start.Names(), o.Stop.Names())
	for _, q := range o.Require {
		named = append(named, q.Container)
	}
	return workloads.KnowContainers(files, named)
}

// Measures reports whether something is measured of a workload of the files.
func (o *Options) Measures(files []input.File) (found bool) {
	_, _ = workloads.Each(files, func(_ input.File, w *manifests.Workload) scenarios.Errors {
		found = found || len(o.measured(w.Kind, w.Pod.Namespace, w.Name)) > 0
		return nil
	})
	return found
}

// Workloads returns the number of workloads.
func (c *Checker) Workloads() int { return len(c.workloads) }

// Tasks returns the number of tasks.
func (c *Checker) Tasks() int { return len(c.results) }

// Do does a task. Different tasks can run at the same time. An error is part of the Report.
func (c *Checker) Do(task int) {
	r := c.results[task]
	r.err, r.done = r.measure(), true
}

// finish does the tasks that are left.
func (c *Checker) finish() {
	for i, r := range c.results {
		if !r.done {
			c.Do(i)
		}
	}
}

// start returns how long a start of the container is known to take, or nil.
func (c *container) start() *value.Interval { return c.workload.terms.Start(c.spec.Name) }

// measured returns what the pods of the workload show of the container, or nil.
func (c *container) measured() *Measured { return c.workload.terms.measured[c.spec.Name] }

// stop returns how long the container is known to take from SIGTERM to its exit, or nil.
func (c *container) stop() *value.Interval { return c.workload.terms.Stop(c.spec.Name) }

// at returns the position of a field of the container.
func (c *container) at(field string) strict.Pos {
	return c.workload.At(strings.TrimSuffix(c.path+"."+field, "."))
}

// Report returns the report. It does the tasks that are left.
func (c *Checker) Report() *Report {
	c.finish()
	r := &Report{Delays: c.options.Delays, Workloads: []Workload{}, Others: c.others, Excluded: c.options.Excluded}
	r.Start, r.Stop = c.options.Start.Ordinary, c.options.Stop.Ordinary
	for _, p := range c.options.Profiles {
		r.Kubernetes = append(r.Kubernetes, p.Version)
	}
	for _, w := range c.workloads {
		r.Workloads = append(r.Workloads, c.workload(w))
	}
	r.Judge()
	return r
}

func (c *Checker) workload(w *workload) Workload {
	out := Workload{Kind: w.Kind, Namespace: w.Pod.Namespace, Name: w.Name, File: w.file, Line: w.Line,
		Containers: []Container{}, Images: map[string]string{}, NotSimulated: slices.Clone(w.NotSimulated)}
	// see Admitted
	if w.Pod.Spec.ActiveDeadlineSeconds != nil && !slices.Contains(out.NotSimulated, "activeDeadlineSeconds") {
		out.NotSimulated = append(out.NotSimulated, "activeDeadlineSeconds")
	}
	for c := range podutil.Containers(&w.Pod.Spec) {
		out.Images[c.Name] = c.Image
	}
	for _, c := range unknownImages(w.Pod) {
		out.NotSimulated = append(out.NotSimulated, "the image "+strict.Quote(c.Image)+", which no node can pull")
	}
	out.describeProbes(w.Pod)
	var problems []string
	for _, found := range w.containers {
		for _, r := range found.results {
			if r.err != nil && !slices.Contains(problems, r.err.Error()) {
				problems = append(problems, r.err.Error())
			}
		}
		out.Containers = append(out.Containers, c.container(found))
	}
	out.Problem = strings.Join(problems, "\n")
	out.Rollouts = w.terms.Rollouts
	keepOnce(out.Containers, NoTimeToRecover)
	for i := range out.Containers {
		c.sortOut(w, &out.Containers[i])
	}
	for _, q := range w.terms.Required {
		out.Requirements = append(out.Requirements, c.verify(q, w))
	}
	return out
}

func (c *Checker) container(found *container) Container {
	out := Container{Name: found.spec.Name, Line: found.at("").Line, spec: found.spec,
		Sidecar: found.workload.terms.sidecars[found.spec.Name], Start: found.start(), Stop: found.stop(),
		Measured: found.measured(), Probes: []Probe{}, Limits: []Limit{}, Times: []Time{}}
	for _, kind := range trace.ProbeTypes {
		if p := prober.ProbeOf(found.spec, kind); p != nil {
			out.Probes = append(out.Probes,
				Probe{string(kind), workloads.Describe(p), found.at(string(kind) + "Probe").Line})
		}
	}
	for _, row := range rows {
		values := found.values(row.id)
		if len(values) == 0 || !slices.ContainsFunc(found.results, func(r *result) bool { return !r.repeats(row.id) }) {
			continue
		}
		all := all(values)
		var cases []Range
		for _, v := range values {
			cases = append(cases, Range{v.Case, v.Kubernetes, value.Seconds(v.Least), value.Seconds(v.Greatest)})
		}
		text := row.text
		if found.connects(row.probes) { // which passes while the program hangs
			text = strings.NewReplacer("hung", "connections lost", "late or no answers", "lost connections",
				"errors or refusals", "refused connections").
				Replace(text)
		}
		if row.id == Ready && len(found.workload.Pod.Spec.ReadinessGates) > 0 {
			text += ", but for its readiness gates"
		}
		if start := found.start(); row.id == Recover && start != nil {
			text += fmt.Sprintf(" (start of %s)", value.Format(start.Max))
		}
		if row.limit {
			out.Limits = append(out.Limits, Limit{
				Row: row.id, Text: text, Always: value.Seconds(all.Least), Never: value.Seconds(all.Greatest),
				Formula: found.formula(row.id, all), Cases: cases,
			})
			continue
		}
		out.Times = append(out.Times, Time{Row: row.id, Text: text, Best: value.Seconds(all.Least),
			Worst: value.Seconds(all.Greatest), Formula: found.formula(row.id, all), Cases: cases})
	}
	out.Kill = found.kill(out.Limits)
	c.courses(found, &out)
	out.Findings = c.findings(found)
	return out
}

// connects reports whether the only probe that decides about a row is a TCP probe, which passes
// while the program hangs.
func (c *container) connects(probes []trace.Probe) bool {
	if len(probes) != 1 {
		return false
	}
	p := prober.ProbeOf(c.spec, probes[0])
	return p != nil && p.TCPSocket != nil
}

// formula says how the value of a row that decides comes about, in the version that has it.
func (c *container) formula(id RowID, all bounds.Range) string {
	for _, r := range slices.Backward(c.results) {
		if own := r.all(id); r.err == nil && id.End(own) == id.End(all) && len(r.rows[id]) > 0 {
			return formula(r.Container, id, own)
		}
	}
	return ""
}

// kill returns when a probe stops a container that never comes up, or nil if none does: after the
// longest start that always succeeds.
func (c *container) kill(limits []Limit) *Kill {
	i := slices.IndexFunc(limits, func(l Limit) bool { return l.Row == Start })
	if i < 0 || limits[i].Always.IsNever() {
		return nil
	}
	killer := c.spec.StartupProbe
	if killer == nil {
		killer = c.spec.LivenessProbe
	}
	return &Kill{limits[i].Always, value.Seconds(usualFormula(killer))}
}

// courses sets what the newest version does.
func (c *Checker) courses(found *container, out *Container) {
	newest := found.results[len(found.results)-1]
	if newest.err != nil || newest.cannotStart {
		return
	}
	out.Deleted = &newest.deleted
	for _, t := range newest.restarts {
		if !notices(newest.Probe(newest.killer())) {
			break
		}
		out.Restarts = append(out.Restarts, value.Seconds(t))
	}
	if worst := found.leastShare(); worst != nil {
		out.StartShare = worst.share
	}
}

// values returns the values of a row in all versions.
func (c *container) values(id RowID) []Value {
	var list []Value
	for _, r := range c.results {
		if r.err == nil {
			list = append(list, r.rows[id]...)
		}
	}
	return list
}

// verify verifies a requirement for all containers that it is about. It is not met if one of them
// has no probe for it, has a probe that can never run, or never does what it is about.
func (c *Checker) verify(q Required, w *workload) Verification {
	pos := w.Pos
	if q.annotation != nil {
		pos = q.annotation.ValuePos
	}
	v := Verification{Requirement: q.String(), Row: q.Row, Required: value.Seconds(q.Duration),
		Containers: q.Containers,
		File:       w.file, Line: pos.Line, Column: pos.Column}
	if v.Missing, v.Reason = q.unverifiable(w); v.Reason != "" {
		return v
	}
	var decides *container
	least := bounds.Never
	for _, name := range q.Containers {
		found := w.container(name)
		margin, worst := q.Margin(found.values(q.Row))
		if decides != nil && margin >= least {
			continue
		}
		decides, least = found, margin
		v.Met, v.Container, v.Case, v.Kubernetes, v.Margin = margin >= 0, found.spec.Name, worst.Case, worst.Kubernetes,
			nil
		if margin.Abs() < bounds.Never {
			v.Margin = new(value.Seconds(margin))
		}
		v.Value = new(value.Seconds(q.Row.End(worst.Range)))
	}
	for _, p := range q.Row.Probes() {
		if prober.ProbeOf(decides.spec, p) != nil {
			pos = decides.at(string(p) + "Probe")
			v.Line, v.Column = pos.Line, pos.Column
			break
		}
	}
	if !v.Met {
		i := slices.IndexFunc(decides.results, func(r *result) bool { return r.profile.Version == v.Kubernetes })
		v.App, v.Delays = decides.results[i].appMissing(q.Requirement, v.Case), c.options.Delays
	}
	return v
}

// container returns a container with probes, or nil.
func (w *workload) container(name string) *container {
	i := slices.IndexFunc(w.containers, func(c *container) bool { return c.spec.Name == name })
	if i < 0 {
		return nil
	}
	return w.containers[i]
}

// unverifiable says why nothing tells whether the requirement holds, and which containers have no
// probe for it. The reason is empty if all containers have values.
func (q Required) unverifiable(w *workload) (missing []string, reason string) {
	var reasons []string
	for _, name := range q.Containers {
		c := w.container(name)
		if c == nil || !slices.ContainsFunc(q.Row.Probes(),
			func(p trace.Probe) bool { return prober.ProbeOf(c.spec, p) != nil }) {
			missing = append(missing, name)
			continue
		}
		if why := c.noValues(q.Row); why != "" {
			reasons = append(reasons, why)
		}
	}
	if len(missing) > 0 {
		reasons = append([]string{q.Row.Missing(missing)}, reasons...)
	}
	return missing, strings.Join(reasons, "; ")
}

// noValues says why the container has no values of a row for which it has a probe, or returns an
// empty string.
func (c *container) noValues(id RowID) string {
	for _, r := range c.results {
		p, because := r.brokenFor(id)
		if because != "" {
			return fmt.Sprintf("the %sProbe of container %s %s", p, c.spec.Name, because)
		}
		if r.err != nil {
			return fmt.Sprintf("container %s was not checked", c.spec.Name)
		}
	}
	if len(c.values(id)) == 0 {
		return fmt.Sprintf("container %s never restarts", c.spec.Name)
	}
	return ""
}
