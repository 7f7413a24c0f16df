package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/incident"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// evidence is what the facts say about a container, or about a pod with several containers where they do not name one.
type evidence struct {
	pod      *incident.Pod
	of       *evidence // on the pod; itself if the pod has one container, or none is named
	name     string
	object   *v1.Pod       // with the defaults of the API server; nil: not shown
	spec     *v1.Container // likewise
	complete bool          // spec has all probes of the container: what it does not have does not exist
	init     bool          // the container is meant to end
	objects  bool          // its events are objects, out of which nobody cuts a row
	whole    bool          // all events are there, as far as the cluster kept them
	inLog    bool          // the recording has lines of a kubelet's log about failed probes

	failures         []failure             // of all probes, in the order of the facts
	kills            map[trace.Probe]tally // Killing events that name a probe
	events           map[string]tally      // by reason
	stopping, hook   *incident.Fact        // a Killing for a deletion, and a failed postStart hook
	ends             []*incident.Fact      // Terminated, the oldest first
	waiting, running *incident.Fact        // the newest state, if it is one of them
	started          string                // the newest value: true, false, or unknown
	ready            *bool                 // likewise, of the container or else of its pod
	rows             []*incident.Fact
	logs             []*incident.Fact // of the kubelet about the container and its pod
	restarts         int              // -1: unknown

	end             *incident.Fact // the newest whose exit code or reason is known
	life            *Span          // of the instance that ended
	exits           bool           // its exit code is known
	signalled       bool           // it is that of SIGKILL or SIGTERM
	killer, unready *failure       // the main failure of a probe that kills, and of the readiness probe
}

// tally sums up equal events.
type tally struct {
	count        int
	fact, oldest *incident.Fact
}

