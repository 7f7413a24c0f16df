package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/incident"
	"probesim.dev/trace"
)

// ruling is what a rule concludes: the cause, how sure, and the facts that it rests on.
type ruling struct {
	cause  Cause
	or     []Cause
	sure   Sure
	probe  trace.Probe
	proof  []*incident.Fact
	reason string // which rule decided, for the words; may be empty
	what   string // what the reason is about: a condition, or a time
}

// Reasons.
const (
	done         = "the pod has completed"
	tooMany      = "the pod is too young for as many kills"
	tooEarly     = "the instance ended before a probe could kill it"
	noProbe      = "no probe can kill the container"
	noKilling    = "the events are whole and have no kill"
	nowAndThen   = "failures are rare"
	noFailure    = "no failure since"
	erroredReady = "errors of a probe, and the container is ready"
	lateStart    = "the next start came later than a back-off"
	sandboxNew   = "the sandbox was replaced"
	notShown     = "no fact shows which probe fails"
	errored      = "errors of a probe count as nothing"
	redirected   = "a redirect counts as a success"
	inBackOff    = "the log shows no failed probe of the container"
	kubeletNew   = "the kubelet restarted"
	notStarted   = "the startup probe has not succeeded"
	evictedPod   = "the pod was evicted"
	stoppedPod   = "a deadline is over, or the node shuts down"
	preempted    = "a pod of a higher priority needed the node"
	byNode       = "open: exit or node"
	byDeletion   = "open: kill or deletion"
	openCode     = "open, with an exit code"
	openFailed   = "open, with failures of a probe"
	openRestarts = "open, with restarts"
	openState    = "open"
	allWell      = "all is ready"
	noTrouble    = "no fact shows trouble"
)

// rules are tried in this order. The first that decides counts: facts that name the cause come first, memory before probes; then what
// excludes a probe; then strong evidence.
var rules = []func(*evidence) *ruling{
	evicted, cannotRun, outOfMemory, hookFailed, killedByProbe, completed, removed, nodeGone,
	probeExcluded, exitedBySignal, killInLog, endedInLog, fitsWindow, failedAndRestarted, restartedOtherwise,
	thresholdReached, failing, notReady, harmless, waits,
}

func judge(e *evidence) *ruling {
	for _, rule := range rules {
		r := rule(e)
		switch {
		case r == nil:
			continue
		case r.sure != Open || r.reason != "" || r.cause == Waiting:
		case e.exits:
			r.reason = openCode
		case len(e.failed(r.probe)) > 0:
			r.reason = openFailed
		case e.restarts > 0:
			r.reason = openRestarts
		default:
			r.reason = openState
		}
		return r
	}
	return nil
}

func certain(cause Cause, proof ...*incident.Fact) *ruling {
	return &ruling{cause: cause, sure: Certain, proof: slices.DeleteFunc(proof, func(f *incident.Fact) bool { return f == nil })}
}

// with adds the main failure of a probe to the proof, if there is one.
func (r *ruling) with(f *failure) *ruling {
	if f != nil {
		r.proof = append(r.proof, f.fact)
	}
	return r
}

func (r *ruling) because(why string) *ruling { r.reason = why; return r }

func (r *ruling) likely() *ruling { r.sure = Likely; return r }

func (r *ruling) open(or ...Cause) *ruling { r.sure, r.or = Open, or; return r }

func (r *ruling) of(p trace.Probe) *ruling { r.probe = p; return r }

// byProbe returns the cause of a kill by a probe.
func byProbe(of trace.Probe) Cause {
	if of == trace.Startup {
		return StartupProbe
	}
	return LivenessProbe
}

// killers are the probes that kill.
var killers = []trace.Probe{trace.Startup, trace.Liveness}

