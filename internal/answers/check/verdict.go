package check

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/workloads"
)

// Verdict answers for all workloads of a report.
type Verdict struct {
	Workloads  int `json:"workloads"`
	Containers int `json:"containers"` // without init containers that end
	Errors     int `json:"errors"`
	Warnings   int `json:"warnings"`
	Notes      int `json:"notes"`
	Ignored    int `json:"ignored"` // findings that the manifests or the configuration ignore
	Known      int `json:"known"`   // findings of Options.Baseline
	Required   int `json:"required"`
	NotMet     int `json:"notMet"`     // of the requirements
	NotChecked int `json:"notChecked"` // workloads with a problem, and other objects with a pod template
	// NoReadiness are the names of the workloads whose pods are Ready as soon as they run, because
	// no container has a readiness probe, except perhaps sidecars. NoProbes are those of them
	// without any probe. Neither has workloads that end, such as a Job.
	NoReadiness []string `json:"noReadiness"`
	NoProbes    []string `json:"noProbes"`
	// Findings are the findings of all containers, the most worth changing first. Equal ones are
	// one.
	Findings []Group `json:"findings"`
}

// Group is a finding of one or more containers.
type Group struct {
	ID         FindingID `json:"id"`
	Severity   Severity  `json:"severity"`
	Summary    string    `json:"summary"` // what happens to the containers, as a clause that follows their names
	Fix        string    `json:"fix,omitempty"`
	Containers []Place   `json:"containers"`
	Finding    *Finding  `json:"-"` // of the first container
	nth        int       // of its kind
}

// Place is a container with a finding.
type Place struct {
	Name      string `json:"name"`     // of the workload, with the container if the workload has several with probes
	Workload  string `json:"workload"` // its name, with the namespace if the report has several
	Container string `json:"container"`
	File      string `json:"file"`
	Line      int    `json:"line"`
}

// Judge sets the verdict on the workloads of the report.
func (r *Report) Judge() {
	workloads := r.Workloads
	namespaces := map[string]bool{}
	for _, w := range workloads {
		namespaces[w.Namespace] = true
	}
	v := Verdict{Workloads: len(workloads), NoReadiness: []string{}, NoProbes: []string{}, Findings: []Group{}}
	for i := range workloads {
		w := &workloads[i]
		name := w.Name
		if len(namespaces) > 1 {
			name = cmp.Or(w.Namespace, v1.NamespaceDefault) + "/" + name
		}
		v.Containers += w.running
		v.Required += len(w.Requirements)
		for _, q := range w.Requirements {
			if !q.Met {
				v.NotMet++
			}
		}
		if w.Problem != "" {
			v.NotChecked++
		}
		if w.NoReadiness {
			v.NoReadiness = append(v.NoReadiness, name)
			if w.unprobed() {
				v.NoProbes = append(v.NoProbes, name)
			}
		}
		for k := range w.Containers {
			v.add(name, &w.Containers[k], several(w))
		}
	}
	for _, o := range r.Others {
		if o.Template != "" {
			v.NotChecked++
		}
	}
	slices.SortStableFunc(v.Findings, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Severity.rank(), a.Severity.rank()), cmp.Compare(a.ID.rank(), b.ID.rank()),
			cmp.Compare(b.Finding.weight, a.Finding.weight), cmp.Compare(len(b.Containers), len(a.Containers)))
	})
	r.Verdict = v
}

// several reports whether several containers of a workload have probes or findings.
func several(w *Workload) bool {
	n := 0
	for _, c := range w.Containers {
		if c.HasProbes() || len(c.Findings) > 0 {
			n++
		}
	}
	return n > 1
}

// add counts the findings of a container.
func (v *Verdict) add(workload string, c *Container, several bool) {
	name := workload
	if several {
		name += "/" + c.Name
	}
	v.Ignored += len(c.Ignored)
	v.Known += len(c.Known)
	for i := range c.Findings {
		f := &c.Findings[i]
		switch f.Severity {
		case Error:
			v.Errors++
		case Warning:
			v.Warnings++
		case Note:
			v.Notes++
		}
		same := func(g Group) bool {
			return g.ID == f.ID && g.Severity == f.Severity && g.Summary == f.clause() && g.Fix == f.Fix
		}
		at := slices.IndexFunc(v.Findings, same)
		if at < 0 {
			at = len(v.Findings)
			v.Findings = append(v.Findings,
				Group{ID: f.ID, Severity: f.Severity, Summary: f.clause(), Fix: f.Fix, Finding: f})
		}
		v.Findings[at].Containers = append(v.Findings[at].Containers, Place{name, workload, c.Name, f.File, f.Line})
	}
}

// First returns the groups most worth changing, and the others. Of one severity, it prefers
// different kinds of findings.
func (v *Verdict) First(n int) (first, others []Group) {
	seen := map[[2]string]int{}
	list := slices.Clone(v.Findings)
	for i := range list {
		kind := [2]string{string(list[i].ID), string(list[i].Severity)}
		list[i].nth = seen[kind]
		seen[kind]++
	}
	slices.SortStableFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Severity.rank(), a.Severity.rank()), cmp.Compare(a.nth, b.nth))
	})
	n = min(n, len(list))
	return list[:n], list[n:]
}

// Names returns the names of the workloads, each with its container if it has several with probes.
func (g *Group) Names() []string {
	var list []string
	for _, p := range g.Containers {
		if !slices.Contains(list, p.Name) {
			list = append(list, p.Name)
		}
	}
	return list
}

// clause says what happens to the container, as a clause that follows its name.
func (f *Finding) clause() string {
	if f.Summary != "" {
		return f.Summary
	}
	first, _, _ := strings.Cut(f.Message, ". ")
	return strings.TrimSuffix(first, ".")
}

// rank orders kinds of findings: the first are the most worth changing.
func (id FindingID) rank() int {
	return slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
}

// describeProbes sets what the workload says about the probes that its pod does not have.
func (w *Workload) describeProbes(pod *v1.Pod) {
	ends := w.Kind == "Job" || w.Kind == "CronJob" || pod.Spec.RestartPolicy != v1.RestartPolicyAlways
	w.NoReadiness = !ends
	proxies := workloads.Sidecars(&pod.Spec)
	for c := range podutil.Containers(&pod.Spec) {
		if podutil.IsInit(&pod.Spec, c) {
			continue
		}
		w.running++
		if !hasProbes(c) {
			w.WithoutProbes = append(w.WithoutProbes, c.Name)
		}
		if proxies[c.Name] == "" && c.ReadinessProbe != nil {
			w.NoReadiness = false
		}
	}
}

// unprobed reports whether no container has a probe.
func (w *Workload) unprobed() bool { return len(w.WithoutProbes) == w.running }
