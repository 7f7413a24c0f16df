package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/podutil"
	"probesim.dev/scenarios/program"
	"probesim.dev/sim/virtual"
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
	{ShortGrace, "The preStop hook leaves the program little of the grace period."},
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
	// Witness is the beginning of the names of the scenarios that show the finding, among those of Checker.Witnesses. It is empty
	// if App shows it.
	Witness string `json:"witness,omitempty"`
	// Delays are the nodes of the run.
	Delays     string `json:"delays,omitempty"`
	Kubernetes string `json:"kubernetes"` // the version of the run
	// Versions are the two versions that differ, and Start is how long a start takes in their figures, if that is known.
	Versions []string `json:"versions,omitempty"`
	Start    string   `json:"start,omitempty"`
}

// finding is a Finding in one version, before its position is known.
type finding struct {
	ID       FindingID
	Severity Severity
	Message  string
	Field    string      // of the container
	broken   trace.Probe // that can never run, if this is the finding
	because  string      // it can never run
	App      []string
	witness  string
	versions []string
	start    string
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
				f.Message = "Kubernetes " + r.version + ", " + f.Message
			}
			same := func(o Finding) bool {
				return o.ID == f.ID && o.Field == strings.TrimSuffix(found.path+"."+f.Field, ".")
			}
			if !slices.ContainsFunc(list, same) {
				list = append(list, found.place(f, r.version))
			}
		}
	}
	if f, version, differ := found.versionsDiffer(); differ {
		if c.options.Start != nil {
			f.start = interval(*c.options.Start)
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

func (c *container) place(f finding, version string) Finding {
	pos := c.at(f.Field)
	return Finding{
		ID: f.ID, Severity: f.Severity, Message: f.Message, Field: strings.TrimSuffix(c.path+"."+f.Field, "."),
		File: c.workload.file, Line: pos.Line, Column: pos.Column, App: f.App, Witness: f.witness, Kubernetes: version,
		Versions: f.versions, Start: f.start,
	}
}

// find returns the findings for a container in one version, from its rows and from further runs.
func find(s *subject, r *result) []finding {
	var list []finding
	for _, look := range []func(*subject, *result) []finding{
		startKilled, noStartupProbe, shortRestart, noTimeToRecover, tcpLiveness, execTimeout, longTimeout, slowReady, delayFromStart, shortGrace, kubeletRestart,
	} {
		list = append(list, look(s, r)...)
	}
	return list
}

// findBroken finds probes that can never run, such as one of a named port that does not exist: a healthy program gets no request. The figures
// are those without them.
func (r *result) findBroken(s *subject) error {
	seen := map[trace.Probe]*trace.Record{}
	err := s.Run(s.options.Nodes, nil, 20*time.Minute, func(rec *trace.Record) bool {
		if rec.Kind != trace.ProbeExecuted || rec.Container != s.Container {
			return false
		}
		if seen[rec.Probe] == nil || seen[rec.Probe].Result == trace.Error {
			seen[rec.Probe] = rec
		}
		for _, p := range trace.ProbeTypes {
			if s.Probe(p) != nil && (seen[p] == nil || seen[p].Result == trace.Error) {
				return false
			}
		}
		return true
	})
	for _, p := range trace.ProbeTypes {
		if rec := seen[p]; rec != nil && rec.Result == trace.Error {
			because := s.brokenBy(p, rec)
			r.findings = append(r.findings, finding{ID: BrokenProbe, Severity: Error, Field: string(p) + "Probe", broken: p, because: because,
				Message: fmt.Sprintf("The %s probe can never run: %s. %s", p, because, consequence[p])})
		}
	}
	r.drop(s.Subject)
	left := slices.ContainsFunc(trace.ProbeTypes, func(p trace.Probe) bool { return s.Probe(p) != nil })
	r.hopeless = !left || r.isBroken(trace.Startup) // without a success of the startup probe, no other probe runs
	return err
}

// brokenBy says why a probe can never run.
func (s *subject) brokenBy(p trace.Probe, rec *trace.Record) string {
	for _, port := range program.UnknownPorts(podutil.Find(s.Pod(), s.Container)) {
		if slices.Contains(port.Keys, string(p)) {
			return "the container has no port named " + strict.Quote(port.Name) + strict.DidYouMean(port.Name, port.Known).String()
		}
	}
	return strings.TrimSuffix(rec.Message, ".")
}

// consequence says what a probe that can never run means.
var consequence = map[trace.Probe]string{
	trace.Startup:   "The container never becomes ready, and its other probes never run.",
	trace.Liveness:  "A program that hangs is never restarted.",
	trace.Readiness: "The container never becomes ready.",
}

// startKilled compares the known length of starts with the limit.
func startKilled(s *subject, r *result) []finding {
	start := s.options.Start
	if start == nil || len(r.rows[Start]) == 0 {
		return nil
	}
	limit := r.bound(Start)
	probe := s.killer()
	p := s.Probe(probe)
	field := string(probe) + "Probe.failureThreshold"
	app := []string{s.app("start %s", interval(*start))}
	switch {
	case limit.Least < start.Max && r.share != nil && *r.share == 1: // no node of the sample kills one, and a limit below the longest start says that others do
		return []finding{{ID: StartKilled, Severity: Error, Message: fmt.Sprintf(
			"%d x %ds: on nearly all nodes, each start of %s comes up. On some nodes, a start of over %s is killed.",
			p.FailureThreshold, p.PeriodSeconds, interval(*start), FormatDown(Seconds(limit.Least))),
			Field: field, witness: s.container.witness + "-" + string(Start) + "-always"}}
	case limit.Least < start.Max && r.share != nil:
		return []finding{{ID: StartKilled, Severity: Error, Message: fmt.Sprintf(
			"%d x %ds: comes up in %s of the starts that take %s. A start of up to %s always succeeds, one of over %s never does.%s",
			p.FailureThreshold, p.PeriodSeconds, Percent(*r.share), interval(*start), FormatDown(Seconds(limit.Least)), FormatUp(Seconds(limit.Greatest)), wrongFormula(p, limit)), Field: field, App: app}}
	case limit.Least-start.Max < time.Duration(p.PeriodSeconds)*time.Second:
		return []finding{{ID: StartTight, Severity: Warning, Message: fmt.Sprintf(
			"%d x %ds: all starts of %s come up, but the longest has a margin of only %s.",
			p.FailureThreshold, p.PeriodSeconds, interval(*start), FormatDown(Seconds(limit.Least-start.Max))), Field: field, App: app}}
	}
	return nil
}

// formula is the usual formula for the limit of a start.
func formula(p *v1.Probe) time.Duration {
	return time.Duration(int64(p.InitialDelaySeconds)+int64(p.PeriodSeconds)*int64(p.FailureThreshold)) * time.Second
}

// wrongFormula says what the usual formula gives, if a start that it allows can be killed.
func wrongFormula(p *v1.Probe, limit bounds.Bound) string {
	if limit.Least >= formula(p) {
		return ""
	}
	return fmt.Sprintf(" The formula initialDelaySeconds + periodSeconds x failureThreshold gives %s.", format(formula(p)))
}

// startIsShort is the time in which many programs do not start.
const startIsShort = 30 * time.Second

func noStartupProbe(s *subject, r *result) []finding {
	limit := r.bound(Start)
	if s.options.Start != nil || s.Probe(trace.Startup) != nil || len(r.rows[Start]) == 0 || limit.Least >= startIsShort {
		return nil
	}
	return []finding{{ID: NoStartupProbe, Severity: Note, Message: fmt.Sprintf(
		"There is no startup probe: the liveness probe can stop a start that takes more than %s, and always stops one of over %s. If starts take longer, add a startup probe.",
		FormatDown(Seconds(limit.Least)), FormatUp(Seconds(limit.Greatest))), Field: "livenessProbe", App: []string{s.app("start %s", seconds(limit.Greatest+time.Millisecond))}}}
}

// shortRestart finds restarts that have much less time than the first start. A container in back-off has crashed again and again, which is a
// greater problem than a short start.
func shortRestart(s *subject, r *result) []finding {
	first := r.bound(Start)
	for _, v := range r.rows[Restart] {
		shown := v.LeastShown()
		again := v.AtLeast.Instance > 1
		if shown > first.Least*2/3 || first.Least-shown < time.Second/2 { // not much less
			continue
		}
		if again && len(noStartupProbe(s, r)) > 0 { // the lack of a startup probe is the finding
			continue
		}
		severity, when := Warning, ""
		if again {
			severity, when = Note, " if the container has crashed before"
		}
		if order := v.AtLeast.Order(); order != "" { // seldom on a real node
			severity, when = Note, when+" if "+order
		}
		text := fmt.Sprintf("%s, the next start can have only %s%s, and the first one always has %s.", upper(v.Case), FormatDown(Seconds(v.Least)), when, FormatDown(Seconds(first.Least)))
		if shown-v.Least >= tenth {
			text += fmt.Sprintf(" In the run that comes closest, it has %s.", FormatDown(Seconds(shown)))
		}
		return []finding{{ID: ShortRestart, Severity: severity, Message: text,
			Field: string(s.killer()) + "Probe", witness: s.container.witness + "-" + string(Restart) + "-always"}}
	}
	return nil
}

// noTimeToRecover finds containers that are stopped as soon as they leave their Service.
func noTimeToRecover(s *subject, r *result) []finding {
	liveness, readiness := s.Probe(trace.Liveness), s.Probe(trace.Readiness)
	if liveness == nil || readiness == nil {
		return nil
	}
	if !s.sameEndpoint(trace.Liveness, trace.Readiness) {
		return stoppedFirst(s)
	}
	stopped, err := s.UntilStopped(s.options.Nodes, bounds.Refuse)
	if err != nil {
		return nil
	}
	begins := stopped.LeastShown() - s.hook() // the kubelet stops the container even if it recovers during the hook
	unready := r.bound(Unready)
	if begins > unready.Greatest {
		return nil
	}
	return []finding{{ID: NoTimeToRecover, Severity: Warning, Message: fmt.Sprintf(
		"The liveness probe asks the same endpoint as the readiness probe and is as impatient: a failure can stop the container after %s, while the readiness probe may take up to %s to remove it from its Service. Give the liveness probe more time.",
		FormatDown(Seconds(begins)), FormatUp(Seconds(unready.Greatest))), Field: "livenessProbe", App: []string{s.app("down 2m at %s", value.Format(s.warm()))}}}
}

// hook returns how long the preStop hook delays the stop signal of the liveness probe.
func (s *subject) hook() time.Duration {
	if s.container.spec.Lifecycle == nil || s.container.spec.Lifecycle.PreStop == nil {
		return 0
	}
	var killing, stopping virtual.Time
	down := []bounds.Rule{{Clock: fakeruntime.AtScenario, From: s.warm(), Misfortune: bounds.Refuse}}
	err := s.Run(s.options.Nodes, down, s.warm()+time.Hour, func(r *trace.Record) bool {
		switch {
		case r.Container != s.Container:
		case r.Kind == trace.Event && r.Reason == "Killing":
			killing = r.T
		case r.Kind == trace.ContainerStopping:
			stopping = r.T
		}
		return stopping > 0
	})
	if err != nil || killing == 0 {
		return 0
	}
	return stopping.Sub(killing)
}

// stoppedFirst finds containers whose liveness probe acts before the readiness probe in every phase, although the probes ask two
// endpoints: a program that is down answers neither.
func stoppedFirst(s *subject) []finding {
	liveness, readiness := s.Probe(trace.Liveness), s.Probe(trace.Readiness)
	if liveness.Exec != nil || readiness.Exec != nil || liveness.PeriodSeconds*liveness.FailureThreshold > readiness.PeriodSeconds*(readiness.FailureThreshold-1) {
		return nil
	}
	var after time.Duration
	ready, stopped := false, false
	down := []bounds.Rule{{Clock: fakeruntime.AtScenario, From: s.warm(), Misfortune: bounds.Refuse}}
	err := s.Run(s.options.Nodes, down, s.warm()+time.Hour, func(r *trace.Record) bool {
		switch {
		case s.Patched(r, !ready):
			ready = !ready
			return !ready // it has left its Service
		case r.Kind == trace.ContainerStopping && r.Container == s.Container && r.Reason == "LivenessProbe":
			after, stopped = r.T.Offset()-s.warm(), ready
			return true
		}
		return false
	})
	if err != nil || !stopped {
		return nil
	}
	return []finding{{ID: NoTimeToRecover, Severity: Warning, Message: fmt.Sprintf(
		"While the program is down, the liveness probe stops the container, for example after %s, before the readiness probe removes it from its Service: it needs %d failures, %ds apart. Give the liveness probe more time than the readiness probe.",
		format(after.Round(tenth)), readiness.FailureThreshold, readiness.PeriodSeconds), Field: "livenessProbe", App: []string{s.app("down 2m at %s", value.Format(s.warm()))}}}
}

// warm returns a time after the start of a healthy container at which all its probes run.
func (s *subject) warm() time.Duration {
	delay := int32(0)
	for _, p := range trace.ProbeTypes {
		if probe := s.Probe(p); probe != nil {
			delay += probe.InitialDelaySeconds + probe.PeriodSeconds*max(1, probe.SuccessThreshold)
		}
	}
	return max(5*time.Minute, time.Duration(delay)*time.Second+time.Minute)
}

// tcpLiveness finds liveness probes that a program passes while it hangs.
func tcpLiveness(s *subject, r *result) []finding {
	liveness := s.Probe(trace.Liveness)
	if liveness == nil || liveness.TCPSocket == nil || r.bound(Stall).Least != bounds.Never {
		return nil
	}
	return []finding{{ID: TCPLiveness, Severity: Note, Message: "The liveness probe only connects. The kernel of the node accepts the connection for a program that hangs, in a deadlock for example, so nothing restarts it. The probe notices a program that does not listen, and connections that are lost: the time until SIGTERM is about these.",
		Field: "livenessProbe.tcpSocket", App: []string{s.app("stall 10m at %s", value.Format(s.warm()))}}}
}

func execTimeout(s *subject, _ *result) []finding {
	var list []finding
	for _, p := range trace.ProbeTypes {
		probe := s.Probe(p)
		if probe == nil || probe.Exec == nil || s.container.workload.Has(s.container.path+"."+string(p)+"Probe.timeoutSeconds") {
			continue
		}
		severity := Warning
		if p == trace.Readiness {
			severity = Note
		}
		list = append(list, finding{ID: ExecTimeout, Severity: severity, Message: fmt.Sprintf(
			"The command of the %s probe has the default timeout of 1s. If it takes longer, on a busy node for example, the probe fails. Set timeoutSeconds.",
			p), Field: string(p) + "Probe", App: []string{s.app("%s ok in 1.5s at %s", s.asked(p), value.Format(s.warm()))}})
	}
	return list
}

// asked returns the target of an event about what a probe asks: its endpoint if another probe asks it too, or else the probe.
func (s *subject) asked(p trace.Probe) string {
	for _, e := range program.Endpoints(s.container.spec) {
		text := strings.Join(strings.Fields(e.Text), " ")
		if _, found := program.FindEndpoint(s.container.spec, text); found && len(e.Keys) > 1 && slices.Contains(e.Keys, string(p)) {
			return text
		}
	}
	return string(p)
}

// longTimeout finds probes that run less often while their program hangs.
func longTimeout(s *subject, _ *result) []finding {
	var list []finding
	for _, p := range trace.ProbeTypes {
		probe := s.Probe(p)
		if probe == nil || probe.TimeoutSeconds < probe.PeriodSeconds {
			continue
		}
		var before *trace.Record
		var apart time.Duration // from the end of one run to the end of the next one of the same instance
		rules := []bounds.Rule{{Instance: bounds.AnyInstance, Misfortune: bounds.Hang}}
		if p != s.killer() && s.Probe(trace.Startup) != nil {
			rules[0].From = time.Minute // the container has started
		}
		err := s.Run(s.options.Nodes, rules, 10*time.Minute, func(r *trace.Record) bool {
			if r.Kind != trace.ProbeExecuted || r.Container != s.Container || r.Probe != p || r.Result != trace.Failure {
				return false
			}
			if before != nil && before.Instance == r.Instance {
				apart = r.T.Sub(before.T)
			}
			before = r
			return apart > 0
		})
		period := time.Duration(probe.PeriodSeconds) * time.Second
		if err != nil || apart <= period+tenth {
			continue
		}
		at := s.warm()
		if p == trace.Startup {
			at = 0
		}
		list = append(list, finding{ID: LongTimeout, Severity: Warning, Message: fmt.Sprintf(
			"timeoutSeconds is not less than periodSeconds: while the program hangs, the %s probe runs every %s, not every %s.",
			p, format(apart.Round(tenth)), format(period)), Field: string(p) + "Probe.timeoutSeconds", App: []string{s.app("hang 2m at %s", value.Format(at))}})
	}
	return list
}

// readyIsSlow is the time that a container may wait to become ready although it is up.
const readyIsSlow = 15 * time.Second

func slowReady(s *subject, r *result) []finding {
	var atOnce *Value
	for i, v := range r.rows[Ready] {
		if v.Case == upAtOnce {
			atOnce = &r.rows[Ready][i]
		}
	}
	if atOnce == nil || atOnce.Least < readyIsSlow || atOnce.Least == bounds.Never {
		return nil
	}
	field, advice := s.slowest(atOnce.Least)
	return []finding{{ID: SlowReady, Severity: Note, Message: strings.TrimSpace(fmt.Sprintf(
		"A container that is up at once becomes ready only after %s to %s. %s",
		FormatDown(Seconds(atOnce.Least)), FormatUp(Seconds(atOnce.Greatest)), advice)), Field: field}}
}

// slowest returns the field that contributes the most to the time until a container is ready that is up at once, and what would help.
func (s *subject) slowest(least time.Duration) (field, advice string) {
	var longest, delay, successes time.Duration
	consider := func(d time.Duration, f, a string) {
		if d > longest {
			longest, field, advice = d, f, a
		}
	}
	if p := s.Probe(trace.Startup); p != nil {
		delay = time.Duration(p.InitialDelaySeconds) * time.Second
		consider(delay, "startupProbe.initialDelaySeconds", "Without its delay, the startup probe would find it sooner; its failureThreshold can allow for long starts.")
	}
	if p := s.Probe(trace.Readiness); p != nil {
		own := time.Duration(p.InitialDelaySeconds) * time.Second
		consider(own, "readinessProbe.initialDelaySeconds", "Without its delay, the readiness probe would find it sooner; its failures during a start do no harm.")
		delay = max(delay, own)
		successes = time.Duration(p.SuccessThreshold-1) * time.Duration(p.PeriodSeconds) * time.Second
		consider(successes, "readinessProbe.successThreshold", fmt.Sprintf("The readiness probe needs %d successes, %ds apart.", p.SuccessThreshold, p.PeriodSeconds))
	}
	hook := func(c v1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PostStart != nil }
	if slices.ContainsFunc(s.Pod().Spec.Containers, hook) {
		at := ""
		if hook(*s.container.spec) {
			at = "lifecycle.postStart"
		}
		consider(least-delay-successes, at, "The kubelet probes no container of the pod until all postStart hooks have ended.")
	}
	return field, advice
}

// delayFromStart finds probes with a delay beside a startup probe. The kubelet counts the delay from the start of the container (doProbe in
// pkg/kubelet/prober/worker.go), so the delay does not follow a long start.
func delayFromStart(s *subject, _ *result) []finding {
	var list []finding
	for _, p := range []trace.Probe{trace.Liveness, trace.Readiness} {
		if s.Probe(trace.Startup) == nil || s.Probe(p) == nil || s.Probe(p).InitialDelaySeconds <= s.Probe(p).PeriodSeconds { // a shorter one matters little
			continue
		}
		delay := time.Duration(s.Probe(p).InitialDelaySeconds) * time.Second
		start := delay + time.Second
		rules := []bounds.Rule{{Instance: bounds.AnyInstance, Misfortune: bounds.Refuse, For: start}}
		var succeeded, first virtual.Time
		err := s.Run(s.options.Nodes, rules, delay+time.Hour, func(r *trace.Record) bool {
			switch {
			case r.Kind != trace.ProbeExecuted || r.Container != s.Container:
			case r.Probe == trace.Startup && r.Result == trace.Success:
				succeeded = r.T
			case r.Probe == p && succeeded > 0:
				first = r.T
			}
			return first > 0
		})
		after := first.Sub(succeeded)
		if err != nil || first == 0 || after >= delay {
			continue
		}
		list = append(list, finding{ID: DelayFromStart, Severity: Note, Message: fmt.Sprintf(
			"initialDelaySeconds counts from the start of the container, not from the success of the startup probe: after a start of %s, the first run of the %s probe comes %s after this success. The startup probe holds it back until then anyway.",
			seconds(start), p, format(after.Round(10*time.Millisecond))), Field: string(p) + "Probe.initialDelaySeconds", App: []string{s.app("start %s", seconds(start))}})
	}
	return list
}

// graceIsShort is the time from the stop signal to SIGKILL in which many programs cannot shut down.
const graceIsShort = 5 * time.Second

// hookIsLong is the time from which a preStop hook is a reason for a short grace period.
const hookIsLong = time.Second

func shortGrace(s *subject, r *result) []finding {
	hook := s.container.spec.Lifecycle
	left := r.deleted.Killed - r.deleted.Stopped
	if hook == nil || hook.PreStop == nil || left >= graceIsShort || r.deleted.Stopped < hookIsLong {
		return nil
	}
	return []finding{{ID: ShortGrace, Severity: Warning, Message: fmt.Sprintf(
		"The preStop hook takes %s of the grace period: the program has only %s between SIGTERM and SIGKILL.",
		format(r.deleted.Stopped.Round(tenth)), FormatDown(Seconds(left))), Field: "lifecycle.preStop", App: []string{s.app("stop %s", seconds(left+time.Second)), s.container.workload.Ref + "=delete at " + value.Format(s.warm())}}}
}

// outageIsLong is the time without Ready after a restart of the kubelet that matters.
const outageIsLong = time.Second

func kubeletRestart(s *subject, r *result) []finding {
	readiness := s.Probe(trace.Readiness)
	if readiness == nil {
		return nil
	}
	period := readiness.PeriodSeconds
	if p := s.Probe(trace.Startup); p != nil {
		period = max(period, p.PeriodSeconds)
	}
	var longest, at time.Duration
	const phases = 10
	for i := range time.Duration(phases) {
		restart := s.warm() + (i * time.Duration(period) * time.Second / phases).Round(tenth)
		unready, err := s.AtKubeletRestart(s.options.Nodes, restart, s.warm())
		if err != nil || unready == 0 { // then in every phase
			return nil
		}
		if unready > longest {
			longest, at = unready, restart
		}
	}
	if longest < outageIsLong {
		return nil
	}
	needs := ""
	if readiness.SuccessThreshold > 1 {
		needs = fmt.Sprintf(", and the readiness probe needs %d successes again", readiness.SuccessThreshold)
	}
	return []finding{{ID: KubeletRestart, Severity: Note, Message: fmt.Sprintf(
		"A restart of the kubelet makes the healthy container not ready, for example for %s: the kubelet of %s forgets the results of its probes%s.",
		format(longest.Round(tenth)), r.version, needs), Field: "readinessProbe", App: []string{"kubelet down 3s at " + value.Format(at)}}}
}

// versionsDiffer compares the rows of the oldest and the newest version. It returns the version in which the first row that differs is worse.
func (c *container) versionsDiffer() (f finding, version string, differs bool) {
	oldest, newest := c.results[0], c.results[len(c.results)-1]
	if oldest.version == newest.version || oldest.err != nil || newest.err != nil {
		return f, "", false
	}
	var differences []string
	for _, row := range rows {
		a, b := oldest.bound(row.id), newest.bound(row.id)
		if len(oldest.rows[row.id]) == 0 || len(newest.rows[row.id]) == 0 {
			continue
		}
		before, after, end, olderIsWorse := a.Greatest, b.Greatest, "worst", a.Greatest > b.Greatest
		if row.id.IsLimit() {
			before, after, end, olderIsWorse = a.Least, b.Least, "always", a.Least < b.Least
		}
		if differ(before, after) {
			if version == "" && row.id != Recover { // which has no witness
				version, f.witness = newest.version, c.witness+"-"+string(row.id)+"-"+end
				if olderIsWorse {
					version = oldest.version
				}
			}
			differences = append(differences, fmt.Sprintf("%q: %s and %s", row.text, row.id.Format(Seconds(before)), row.id.Format(Seconds(after))))
		}
	}
	f.ID, f.Severity, f.versions = VersionsDiffer, Note, []string{oldest.version, newest.version}
	f.Message = fmt.Sprintf("%s and %s differ. %s.", oldest.version, newest.version, strings.Join(differences, "; "))
	return f, cmp.Or(version, oldest.version), len(differences) > 0
}

// differ reports whether two values differ so much that it matters.
func differ(a, b time.Duration) bool {
	return (a-b).Abs() > 1500*time.Millisecond && (a-b).Abs() > min(a, b)/20
}

// bound returns the bound of a row over its cases. It is zero if there is no such row.
func (r *result) bound(id RowID) bounds.Bound {
	var all bounds.Bound
	for i, v := range r.rows[id] {
		if i == 0 {
			all = v.Bound
		}
		all = all.Or(v.Bound)
	}
	return all
}

// killer is the probe that stops a container which does not come up.
func (s *subject) killer() trace.Probe {
	if s.Probe(trace.Startup) != nil {
		return trace.Startup
	}
	return trace.Liveness
}

// sameEndpoint reports whether two probes ask the program the same. The port of one can be a name, and that of the other its number.
func (s *subject) sameEndpoint(a, b trace.Probe) bool {
	return slices.ContainsFunc(program.Endpoints(s.container.spec), func(e program.Endpoint) bool {
		return slices.Contains(e.Keys, string(a)) && slices.Contains(e.Keys, string(b))
	})
}

// app returns a word for the flag --app of 'probesim run' about the container.
func (s *subject) app(format string, args ...any) string {
	return s.container.workload.Ref + "/" + s.Container + "=" + fmt.Sprintf(format, args...)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Percent formats a share for people. It is 0% or 100% only if nothing or everything is meant.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.01:
		return "under 1%"
	case share < 1 && share > 0.99:
		return "over 99%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

func interval(i Interval) string {
	if i.Min == i.Max {
		return seconds(i.Min)
	}
	return seconds(i.Min) + ".." + seconds(i.Max)
}

// seconds formats a duration for a flag, rounded up to a tenth of a second.
func seconds(d time.Duration) string {
	return value.Format((d + tenth - 1).Truncate(tenth))
}
