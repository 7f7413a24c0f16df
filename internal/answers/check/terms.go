package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/scenarios"
)

var annotationKeys = []string{workloads.RequireAnnotation, workloads.StartAnnotation, workloads.StopAnnotation,
	workloads.IgnoreAnnotation}

// Terms are what is known of a workload, and what it must meet: what the Options say, and what its
// annotations say.
type Terms struct {
	Required []Required
	Rollouts []string // requirements that package rollout judges

	ignored     []FindingID       // of the workload and its pod template
	sidecars    map[string]string // why a container is one, by name
	start, stop map[string]*value.Interval
	measured    map[string]*Measured // by the name of the container
}

// Required is a requirement on some containers of a workload.
type Required struct {
	Requirement
	Containers []string
	annotation *manifests.Annotation // that has it; nil: the Options
}

// Start returns how long a start of a container is known to take, or nil.
func (t *Terms) Start(container string) *value.Interval { return t.start[container] }

// Stop returns how long a container is known to take from SIGTERM to its exit, or nil.
func (t *Terms) Stop(container string) *value.Interval { return t.stop[container] }

// LongestStops returns the longest known time from SIGTERM to the exit of each container.
func (t *Terms) LongestStops() map[string]time.Duration {
	longest := map[string]time.Duration{}
	for _, name := range slices.Sorted(maps.Keys(t.stop)) {
		if stop := t.stop[name]; stop != nil {
			longest[name] = stop.Max
		}
	}
	return longest
}

// Of returns what a container must meet.
func (t *Terms) Of(container string) (list Requirements) {
	for _, r := range t.Required {
		if slices.Contains(r.Containers, container) {
			list = append(list, r.Requirement)
		}
	}
	return list
}

// TermsOf returns the terms of a workload. An annotation may ask for more than the Options: a
// longer start or stop, a greater limit, a shorter time. It may ask for less only with
// AllowAnnotations, and with a Base, for what the Base does not have.
func (o *Options) TermsOf(file string, w *manifests.Workload) (*Terms, scenarios.Errors) {
	a := annotated{file: file, workload: w, options: o, base: o.Base.workload(w.Kind, w.Pod.Namespace, w.Name),
		found: map[string]*manifests.Annotation{}, own: map[string]value.Durations{},
		Terms: &Terms{sidecars: workloads.Sidecars(&w.Pod.Spec)}}
	for c := range podutil.Containers(&w.Pod.Spec) {
		a.containers = append(a.containers, c.Name)
	}
	if !o.IgnoreAnnotations {
		a.read()
	}
	if w.Kind == "Deployment" {
		a.Rollouts = append(require.Texts(o.Rollouts), a.Rollouts...)
	}
	a.start = a.durations(workloads.StartAnnotation, o.Start.Within(w.Pod.Namespace, w.Name))
	a.stop = a.durations(workloads.StopAnnotation, o.Stop.Within(w.Pod.Namespace, w.Name))
	a.measure()
	asked, own := a.covered(o.Require, nil), a.covered(a.ownRequire, a.found[workloads.RequireAnnotation])
	if o.AllowAnnotations {
		a.Required = replace(asked, own)
	} else {
		a.Required = stricter(stricter(asked, a.base.required(a.containers)), own)
	}
	if o.RequireMeasured {
		a.requireMeasured()
	}
	return a.Terms, a.errors
}

// annotated are the terms of a workload while they come about.
type annotated struct {
	*Terms
	file       string
	workload   *manifests.Workload
	options    *Options
	base       *Workload // of the Options; nil: it does not have the workload
	containers []string
	found      map[string]*manifests.Annotation // that count, by key
	own        map[string]value.Durations       // starts and stops, by key
	ownRequire Requirements
	errors     scenarios.Errors
}

func (a *annotated) fail(at manifests.Annotation, pos strict.Pos, message string) {
	a.errors = append(a.errors, scenarios.Error{Pos: pos, Path: at.Path, Message: message})
}

// read reads all annotations. Those of the workload count before those of its pod template.
func (a *annotated) read() {
	for _, one := range a.workload.Annotations(workloads.AnnotationPrefix) {
		if !slices.Contains(annotationKeys, one.Key) {
			a.fail(one, one.KeyPos, fmt.Sprintf("probesim has no such annotation%s",
				strict.OrList(one.Key, annotationKeys)))
			continue
		}
		names, err := a.take(one, a.found[one.Key] == nil)
		a.found[one.Key] = cmp.Or(a.found[one.Key], &one)
		if err != nil {
			a.fail(one, one.ValuePos, err.Error())
		}
		for _, name := range names {
			if name != "" && !slices.Contains(a.containers, name) {
				a.fail(one, one.ValuePos, fmt.Sprintf("the pod has no container %s%s", strict.Quote(name),
					strict.OrList(name, a.containers)))
			}
		}
	}
}