// completed: the pod has done its work.
func completed(e *evidence) *ruling {
	row := e.lastRow()
	switch {
	case e.init && e.exits && e.end.ExitCode == 0 && !e.end.Previous && e.count("BackOff") == 0:
		return certain(Nothing, e.end).likely().because(done)
	case e.stopping != nil || e.of.stopping != nil:
		return nil
	case row != nil && row.Reason == "Completed" && !e.restarted():
		return certain(Nothing, row).likely().because(done)
	}
	if f := e.find(func(f *incident.Fact) bool { return f.Kind == incident.Phase && f.Value == "Succeeded" }); f != nil {
		return certain(Nothing, f).likely().because(done)
	}
	return nil
}

// find returns the first fact about the pod for which a function is true, or nil.
func (e *evidence) find(is func(*incident.Fact) bool) *incident.Fact {
	if i := slices.IndexFunc(e.pod.Facts, is); i >= 0 {
		return e.pod.Facts[i]
	}
	return nil
}

// evictions has the reasons of events, of a status, and of a condition that say that something removed a pod from its node.
var evictions = map[string]string{"Evicted": evictedPod, "Preempted": preempted, "Preempting": preempted, "TaintManagerEviction": evictedPod,
	"NodeControllerEviction": evictedPod, "ExceededGracePeriod": evictedPod, "DisruptionTarget": evictedPod, "DeadlineExceeded": stoppedPod, "NodeShutdown": stoppedPod}

// evicted: the status or an event says so.
func evicted(e *evidence) *ruling {
	f := e.find(func(f *incident.Fact) bool {
		return evictions[f.Reason] != "" && (f.Kind == incident.Event && !strings.HasPrefix(f.Message, "Cancelling") || f.Kind == incident.Phase || f.Kind == incident.Row || f.Value == "True")
	})
	if f == nil {
		return nil
	}
	return certain(Removed, f).because(evictions[f.Reason])
}

// waitingFor has the kinds of events that belong to a status.
var waitingFor = map[string]string{
	"ErrImagePull": imageFails, "ImagePullBackOff": imageFails, "InvalidImageName": imageFails, "ErrImageNeverPull": imageFails, "ImageInspectError": imageFails,
	"RegistryUnavailable": imageFails, "CreateContainerConfigError": configFails, "RunContainerError": startFails, "CreateContainerError": startFails,
	"StartError": startFails, "ContainerCannotRun": startFails, "PostStartHookError": "FailedPostStartHook",
}

// causeOf has the causes that kinds of events prove.
var causeOf = map[string]Cause{imageFails: Image, configFails: Configuration, startFails: CannotStart, volumeFails: Volume, sandboxFails: Sandbox, "FailedPostStartHook": PostStartHook}

// cannotRun: the container never ran, or does not run any more, and a status or an event names the reason.
func cannotRun(e *evidence) *ruling {
	if state, from := e.state(); waitingFor[state] != "" {
		kind := waitingFor[state]
		return certain(causeOf[kind], from, cmp.Or(e.events[kind].fact, e.of.events[kind].fact))
	}
	if e.end != nil && neverStarted[e.end.Reason] {
		return certain(CannotStart, e.end, e.events[startFails].fact)
	}
	started := e.events["Started"].fact
	for _, kind := range []string{imageFails, configFails, startFails} {
		t, has := e.events[kind]
		others := e == e.of && len(e.pod.Containers()) > 1 && kind == imageFails // it is about a container that the events do not name
		if has && (!e.ran() || others || started != nil && after(t.fact, started) && kind != startFails) {
			return certain(causeOf[kind], t.fact)
		}
	}
	if e != e.of || e.find(func(f *incident.Fact) bool {
		return f.Kind == incident.Event && (f.Reason == "Started" || f.Reason == "Unhealthy")
	}) != nil {
		return nil
	}
	for _, kind := range []string{configFails, volumeFails, sandboxFails} {
		if t, has := e.events[kind]; has {
			return certain(causeOf[kind], t.fact)
		}
	}
	f := e.find(func(f *incident.Fact) bool {
		return f.Kind == incident.Condition && f.Reason == "PodScheduled" && f.Value == "False"
	})
	if t, has := e.events["FailedScheduling"]; has && e.count("Scheduled") == 0 {
		f = t.fact
	}
	if f == nil {
		return nil
	}
	return certain(Unschedulable, f)
}

