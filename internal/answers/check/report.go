package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
)

// Report is the result of a check. Its JSON form is stable: fields are only added.
type Report struct {
	Kubernetes []string `json:"kubernetes"` // versions, oldest first
	Delays     string   `json:"delays"`     // name of the latencies of the nodes
	// how long the programs are known to take to start, if Options.Start says so without a name
	Start     *value.Interval `json:"start,omitempty"`
	Stop      *value.Interval `json:"stop,omitempty"` // and from SIGTERM to their exit
	Verdict   Verdict         `json:"verdict"`
	Workloads []Workload      `json:"workloads"`
	Others    []Other         `json:"others,omitempty"` // objects that are not checked
	// Excluded are the files that the configuration excludes.
	Excluded []string `json:"excluded,omitempty"`
}

// Other is an object that is not checked.
type Other struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Template string `json:"template,omitempty"` // path of the pod template in it, if it has one
}

// Workload is the result for an object that creates pods.
type Workload struct {
	Kind         string         `json:"kind"`
	Namespace    string         `json:"namespace,omitempty"`
	Name         string         `json:"name"`
	File         string         `json:"file"`
	Line         int            `json:"line"`
	Problem      string         `json:"problem,omitempty"` // why the workload, or a part of it, could not be checked
	Containers   []Container    `json:"containers"`        // containers that run as long as the pod
	Requirements []Verification `json:"requirements,omitempty"`
	Rollouts     []string       `json:"rollouts,omitempty"` // requirements that 'probesim rollout' judges
	// WithoutProbes are the containers without probes, except init containers that end.
	WithoutProbes []string `json:"withoutProbes,omitempty"`
	// NoReadiness says that a pod of the workload is Ready although the program need not be up,
	// because no container has a readiness probe, except perhaps sidecars. It is false if the pod
	// ends, as in a Job.
	NoReadiness bool `json:"noReadiness,omitempty"`
	// NoLiveness are the containers that have probes, and no liveness probe, if the pod does not
	// end. It is not part of the JSON.
	NoLiveness []string `json:"-"`
	running    int      // containers, except init containers that end
	// NotSimulated names what can decide what happens to the pods and has no part in the figures,
	// such as progressDeadlineSeconds.
	NotSimulated []string `json:"notSimulated,omitempty"`
	// Images has the image of each container, by name, also of those without probes. It is not part
	// of the JSON.
	Images map[string]string `json:"-"`
}

// Container is the result for a container. It need not have probes.
type Container struct {
	Name   string  `json:"name"`
	Line   int     `json:"line"`
	Probes []Probe `json:"probes"`
	// Sidecar says why the container is not an ordinary one: what Options.Start, Stop and Require
	// say without a name is not about it.
	Sidecar string          `json:"sidecar,omitempty"`
	Start   *value.Interval `json:"start,omitempty"` // how long it is known to take to start
	Stop    *value.Interval `json:"stop,omitempty"`  // and from SIGTERM to its exit

	Measured *Measured `json:"measured,omitempty"` // what its pods show; nil: there are none

	Limits []Limit `json:"limits"`
	Times  []Time  `json:"times"`
	// share of the starts that succeed, 0 to 1, if Options.Start is set
	StartShare *float64  `json:"startShare,omitempty"`
	Deleted    *Deletion `json:"deleted,omitempty"`
	// Kill is when a probe stops a container that never comes up. It is nil if none does.
	Kill *Kill `json:"kill,omitempty"`
	// Restarts are the starts of a container that never comes up, within 20 minutes after the
	// first.
	Restarts []value.Seconds `json:"restarts,omitempty"`
	Findings []Finding       `json:"findings,omitempty"`
	Ignored  []Finding       `json:"ignored,omitempty"` // findings that the manifest or Options.Ignore ignores
	Known    []Finding       `json:"known,omitempty"`   // findings that Options.Baseline has
	spec     *v1.Container
}

// HasProbes reports whether the container has a probe. It is true for one that no manifest has.
func (c *Container) HasProbes() bool { return c.spec == nil || hasProbes(c.spec) }

