package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/require"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
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
