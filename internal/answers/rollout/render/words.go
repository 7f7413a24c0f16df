package render

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/findings"
	"probesim.dev/internal/value"
	"probesim.dev/trace/traffic"
)

// Rows returns the rows of a workload, and one for each of its Services if their figures differ,
// because their containers do.
func Rows(w *rollout.Workload) []rollout.Row {
	rows := slices.Clone(w.Rows)
	if w.Lost == nil {
		return rows
	}
	for i := range rows {
		if rows[i].Row == rollout.RowLost {
			rows[i].Text = "lost of up to " + rollout.Count(w.Lost.Requests) + " requests"
		}
	}
	if slices.ContainsFunc(w.Services, func(s rollout.Service) bool { return s.Container != w.Container }) {
		for _, s := range w.Services {
			rows = append(rows, rollout.Row{Row: rollout.RowLost, Text: "  of Service " + s.Name, Figures: *s.Lost})
		}
	}
	return rows
}

// Waited says why a proxy goes on to send requests to a pod.
func Waited(r *rollout.Report, w *rollout.Workload) string {
	after := "the sync that the new pod's readiness caused"
	if strings.HasPrefix(r.Change, string(rollout.Scale)) {
		after = "its last sync"
	}
	if w.Router.Name == "kube-proxy" {
		return "kube-proxy waits for minSyncPeriod (1s) after " + after
	}
	return w.Router.Name + " waits for its next sync after " + after
}

// Headline is the verdict in a few words.
func Headline(r *rollout.Report, w *rollout.Workload) string {
	what := "a rollout"
	if n, scales := strings.CutPrefix(r.Change, "scale="); scales {
		what = "scaling to " + n
	}
	behind := ""
	if w.Router.Name != "kube-proxy" {
		behind = " behind " + w.Router.Name
	}
	switch {
	case w.Verdict == rollout.NeverReady:
		return "its pods are never available"
	case w.Verdict == rollout.NeverCompletes && w.Incomplete < w.Runs:
		return fmt.Sprintf("%s does not complete in %d of %d runs", what, w.Incomplete, w.Runs)
	case w.Verdict == rollout.NeverCompletes:
		return strings.Replace(what, "a rollout", "the rollout", 1) + " never completes"
	case w.Verdict == rollout.MissesDeadline:
		return "the rollout completes, but misses progressDeadlineSeconds"
	case w.Verdict == rollout.Loses:
		if len(w.Waits) > 0 {
			what += " may never complete, or"
		}
		return fmt.Sprintf("%s loses up to %s of %s requests", what, rollout.Count(w.Lost.Greatest),
			rollout.Count(w.Lost.Requests)) + behind
	case len(w.Waits) > 0 && w.Verdict == rollout.LosesNone:
		return what + " completes, unless new pods wait for old ones"
	case w.Lost == nil:
		what += " completes"
		if w.Outage > 0 {
			what += ", and no pod is Ready for up to " + took(w.Outage)
		}
		if w.Unsure {
			what += ", as far as it is simulated"
		}
		return what
	}
	of := "new connection"
	if r.Requests.Connections != "" {
		of = "request"
	}
	if w.Unsure {
		of = "simulated request"
	}
	return fmt.Sprintf("%s loses no %s in %s", what, of, Runs(w.Runs)) + behind
}

// Settings says how the workload is rolled out.
func Settings(r *rollout.Report, w *rollout.Workload) string {
	text := fmt.Sprintf("%s, ", printable.Count(int(w.Replicas), "replica"))
	if w.Strategy == "Recreate" {
		text += "strategy Recreate"
	} else {
		text += fmt.Sprintf("maxSurge %d and maxUnavailable %d", w.MaxSurge, w.MaxUnavailable)
		if w.Fractions != "" {
			text += " (" + w.Fractions + ")"
		}
	}
	text += fmt.Sprintf(", minReadySeconds %d, change: %s. ", w.MinReadySeconds, r.Change)
	if w.Service == "" {
		return text + "No Service selects its pods: requests are not counted."
	}
	if len(w.Services) > 0 {
		return text + fmt.Sprintf("%s send %g requests a second each; a request takes %s. The figures are those of "+
			"the Service that loses most in a run.", senders(w), r.Requests.Rate, r.Requests.Latency) + From(w)
	}
	text += fmt.Sprintf("Service %s sends %g requests a second to container %s; each takes %s.", w.Service,
		r.Requests.Rate, w.Container, r.Requests.Latency)
	return text + From(w)
}

// senders names the Services, and the container that each sends requests to.
func senders(w *rollout.Workload) string {
	var list []string
	for i, s := range w.Services {
		text := s.Name
		if next := i + 1; next == len(w.Services) || w.Services[next].Container != s.Container {
			text += " (container " + s.Container + ")"
		}
		list = append(list, text)
	}
	return "Services " + printable.Few(list)
}

// Part describes a part of the lost requests.
func Part(w *rollout.Workload, p *rollout.Part) string {
	window := took(p.Window)
	if p.Window < 50e6 {
		window = fmt.Sprintf("%.0fms", float64(p.Window)/1e6)
	}
	switch p.Reason {
	case traffic.Refused:
		return fmt.Sprintf("%s pods: refused after SIGTERM, still a target of %s for up to %s", p.Pods, w.Router.Name,
			window)
	case traffic.Exited:
		return fmt.Sprintf("%s pods: the program has exited, still a target of %s for up to %s", p.Pods,
			w.Router.Name, window)
	case traffic.NotListening:
		return fmt.Sprintf("%s pods: a target, but the program does not listen yet, for up to %s", p.Pods, window)
	case traffic.NoEndpoints:
		return fmt.Sprintf("an outage: no pod is a target of %s for up to %s", w.Router.Name, window)
	}
	return p.Pods + " pods: the program exits with requests in progress"
}

