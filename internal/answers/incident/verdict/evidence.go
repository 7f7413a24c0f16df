package verdict

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// evidence is what the facts say about a container, or about a pod with several containers where
// they do not name one.
type evidence struct {
	pod      *incident.Pod
	of       *evidence // on the pod; itself if the pod has one container, or none is named
	name     string
	object   *v1.Pod       // with the defaults of the API server; what is not shown is empty
	spec     *v1.Container // likewise
	complete bool          // spec has all probes of the container: what it does not have does not exist
	init     bool          // the container is meant to end
	objects  bool          // its events are objects, out of which nobody cuts a row
	whole    bool          // all events are there, as far as the cluster kept them
	log      kubeletLog

	failures   []failure                 // of all probes, in the order of the facts
	conditions map[string]*incident.Fact // of the pod, the newest of each type
	events     map[Cause]tally           // by what they prove, a cause, or else by their reason; lines of a log, too
	ends       []*incident.Fact          // Terminated, the oldest first
	state      string                    // why the container waits, Running, or else the STATUS of the newest row
	from       *incident.Fact            // the state, or nil
	started    string                    // the newest value: true, false, or unknown
	ready      string                    // likewise, of the container or else of its pod
	rows       []*incident.Fact
	row        *incident.Fact // the newest one about the pod, or nil
	restarts   int            // -1: unknown
	sent       int            // number of events of the kubelet about the pod

	end             *incident.Fact // the newest whose exit code or reason is known
	life            *Span          // of the instance that ended
	exits           bool           // its exit code is known
	signalled       bool           // it is that of SIGKILL or SIGTERM
	killer, unready *failure       // the main failure of a probe that kills, and of the readiness probe
}

// kubeletLog is what the logs of kubelets in the recording show of all pods.
type kubeletLog struct {
	probes    bool                      // failed ones
	restarted bool                      // a kubelet
	starved   []*incident.Fact          // a node was out of memory
	rows      []*incident.Fact          // of kubectl get pods
	evicted   *incident.Fact            // of a pod that the text does not name, or nil
	down      map[string]*incident.Fact // nodes that are not ready
	well      *incident.Fact            // a person says that the pods are well, or nil
	partial   bool                      // lines are left out, or a command has waited in vain: silence tells nothing
}

// forgotten returns the line of a log that says that a new kubelet does not know whether a pod is
// ready, and finds out at once, or nil.
func forgotten(p *incident.Pod) (empty *incident.Fact) {
	for _, f := range p.Facts {
		switch {
		case f.Kind != incident.ProbeSync || f.Probe != trace.Readiness:
		case f.Value == "":
			empty = f
		case f.Value == "ready" && empty != nil && f.When.At.Sub(empty.When.At) < 50*time.Millisecond:
			return empty
		}
	}
	return nil
}

// tally sums up equal events.
type tally struct {
	count        int
	fact, oldest *incident.Fact
}

// failure is an event or a line of a log about failures of a probe.
type failure struct {
	probe  trace.Probe
	result trace.Result
	class  Class
	output string
	count  int
	fact   *incident.Fact
}

// collect returns the evidence on each container of a pod, and last that on the pod itself, which
// has the name "" if it has several.
func collect(p *incident.Pod, log kubeletLog) (list []*evidence) {
	object := &v1.Pod{}
	if p.Object != nil {
		object = p.Object.DeepCopy()
	}
	admission.Default(object)
	names := p.Containers()
	if len(names) != 1 || p.More {
		names = append(slices.Clone(names), "")
	}
	of := map[string]*evidence{}
	for _, name := range names {
		of[name] = &evidence{pod: p, object: object, name: name, spec: &v1.Container{},
			conditions: map[string]*incident.Fact{}, events: map[Cause]tally{}, restarts: -1, log: log}
		of[name].setSpec()
		list = append(list, of[name])
	}
	pod := list[len(list)-1]
	for _, e := range list {
		e.of = pod
	}
	for _, f := range p.Facts {
		cmp.Or(of[f.Container], pod).add(f)
		if f.Kind == incident.Event && f.Reason != "Scheduled" && f.Reason != "FailedScheduling" {
			pod.sent += max(f.Count, 1)
		}
	}
	for _, of := range killers {
		pod.giveFailures(of, list)
	}
	for _, e := range list { // failures of no named container may be those of this one
		if t, has := e.events[Removed]; has && len(pod.failures) > 0 && !e.startedAfter(t.fact) {
			pod.events[Removed] = t
		}
	}
	for _, e := range list {
		e.finish()
	}
	return list
}