// Probe describes a probe.
type Probe struct {
	Type string `json:"type"` // startup, liveness or readiness
	Text string `json:"text"`
	Line int    `json:"line"`
}

// Limit is a row about how long something may last.
type Limit struct {
	Row    RowID         `json:"row"`
	Text   string        `json:"text"`
	Always value.Seconds `json:"always"` // up to this long it always goes well
	Never  value.Seconds `json:"never"`  // longer, it never does
	// Formula says how Always comes about, with its numbers. It is empty if there is no limit.
	Formula string  `json:"formula,omitempty"`
	Cases   []Range `json:"cases"` // for each case and version
}

// Time is a row about how long the kubelet takes.
type Time struct {
	Row   RowID         `json:"row"`
	Text  string        `json:"text"`
	Best  value.Seconds `json:"best"` // bounds.Never, also for Ready and Recover, whose best is not known
	Worst value.Seconds `json:"worst"`
	// Formula says how Worst comes about, with its numbers. It is empty if it never comes.
	Formula string  `json:"formula,omitempty"`
	Cases   []Range `json:"cases"`
}

// Range is the range of a row in one case and one version.
type Range struct {
	Case       string        `json:"case,omitempty"`
	Kubernetes string        `json:"kubernetes"`
	Least      value.Seconds `json:"least"`
	Greatest   value.Seconds `json:"greatest"`
}

// Deletion is what happens after the deletion of the pod.
type Deletion struct {
	SIGTERM value.Seconds `json:"sigterm"` // the stop signal, after the preStop hook
	SIGKILL value.Seconds `json:"sigkill"` // if the program ignores the stop signal
	// Exit is when the program has exited, with the time that Options.Stop says, or by SIGKILL. It
	// is nil if the time is not known.
	Exit *value.Interval `json:"exit,omitempty"`
	// Condition is what else the stop signal waits for, such as "once app has exited". It then
	// comes at SIGTERM at the earliest. It is empty otherwise.
	Condition string `json:"condition,omitempty"`
}

// Kill is when a probe stops a container that never comes up, from the start of the container.
type Kill struct {
	From    value.Seconds `json:"from"`    // the earliest time
	Formula value.Seconds `json:"formula"` // what initialDelaySeconds + periodSeconds x failureThreshold gives
}

// String returns the earliest time, and the one of the formula if it is wrong because it comes
// later.
func (k *Kill) String() string {
	text := FormatDown(k.From)
	if k.Formula > k.From {
		text += " (formula: " + FormatDown(k.Formula) + ")"
	}
	return text
}

// Verification is the result for a requirement.
type Verification struct {
	Requirement string        `json:"requirement"`
	Row         RowID         `json:"row"`
	Required    value.Seconds `json:"required"`
	Met         bool          `json:"met"`
	Containers  []string      `json:"containers,omitempty"` // that it is about
	Missing     []string      `json:"missing,omitempty"`    // those without a probe for it
	// Reason says why there is nothing to verify: a container has no probe for it, or one that can
	// never run. Such a requirement is not met, and has no container and no value.
	Reason     string         `json:"reason,omitempty"`
	Container  string         `json:"container,omitempty"` // the container that decides
	Value      *value.Seconds `json:"value,omitempty"`
	Case       string         `json:"case,omitempty"`
	Kubernetes string         `json:"kubernetes,omitempty"`
	// Margin is the distance from the value to the requirement, negative if the requirement is not
	// met. It is nil if no container has the row, or the value has no limit.
	Margin *value.Seconds `json:"margin,omitempty"`
	// File, Line and Column are the position of the probe that decides, or else of the annotation
	// with the requirement, or else of the workload.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// App is what the program does in the runs that show a requirement that is not met, as the
	// flags --app of 'probesim run', and Delays are the nodes of these runs. The program is healthy
	// in those for Ready.
	App    []string `json:"app,omitempty"`
	Delays string   `json:"delays,omitempty"`
}

// Title returns the name of a workload for people, with its namespace unless that is the default
// one.
func (w *Workload) Title() string { return manifests.Title(w.Kind, w.Namespace, w.Name) }