// outOfMemory: the runtime says so, whatever the exit code.
func outOfMemory(e *evidence) *ruling {
	for _, f := range slices.Backward(slices.Concat(e.rows, e.ends)) {
		if strings.TrimPrefix(f.Reason, "Init:") == "OOMKilled" {
			return certain(OutOfMemory, f)
		}
	}
	if t, has := e.of.events["OOMKilling"]; has && e.exits && e.end.ExitCode == 137 {
		return certain(OutOfMemory, t.fact, e.end).likely()
	}
	return nil
}

func hookFailed(e *evidence) *ruling {
	if e.hook == nil {
		return nil
	}
	return certain(PostStartHook, e.hook)
}

// killedByProbe: the kubelet writes such a Killing for nothing else.
func killedByProbe(e *evidence) *ruling {
	of := trace.Liveness
	if e.kills[trace.Startup].count > e.kills[of].count {
		of = trace.Startup
	}
	if e.kills[of].count == 0 {
		return nil
	}
	return certain(byProbe(of), e.kills[of].fact).of(of).with(main(e.failed(of)))
}

// removed: the pod was stopped from outside, and nothing has started since.
func removed(e *evidence) *ruling {
	switch f := e.stopping; {
	case e.of.count("SandboxChanged") > 0:
		return nil // a new sandbox stops the containers, too, and a deleted pod gets none
	case f != nil && !e.restarted() && !e.startedAfter(f):
		return certain(Removed, f)
	case e.count("BackOff") > 0 || e.restarts > 0:
		return nil
	}
	f := e.find(func(f *incident.Fact) bool {
		return f.Kind == incident.Deleted || f.Kind == incident.Log && f.Reason == "DELETE" || f.Kind == incident.Row && f.Reason == "Terminating"
	})
	if f == nil {
		return nil
	}
	return certain(Removed, f)
}

func (e *evidence) startedAfter(f *incident.Fact) bool {
	for _, reason := range []string{"Started", "Created", "Scheduled"} {
		if after(e.events[reason].fact, f) || after(e.of.events[reason].fact, f) {
			return true
		}
	}
	return false
}

// longestBackOff is more than the greatest crash-loop back-off, five minutes (MaxContainerBackOff in pkg/kubelet/kubelet.go at v1.37.0), and a pull.
const longestBackOff = 30 * time.Minute

// nodeGone: the runtime lost the container, or the sandbox was replaced.
func nodeGone(e *evidence) *ruling {
	state, from := e.state()
	sandbox, replaced := e.of.events["SandboxChanged"]
	lost := func(reason string) bool {
		return reason == "Unknown" || reason == "ContainerStatusUnknown" || reason == "NodeLost"
	}
	switch {
	case e.end != nil && lost(e.end.Reason):
		return certain(Node, e.end).likely()
	case e.end != nil && e.running != nil && e.end.Last.Known() && e.running.When.At.Sub(e.end.Last.End()) > longestBackOff:
		r := certain(Node, e.end, e.running).likely().because(lateStart)
		r.what = round(e.running.When.At.Sub(e.end.Last.At))
		return r
	case e.exits && e.end.ExitCode == 255 && !e.complete && e.restarts <= 1: // a program writes -1, and a runtime that lost the container
		return certain(OwnExit, e.end).open(Node).because(byNode)
	case e.of.count("NodeNotReady") > 0 && e.killer == nil:
		return certain(Node, e.of.events["NodeNotReady"].fact).likely()
	case lost(state):
		return certain(Node, from).likely()
	case !replaced || e != e.of:
		return nil
	case e.stopping != nil, e.count("BackOff") == 0 && (!e.exits || e.end.ExitCode == 0):
		return certain(Node, sandbox.fact, e.stopping).likely().because(sandboxNew)
	}
	return nil
}