// giveFailures gives the failures of a probe that name no container to the only container that the
// probe has killed.
func (e *evidence) giveFailures(of trace.Probe, list []*evidence) {
	var killed []*evidence
	for _, c := range list {
		if c.count(byProbe(of)) > 0 {
			killed = append(killed, c)
		}
	}
	if len(killed) != 1 || killed[0] == e {
		return
	}
	e.failures = slices.DeleteFunc(e.failures, func(f failure) bool {
		if f.probe == of {
			killed[0].failures = append(killed[0].failures, f)
		}
		return f.probe == of
	})
}

// finish computes what follows from all facts.
func (e *evidence) finish() {
	e.whole = e.objects || e.count("Scheduled")+
		e.of.count("Scheduled") > 0 && e.count("Created") > 0 && e.count("Started") > 0 && e.count("Pulled")+
		e.count("Pulling") > 0
	for _, f := range slices.Backward(e.ends) {
		if f.ExitKnown || f.Reason != "" {
			e.end, e.life, e.exits = f, life(f), f.ExitKnown
			e.signalled = f.ExitKnown && slices.Contains([]int32{sigkill, sigterm, controlC}, f.ExitCode)
			break
		}
	}
	e.failures = slices.DeleteFunc(e.failures, func(f failure) bool {
		return f.fact.Reason == "ProbeError" && slices.ContainsFunc(e.failures, func(of failure) bool {
			return of.fact.Reason == "Unhealthy" && of.probe == f.probe && of.result == f.result
		})
	})
	e.killer = cmp.Or(main(e.failed(trace.Startup)), main(e.failed(trace.Liveness)))
	if e.killer == nil || !e.pod.Mixed {
		e.unready = main(e.failed(trace.Readiness))
	}
	if n := len(e.of.rows); n > 0 {
		e.row = e.of.rows[n-1]
	}
	if e.from == nil && len(e.rows) > 0 {
		e.state, e.from = strings.TrimPrefix(e.row.Reason, "Init:"), e.row
	}
	e.ready = cmp.Or(e.ready, e.readyInRows())
	if e.ready == "true" && e.from == e.row && e.row != nil && e.row.Count == 0 { // before, init containers did
		e.restarts = 0
		e.rows = []*incident.Fact{e.row}
	}
}

func (e *evidence) setSpec() {
	if c := podutil.Find(e.object, e.name); c != nil {
		e.spec, e.complete = c, !e.pod.Partial
	}
	// kubectl describe does not show the policy, and only sidecars have probes
	e.init = slices.ContainsFunc(e.object.Spec.InitContainers, func(c v1.Container) bool {
		sidecar := podutil.IsRestartableInitContainer(&c) || c.LivenessProbe != nil || c.ReadinessProbe != nil ||
			c.StartupProbe != nil
		return c.Name == e.name && !sidecar
	})
}

// probeless reports whether a description shows all fields of the container, and no probe that
// kills.
func (e *evidence) probeless() bool {
	return !e.init && slices.Contains(e.pod.Described, e.name) && e.probe(trace.Liveness) == nil &&
		e.probe(trace.Startup) == nil && e.killer == nil && e.kills() == 0
}

// probe returns a probe of the container, or nil if it has none or the facts do not show it.
func (e *evidence) probe(of trace.Probe) *v1.Probe { return prober.ProbeOf(e.spec, of) }