// spread returns the time between the first and the last of the events.
func (t tally) spread() (Span, bool) {
	if t.fact == nil || !t.oldest.When.Known() || !t.fact.Last.Known() {
		return Span{}, false
	}
	return Span{max(t.fact.Last.At.Sub(t.oldest.When.End()), 0), max(t.fact.Last.End().Sub(t.oldest.When.At), 0)}, true
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

// collect returns the evidence on each container of a pod, and on the pod itself, which has the name "" if it has several.
func collect(p *incident.Pod, inLog bool) []*evidence {
	var list []*evidence
	var object *v1.Pod
	if p.Object != nil {
		object = p.Object.DeepCopy()
		admission.Default(object)
	}
	of := func(name string) *evidence {
		if i := slices.IndexFunc(list, func(e *evidence) bool { return e.name == name }); i >= 0 {
			return list[i]
		}
		e := &evidence{pod: p, object: object, name: name, kills: map[trace.Probe]tally{}, events: map[string]tally{}, restarts: -1, inLog: inLog}
		list = append(list, e)
		return e
	}
	names := p.Containers()
	for _, name := range names {
		of(name).setSpec()
	}
	only := ""
	if len(names) == 1 {
		only = names[0]
	}
	pod := of(only)
	for _, f := range p.Facts {
		if len(names) > 1 {
			only = f.Container
		}
		of(only).add(f)
	}
	for _, e := range list {
		e.of = pod
		e.finish()
	}
	return list
}

// finish computes what follows from all facts.
func (e *evidence) finish() {
	if e != e.of {
		e.logs = slices.Concat(e.of.logs, e.logs)
		slices.SortStableFunc(e.logs, func(a, b *incident.Fact) int { return a.When.At.Compare(b.When.At) })
	}
	e.whole = e.objects || e.count("Scheduled")+e.of.count("Scheduled") > 0 && e.count("Created") > 0 && e.count("Started") > 0 && e.count("Pulled")+e.count("Pulling") > 0
	for _, f := range slices.Backward(e.ends) {
		if f.ExitKnown || f.Reason != "" {
			e.end, e.life, e.exits = f, life(f), f.ExitKnown
			e.signalled = f.ExitKnown && (f.ExitCode == 137 || f.ExitCode == 143)
			break
		}
	}
	for _, of := range killers {
		if e.killer == nil {
			e.killer = main(e.failed(of))
		}
	}
	e.unready = main(e.failed(trace.Readiness))
	if e.ready == nil {
		e.ready = e.readyInRows()
	}
}

func (e *evidence) setSpec() {
	if e.object == nil {
		return
	}
	e.spec = podutil.Find(e.object, e.name)
	e.complete = e.spec != nil && !e.pod.Partial
	e.init = slices.ContainsFunc(e.object.Spec.InitContainers, func(c v1.Container) bool { // kubectl describe does not show the policy, and only sidecars have probes
		sidecar := podutil.IsRestartableInitContainer(&c) || c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil
		return c.Name == e.name && !sidecar
	})
}

// probe returns a probe of the container, or nil if it has none or the facts do not show it.
func (e *evidence) probe(of trace.Probe) *v1.Probe {
	if e.spec == nil {
		return nil
	}
	return incident.ProbeOf(e.spec, of)
}

func (e *evidence) add(f *incident.Fact) {
	switch f.Kind {
	case incident.Event:
		e.event(f)
	case incident.Terminated:
		e.ends = append(e.ends, f)
		e.waiting, e.running = nil, nil
		e.setRestarts(f.Count)
	case incident.Waiting:
		e.waiting, e.running = f, nil
		e.setRestarts(f.Count)
	case incident.Running:
		e.running, e.waiting = f, nil
		e.setRestarts(f.Count)
	case incident.Restarts:
		e.setRestarts(f.Count)
	case incident.Ready:
		e.ready = is(f.Value == "true")
	case incident.Started:
		e.started = f.Value
	case incident.Row:
		e.rows = append(e.rows, f)
		e.setRestarts(f.Count)
	case incident.ProbeRun:
		e.failure(f, f.Probe, f.Result, f.Message, 1)
		e.logs = append(e.logs, f)
	case incident.Log, incident.ProbeSync, incident.Lifecycle:
		e.log(f)
	}
}

func (e *evidence) setRestarts(n int) { e.restarts = max(e.restarts, n) }

func (e *evidence) event(f *incident.Fact) {
	count := max(f.Count, 1)
	switch f.Reason {
	case "Unhealthy", "ProbeWarning":
		if u := incident.ParseUnhealthy(f.Message); u.Probe != "" {
			e.failure(f, u.Probe, u.Result, u.Output, count)
			return
		}
	case "Killing":
		e.killing(f, f.Message, count)
	case "FailedPostStartHook":
		e.hook = f
	}
	e.tally(kindOf(f), f, count)
}

// Kinds of events with a reason that says less than their message.
const (
	imageFails   = "image fails"
	configFails  = "configuration fails"
	startFails   = "start fails"
	volumeFails  = "volume fails"
	sandboxFails = "sandbox fails"
)

// kindOf returns what an event says: its reason, or a kind that its message tells apart.
func kindOf(f *incident.Fact) string {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(f.Message, w) })
	}
	switch f.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "InspectFailed":
		return imageFails
	case "FailedCreatePodSandBox", "FailedCreatePodSandbox", "FailedPodSandBoxStatus", "NetworkNotReady":
		return sandboxFails
	case "FailedMount", "FailedAttachVolume", "FailedMapVolume":
		if says("not found", "non-existent config key", "couldn't find key") && says("configmap", "secret") {
			return configFails
		}
		return volumeFails
	case "BackOff", "Failed", "FailedSync", "CreateContainerConfigError", "FailedStart", "FailedCreate":
	default:
		return f.Reason
	}
	switch {
	case says("pulling image", "pull image", "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "inspect image", "image can't be pulled"):
		return imageFails
	case says("couldn't find key", "CreateContainerConfigError") || says("secret", "configmap", "ConfigMap") && says("not found"), f.Reason == "CreateContainerConfigError":
		return configFails
	case says("CrashLoopBackOff", "Back-off restarting", "restarting failed"):
		return "BackOff"
	case says("FailedMount", "volumes"):
		return volumeFails
	case says("StartContainer", "failed to start container", "failed to create", "start container", "OCI runtime", "RunContainerError", "CreateContainerError", "Error response from daemon", "executable file not found"):
		return startFails
	}
	return f.Reason
}

func (e *evidence) tally(reason string, f *incident.Fact, count int) {
	e.objects = e.objects || f.Source == incident.FromEvent
	t := e.events[reason]
	e.events[reason] = tally{t.count + count, f, cmp.Or(t.oldest, f)}
}

// killing reads the message of a Killing event, or of the kubelet's log about one.
func (e *evidence) killing(f *incident.Fact, message string, count int) {
	var probe trace.Probe
	switch incident.ParseKilling(message) {
	case incident.ByLiveness:
		probe = trace.Liveness
	case incident.ByStartup:
		probe = trace.Startup
	case incident.ByDeletion:
		e.stopping = f
		return
	default:
		if strings.Contains(message, "FailedPostStartHook") {
			e.hook = cmp.Or(e.hook, f)
		}
		return
	}
	t := e.kills[probe]
	e.kills[probe] = tally{t.count + count, f, cmp.Or(t.oldest, f)}
}

func (e *evidence) failure(f *incident.Fact, probe trace.Probe, result trace.Result, output string, count int) {
	e.failures = append(e.failures, failure{probe, result, classify(output), output, count, f})
}