// probeExcluded: no run of a probe can have counted before the instance ended, the pod is too young for as many kills, or there is no probe that kills.
func probeExcluded(e *evidence) *ruling {
	row := e.lastRow()
	if row != nil && e == e.of && row.AgeWithin > 0 && row.Count > 1 && row.Age+row.AgeWithin < time.Duration(row.Count)*e.earliest() {
		return certain(OwnExit, row).because(tooMany)
	}
	shown, early := 0, 0
	for _, of := range killers {
		if e.probe(of) != nil {
			shown++
			if w := e.window(of, e.instance()); w != nil && e.life != nil && w.excludes(e.life) {
				early++
			}
		}
	}
	var r *ruling
	switch {
	case e.end == nil:
		return nil
	case shown == 0 && e.complete:
		r = certain(OwnExit, e.end).because(noProbe)
	case shown > 0 && early == shown:
		r = certain(OwnExit, e.end).because(tooEarly)
	default:
		return nil
	}
	if hooks := !e.complete || e.spec.Lifecycle != nil && e.spec.Lifecycle.PostStart != nil; hooks || !e.exits || e.signalled || e.init && e.end.ExitCode == 0 {
		r.likely() // a failed postStart hook ends a container, too
	}
	return r
}

// exitedBySignal: a shell or a signal of the program itself.
func exitedBySignal(e *evidence) *ruling {
	if e.exits && slices.Contains([]int32{126, 127, 128, 132, 134, 135, 136, 139}, e.end.ExitCode) {
		return certain(OwnExit, e.end).likely()
	}
	return nil
}

// killInLog: a failed probe, and at once the sync loop handles it; or the kubelet kills and does not say why.
func killInLog(e *evidence) *ruling {
	var last, kill *incident.Fact
	for _, f := range e.logs {
		switch {
		case f.Kind == incident.ProbeRun && f.Result == trace.Failure && f.Probe != trace.Readiness && (f.Container == e.name || e == e.of):
			last = f
		case f.Kind == incident.ProbeSync && f.Value == "unhealthy" && last != nil && f.Probe == last.Probe && f.When.At.Sub(last.When.At) < time.Second:
			return certain(byProbe(f.Probe), last, f).likely().of(f.Probe)
		case f.Kind == incident.Log && f.Reason == "Killing" && (f.Container == e.name || e == e.of):
			kill = f
		}
	}
	if kill == nil && e.stopping == nil && e.killer == nil {
		kill = e.events["Killing"].fact // up to 2015
	}
	if kill == nil {
		return nil
	}
	return certain(LivenessProbe, kill).of(trace.Liveness).open(StartupProbe, Removed).because(byDeletion)
}

// endedInLog: the log has back-offs of the container and no failed probe of it, although it has the results of probes.
func endedInLog(e *evidence) *ruling {
	t, has := e.events["BackOff"]
	if !has || t.fact.Source != incident.FromLog || e.killer != nil {
		return nil
	}
	i := slices.IndexFunc(e.logs, func(f *incident.Fact) bool { return f.Kind == incident.ProbeSync && f.Value == "unhealthy" })
	switch {
	case i >= 0:
		return certain(OwnExit, t.fact, e.logs[i]).likely().because(inBackOff)
	case e.inLog:
		return certain(OwnExit, t.fact).likely().because(inBackOff)
	}
	return nil
}