func (e *evidence) add(f *incident.Fact) {
	switch f.Kind {
	case incident.Lifecycle:
		if f.Reason == "ContainerStarted" {
			e.state, e.from = "", nil
		}
	case incident.Terminated:
		e.ends, e.state, e.from = append(e.ends, f), "", nil
	case incident.Waiting:
		e.state, e.from = f.Reason, f
	case incident.Running:
		e.state, e.from = "Running", f
	case incident.Row:
		e.rows = append(e.rows, f)
	case incident.Ready:
		e.ready = f.Value
	case incident.Started:
		e.started = f.Value
	case incident.Condition:
		e.conditions[f.Reason] = f
	case incident.Event, incident.Log, incident.ProbeRun:
		if u := f.Unhealthy(); u.Probe != "" {
			u.Output = progress.ReplaceAllString(u.Output, "$1")
			class := classify(u.Output)
			if strings.HasSuffix(f.Message, " probe failed") { // a person left the output out
				class = ""
			}
			e.failures = append(e.failures, failure{u.Probe, u.Result, class, u.Output, max(f.Count, 1), f})
			return
		}
		e.objects = e.objects || f.Source == incident.FromEvent
		kind := kindOf(f)
		t := e.events[kind]
		told := f
		if t.fact != nil && strings.Contains(f.Message, "unmounted volumes=") { // a sum of what others say
			told = t.fact
		}
		e.events[kind] = tally{t.count + max(f.Count, 1), told, cmp.Or(t.oldest, f)}
	}
	switch f.Kind {
	case incident.Terminated, incident.Waiting, incident.Running, incident.Row, incident.Restarts:
		e.restarts = max(e.restarts, f.Count)
	}
}

// progress matches what curl writes without -s before its error, or before the text is cut off.
var progress = regexp.MustCompile(`(?s)^\s*% Total.*?(curl: |$)`)

//go:embed reasons.txt
var reasonsText string

// causeOf has the causes that a word of a status, or the reason of an event, proves.
var causeOf = byReason[Cause]("cause ")

// byReason returns the names in the lines of reasons.txt with a prefix, by the words after them.
func byReason[Name ~string](prefix string) map[string]Name {
	names := map[string]Name{}
	for line := range strings.Lines(reasonsText) {
		head, words, _ := strings.Cut(line, ": ")
		name, is := strings.CutPrefix(head, prefix)
		for _, word := range strings.Fields(words) {
			if is {
				names[word] = Name(name)
			}
		}
	}
	return names
}

// causeIn returns the cause that a state of a container proves: its reason, or a sentence in its
// place.
func causeIn(f *incident.Fact) Cause {
	reason := strings.TrimPrefix(f.Reason, "Init:")
	if cause, is := causeOf[reason]; is || f.Kind != incident.Waiting && !strings.Contains(reason, " ") {
		return cause
	}
	return Cause(strings.Replace(problem("start", reason+": "+f.Message), "BackOff", "", 1))
}

// messages has the groups of problems.txt with what the messages of some events prove, and
// oldMessages those up to 2015. kills has the causes of what an event Killing says.
var (
	messages, oldMessages = byReason[Cause]("event "), byReason[Cause]("old ")
	kills                 = byReason[Cause]("killing ")
)

// kindOf returns the cause that an event or a line of a log proves, or else its reason.
func kindOf(f *incident.Fact) Cause {
	if f.Reason == "Killing" || f.Reason == "Message" {
		return cmp.Or(kills[string(incident.ParseKilling(f.Message))], Cause(f.Reason))
	}
	proved := cmp.Or(problem(messages[f.Reason], f.Message), problem(oldMessages[f.Reason], f.Message))
	return cmp.Or(Cause(proved), causeOf[f.Reason], Cause(f.Reason))
}

// failed returns the failures of a probe, without those of a container that was ending.
func (e *evidence) failed(of trace.Probe) (list []failure) {
	for _, f := range e.failures {
		if f.probe == of && f.result == trace.Failure && f.class != Ending {
			list = append(list, f)
		}
	}
	return list
}

func total(list []failure) (n int) {
	for _, f := range list {
		n += f.count
	}
	return n
}

// main returns the failure that decides the class: the newest of those that are most frequent. One
// that was over when the newest began does not count.
func main(list []failure) (best *failure) {
	counts := map[Class]int{}
	for _, f := range list {
		counts[f.class] += f.count
	}
	for i := range list {
		f := &list[i]
		over := f.fact.Last.Known() && slices.ContainsFunc(list,
			func(o failure) bool { return o.count > 2 && o.fact.When.At.After(f.fact.Last.End()) })
		if !over && (best == nil || counts[f.class] >= counts[best.class]) {
			best = f
		}
	}
	return best
}

// count returns how many events of a reason, or for a cause, there are.
func (e *evidence) count(of Cause) int { return e.events[of].count }

// kills returns how often a probe has killed the container, at least.
func (e *evidence) kills() int { return e.count(LivenessProbe) + e.count(StartupProbe) }