func (e *evidence) log(f *incident.Fact) {
	e.logs = append(e.logs, f)
	switch f.Reason {
	case "Message":
		e.killing(f, f.Message, 1)
	case "BackOff":
		e.tally("BackOff", f, 1)
	case "ContainerStarted":
		e.tally("ContainerStarted", f, 1)
	}
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

// main returns the failure that decides the class: the newest of those that are most frequent.
func main(list []failure) *failure {
	counts := map[Class]int{}
	for _, f := range list {
		counts[f.class] += f.count
	}
	var best *failure
	for i := range list {
		if f := &list[i]; best == nil || counts[f.class] >= counts[best.class] {
			best = f
		}
	}
	return best
}

func (e *evidence) count(reason string) int { return e.events[reason].count }

// life returns how long an ended instance ran. Times of a status are whole seconds.
func life(end *incident.Fact) *Span {
	if !end.When.Known() || !end.Last.Known() || end.Last.At.Before(end.When.At) {
		return nil
	}
	run := end.Last.At.Sub(end.When.At)
	return &Span{max(run-end.When.Within, 0), run + end.Last.Within}
}

// starts returns how many starts the facts show, at least. Rows of one moment that name no container are about several of them.
func (e *evidence) starts() int {
	n := 0
	for _, reason := range []string{"Started", "Created"} {
		t := e.events[reason]
		if s, known := t.spread(); len(e.pod.Containers()) != 1 && e == e.of && known && s.Greatest < 5*time.Second {
			t.count = min(t.count, 1)
		}
		n = max(n, t.count)
	}
	if len(e.ends) > 0 || e.running != nil {
		n = max(n, 1)
	}
	return n
}

// ran reports whether a fact shows that the container has run.
func (e *evidence) ran() bool {
	return e.count("Started") > 0 || e.running != nil || len(e.failures) > 0 || len(e.kills) > 0 || e.restarts > 0 ||
		slices.ContainsFunc(e.ends, func(f *incident.Fact) bool { return !neverStarted[f.Reason] })
}

// neverStarted has the reasons of the end of a container whose process never began.
var neverStarted = map[string]bool{"ContainerCannotRun": true, "StartError": true, "ContainerCreationError": true, "CreateContainerError": true}

// restarted reports whether the container has restarted, or waits for a restart.
func (e *evidence) restarted() bool {
	return e.restarts > 0 || e.count("BackOff") > 0 || e.restarts < 0 && (e.starts() > 1 || e.startedAgain()) || e.waiting != nil && e.waiting.Reason == "CrashLoopBackOff" ||
		len(e.kills) > 0 || slices.ContainsFunc(e.rows, func(f *incident.Fact) bool { return strings.HasSuffix(f.Reason, "CrashLoopBackOff") })
}

// after reports whether the last occurrence of a fact is after the last one of another.
func after(a, b *incident.Fact) bool {
	if a == nil || b == nil {
		return a != nil
	}
	return a.Last.Known() && b.Last.Known() && a.Last.At.After(b.Last.End())
}

// state returns why the container waits or ended, in the word of a status: that of its state, or of the newest row.
func (e *evidence) state() (reason string, from *incident.Fact) {
	switch {
	case e.waiting != nil:
		return e.waiting.Reason, e.waiting
	case e.running != nil:
		return "Running", e.running
	case len(e.rows) > 0:
		row := e.rows[len(e.rows)-1]
		return strings.TrimPrefix(row.Reason, "Init:"), row
	}
	return "", nil
}

// startedAgain reports whether the container started after one of its probes had failed.
func (e *evidence) startedAgain() bool {
	started := e.events["Started"].fact
	return started != nil && slices.ContainsFunc(e.failures, func(f failure) bool {
		return f.fact.When.Known() && started.Last.Known() && f.fact.Aged == started.Aged && started.Last.At.After(f.fact.When.End())
	})
}

func is(b bool) *bool { return &b }

// readyInRows returns whether the newest row, or else the newest line of a log, says that the container is ready.
func (e *evidence) readyInRows() *bool {
	if row := e.lastRow(); row != nil {
		ready, all, _ := strings.Cut(row.Value, "/")
		switch {
		case ready == all && all != "" && all != "0":
			return is(true)
		case e == e.of || all == "1":
			return is(false)
		}
	}
	for _, f := range slices.Backward(e.logs) {
		if f.Kind == incident.ProbeSync && f.Probe == trace.Readiness {
			return is(f.Value == "ready")
		}
	}
	return nil
}

// lastRow returns the newest row about the pod, or nil.
func (e *evidence) lastRow() *incident.Fact {
	if n := len(e.of.rows); n > 0 {
		return e.of.rows[n-1]
	}
	return nil
}

// span returns the time from the first to the last occurrence of a fact.
func span(f *incident.Fact) (Span, bool) {
	if !f.When.Known() || !f.Last.Known() {
		return Span{}, false
	}
	least := f.Last.At.Sub(f.When.End())
	return Span{max(least, 0), max(f.Last.End().Sub(f.When.At), 0)}, true
}

// middle returns the middle of a span.
func (s Span) middle() time.Duration { return (s.Least + s.Greatest) / 2 }