// Worst returns the highest severity of the findings in the report, or nothing.
func (r *Report) Worst() (worst Severity) {
	for _, w := range r.Workloads {
		for _, c := range w.Containers {
			for _, f := range c.Findings {
				if f.Severity.rank() > worst.rank() {
					worst = f.Severity
				}
			}
		}
	}
	return worst
}

// Met reports whether all requirements are met.
func (r *Report) Met() bool {
	return !slices.ContainsFunc(r.Workloads, func(w Workload) bool {
		return slices.ContainsFunc(w.Requirements, func(v Verification) bool { return !v.Met })
	})
}

// Problems reports whether a workload could not be checked.
func (r *Report) Problems() bool {
	return slices.ContainsFunc(r.Workloads, func(w Workload) bool { return w.Problem != "" })
}

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
	w.NoReadiness = !ends && w.Kind != "Service" // of Knative, whose proxy probes by default
	proxies := workloads.Sidecars(&pod.Spec)
	for c := range podutil.Containers(&pod.Spec) {
		if podutil.IsInit(&pod.Spec, c) {
			continue
		}
		w.running++
		if !hasProbes(c) {
			w.WithoutProbes = append(w.WithoutProbes, c.Name)
		}
		if !ends && proxies[c.Name] == "" && hasProbes(c) && c.LivenessProbe == nil {
			w.NoLiveness = append(w.NoLiveness, c.Name)
		}
		if proxies[c.Name] == "" && c.ReadinessProbe != nil {
			w.NoReadiness = false
		}
	}
}

// unprobed reports whether no container has a probe.
func (w *Workload) unprobed() bool { return len(w.WithoutProbes) == w.running }

// tenth is the precision of durations in texts below ten minutes; above, it is a second.
const tenth = 100 * time.Millisecond

// span is a duration, in reports or elsewhere.
type span interface{ time.Duration | value.Seconds }

// FormatDown formats a duration for people, rounded down.
func FormatDown[S span](s S) string {
	d := time.Duration(s)
	if d == bounds.Never {
		return format(d)
	}
	return format(d.Truncate(unit(d)))
}

// FormatUp formats a duration for people, rounded up.
func FormatUp[S span](s S) string {
	d := time.Duration(s)
	if u := unit(d); d != bounds.Never && d%u != 0 {
		d = d.Truncate(u) + u
	}
	return format(d)
}

// FormatTime formats a time of a report for people: rounded up, or "never".
func FormatTime(s value.Seconds) string {
	if s.IsNever() {
		return "never"
	}
	return FormatUp(s)
}

// Format formats the guaranteed value of a row for people: a limit rounded down, a time rounded up.
func (id RowID) Format(s value.Seconds) string {
	if id.IsLimit() {
		return FormatDown(s)
	}
	return FormatTime(s)
}

// Worse says for people that the value of a row gets worse.
func (id RowID) Worse(before, after value.Seconds) string {
	return fmt.Sprintf("%s %s, not %s", rowOf(id).text, id.Format(after), id.Format(before))
}

// FormatDifference formats the difference of two values for people, such as +15.0s, rounded to the
// nearest tenth of a second or coarser. Neither may be bounds.Never.
func FormatDifference(before, after value.Seconds) string {
	d, sign := time.Duration(after-before), "+"
	if d < 0 {
		d, sign = -d, "-"
	}
	return sign + format(d.Round(unit(d)))
}

// unit is the precision of a duration in texts.
func unit(d time.Duration) time.Duration {
	if d < 10*time.Minute {
		return tenth
	}
	return time.Second
}

func format(d time.Duration) string {
	switch {
	case d == bounds.Never:
		return "no limit"
	case d == 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 10*time.Minute && d%time.Second != 0:
		return fmt.Sprintf("%dm%04.1fs", d/time.Minute, (d % time.Minute).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm%02ds", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// Clock formats a time in the life of a container for people, to the second.
func Clock[S span](s S) string {
	d := time.Duration(s).Round(time.Second)
	switch {
	case d == 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
}