// take takes over what an annotation says if it counts, and returns the containers that it names.
// Findings are ignored if any annotation says so.
func (a *annotated) take(one manifests.Annotation, counts bool) (names []string, err error) {
	switch one.Key {
	case workloads.IgnoreAnnotation:
		ids, err := ParseIDs(one.Value)
		a.ignored = append(a.ignored, ids...)
		return nil, err
	case workloads.RequireAnnotation:
		list, err := require.Parse(one.Value)
		if counts {
			_, rollouts := require.Split(list)
			a.ownRequire, a.Rollouts = RequirementsOf(list), require.Texts(rollouts)
		}
		return printable.Words(list, func(q require.Requirement) string { return q.Container }), err
	}
	durations, err := value.ParseDurations(one.Value)
	if counts {
		a.own[one.Key] = durations
	}
	return durations.Names(), err
}

// durations returns what is known of each container: what the command line or the base has, unless
// an annotation has more.
func (a *annotated) durations(key string, asked value.Durations) map[string]*value.Interval {
	known := map[string]*value.Interval{}
	for _, name := range a.containers {
		must, wants := asked.In(name, a.ordinary(name)), a.own[key].In(name, a.ordinary(name))
		if base := a.base.container(name).known(key); base != nil && (must == nil || base.Max >= must.Max) {
			must = base
		}
		onlyBase := must == nil && a.options.Base != nil // which has no such annotation
		if wants != nil && (a.options.AllowAnnotations || !onlyBase && (must == nil || wants.Max >= must.Max)) {
			must = wants
		}
		known[name] = must
	}
	return known
}

// measure takes what is measured of the containers of which nothing else says how long they take.
func (a *annotated) measure() {
	w := a.workload
	a.measured = a.options.measured(w.Kind, w.Pod.Namespace, w.Name)
	for _, name := range a.containers {
		m := a.measured[name]
		if m == nil {
			continue
		}
		if m.Used = m.Start != nil && a.start[name] == nil; m.Used {
			a.start[name] = m.Start
		}
		if m.UsedStop = m.Stop != nil && a.stop[name] == nil; m.UsedStop {
			a.stop[name] = m.Stop
		}
	}
}

// requireMeasured adds a requirement for each measured start that a probe can stop, unless there is
// one already.
func (a *annotated) requireMeasured() {
	for _, name := range a.containers {
		m, c := a.measured[name], podutil.Find(a.workload.Pod, name)
		has := slices.ContainsFunc(a.Required,
			func(r Required) bool { return r.Row == Start && slices.Contains(r.Containers, name) })
		if m != nil && m.Used && !has && (c.StartupProbe != nil || c.LivenessProbe != nil) {
			a.Required = append(a.Required,
				Required{Requirement: Requirement{Row: Start, Duration: a.start[name].Max, Container: name},
					Containers: []string{name}})
		}
	}
}

// covered says about which containers some requirements are. One without a name is about the
// ordinary containers that the list does not name for its row.
func (a *annotated) covered(list Requirements, from *manifests.Annotation) (all []Required) {
	for _, q := range list {
		r := Required{Requirement: q, annotation: from}
		for _, name := range a.containers {
			switch {
			case q.Container == name:
			case q.Container != "" || !a.ordinary(name):
				continue
			case slices.ContainsFunc(list,
				func(other Requirement) bool { return other.Row == q.Row && other.Container == name }):
				continue
			}
			r.Containers = append(r.Containers, name)
		}
		if len(r.Containers) > 0 {
			all = append(all, r)
		}
	}
	return all
}

// ordinary reports whether a container is neither a sidecar nor an init container, which has ended
// before the others start.
func (a *annotated) ordinary(name string) bool {
	return a.sidecars[name] == "" && !podutil.IsInit(&a.workload.Pod.Spec, podutil.Find(a.workload.Pod, name))
}

// stricter returns the requirements of two lists, of two on a row of a container the one that asks
// for more.
func stricter(asked, own []Required) []Required {
	for _, q := range own {
		var kept []string
		for _, name := range q.Containers {
			i := slices.IndexFunc(asked,
				func(r Required) bool { return r.Row == q.Row && slices.Contains(r.Containers, name) })
			switch {
			case i < 0:
				kept = append(kept, name)
			case asked[i].Duration != q.Duration && (q.Duration > asked[i].Duration) == q.Row.IsLimit():
				asked[i].Containers = slices.DeleteFunc(slices.Clone(asked[i].Containers),
					func(c string) bool { return c == name })
				kept = append(kept, name)
			}
		}
		if q.Containers = kept; len(kept) > 0 {
			asked = append(asked, q)
		}
	}
	return slices.DeleteFunc(asked, func(r Required) bool { return len(r.Containers) == 0 })
}

// replace returns the requirements of an annotation, and the others on other rows.
func replace(asked, own []Required) []Required {
	return append(slices.DeleteFunc(asked, func(r Required) bool {
		return slices.ContainsFunc(own, func(q Required) bool { return q.Row == r.Row })
	}), own...)
}

// find returns a workload of the report by its kind, namespace and name, or nil. Its file can have
// another name.
func (r *Report) find(w *workload) *Workload { return r.workload(w.Kind, w.Pod.Namespace, w.Name) }

