package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
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
	BrokenProbe     FindingID = "broken-probe"
	StartKilled     FindingID = "start-killed"
	StartTight      FindingID = "start-tight"
	NoStartupProbe  FindingID = "no-startup-probe"
	ShortRestart    FindingID = "short-restart"
	NoTimeToRecover FindingID = "no-time-to-recover"
	TCPLiveness     FindingID = "tcp-liveness"
	ExecTimeout     FindingID = "exec-timeout"
	LongTimeout     FindingID = "long-timeout"
	SlowReady       FindingID = "slow-ready"
	DelayFromStart  FindingID = "delay-from-start"
	ShortGrace      FindingID = "short-grace"
	KubeletRestart  FindingID = "kubelet-restart"
	VersionsDiffer  FindingID = "versions-differ"
)

// Rule describes a kind of finding.
type Rule struct {
	ID   FindingID
	Text string
}

// Rules returns the kinds of findings.
func Rules() []Rule { return slices.Clone(rules) }

var rules = []Rule{
	{BrokenProbe, "A probe can never run, for example because its named port does not exist."},
	{StartKilled, "Some of the starts that are known to happen are killed."},
	{StartTight, "No start is killed, but the longest one has a margin of less than a period. Or few are killed, on some nodes."},
	{NoStartupProbe, "There is no startup probe, and the liveness probe stops long starts."},
	{ShortRestart, "A start after a kill or a crash has much less time than the first one."},
	{NoTimeToRecover, "The liveness probe stops a container as soon as the readiness probe removes it from its Service."},
	{TCPLiveness, "The liveness probe only connects, and does not notice a program that hangs."},
	{ExecTimeout, "A command has the default timeout of 1 s."},
	{LongTimeout, "Probe runs are skipped while the program hangs, because the timeout is not less than the period."},
	{SlowReady, "A container that is up waits long to become ready."},
	{DelayFromStart, "The delay of a probe is over when the startup probe succeeds."},
	{ShortGrace, "The program has little time between SIGTERM and SIGKILL, or less than it is known to need."},
	{KubeletRestart, "A restart of the kubelet makes a healthy container not ready."},
	{VersionsDiffer, "The versions of Kubernetes behave differently."},
}

// Finding is something about the settings of a container that a run shows.
type Finding struct {
	ID       FindingID `json:"id"`
	Severity Severity  `json:"severity"`
	Message  string    `json:"message"`
	Field    string    `json:"field"` // of the pod
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Column   int       `json:"column"`
	// App says what the program does in the run that shows the finding, as the flags --app of 'probesim run'. It is empty if
	// the program is healthy.
	App []string `json:"app,omitempty"`
	// Witness is the row of a container whose run shows the finding, such as app/restart for the flag --row of 'probesim check'. It is
	// empty if App shows the finding.
	Witness string `json:"witness,omitempty"`
	// Delays are the nodes of the run.
	Delays     string `json:"delays,omitempty"`
	Kubernetes string `json:"kubernetes"` // the version of the run
	// Versions are the two versions that differ, and Start is how long a start takes in their figures, if that is known.
	Versions []string `json:"versions,omitempty"`
	Start    string   `json:"start,omitempty"`
}

// findings returns the findings for a container, the worst first. It reports a finding once, in the newest version that has it.
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
			if !slices.ContainsFunc(list, func(o Finding) bool { return o.ID == f.ID && o.Field == f.Field }) {
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

// finders find something in the rows and the settings of a container in one version. The Field of a finding is that of the container, and it has no position yet.
var finders = []func(*result) []Finding{
	startKilled, noStartupProbe, shortRestart, noTimeToRecover, tcpLiveness, execTimeout, longTimeout, slowReady, delayFromStart, shortGrace, kubeletRestart,
}

// leastShare returns the result of the version in which the smallest share of the known starts comes up, the newest one of several.
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
	pos := c.at(f.Field)
	f.Field = strings.TrimSuffix(c.path+"."+f.Field, ".")
	f.File, f.Line, f.Column, f.Kubernetes = c.workload.file, pos.Line, pos.Column, version
	return f
}

// versionsDiffer compares the rows of the oldest and the newest version. It returns the version in which the first row that differs is worse.
func (c *container) versionsDiffer() (f Finding, version string, differs bool) {
	oldest, newest := c.results[0], c.results[len(c.results)-1]
	if oldest.profile.Version == newest.profile.Version || oldest.err != nil || newest.err != nil {
		return f, "", false
	}
	var differences []string
	for _, row := range rows {
		a, b := oldest.all(row.id), newest.all(row.id)
		if len(oldest.rows[row.id]) == 0 || len(newest.rows[row.id]) == 0 {
			continue
		}
		before, after := row.id.End(a), row.id.End(b)
		if differ(before, after) {
			if version == "" {
				version, f.Witness = newest.profile.Version, c.rowName(row.id)
				if (before < after) == row.limit {
					version = oldest.profile.Version
				}
			}
			differences = append(differences, fmt.Sprintf("%q: %s and %s", row.text, row.id.Format(Seconds(before)), row.id.Format(Seconds(after))))
		}
	}
	f.ID, f.Severity, f.Versions = VersionsDiffer, Note, []string{oldest.profile.Version, newest.profile.Version}
	f.Message = fmt.Sprintf("%s and %s differ. %s.", oldest.profile.Version, newest.profile.Version, strings.Join(differences, "; "))
	return f, cmp.Or(version, oldest.profile.Version), len(differences) > 0
}

// differ reports whether two values differ so much that it matters.
func differ(a, b time.Duration) bool {
	return (a-b).Abs() > 1500*time.Millisecond && (a-b).Abs() > min(a, b)/20
}
