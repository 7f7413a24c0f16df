package check

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"probesim.dev/docs"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Severity is the severity of a finding.
type Severity string

const (
	Error   Severity = "error"   // the container cannot work as it is configured, or as it is known to behave
	Warning Severity = "warning" // a usual situation ends badly
	Note    Severity = "note"    // worth knowing
)

// rank orders severities; the highest is the worst.
func (s Severity) rank() int { return slices.Index([]Severity{"", Note, Warning, Error}, s) }

// AtLeast reports whether a severity is as bad as another one, or worse.
func (s Severity) AtLeast(other Severity) bool { return s.rank() >= other.rank() }

// FindingID identifies a kind of finding.
type FindingID string

// The kinds of findings. Rules describes them.
const (
	BrokenProbe      FindingID = "broken-probe"
	ProbeHost        FindingID = "probe-host"
	StartKilled      FindingID = "start-killed"
	StartTight       FindingID = "start-tight"
	NoStartupProbe   FindingID = "no-startup-probe"
	NoReadiness      FindingID = "no-readiness-probe"
	NoProbes         FindingID = "no-probes"
	OtherEndpoint    FindingID = "other-endpoint"
	UndeclaredPort   FindingID = "undeclared-port"
	ReadinessGate    FindingID = "readiness-gate"
	ShortRestart     FindingID = "short-restart"
	NoTimeToRecover  FindingID = "no-time-to-recover"
	UnnoticedFailure FindingID = "unnoticed-failure"
	ExecTimeout      FindingID = "exec-timeout"
	AnswerTimeout    FindingID = "answer-timeout"
	OneFailure       FindingID = "one-failure"
	LongTimeout      FindingID = "long-timeout"
	SlowReady        FindingID = "slow-ready"
	ShortGrace       FindingID = "short-grace"
	KubeletRestart   FindingID = "kubelet-restart"
	VersionsDiffer   FindingID = "versions-differ"
)

// Finding is something about the settings of a container that a run shows.
type Finding struct {
	ID       FindingID `json:"id"`
	Severity Severity  `json:"severity"`
	Message  string    `json:"message"`
	// Summary says what happens to the container, as a clause that follows its name. Fix says what
	// to change, and Cost which figures get worse with it. All can be empty.
	Summary string `json:"summary,omitempty"`
	Fix     string `json:"fix,omitempty"`
	Cost    string `json:"cost,omitempty"`
	Field   string `json:"field"` // of the pod
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	// App says what the program does in the run that shows the finding, as the flags --app of
	// 'probesim run'. It is empty if the program is healthy.
	App []string `json:"app,omitempty"`
	// Delays are the nodes of the run.
	Delays     string `json:"delays,omitempty"`
	Kubernetes string `json:"kubernetes"` // the version of the run
	// Versions are the two versions that differ, and Start is how long a start takes in their
	// figures, if that is known.
	Versions []string `json:"versions,omitempty"`
	Start    string   `json:"start,omitempty"`
	// NoRun says that no run shows the finding, such as if an image of the pod is no reference.
	NoRun  bool    `json:"-"`
	fixes  []fix   // changes that may help, the best first
	weight float64 // of two findings of one kind, the one with the greater weight is more worth a change
}

// Same reports whether two findings for a container are about the same. A container has one about
// timeouts, and one about ports.
func (f *Finding) Same(o Finding) bool {
	return o.ID == f.ID && (o.Field == f.Field || o.ID == AnswerTimeout || o.ID == UndeclaredPort)
}

// findings returns the findings for a container, the worst first. It reports a finding once, in the
// newest version that has it.
func (c *Checker) findings(found *container) []Finding {
	var list []Finding
	worst := found.leastShare()
	for _, r := range slices.Backward(found.results) {
		for _, f := range r.findings {
			if f.ID == StartKilled && len(found.results) > 1 {
				if r != worst {
					continue
				}
				f.Message = "Kubernetes " + r.profile.Version + ", " + f.Message
			}
			f = found.place(f, r.profile.Version)
			if !slices.ContainsFunc(list, f.Same) {
				list = append(list, f)
			}
		}
	}
	if f, version, differ := found.versionsDiffer(); differ {
		if start := found.start(); start != nil {
			f.Start = found.spec.Name + "=" + start.String()
		}
		list = append(list, found.place(f, version))
	}
	for i := range list {
		if list[i].ID != BrokenProbe { // which every node shows
			list[i].Delays = c.options.Delays
		}
	}
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity.rank(), a.Severity.rank()), cmp.Compare(a.Line, b.Line))
	})
	return list
}