func (r *Report) workload(kind, namespace, name string) *Workload {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Workloads,
		func(old Workload) bool { return old.Kind == kind && old.Namespace == namespace && old.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Workloads[i]
}

// container returns a container of the workload, or nil.
func (w *Workload) container(name string) *Container {
	if w == nil {
		return nil
	}
	i := slices.IndexFunc(w.Containers, func(c Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &w.Containers[i]
}

// known returns how long the start or the stop of a container takes, as an annotation with some key
// says, or nil.
func (c *Container) known(key string) *value.Interval {
	if c == nil {
		return nil
	}
	if key == workloads.StopAnnotation {
		return c.Stop
	}
	return c.Start
}

// required returns the requirements of the workload on containers that it still has.
func (w *Workload) required(containers []string) (all []Required) {
	if w == nil {
		return nil
	}
	for _, v := range w.Requirements {
		read, _ := require.Parse(v.Requirement) // of a newer version, it can have an error
		list := RequirementsOf(read)
		left := slices.DeleteFunc(slices.Clone(v.Containers),
			func(name string) bool { return !slices.Contains(containers, name) })
		if len(list) > 0 && len(left) > 0 {
			all = append(all, Required{Requirement: list[0], Containers: left})
		}
	}
	return all
}

// Measured is what the pods of a workload in a cluster show of a container.
type Measured struct {
	Pods   int `json:"pods"`   // of the revision, in which starts are measured
	Starts int `json:"starts"` // of them, which are measured
	// the newest one with measured starts or stops, as the hash of its pod template
	Revision string `json:"revision,omitempty"`
	// there are pods of a newer revision, of which nothing is measured
	Older bool            `json:"older,omitempty"`
	Start *value.Interval `json:"start,omitempty"` // contains all starts
	// Slowest is how long the slowest start took at least: it is less than the end of Start,
	// because a start is known to a period of the probe.
	Slowest value.Seconds   `json:"slowest,omitempty"`
	Unknown string          `json:"unknown,omitempty"` // why no start of the newest revision is measured
	Stop    *value.Interval `json:"stop,omitempty"`    // from SIGTERM to the exit
	// Margin is how much longer the slowest start could have been at least, with the settings of
	// the pods; negative if that may be too long. It is nil if no probe stops it.
	Margin *value.Seconds `json:"margin,omitempty"`
	// the start that the probes of the pods always allow; 0: no probe stops it
	Allowed  value.Seconds `json:"allowed,omitempty"`
	Kills    int           `json:"kills"`    // by its probes, as events tell, in all revisions
	Restarts int           `json:"restarts"` // in all revisions
	// Used and UsedStop report whether Start and Stop count: neither the command line nor an
	// annotation says how long it takes.
	Used     bool `json:"used"`
	UsedStop bool `json:"usedStop"`
}

// whole returns a measured range in whole seconds, as an annotation has it, or nil.
func whole(i *value.Interval) *value.Interval {
	if i == nil {
		return nil
	}
	w := i.Whole()
	return &value.Interval{Min: min(w.Min, bounds.LongestLimit), Max: min(w.Max, bounds.LongestLimit)}
}

// measured returns what Options.Measured says about the containers of a workload, by their names.
func (o *Options) measured(kind, namespace, name string) map[string]*Measured {
	if o.Measured == nil {
		return nil
	}
	all := map[string]*Measured{}
	of := func(name string) *Measured {
		if all[name] == nil {
			all[name] = &Measured{}
		}
		return all[name]
	}
	for _, w := range o.Measured.Revisions(kind, namespace, name) { // oldest first
		for _, c := range w.Containers {
			m := of(c.Name)
			m.Kills += c.Kills
			m.Restarts += c.Restarts
			m.Unknown = ""
			if c.Start == nil && len(c.Unknown) > 0 {
				m.Unknown = c.Unknown[0].Reason
			}
			if m.Older = c.Start == nil && c.Stop == nil && m.Revision != ""; c.Start != nil || c.Stop != nil {
				m.take(w, c)
			}
		}
	}
	return all
}

// take takes over what a revision shows of the container.
func (m *Measured) take(w *measure.Workload, c *measure.Container) {
	pods := map[string]bool{}
	m.Slowest, m.Allowed, m.Margin = 0, 0, nil
	for _, s := range c.Starts {
		pods[s.Pod] = true
		m.Slowest = max(m.Slowest, value.Seconds(s.Took.Min))
	}
	m.Pods, m.Starts, m.Revision = len(pods), len(c.Starts), w.Hash
	m.Start, m.Stop = whole(c.Start), whole(c.Stop)
	if c.Limit > 0 {
		m.Allowed, m.Margin = c.Limit, new(c.Margin)
	}
}

// ClosestCall says how close the slowest start was to a kill, as a clause that follows the name of
// the container, or returns nothing.
func (m *Measured) ClosestCall() string {
	switch {
	case m.Margin == nil || m.Start == nil:
		return ""
	case *m.Margin < value.Seconds(tenth):
		return "its slowest start took up to " + seconds(m.Start.Max) + ", and its probes always allow " +
			FormatDown(m.Allowed)
	}
	return "its slowest start was at least " + FormatDown(*m.Margin) + " from being killed"
}