func took(d value.Seconds) string { return rollout.Format(rollout.RowTakes, float64(d)/1e9) }

// FixWord names a change: a fix loses nothing in its runs.
func FixWord(f *rollout.Fix) string {
	if f.LosesNone {
		return "fix"
	}
	return "helps"
}

// Fix describes a change, and what it brings.
func Fix(f *rollout.Fix) string {
	brings := fmt.Sprintf("at most %s lost, %s in the median of %s", rollout.Count(f.Lost), rollout.Count(f.Median),
		Runs(f.Runs))
	if f.LosesNone {
		brings = fmt.Sprintf("none lost in %s", Runs(f.Runs))
	}
	if f.Always {
		brings = "always enough, " + brings
	}
	return f.Change + ": " + brings + ", and the rollout takes " + rollout.Format(rollout.RowTakes, f.Takes)
}

// Requirement describes the result for a requirement.
func Requirement(v *rollout.Verification) string {
	name := v.Requirement
	if v.Annotation {
		name += " of the annotation"
	}
	if v.Value == nil {
		return name + ": " + v.Reason
	}
	how := "the worst of the runs"
	if v.Row == rollout.RowPreStop {
		how = "always enough"
	}
	return name + ": " + rollout.Format(v.Row, *v.Value) + " is " + how
}

// About says what the figures are about, in lines.
func About(r *rollout.Report) []string {
	list := []string{r.Program}
	if slices.ContainsFunc(r.Workloads, func(w rollout.Workload) bool { return w.Lost != nil }) {
		list = append(list, r.Requests.Covers+" Figures are those of random runs; \"always\" is a rule.")
	}
	for i := range r.Workloads {
		if text := source(&r.Workloads[i].Router); text != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if r.Left > 0 {
		list = append(list, fmt.Sprintf("The time was over: %s not rolled out.", printable.Count(r.Left, "Deployment")))
	}
	if len(r.NotRolledOut) > 0 {
		list = append(list, "Not rolled out: "+strings.Join(r.NotRolledOut, ", ")+".")
	}
	return list
}

// From says which object leads through the router, if one does.
func From(w *rollout.Workload) string {
	if w.Router.From == "" {
		return ""
	}
	return fmt.Sprintf(" %s leads through %s: %s.", w.Router.From, w.Router.Name, w.Router.Because)
}

// source says how long a router takes, and who says so.
func source(r *rollout.Router) string {
	switch {
	case r.Source == "":
		return ""
	case r.Add == "":
		return r.Name + ": " + r.Source + "."
	}
	return fmt.Sprintf("%s adds a pod after %s and removes it after %s, and \"always\" is about this: %s.",
		r.Name, r.Add, r.Remove, r.Source)
}

// Nodes names a kind of nodes.
func Nodes(delays string) string {
	if delays == "default" {
		return "nodes without ranges"
	}
	return delays + " nodes"
}

// Runs formats a number of runs.
func Runs(n int) string { return printable.Count(n, "run") }

var rules = []findings.Rule{
	{ID: "rollout", Text: "A rollout loses requests, or does not complete.",
		Help: "The message has changes that help, and the command that draws the worst run."},
	findings.Unmet,
}

// Findings returns what is wrong: each workload that loses requests or does not complete, and each
// requirement that is not met.
func Findings(r *rollout.Report) *findings.List {
	list := &findings.List{Command: "probesim rollout", Rules: rules}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		c := findings.Case{Name: w.Title(), File: w.File, Line: w.Line, Notes: w.NotSimulated}
		if w.Verdict != rollout.LosesNone || len(w.Waits) > 0 {
			level := findings.Note
			if w.Bad() { // otherwise, a requirement lets it lose as many, or wait
				level = findings.Error
			}
			c.Add("rollout", level, message(r, w), w.Bad())
			c.Findings[0].Command, c.Findings[0].Known = w.Worst.Command, w.Known
		}
		list.Cases = append(list.Cases, c)
		for _, v := range w.Requirements {
			list.Require(findings.Finding{File: w.File, Line: w.Line, Title: w.Title(), Message: Requirement(&v)},
				v.Requirement, v.Met)
		}
	}
	return list
}

// message tells the verdict, explains it, and tells what helps.
func message(r *rollout.Report, w *rollout.Workload) string {
	lines := []string{Headline(r, w)}
	if w.Reason != "" {
		lines = append(lines, w.Reason)
	}
	if w.Fix != "" {
		lines = append(lines, "Fix: "+w.Fix)
	}
	for _, f := range w.Fixes {
		lines = append(lines, fmt.Sprintf("%s %s (line %d)", FixWord(&f), Fix(&f), f.Line))
	}
	return strings.Join(lines, "\n")
}

// TunedFindings returns the requirements that no change meets.
func TunedFindings(r *rollout.Tuning) *findings.List {
	list := &findings.List{Command: "probesim tune", Rules: rules}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for _, q := range w.Requirements {
			list.Require(findings.Finding{File: w.File, Line: w.Line, Title: w.Title(), Message: TunedRow(w, &q)},
				q.Requirement, q.After.Met)
		}
	}
	return list
}