// finders find something in the rows and the settings of a container in one version. The Field of a
// finding is that of the container, and it has no position yet.
var finders = []func(*result) []Finding{
	startKilled, noStartupProbe, noReadinessProbe, noProbes, readinessGate, otherEndpoint, undeclaredPort, shortRestart,
	noTimeToRecover, unnoticed, execTimeout, answerTimeout, oneFailure, longTimeout, slowReady, shortGrace,
	kubeletRestart,
}

// leastShare returns the result of the version in which the smallest share of the known starts
// comes up, the newest one of several.
func (c *container) leastShare() *result {
	var worst *result
	for _, r := range slices.Backward(c.results) {
		if r.share != nil && (worst == nil || *r.share < *worst.share) {
			worst = r
		}
	}
	return worst
}

// place returns a finding with its version and its position.
func (c *container) place(f Finding, version string) Finding {
	if !strings.HasPrefix(f.Field, "spec.") { // of the pod
		f.Field = strings.TrimSuffix(c.path+"."+f.Field, ".")
	}
	pos := c.workload.At(f.Field)
	f.File, f.Line, f.Column, f.Kubernetes = c.workload.file, pos.Line, pos.Column, version
	f.NoRun = f.NoRun || len(unknownImages(c.workload.Pod)) > 0
	return f
}

// versionsDiffer compares the rows of the oldest and the newest version. It returns the version in
// which the first row that differs is worse.
func (c *container) versionsDiffer() (f Finding, version string, differs bool) {
	oldest, newest := c.results[0], c.results[len(c.results)-1]
	if oldest.profile.Version == newest.profile.Version || oldest.err != nil || newest.err != nil {
		return f, "", false
	}
	var differences []string
	for _, row := range rows {
		a, b := oldest.all(row.id), newest.all(row.id)
		if len(oldest.rows[row.id]) == 0 || len(newest.rows[row.id]) == 0 ||
			oldest.repeats(row.id) && newest.repeats(row.id) {
			continue
		}
		before, after := row.id.End(a), row.id.End(b)
		if differ(before, after) {
			if version == "" {
				version = newest.profile.Version
				if (before < after) == row.limit {
					version = oldest.profile.Version
				}
			}
			differences = append(differences,
				fmt.Sprintf("%q: %s and %s", row.text, row.id.Format(value.Seconds(before)),
					row.id.Format(value.Seconds(after))))
		}
	}
	f.Summary = fmt.Sprintf("its figures differ between %s and %s", oldest.profile.Version, newest.profile.Version)
	f.ID, f.Severity, f.Versions = VersionsDiffer, Note, []string{oldest.profile.Version, newest.profile.Version}
	f.Message = fmt.Sprintf("%s and %s differ. %s.", oldest.profile.Version, newest.profile.Version,
		strings.Join(differences, "; "))
	return f, cmp.Or(version, oldest.profile.Version), len(differences) > 0
}

// differ reports whether two values differ so much that it matters.
func differ(a, b time.Duration) bool {
	return (a-b).Abs() > 1500*time.Millisecond && (a-b).Abs() > min(a, b)/20
}

// keepOnce keeps one finding of a kind in the containers of a workload: that of the first container
// which has it.
func keepOnce(containers []Container, id FindingID) {
	found := false
	for i := range containers {
		c := &containers[i]
		c.Findings = slices.DeleteFunc(c.Findings, func(f Finding) bool {
			again := f.ID == id && found
			found = found || f.ID == id
			return again
		})
	}
}

// Text is the message with the change that helps.
func (f *Finding) Text() string {
	if f.Fix == "" {
		return f.Message
	}
	return strings.Join(append([]string{f.Message, "Fix: " + f.Fix}, f.Costs()...), " ")
}

// Costs says what gets worse with the change that helps, in a line, if something does.
func (f *Finding) Costs() []string {
	if f.Cost == "" {
		return nil
	}
	return []string{"Costs: " + f.Cost}
}

// Rule describes a kind of finding.
type Rule struct {
	ID       FindingID
	Severity string // one severity, or when it has which
	Text     string // what is wrong, in a sentence
	Kubelet  string // how the kubelet behaves, and what comes of it
	Do       string // what to do
}

// Rules returns the kinds of findings, those most worth a change first.
func Rules() []Rule { return slices.Clone(rules) }

// FindRule returns the rule of an ID. The error suggests another one.
func FindRule(id string) (Rule, error) {
	var known []string
	for _, r := range rules {
		if string(r.ID) == id {
			return r, nil
		}
		known = append(known, string(r.ID))
	}
	return Rule{}, fmt.Errorf("there is no finding %s%s: the findings are %s", strict.Quote(id),
		strict.DidYouMean(id, known), strings.Join(known, ", "))
}

// rules are those of docs/findings.md, in its order.
var rules = readRules(docs.Findings)