// life returns how long an ended instance ran. Times of a status are whole seconds.
func life(end *incident.Fact) *Span {
	if !end.When.Known() || !end.Last.Known() || end.Last.At.Before(end.When.At) {
		return nil
	}
	run := end.Last.At.Sub(end.When.At)
	return &Span{max(run-end.When.Within, 0), run + end.Last.Within}
}

// ran reports whether a fact shows that the container has run.
func (e *evidence) ran() bool {
	return e.count("Started") > 0 || e.running() || len(e.failures) > 0 || e.kills() > 0 || e.restarts > 0 ||
		slices.ContainsFunc(e.ends, func(f *incident.Fact) bool { return causeOf[f.Reason] != CannotStart })
}

// readySince reports whether a row below an event in its text shows that the container is ready.
func (e *evidence) readySince(f *incident.Fact) bool {
	return e.ready == "true" && e.row != nil && e.row.File == f.File && e.row.Line > f.Line
}

// restarted reports whether the container has restarted, or waits for a restart.
func (e *evidence) restarted() bool {
	return e.restarts > 0 || e.count("BackOff") > 0 || e.restarts < 0 && e.startedAgain() ||
		e.state == "CrashLoopBackOff" ||
		e.kills() > 0 || slices.ContainsFunc(e.rows,
		func(f *incident.Fact) bool { return strings.HasSuffix(f.Reason, "CrashLoopBackOff") })
}

// after reports whether the last occurrence of a fact is after the last one of another.
func after(a, b *incident.Fact) bool {
	if a == nil || b == nil {
		return a != nil
	}
	if !a.Last.Known() || !b.Last.Known() {
		return false
	}
	// the end of a range is no part of it
	return a.Last.At.After(b.Last.End()) || b.Last.Within > 0 && a.Last.At.Equal(b.Last.End())
}

// running reports whether the newest state says so.
func (e *evidence) running() bool { return e.from != nil && e.from.Kind == incident.Running }

// startedAgain reports whether events show a second start, or one after a failed probe. Starts at
// one moment that name no container are those of several. A failure before the pod was scheduled is
// of another pod, or its age is wrong.
func (e *evidence) startedAgain() bool {
	started, created, scheduled := e.events["Started"], e.events["Created"],
		cmp.Or(e.events["Scheduled"].fact, e.of.events["Scheduled"].fact)
	return slices.ContainsFunc([]tally{started, created}, func(t tally) bool {
		return t.count > 1 && (e.name != "" || t.fact.Last.At.Sub(t.oldest.When.End()) >= 5*time.Second)
	}) || started.fact != nil && slices.ContainsFunc(e.failures, func(f failure) bool {
		return f.fact.When.Known() && f.fact.Aged == started.fact.Aged &&
			started.fact.Last.At.After(f.fact.When.End()) &&
			(scheduled == nil || !scheduled.When.Known() || !scheduled.When.At.After(f.fact.When.End()))
	})
}

// readyInRows returns what the newest row, or else the newest line of a log, says about the
// container.
func (e *evidence) readyInRows() string {
	if e.row != nil {
		ready, all, _ := strings.Cut(e.row.Value, "/")
		switch {
		case ready == all && all != "" && all != "0":
			return "true"
		case e == e.of || all == "1":
			return "false"
		}
	}
	if sync := e.lastSync(trace.Readiness, ""); sync != nil {
		return strconv.FormatBool(sync.Value == "ready")
	}
	return ""
}

// lastSync returns the newest line of a log about a result of a probe of the container, with a
// value if it is not empty, or nil.
func (e *evidence) lastSync(of trace.Probe, value string) *incident.Fact {
	for _, f := range slices.Backward(e.pod.Facts) {
		if f.Kind == incident.ProbeSync && (of == "" || f.Probe == of) && (value == "" || f.Value == value) &&
			e.about(f) {
			return f
		}
	}
	return nil
}

// about reports whether a fact is about the container, or does not name one.
func (e *evidence) about(f *incident.Fact) bool { return f.Container == e.name || f.Container == "" }

// span returns the time from the first to the last occurrence of a fact.
func span(f *incident.Fact) (Span, bool) {
	if !f.When.Known() || !f.Last.Known() {
		return Span{}, false
	}
	return Span{max(f.Last.At.Sub(f.When.End()), 0), max(f.Last.End().Sub(f.When.At), 0)}, true
}

// middle returns the middle of a span.
func (s Span) middle() time.Duration { return (s.Least + s.Greatest) / 2 }