// fitsWindow: the exit code is that of a signal, and the end is where a kill by a probe would put it.
func fitsWindow(e *evidence) *ruling {
	if e.life == nil || !e.exits || e.stopping != nil || e.end.Reason != "Error" && e.end.Reason != "" {
		return nil
	}
	for _, of := range killers {
		w := e.window(of, e.instance())
		if w == nil || w.excludes(e.life) || w.end == bounds.Never || e.life.Least > w.end {
			continue
		}
		r := certain(byProbe(of), e.end).of(of).with(main(e.failed(of)))
		switch {
		case e.signalled && !e.whole:
			return r.likely()
		case e.signalled || !e.whole:
			return r.open(OwnExit)
		}
	}
	if e.exits && e.end.ExitCode == 143 && !e.whole && e.restarts > 1 && e.couldHaveKilled() && len(e.probesLeft()) == 1 {
		cause := e.probesLeft()[0] // who else stops a container in its place, again and again?
		return certain(cause, e.end).of(map[Cause]trace.Probe{LivenessProbe: trace.Liveness, StartupProbe: trace.Startup}[cause]).likely()
	}
	return nil
}

// failedAndRestarted: a probe that kills has failed, the container has restarted, and no Killing is there.
func failedAndRestarted(e *evidence) *ruling {
	f := e.killer
	if f == nil || !e.restarted() && e.end == nil {
		return nil
	}
	probe := certain(byProbe(f.probe), f.fact, e.end).of(f.probe)
	switch {
	case e.objects && !e.signalled:
		return certain(OwnExit, f.fact).of(f.probe).likely().because(noKilling)
	case e.signalled && !e.whole, !e.whole && !e.exits && f.class != Refused && f.class != Reset:
		return probe.likely()
	}
	return probe.open(OwnExit) // a dead program refuses, too, and a program chooses its exit code
}

// restartedOtherwise: the container has ended or restarted, and no probe that kills has failed.
func restartedOtherwise(e *evidence) *ruling {
	if e.end == nil && !e.restarted() {
		return nil
	}
	proof := []*incident.Fact{e.end, e.events["BackOff"].fact}
	if _, from := e.state(); e.end == nil && e.count("BackOff") == 0 {
		proof = append(proof, from)
	}
	own := certain(OwnExit, proof...)
	switch {
	case e.signalled, e.exits && !e.whole && e.couldHaveKilled():
	case e.exits, e.whole:
		return own.likely().because(noKilling)
	case e.unready != nil && (e.unready.class == Refused || e.unready.class == Reset), len(e.failures) > 0 && e.unready == nil:
		return own.likely()
	case slices.ContainsFunc(e.rows, func(f *incident.Fact) bool {
		return strings.HasSuffix(f.Reason, "Error") || f.Reason == "Init:CrashLoopBackOff" // init containers have no probes
	}):
		return own.likely()
	}
	return own.open(e.probesLeft()...)
}

// probesLeft returns the causes that are left if a probe may have killed the container: those of the probes that the facts show, or of all.
func (e *evidence) probesLeft() []Cause {
	switch startup, liveness := e.probe(trace.Startup), e.probe(trace.Liveness); {
	case startup == nil && liveness != nil:
		return []Cause{LivenessProbe}
	case startup != nil && liveness == nil:
		return []Cause{StartupProbe}
	}
	return []Cause{LivenessProbe, StartupProbe}
}

// couldHaveKilled reports whether a probe whose settings are known can have ended the instance when it did.
func (e *evidence) couldHaveKilled() bool {
	return e.life != nil && slices.ContainsFunc(killers, func(of trace.Probe) bool {
		w := e.window(of, e.instance())
		return w != nil && !w.excludes(e.life)
	})
}

// thresholdReached: the newest failures of a probe that kills are as many as its threshold, one period apart, so the kill is now.
func thresholdReached(e *evidence) *ruling {
	f := e.killer
	if f == nil || e.probe(f.probe) == nil {
		return nil
	}
	p := e.probe(f.probe)
	apart, known := span(f.fact)
	if !known || int32(f.count) != p.FailureThreshold || f.count > 1 && apart.Least > time.Duration(p.FailureThreshold)*e.period(f.probe) {
		return nil
	}
	return certain(byProbe(f.probe), f.fact).of(f.probe).likely()
}