// readRules reads a page with a section for each rule: the ID, "*Severity.* Text", and a paragraph
// each for Kubelet and Do.
func readRules(page string) (list []Rule) {
	for _, section := range strings.Split(page, "\n## ")[1:] {
		parts := strings.Split(strings.TrimSpace(section), "\n\n")
		severity, text, _ := strings.Cut(strings.TrimPrefix(parts[1], "*"), ".* ")
		list = append(list, Rule{FindingID(parts[0]), strings.ToLower(severity[:1]) + severity[1:], text, parts[2],
			parts[3]})
	}
	return list
}

// Ignore is a list of findings that some files ignore.
type Ignore struct {
	Path string // a file, a directory, or a pattern of path.Match for one of them; all files if empty
	IDs  []FindingID
}

// Covers reports whether a finding of a file is ignored.
func (i *Ignore) Covers(id FindingID, file string) bool {
	return slices.Contains(i.IDs, id) && (i.Path == "" || Matches(i.Path, file))
}

// Rollout is what 'probesim rollout' finds. Check only knows its name.
const Rollout FindingID = "rollout"

// ParseIDs parses a list of findings with commas.
func ParseIDs(text string) ([]FindingID, error) {
	var list []FindingID
	for _, part := range strings.Split(text, ",") {
		id := FindingID(strings.TrimSpace(part))
		if _, err := FindRule(string(id)); err != nil && id != Rollout {
			return nil, err
		}
		list = append(list, id)
	}
	return list, nil
}

// Matches reports whether a file, or a directory that it is in, fits a pattern of path.Match.
func Matches(pattern, file string) bool {
	for file = path.Clean(file); ; file = path.Dir(file) {
		if ok, _ := path.Match(path.Clean(pattern), file); ok {
			return true
		}
		if parent := path.Dir(file); parent == file {
			return false
		}
	}
}

// sortOut moves the findings of a container that the workload or the options ignore, and those that
// the baseline has, out of its findings.
func (c *Checker) sortOut(w *workload, out *Container) {
	left := []Finding{}
	for _, f := range out.Findings {
		own := slices.Contains(w.terms.ignored, f.ID) && (c.options.Base == nil ||
			c.options.Base.ignores(w, out.Name, &f))
		switch {
		case own || slices.ContainsFunc(c.options.Ignore, func(i Ignore) bool { return i.Covers(f.ID, w.file) }):
			out.Ignored = append(out.Ignored, f)
		case c.options.Baseline.has(w, out.Name, &f):
			if !c.options.Baseline.find(w).container(out.Name).better(out, &f) {
				out.Known = append(out.Known, f)
				break
			}
			f.Message += " It is worse than in the baseline."
			left = append(left, f)
		default:
			left = append(left, f)
		}
	}
	out.Findings = left
}

// has reports whether a report has a finding of the same kind about the same field of a container,
// as severe or worse. The file of its workload can have another name.
func (r *Report) has(w *workload, container string, f *Finding) bool {
	same := func(o Finding) bool { return f.Same(o) && o.Severity.AtLeast(f.Severity) }
	c := r.find(w).container(container)
	return c != nil && (slices.ContainsFunc(c.Findings, same) || slices.ContainsFunc(c.Known, same))
}

// better reports whether a figure that a finding is about is better than that of another result for
// the container: a share of starts that come up, the time to exit, or a row of the probe.
func (c *Container) better(o *Container, f *Finding) bool {
	switch {
	case f.ID == StartKilled && c.StartShare != nil && o.StartShare != nil && *c.StartShare > *o.StartShare:
		return true
	case f.ID == ShortGrace && c.Deleted != nil && o.Deleted != nil &&
		c.Deleted.SIGKILL-c.Deleted.SIGTERM > o.Deleted.SIGKILL-o.Deleted.SIGTERM:
		return true
	}
	was, is := c.figures(), o.figures()
	return slices.ContainsFunc(Rows(), func(id RowID) bool {
		before, has := was[id]
		after, still := is[id]
		about := func(p trace.Probe) bool { return strings.Contains(f.Field, string(p)+"Probe") }
		return has && still && (after < before) == id.IsLimit() && slices.ContainsFunc(id.Probes(), about) &&
			differ(time.Duration(before), time.Duration(after))
	})
}

// figures returns the values of the rows that decide.
func (c *Container) figures() map[RowID]value.Seconds {
	all := map[RowID]value.Seconds{}
	for _, l := range c.Limits {
		all[l.Row] = l.Always
	}
	for _, t := range c.Times {
		all[t.Row] = t.Worst
	}
	return all
}

// ignores reports whether a report ignores a kind of finding of a container.
func (r *Report) ignores(w *workload, container string, f *Finding) bool {
	c := r.find(w).container(container)
	return c != nil && slices.ContainsFunc(c.Ignored, func(o Finding) bool { return o.ID == f.ID })
}