// period returns the period of a probe, or the default one if the facts do not show it.
func (e *evidence) period(of trace.Probe) time.Duration {
	if p := e.probe(of); p != nil {
		return time.Duration(p.PeriodSeconds) * time.Second
	}
	return 10 * time.Second
}

// failing: a probe that kills fails, and has not killed yet.
func failing(e *evidence) *ruling {
	if e.killer == nil {
		return nil
	}
	r := certain(Failing, e.killer.fact).of(e.killer.probe)
	if e.rare(e.killer) {
		r.because(nowAndThen)
	}
	if e.restarts < 0 && !e.whole {
		r.likely()
	}
	return r
}

// rare reports whether less than one run in twenty failed.
func (e *evidence) rare(f *failure) bool {
	apart, known := span(f.fact)
	return known && f.count > 1 && time.Duration(f.count)*e.period(f.probe)*20 < apart.Least
}

// notReady: the container runs, and its readiness probe fails.
func notReady(e *evidence) *ruling {
	f := e.unready
	state, from := e.state()
	switch {
	case e.ready != nil && *e.ready, state == "Error", state == "Failed":
		return nil
	case f != nil && e.overSince(f):
		return certain(Nothing, f.fact).of(trace.Readiness).likely().because(noFailure)
	case f != nil && e.ready != nil:
		return certain(NotReady, f.fact).of(trace.Readiness)
	case f != nil && e.rare(f):
		return certain(NotReady, f.fact).of(trace.Readiness).likely().because(nowAndThen)
	case f != nil:
		return certain(NotReady, f.fact).of(trace.Readiness).likely()
	case e.ready == nil || e.init:
		return nil
	case state == "Running" && e.started == "false" && e.probe(trace.Startup) != nil:
		return certain(NotReady, from).of(trace.Startup).because(notStarted)
	case state == "Running":
		return certain(NotReady, from).of(trace.Readiness).likely().because(notShown)
	}
	for _, sync := range slices.Backward(e.logs) {
		if sync.Kind == incident.ProbeSync && sync.Probe == trace.Readiness && sync.Value == "not ready" {
			return certain(NotReady, sync).of(trace.Readiness).likely().because(notShown)
		}
	}
	return nil
}

// overSince reports whether a probe that failed has succeeded since: it would have failed again before the text was printed.
func (e *evidence) overSince(f *failure) bool {
	if f.fact.Source == incident.FromLog || f.fact.AgeWithin <= 0 || total(e.failed(f.probe)) >= burst {
		return false
	}
	longest := time.Minute // if the settings are unknown
	if p := e.probe(f.probe); p != nil {
		longest = 2*e.period(f.probe) + time.Duration(p.TimeoutSeconds)*time.Second
	}
	return f.fact.Age > longest
}

// harmless: probes warned, failed or ended in errors, and nothing is wrong now.
func harmless(e *evidence) *ruling {
	ready := e.ready != nil && *e.ready
	result := func(result trace.Result) *failure {
		return main(slices.DeleteFunc(slices.Clone(e.failures), func(f failure) bool { return f.result != result }))
	}
	warning, failed := result(trace.Warning), result(trace.Error)
	switch {
	case warning != nil:
		return certain(Nothing, warning.fact).of(warning.probe).because(redirected)
	case e.unready != nil && ready:
		return certain(Nothing, e.unready.fact).of(trace.Readiness)
	case failed != nil && ready:
		return certain(Nothing, failed.fact).of(failed.probe).likely().because(erroredReady)
	case failed != nil:
		return certain(Failing, failed.fact).of(failed.probe).likely().because(errored)
	}
	return nil
}

// waits: for the volumes, the network or its init containers, or nobody knows.
func waits(e *evidence) *ruling {
	state, from := e.state()
	switch {
	case state == "Error" || state == "Failed":
		return certain(OwnExit, from).likely()
	case from != nil && from.Kind == incident.Row && (state == "ContainerCreating" || state == "PodInitializing" || state == "Pending"):
		return certain(Waiting, from).open()
	}
	return nil
}
