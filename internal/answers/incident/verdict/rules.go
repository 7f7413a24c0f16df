package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/trace"
)

// ruling is what a rule concludes: the cause, how sure, and the facts that it rests on.
type ruling struct {
	cause  Cause
	others []Cause
	sure   Sure
	probe  trace.Probe
	proof  []*incident.Fact
	words  string // the name of a phrase, instead of that of the cause
	what   string // what the words are about: a condition, or a time
	detail string // a sentence to add
}

// rules are tried in this order. The first that decides counts: facts that name the cause come
// first, memory before probes; then what excludes a probe; then strong evidence.
var rules = []func(*evidence) *ruling{
	relisted, evicted, rejected, named, cannotStart, killed, replaced, starved, completed, inPart, nodeNotReady,
	notStopped, removed, nodeGone, tooYoung, probeExcluded, inLog, fitsWindow, together, restarted, endedBefore,
	failing, notReady, gated, harmless, hookFailed, waits, kubeletRestarted, unwell,
}

func judge(e *evidence) *ruling {
	for _, rule := range rules {
		r := rule(e)
		if r != nil && e.pod.Mixed && r.sure == Certain && e.kills() == 0 {
			r.likely()
		}
		switch {
		case r == nil:
			continue
		case r.sure != Open || r.words != "" || r.cause == Waiting:
		case e.exits && e.end.ExitCode == sigkill:
			r.words, r.others = "open killed", append(r.others, OutOfMemory)
		case e.exits:
			r.words = "open code"
		case len(e.failed(r.probe)) > 0:
			r.words = "open failures"
		default:
			if r.words = "open restarts"; e.probeless() {
				r.others = nil
			}
		}
		return r
	}
	return nil
}

func certain(cause Cause, proof ...*incident.Fact) *ruling {
	of := map[Cause]trace.Probe{LivenessProbe: trace.Liveness, StartupProbe: trace.Startup}[cause]
	return &ruling{cause: cause, sure: Certain, probe: of, proof: slices.DeleteFunc(proof,
		func(f *incident.Fact) bool { return f == nil })}
}

func (r *ruling) saying(words string) *ruling { r.words = words; return r }

func (r *ruling) adding(detail string) *ruling { r.detail = detail; return r }

// fromLog makes a ruling on a line of a log likely: a sync can come too late for a pod that goes
// away.
func (r *ruling) fromLog() *ruling {
	if r.proof[0].Source == incident.FromLog {
		r.sure = Likely
	}
	return r
}

func (r *ruling) likely() *ruling { r.sure = Likely; return r }

func (r *ruling) open(others ...Cause) *ruling { r.sure, r.others = Open, others; return r }

func (r *ruling) of(p trace.Probe) *ruling { r.probe = p; return r }

// killers are the probes that kill.
var killers = []trace.Probe{trace.Startup, trace.Liveness}

// byProbe returns the cause of a kill by a probe.
func byProbe(of trace.Probe) Cause { return Cause(of) + "Probe" }

// evictions has the reasons that say that something removed a pod from its node.
var evictions = byReason[string]("removed ")

// outOfGrace is the reason of an event beside that of an eviction, which has the cause (killPodNow
// in pkg/kubelet/pod_workers.go at v1.37.2).
const outOfGrace = "ExceededGracePeriod"

// removal returns the name of the phrase for such a reason, or nothing. Those that begin with OutOf
// end with a resource.
func removal(reason string) string {
	if strings.HasPrefix(reason, "OutOf") {
		return "refused by node"
	}
	return evictions[reason]
}

// evicted: the status or an event says so.
func evicted(e *evidence) *ruling {
	f := cmp.Or(e.find(func(f *incident.Fact) bool {
		return removal(f.Reason) != "" && f.Reason != outOfGrace &&
			(f.Kind != incident.Condition || f.Value == "True") && !strings.HasPrefix(f.Message, "Cancelling")
	}), e.find(func(f *incident.Fact) bool { return f.Reason == outOfGrace }))
	if f == nil || e.init && e.finished() { // it had done its work before
		return nil
	}
	r := certain(Removed, f).saying(removal(f.Reason))
	short, isShort := strings.CutPrefix(f.Reason, "OutOf")
	switch {
	case isShort:
		r.words, r.what = "refused as full", short
	case r.words != "evicted":
	case f.Message == "":
		r.words = "evicted bare"
	case strings.HasPrefix(f.Message, "The node had condition: "):
		// nodeConditionMessageFmt in pkg/kubelet/eviction/helpers.go at v1.37.2, of Admit
		r.words = "refused by node"
	}
	return r
}

// rejected: the API server does not take the pods of a workload, or its pods have failed too often.
func rejected(e *evidence) *ruling {
	t, has := e.of.events[Rejected]
	// of a Job (syncJob in pkg/controller/job/job_controller.go at v1.37.2)
	failed := cmp.Or(e.of.conditions["Failed"], &incident.Fact{})
	refused := cmp.Or(e.of.conditions["ReplicaFailure"], &incident.Fact{}) // of a workload
	switch {
	case refused.Value == "True" && !has:
		t.fact = refused
	case failed.Value == "True" && failed.Message == "Job was active longer than specified deadline":
		return certain(Removed, failed).likely().saying("job past deadline")
	case failed.Value == "True" && failed.Message == "Job has reached the specified backoff limit":
		return certain(Unknown, failed).open().saying("backoff limit")
	case !has || e.of.startedAfter(t.fact):
		return nil
	case t.fact.Reason == "BackoffLimitExceeded":
		return certain(Unknown, t.fact).open().saying("backoff limit")
	case t.fact.Reason == "PodsFailed":
		return certain(Unknown, t.fact).open().saying("pods failed")
	}
	r := certain(Rejected, t.fact)
	if r.what = "its workload"; !e.pod.Unnamed {
		r.what = e.pod.Name
	}
	return r
}

// find returns the first fact about the pod for which a function is true, or nil.
func (e *evidence) find(is func(*incident.Fact) bool) *incident.Fact {
	if i := slices.IndexFunc(e.pod.Facts, is); i >= 0 {
		return e.pod.Facts[i]
	}
	return nil
}

// named: the status has a word for the cause. Of the past, only memory counts.
func named(e *evidence) *ruling {
	for i, f := range slices.Concat([]*incident.Fact{e.from, e.end}, e.ends, e.rows) {
		if f == nil {
			continue
		}
		switch cause := causeIn(f); {
		case cause == OutOfMemory && (f.ExitKnown && f.ExitCode != sigkill || f.Kind == incident.Row &&
			e.survived() != nil): // what it lost was not its first process
		case cause == Node && e.kills() > 0: // which the lost instance does not explain
		case cause == Node && e.log.down[e.pod.Node] != nil: // which says more
		case cause == Node && f.Reason == "ContainerStatusUnknown" && i < 2:
			// an evicted pod has it, too (TerminatePod in pkg/kubelet/status/status_manager.go at
			// v1.37.2)
			if e.log.evicted != nil {
				return certain(Removed, f, e.log.evicted).likely().saying("evicted as another")
			}
			return certain(Node, f).likely().saying("lost or evicted")
		case cause == Node && i < 2:
			return certain(Node, f).likely()
		case cause == OutOfMemory, cause != "" && i < 2:
			return certain(cause, f, cmp.Or(e.events[cause].fact, e.of.events[cause].fact, e.end))
		}
	}
	return nil
}

// survived returns the end of an instance in which the kernel killed a process for memory that was
// not the first process of the container, or nil. The runtime writes OOMKilled for each of them; if
// it is the first, the exit code is that of SIGKILL.
func (e *evidence) survived() *incident.Fact {
	if e.exits && causeOf[e.end.Reason] == OutOfMemory && e.end.ExitCode != sigkill {
		return e.end
	}
	return nil
}

// The exit codes of programs that SIGKILL and SIGTERM end, and of one that Windows tells to stop
// (STATUS_CONTROL_C_EXIT, 0xC000013A).
const (
	sigkill  = 137
	sigterm  = 143
	controlC = -0x3FFFFEC6
)

// starved: the container ended because the kernel killed one of its processes, or because its node
// was out of memory just then.
func starved(e *evidence) *ruling {
	if end := e.survived(); end != nil && end.ExitCode != 0 && end.ExitCode != sigterm {
		return certain(OutOfMemory, end).likely().saying("lost a process")
	}
	if f := e.victim(); f != nil {
		return certain(OutOfMemory, f).likely().saying("victim")
	}
	if !e.exits || e.end.ExitCode != sigkill || !e.end.Last.Known() {
		return nil
	}
	for _, f := range e.log.starved {
		if apart := f.When.At.Sub(e.end.Last.At).Abs(); f.When.Known() && apart < 10*time.Second {
			return certain(OutOfMemory, e.end, f).likely().saying("node out of memory")
		}
	}
	return nil
}

// victimIn matches the name of a process that the kernel killed, of which it keeps 15 bytes
// (oom_watcher_linux.go of the kubelet at v1.37.2).
var victimIn = regexp.MustCompile(`victim process: ([^\s,]{5,15}),`)

// victim returns the event of a node that killed a process with the name of the container, or of
// its pod, when a probe found the program dead, or nil.
func (e *evidence) victim() *incident.Fact {
	for _, f := range e.log.starved {
		m := victimIn.FindStringSubmatch(f.Message)
		if m != nil && strings.Contains("-"+e.pod.Name+"-"+e.name, "-"+m[1]) && slices.ContainsFunc(e.failures,
			func(failed failure) bool {
				return failed.dead() && f.When.Known() && failed.fact.Last.Known() &&
					f.When.At.Sub(failed.fact.Last.At).Abs() <= 2*time.Minute
			}) {
			return f
		}
	}
	return nil
}

// replaced: the kubelet says that it restarts the container for a change.
func replaced(e *evidence) *ruling {
	t, has := e.events[Changed]
	if !has || e.restarts > t.count || e.state == "CrashLoopBackOff" {
		return nil
	}
	r := certain(Changed, t.fact)
	if r.what = "its definition changed"; strings.Contains(t.fact.Message, "resize") {
		r.what = "a resize of it requires a restart"
	}
	if f := e.killer; f != nil {
		return r.of(f.probe).saying("changed failing")
	}
	return r
}

// cannotStart: the container never ran, or does not run any more, and an event says why.
func cannotStart(e *evidence) *ruling {
	started := e.events["Started"].fact
	for _, cause := range []Cause{Image, Configuration, CannotStart} {
		t, has := e.events[cause]
		// it is about a container that the events do not name
		others := e == e.of && len(e.pod.Containers()) > 1 && cause == Image
		again := others || started != nil && after(t.fact, started) && cause != CannotStart
		if has && !e.readySince(t.fact) && (!e.ran() || again) {
			return certain(cause, t.fact)
		}
	}
	ran := slices.DeleteFunc(slices.Clone(e.pod.Facts), func(f *incident.Fact) bool {
		return f.Kind != incident.Event || f.Reason != "Started" && f.Reason != "Unhealthy"
	})
	for _, cause := range []Cause{Volume, Sandbox, Unschedulable} {
		t, has := e.events[cause]
		before := func(f *incident.Fact) bool { return !after(t.fact, f) || e.ready != "" || e.from != nil }
		if e == e.of && has && !e.readySince(t.fact) && !slices.ContainsFunc(ran, before) && (cause != Unschedulable ||
			e.count("Scheduled") == 0) {
			r := certain(cause, t.fact).fromLog()
			if len(ran) > 0 {
				r.likely()
			}
			return r
		}
	}
	if f := e.conditions["PodScheduled"]; e == e.of && len(ran) == 0 && f != nil && f.Value == "False" {
		return certain(Unschedulable, f)
	}
	return nil
}

// hookOutput matches the output of a hook in an event of an old kubelet: in the error, or quoted.
// Since then the event says only that the hook failed.
var hookOutput = regexp.MustCompile(`lifecycle hook .* exited with \d+: (?:, message: ")?([^,"\s][^"\n]*)`)

// killed: the kubelet writes such a Killing for nothing else.
func killed(e *evidence) *ruling {
	if t, has := e.events[PostStartHook]; has {
		for _, f := range slices.Backward(e.pod.Facts) {
			if e.about(f) && f.Reason == "FailedPostStartHook" && classify(f.Message) == Ending {
				return certain(OwnExit, f).likely().saying("ended before hook")
			}
		}
		r := certain(PostStartHook, t.oldest)
		if m := hookOutput.FindStringSubmatch(t.oldest.Message); m != nil {
			output, _, _ := strings.Cut(m[1], `\n`)
			r.words, r.what = "hook output", firstLine(strings.TrimSuffix(output, `\r`), 120)
		}
		return r
	}
	cause := slices.MaxFunc([]Cause{LivenessProbe, StartupProbe},
		func(a, b Cause) int { return cmp.Compare(e.count(a), e.count(b)) })
	if e.count(cause) == 0 {
		return nil
	}
	r := certain(cause, e.events[cause].fact)
	started := e.events["Started"]
	// events expire after an hour
	if in, known := span(cmp.Or(started.fact, r.proof[0])); known && in.Greatest < time.Hour && e.name != "" &&
		started.count-1 > 2*e.kills() {
		r.what = fmt.Sprintf("%d times", started.count-1-e.kills())
		r.words = "killed and more"
	} else if backOff := e.events["BackOff"].fact; backOff != nil && r.proof[0].Last.Known() &&
		backOff.Last.At.Sub(r.proof[0].Last.End()) > longestBackOff {
		r.words = "killed and since"
	}
	return r
}

// completed: the pod has done its work.
func completed(e *evidence) *ruling {
	f := e.find(func(f *incident.Fact) bool { return f.Kind == incident.Phase && f.Value == "Succeeded" })
	switch {
	case e.init && e.finished() && !e.end.Previous && e.count("BackOff") == 0:
		f = e.end
	case e.row != nil && e.row.Reason == "Completed" && !e.restarted():
		f = e.row
	}
	if f == nil || e.removedBy() != nil {
		return nil
	}
	if t, has := e.events[Removed]; has {
		return certain(Nothing, f, t.fact).likely().saying("completed sidecar")
	}
	return certain(Nothing, f).likely().saying("completed")
}

// inPart: kubectl writes NotReady if a container has completed while another runs and is ready
// (printPod in pkg/printers/internalversion/printers.go at v1.37.2).
func inPart(e *evidence) *ruling {
	if e.row == nil || e.row.Reason != "NotReady" || e.from != nil && e.from != e.row {
		return nil
	}
	r := certain(Waiting, e.row).saying("completed in part")
	ready, all, _ := strings.Cut(e.row.Value, "/")
	if r.what = ready + " of " + all; all == "2" {
		r.detail = "No readiness probe of it fails now."
	}
	return r
}

// nodeNotReady: the newest event is that the node was not ready (the reason NodeNotReady in
// pkg/controller/util/node/controller_utils.go at v1.37.2). Its kubelet may tell nothing since.
func nodeNotReady(e *evidence) *ruling {
	if down := e.log.down[e.pod.Node]; down != nil {
		r := certain(Node, down, cmp.Or(e.removedBy(), e.row)).saying("on such a node")
		if r.what = e.pod.Node; e.removedBy() != nil {
			r.words = "held by node"
		}
		return r
	}
	down := e.of.events["NodeNotReady"].fact
	if down == nil || e.restarted() || slices.ContainsFunc(e.pod.Facts, func(f *incident.Fact) bool {
		return f.Kind == incident.Event && f.Aged == down.Aged && after(f, down)
	}) {
		return nil
	}
	r := certain(Node, down, e.removedBy()).likely().saying("node not ready")
	switch {
	case e.removedBy() == nil && e.ready == "true":
		r.open(Nothing)
	case e.removedBy() != nil:
		r.detail = "The pod is being deleted. Only its kubelet can tell whether its containers have stopped."
	}
	return r
}

// notFound matches an error of a runtime that does not find what it was to stop.
var notFound = regexp.MustCompile(`(?:No such container|code = NotFound)[^"]*`)

// nothingToStop reports whether the runtime did not find any of what it was to stop.
func nothingToStop(message string) bool {
	return len(notFound.FindAllString(message, -1)) >= max(strings.Count(message, `failed to "`), 1)
}

// notStopped: the runtime does not stop the containers or the sandbox of the pod
// (SyncTerminatingPod in pkg/kubelet/kubelet.go at v1.37.2).
func notStopped(e *evidence) *ruling {
	t := cmp.Or(e.of.events["FailedKillPod"], e.of.events["KillPodSandboxError"], e.of.events["KillContainerError"])
	if t.fact == nil || e.of.startedAfter(t.fact) || nothingToStop(t.fact.Message) {
		return nil
	}
	r := certain(Removed, t.fact).saying("not stopped").fromLog()
	if r.what = "its containers"; strings.Contains(t.fact.Reason+t.fact.Message, "KillPodSandbox") {
		r.what = "its sandbox"
	}
	return r
}

// removed: the pod was stopped from outside, and nothing has started since.
func removed(e *evidence) *ruling {
	gone := e.removedBy()
	switch stopped := e.events[Removed].fact; {
	case gone != nil && e.end == nil && (gone.Kind == incident.Row || gone.Source == incident.FromDescribe ||
		e.running() && e.object.DeletionTimestamp != nil && gone.Value != "DELETED"):
		return certain(Removed, gone, stopped).saying("terminating")
	case e.of.count("SandboxChanged") > 0:
		return nil // a new sandbox stops the containers, too, and a deleted pod gets none
	case stopped != nil && !e.restarted() && !e.startedAfter(stopped):
		switch {
		case gone != nil:
			return certain(Removed, stopped, gone)
		case e.outlived(): // as a sidecar, which is stopped at the end of its pod
			return certain(Removed, stopped).open(Nothing).saying("open sidecar")
		}
		return certain(Removed, stopped).likely()
	case gone == nil || e.count("BackOff") > 0 || e.restarts > 0:
		return nil
	}
	return certain(Removed, gone)
}

// removedBy returns the fact that proves that the pod was deleted, or nil.
func (e *evidence) removedBy() *incident.Fact {
	return e.find(func(f *incident.Fact) bool {
		return f.Kind == incident.Deleted || f.Kind == incident.Log && f.Reason == "DELETE" ||
			f.Reason == "Terminating" && f == e.of.row
	})
}

// outlived reports whether another container of the pod has started and was not stopped together
// with this one: the kubelet stops all that run.
func (e *evidence) outlived() bool {
	last := map[string]string{} // the newest of both reasons, by container
	for _, f := range e.pod.Facts {
		if f.Kind == incident.Event && f.Container != e.name && (f.Reason == "Started" || f.Reason == "Killing") {
			last[f.Container] = f.Reason
		}
	}
	delete(last, "")
	return slices.ContainsFunc(e.pod.Containers(), func(name string) bool { return last[name] == "Started" })
}

func (e *evidence) startedAfter(f *incident.Fact) bool {
	return slices.ContainsFunc([]Cause{"Started", "Created", "Scheduled"}, func(reason Cause) bool {
		return after(e.events[reason].fact, f) || after(e.of.events[reason].fact, f)
	})
}

// longestBackOff is more than the greatest crash-loop back-off, five minutes (MaxContainerBackOff
// in pkg/kubelet/kubelet.go at v1.37.0), and a pull.
const longestBackOff = 30 * time.Minute

// nodeGone: the runtime lost the container, or the sandbox was replaced.
func nodeGone(e *evidence) *ruling {
	sandbox, replaced := e.of.events["SandboxChanged"]
	stopped := e.events[Removed].fact
	switch {
	case e.end != nil && e.running() && e.end.Last.Known() && e.from.When.At.Sub(e.end.Last.End()) > longestBackOff:
		r := certain(Node, e.end, e.from).likely().saying("late start")
		r.what = round(e.from.When.At.Sub(e.end.Last.At))
		return r
	// a program writes -1, and a runtime that lost the container
	case e.exits && e.end.ExitCode == 255 && !e.complete && e.restarts <= 1:
		return certain(OwnExit, e.end).open(Node).saying("open node")
	case !replaced || e != e.of:
		return nil
	case stopped != nil, e.count("BackOff") == 0 && (!e.exits || e.finished()):
		r := certain(Node, sandbox.fact, stopped).likely().saying("sandbox replaced")
		if in, _ := span(sandbox.fact); sandbox.count > 2 {
			r.words, r.what = "sandbox replaced often", often(sandbox.count, in)
		}
		return r
	}
	return nil
}

// together: most pods of a list, of several workloads, restarted last within minutes, and are ready
// since.
func together(e *evidence) *ruling {
	row := e.row
	if row == nil || row.AgoWithin == 0 || e.ready != "true" || e.end != nil || len(e.failures) > 0 {
		return nil
	}
	old, then := map[string]bool{}, map[string]bool{} // workloads
	for _, o := range e.log.rows {
		if o.Age > row.Ago {
			old[workloadOf(o.Pod)] = true
		}
		if o.AgoWithin > 0 && (o.Ago-row.Ago).Abs() < 3*time.Minute+max(o.AgoWithin, row.AgoWithin) {
			then[workloadOf(o.Pod)] = true
		}
	}
	if row.AgoWithin > time.Hour || len(then) < 4 || 3*len(then) < 2*len(old) {
		return nil
	}
	r := certain(Node, row).likely().saying("restarted together")
	r.what = round(row.Ago)
	return r
}

// tooYoung: probes would have taken longer for as many restarts.
func tooYoung(e *evidence) *ruling {
	row := e.row
	if row == nil || e != e.of || row.AgeWithin == 0 || row.Count < 2 || e.earliest() == bounds.Never {
		return nil
	}
	least := time.Duration(row.Count) * e.earliest()
	if row.Age+row.AgeWithin >= least {
		return nil
	}
	return certain(OwnExit, row).adding(fmt.Sprintf(
		"No probe did it: %d restarts by a probe take at least %s, and the pod is younger.", row.Count, round(least)))
}

// crashCodes are the exit codes of a shell that cannot run a command, and of signals that programs
// cause themselves.
var crashCodes = []int32{126, 127, 128, 132, 134, 135, 136, 139}

// probeExcluded: no run of a probe can have counted before the instance ended, there is no probe
// that kills, or a shell or a signal of the program itself ended it.
func probeExcluded(e *evidence) *ruling {
	if e.end == nil {
		return nil
	}
	r := certain(OwnExit, e.end)
	probes, early := e.excluded()
	switch {
	case probes == 0 && !e.complete && e.signalled && e.probeless():
		return certain(Unknown, e.end).open().saying("open stopped")
	case probes == 0 && (e.complete || e.probeless()):
		r.detail = "It has neither a liveness nor a startup probe, so no probe can restart it."
	case probes > 0 && len(early) == probes:
		r.detail = "No probe did it: " + strings.Join(early, ", and ") + "."
	case e.exits && slices.Contains(crashCodes, e.end.ExitCode):
		return r.likely()
	default:
		return nil
	}
	if e.finished() && !e.end.Previous && e.object.Spec.RestartPolicy != "Always" {
		return certain(Nothing, e.end).likely().saying("completed")
	}
	// a failed postStart hook ends a container, too
	hooked := e.spec.Lifecycle != nil && e.spec.Lifecycle.PostStart != nil
	// a description shows no hooks, and the events show when one failed
	all := e.complete || e.probeless() && e.whole
	if !all || !e.exits || e.signalled || e.init && e.finished() || hooked {
		r.likely()
	}
	return r
}

// excluded returns the number of probes that kill, and why those among them that came too late have
// not killed.
func (e *evidence) excluded() (probes int, early []string) {
	for _, of := range killers {
		p := e.probe(of)
		if p == nil {
			continue
		}
		probes++
		if w := e.window(of, e.instance()); w != nil && e.life != nil && w.excludes(e.life) {
			early = append(early, fmt.Sprintf("its %s probe cannot kill before %s%s", of, round(w.Least), settings(p)))
		}
	}
	return probes, early
}

// finished reports whether the newest known end of the container is without an error.
func (e *evidence) finished() bool { return e.exits && e.end.ExitCode == 0 }

// inLog: a probe failed, and at once the sync loop handled it; or the kubelet killed and did not
// say why; or the log has back-offs of the container and no failed probe of it, although it has the
// results of probes.
func inLog(e *evidence) *ruling {
	if r := e.unhealthy(); r != nil {
		return r
	}
	kill, backOff, sync := e.events["Killing"].fact, e.events["BackOff"].fact, e.lastSync("", "unhealthy")
	switch {
	case kill != nil && incident.ParseKilling(kill.Message) == incident.ByUnhealthy:
		return certain(Unknown, kill).saying("killed unhealthy")
	case kill != nil && kill.Source != incident.FromLog && e.killer != nil && e.count(Removed) == 0 &&
		!after(e.killer.fact, kill):
		return certain(byProbe(e.killer.probe), kill, e.killer.fact).likely()
	// events had no reason up to 2016
	case kill != nil && (kill.Source == incident.FromLog || e.count(Removed) == 0 && e.killer == nil):
		return certain(LivenessProbe, kill).open(StartupProbe, Removed).saying("open deletion")
	case backOff != nil && backOff.Source == incident.FromLog && e.killer == nil && (sync != nil || e.log.probes):
		return certain(OwnExit, backOff, sync).likely().adding("The log shows its back-off, and no failed probe of it.")
	case sync != nil && e.end == nil && e.killer == nil:
		return certain(byProbe(sync.Probe), sync).of("").open(OwnExit).saying("open unhealthy")
	}
	return nil
}

// unhealthy: the sync loop took a failed result of a probe while the container ran. The worker of
// the probe also sets this result when it finds that the container does not run (doProbe in
// pkg/kubelet/prober/worker.go at v1.37.2).
func (e *evidence) unhealthy() *ruling {
	var failed, ran, died *incident.Fact
	dead := false
	for _, f := range e.pod.Facts {
		switch {
		case !e.about(f):
		case f.Kind == incident.ProbeRun && f.Result == trace.Failure && f.Probe != trace.Readiness:
			failed = f
		case f.Kind == incident.ProbeSync && f.Value == "unhealthy":
			switch {
			case failed != nil && f.Probe == failed.Probe && f.When.At.Sub(failed.When.At) < time.Second:
				return certain(byProbe(f.Probe), failed, f).likely()
			case !dead:
				ran = f
			case died != nil && e.count("Killing") == 0:
				return certain(OwnExit, died, f).likely()
			}
		case f.Reason == "ContainerDied" && ran != nil:
			return certain(byProbe(ran.Probe), ran, f).likely()
		default:
			dead, died = ends(f, dead, died)
		}
	}
	return nil
}

// ends returns whether the container runs no more after a line of a log, and the line that says so.
func ends(f *incident.Fact, dead bool, died *incident.Fact) (bool, *incident.Fact) {
	switch f.Reason {
	case "ContainerDied":
		return true, f
	case "BackOff":
		return true, died
	case "ContainerStarted":
		return false, nil
	}
	return dead, died
}

// fitsWindow: the exit code is that of a signal, and the end is where a kill by a probe would put
// it.
func fitsWindow(e *evidence) *ruling {
	if e.life == nil || !e.exits || e.count(Removed) > 0 || !slices.Contains([]string{"Error", ""}, e.end.Reason) {
		return nil
	}
	for _, of := range killers {
		w, r := e.window(of, e.instance()), certain(byProbe(of), e.end)
		switch {
		case w == nil || w.excludes(e.life) || w.end == bounds.Never || e.life.Least > w.end:
		case e.signalled && (!e.whole || len(e.failed(of)) > 0): // the kubelet may have dropped the event Killing
			return r.likely()
		case e.signalled || !e.whole:
			return r.open(OwnExit)
		}
	}
	// who else stops a container in its place, again and again?
	again := e.end.ExitCode == sigterm && !e.whole && e.restarts > 1 && e.earliest() != bounds.Never
	if left := e.suspects(); again && len(left) == 1 {
		return certain(left[0], e.end).likely()
	}
	return nil
}

// restarted: the container has ended or restarted, and no Killing is there.
func restarted(e *evidence) *ruling {
	if e.end == nil && !e.restarted() {
		return nil
	}
	if f := e.killer; f != nil {
		switch {
		case e.objects && !e.signalled:
			return certain(OwnExit, f.fact).of(f.probe).likely().
				adding("The events are whole and show no kill: the failures of the probe are a result.")
		case !e.whole && (e.signalled || !e.exits && !f.dead()), e.outlasts(f) && !e.exits:
			return certain(byProbe(f.probe), f.fact, e.end).likely()
		}
		return certain(byProbe(f.probe), f.fact, e.end).open(OwnExit) // a program chooses its exit code
	}
	own := certain(OwnExit, e.end, e.events["BackOff"].fact)
	if len(own.proof) == 0 {
		own = certain(OwnExit, cmp.Or(e.from, e.counted(), e.events["Started"].fact, e.events["Created"].fact))
	}
	if i := slices.IndexFunc(e.rows, func(f *incident.Fact) bool { return f.Reason == "Completed" }); i >= 0 &&
		!e.exits && !slices.ContainsFunc(e.rows, crashed) {
		return certain(OwnExit, e.rows[i]).likely().saying("completed again")
	}
	mayBeKilled := e.signalled || e.askedToStop() ||
		e.exits && !e.whole && e.life != nil && e.earliest() != bounds.Never
	switch {
	case mayBeKilled:
	case e.exits, e.whole, e.unready != nil && e.unready.dead(), len(e.failures) > 0 && e.unready == nil,
		slices.ContainsFunc(e.rows, crashed), // or failures of a probe would stand between the starts
		len(e.failures) == 0 && e.count("BackOff") > 2 && e.count("Started") > 2 && !e.log.partial:
		return own.likely()
	}
	return own.open(e.suspects()...)
}

// endedBefore: a probe found that the container had ended, and no later start is known.
func endedBefore(e *evidence) *ruling {
	for _, f := range slices.Backward(e.failures) {
		if f.class == Ending && e.ready != "true" && !e.running() && !e.startedAfter(f.fact) {
			return certain(OwnExit, f.fact).of(f.probe).open(e.suspects()...).saying("open ended")
		}
	}
	return nil
}

// askedToStop reports whether the end can be that of a program that was asked to stop, and the text
// is cut off before the probes. It ends with 0, or with 2 if it is written in Go and does not
// handle SIGTERM.
func (e *evidence) askedToStop() bool {
	return e.exits && slices.Contains([]int32{0, 2}, e.end.ExitCode) && e.restarted() && !e.complete && !e.init &&
		!slices.Contains(e.pod.Described, e.name) && e.killer == nil &&
		(e.life == nil || e.life.Greatest >= 20*time.Second)
}

// outlasts reports whether an instance has run as long as a kill by its startup probe takes, while
// the probe failed.
func (e *evidence) outlasts(f *failure) bool {
	started := e.events["Started"].fact
	if f.probe != trace.Startup || started == nil || e.count("BackOff") > 0 || !after(f.fact, started) {
		return false
	}
	w := e.window(f.probe, 0)
	return w != nil && f.fact.Last.End().Sub(started.Last.At) >= w.Least
}

// counted returns a fact that has the restarts of the container, or nil.
func (e *evidence) counted() *incident.Fact {
	return e.find(func(f *incident.Fact) bool {
		return f.Kind == incident.Restarts && f.Container == e.name && f.Count > 0
	})
}

// crashed reports whether the STATUS of a row tells of an exit. Init containers have no probes.
func crashed(f *incident.Fact) bool {
	return strings.HasSuffix(f.Reason, "Error") || f.Reason == "Init:CrashLoopBackOff"
}

// dead reports whether a failure looks like that of a program that has ended.
func (f *failure) dead() bool {
	return f.class == Refused || f.class == Reset || f.class == NoConnection
}

// suspects returns the causes that are left if a probe may have killed the container: those of the
// probes that the facts show, or of all.
func (e *evidence) suspects() (list []Cause) {
	for _, of := range slices.Backward(killers) {
		if e.probe(of) != nil {
			list = append(list, byProbe(of))
		}
	}
	if len(list) == 0 {
		return []Cause{LivenessProbe, StartupProbe}
	}
	return list
}

// failing: a probe that kills fails, and has not killed yet, or kills now: its newest failures are
// as many as its threshold, one period apart.
func failing(e *evidence) *ruling {
	f := e.killer
	// no readiness probe runs before the startup probe has succeeded; or it fails now, and this
	// one is over
	if f == nil || e.unready != nil && (f.probe == trace.Startup && after(e.unready.fact, f.fact) ||
		e.overSince(f) && e.tooFew(f.probe) && !e.overSince(e.unready)) {
		return nil
	}
	r := certain(Failing, f.fact).of(f.probe)
	if p := e.probe(f.probe); p != nil && f.count == int(p.FailureThreshold) {
		if apart, known := span(f.fact); known && (f.count == 1 ||
			apart.Least <= time.Duration(f.count)*e.period(f.probe)) {
			r.cause = byProbe(f.probe)
			return r.likely()
		}
	}
	switch {
	case e.endsWell(f):
		return certain(Failing, e.log.well, f.fact).of(f.probe).open(Nothing).saying("well in the end")
	case f.probe == trace.Startup && e.ready == "true" && !after(f.fact, e.row): // which needs its success
		return certain(Nothing, f.fact).of(f.probe).likely().saying("not ready before")
	case e.rare(f):
		r.words = "now and then"
	case e.overSince(f) && (e.ready == "true" || f.probe == trace.Startup && e.started == "true"):
		r.cause = Nothing
		return r
	case e.overSince(f) && e.ready == "false" && e.unready != nil:
		return nil // the readiness probe fails now
	case e.overSince(f):
		return r.open(Nothing).saying("failed before")
	}
	if e.restarts < 0 && !e.whole {
		if r.likely(); e.unready != nil && e.ready != "true" && !e.scattered(e.unready) {
			r.words = "failing both"
		}
	}
	return r
}

// period returns the period of a probe, or the default one if the facts do not show it.
func (e *evidence) period(of trace.Probe) time.Duration {
	if p := e.probe(of); p != nil {
		return time.Duration(p.PeriodSeconds) * time.Second
	}
	return 10 * time.Second
}

// rare reports whether less than one run in twenty failed.
func (e *evidence) rare(f *failure) bool {
	apart, known := span(f.fact)
	return known && f.count > 1 && time.Duration(f.count)*e.period(f.probe)*20 < apart.Least
}

// scattered reports whether the failures need not have been as many in a row as make a container
// not ready: runs in between succeeded, or there are fewer.
func (e *evidence) scattered(f *failure) bool {
	if f.fact.AtLeast || f.fact.Source == incident.FromEvent {
		return false
	}
	apart, known := span(f.fact)
	period := 20 * time.Second // rather long, if it is unknown
	if e.probe(f.probe) != nil {
		period = e.period(f.probe)
	}
	return known && f.count > 1 && time.Duration(f.count-1)*period*2 <= apart.Least || e.tooFew(f.probe)
}

// tooFew reports whether the text has fewer failures of a probe than the threshold, which is 3 by
// default.
func (e *evidence) tooFew(of trace.Probe) bool {
	threshold := int32(3)
	if p := e.probe(of); p != nil {
		threshold = p.FailureThreshold
	}
	list := e.failed(of)
	return total(list) < int(threshold) && !slices.ContainsFunc(list, func(f failure) bool { return f.fact.AtLeast })
}

// justStarted reports whether a probe failed within a period after a start: programs listen later.
func (e *evidence) justStarted(f *failure) bool {
	for _, reason := range []Cause{"Started", "Created", "Pulled"} {
		if t := e.events[reason].fact; t != nil && t.Last.Known() && f.fact.Last.Known() {
			apart := f.fact.Last.At.Sub(t.Last.At)
			return apart >= 0 && apart+f.fact.Last.Within <= e.period(f.probe)
		}
	}
	return false
}

// notReady: the container runs, and its readiness probe fails.
func notReady(e *evidence) *ruling {
	f, from := e.unready, e.from
	switch {
	case e.ready == "true", e.state == "Error", e.state == "Failed":
		return nil
	case f != nil && e.ready == "":
		return e.unreadyNow(f, certain(NotReady, f.fact).of(trace.Readiness))
	case f != nil:
		return certain(NotReady, f.fact).of(trace.Readiness)
	case e.ready == "false" && len(e.failures) > 0:
		return e.errored(trace.Readiness)
	case e.ready == "" || e.init:
		return nil
	case e.state == "Running" && e.started == "false" && e.probe(trace.Startup) != nil:
		return certain(NotReady, from).of(trace.Startup).saying("not started")
	case e.state != "Running":
		from = e.lastSync(trace.Readiness, "not ready")
	}
	if from == nil {
		return nil
	}
	return certain(NotReady, from).of(trace.Readiness).likely().saying("not shown")
}

// unreadyNow weighs failures of a readiness probe if the text does not say whether the container is
// ready.
func (e *evidence) unreadyNow(f *failure, r *ruling) *ruling {
	switch over := e.overSince(f); {
	case e.endsWell(f):
		return certain(Nothing, e.log.well, f.fact).of(f.probe).likely().saying("well")
	case over && e.log.partial:
		return r.open(Nothing).saying("failed before")
	case over:
		r.cause = Nothing
		return r.likely().saying("not ready before")
	case e.rare(f):
		return r.likely().saying("now and then")
	case e.tooFew(f.probe) && e.justStarted(f):
		return r.open(Nothing).saying("first miss")
	case e.tooFew(f.probe):
		return r.open(Nothing).saying("failed few")
	case e.scattered(f):
		return r.open(Nothing).saying("fails at times")
	}
	return r.likely()
}

// gateInMessage matches what the condition Ready says about a readiness gate.
var gateInMessage = regexp.MustCompile(`readiness gate "([^"]+)"`)

// gated: all containers are ready, and the pod is not. Of a kubelet, only readiness gates do
// so (GeneratePodReadyCondition in pkg/kubelet/status/generate.go at v1.37.0).
func gated(e *evidence) *ruling {
	condition := func(name string) *incident.Fact { return cmp.Or(e.conditions[name], &incident.Fact{}) }
	proof, row := condition("Ready"), cmp.Or(e.row, &incident.Fact{})
	set, all, gates := strings.Cut(strings.TrimPrefix(row.Message, "readiness gates "), "/")
	named := gateInMessage.FindStringSubmatch(proof.Message)
	what := "a condition"
	for _, name := range slices.Sorted(maps.Keys(e.conditions)) {
		if strings.Contains(name, "/") && condition(name).Value != "True" {
			what = "the condition " + name
		}
	}
	if named != nil {
		what = "the condition " + named[1]
	}
	switch {
	case e == e.of && gates && set != all && e.ready == "true":
		proof = row
	case e != e.of || proof.Value != "False" || named == nil && condition("ContainersReady").Value != "True",
		condition("Initialized").Value == "False":
		return nil
	}
	r := certain(ReadinessGate, proof)
	if r.what = what; what == "a condition" && proof != row {
		// MarkPodsNotReady in pkg/controller/util/node/controller_utils.go at v1.37.2
		return r.open(Node).saying("readinessGate open")
	}
	return r
}

// kubeletRestarted: a new kubelet has forgotten that several pods were ready, and found it again at
// once.
func kubeletRestarted(e *evidence) *ruling {
	if !e.log.restarted || e != e.of || forgotten(e.pod) == nil {
		return nil
	}
	return certain(Node, forgotten(e.pod)).likely().saying("kubelet restarted")
}

// overSince reports whether a probe that failed has succeeded since: it would have failed again
// before the text was printed.
func (e *evidence) overSince(f *failure) bool {
	list := e.failed(f.probe)
	newest := slices.MinFunc(list, func(a, b failure) int { return cmp.Compare(a.fact.Age, b.fact.Age) }).fact
	if f.fact.Source == incident.FromLog || newest.AgeWithin <= 0 || total(list) >= burst ||
		e.of.sent >= burst && newest.Age < refill {
		return false
	}
	longest := time.Minute // if the settings are unknown
	if p := e.probe(f.probe); p != nil {
		longest = 2*e.period(f.probe) + time.Duration(p.TimeoutSeconds)*time.Second
	} else if apart, known := span(f.fact); known && f.count > 2 && f.fact.CountShown && len(list) == 1 {
		longest = min(longest, 4*apart.Greatest/time.Duration(f.count-1)) // they are periods apart
	}
	return newest.Age > longest
}

// endsWell reports whether a person says below a failure that the pods are well, and nothing shows
// whether the container is ready.
func (e *evidence) endsWell(f *failure) bool {
	w := e.log.well
	return w != nil && e.ready == "" && w.File == f.fact.File && w.Line > f.fact.Line
}

// harmless: probes warned, failed or ended in errors, and nothing is wrong now.
func harmless(e *evidence) *ruling {
	result := func(result trace.Result) *failure {
		return main(slices.DeleteFunc(slices.Clone(e.failures), func(f failure) bool { return f.result != result }))
	}
	warning, failed := result(trace.Warning), result(trace.Error)
	switch {
	case warning != nil:
		return certain(Nothing, warning.fact).of(warning.probe).saying("redirected")
	case e.unready != nil && e.ready == "true":
		return certain(Nothing, e.unready.fact).of(trace.Readiness)
	case failed != nil && e.endsWell(failed):
		return certain(Nothing, e.log.well, failed.fact).of(failed.probe).likely().saying("well")
	case failed != nil && e.ready == "true":
		return certain(Nothing, failed.fact).of(failed.probe).likely().saying("errors ready")
	case failed != nil:
		return e.errored(failed.probe)
	}
	return nil
}

// errored: a probe ends in errors, which count neither way.
func (e *evidence) errored(of trace.Probe) *ruling {
	failed := main(slices.DeleteFunc(slices.Clone(e.failures), func(f failure) bool {
		return f.result != trace.Error || f.probe != of
	}))
	if failed == nil {
		return nil
	}
	r := certain(Failing, failed.fact).of(of).likely().saying("errors")
	if of == trace.Readiness && e.ready == "false" {
		r.cause, r.sure, r.detail = NotReady, Certain, "It is not ready, and stays so: only a success makes it ready."
	} else if of == trace.Readiness {
		r.detail = "If it was not ready before, it stays so."
	}
	switch m := missing.FindStringSubmatch(failed.output); {
	case failed.class == NoCommand && m == nil && !ownFault.MatchString(failed.output):
		said := strings.Join(strings.Fields(failed.output), " ")
		r.words, r.what = "errors runtime", ": "+shortened(lastError(said))
	case failed.class == NoCommand && m == nil:
		r.words = "errors command"
	case failed.class == NoCommand:
		r.words, r.what = "errors command", ": the image has no "+m[1]
		if strings.Contains(m[1], " ") {
			r.what = fmt.Sprintf(": the image has no program %q, which should be a list of words", m[1])
		}
	case portName.MatchString(failed.output):
		r.words, r.what = "errors port", portName.FindStringSubmatch(failed.output)[1]
	case overtime.MatchString(failed.output):
		r.words, r.what = "errors timeout", strings.NewReplacer(e.parts(failed)...).Replace("{within}")
	}
	return r
}

// portName matches the name of a port that a container does not have (ResolveContainerPort in
// pkg/probe/util.go at v1.37.2).
var portName = regexp.MustCompile(`strconv\.Atoi: parsing \\*"([^"\\]+)`)

// missing matches the program of a command that the image does not have.
var missing = regexp.MustCompile(`exec: \\*"([^"\\]+)\\*": (?:executable file not found|stat [^:]+: no such file)`)

// ownFault matches why a command cannot run for which the runtime is not to blame.
var ownFault = regexp.MustCompile(`permission denied|exec format error|not found|no such file`)

// hookFailed: a preStop hook, which the kubelet runs before it stops a container, or a hook of
// which the text does not say which it is.
func hookFailed(e *evidence) *ruling {
	if f := e.events["PreStopTimeout"].fact; f != nil {
		r := certain(Removed, f).saying("preStop late")
		r.what = " (" + f.Message + ")"
		return r
	}
	if f := e.events["FailedPreStopHook"].fact; f != nil {
		cut := strings.Contains(f.Message, " exited with 137:")
		return certain(Removed, f).likely().saying(map[bool]string{true: "preStop cut", false: "preStop hook"}[cut])
	}
	if f := e.events["FailedHook"].fact; f != nil {
		return certain(Unknown, f).open().saying("hook failed")
	}
	return nil
}

// waits: for the volumes, the network or its init containers, or nobody knows.
func waits(e *evidence) *ruling {
	switch {
	case e.state == "Error":
		return certain(OwnExit, e.from).likely()
	case e.state == "Failed":
		return certain(Unknown, e.from).open().saying("bare unknown")
	case e.count("Pulling") > e.count("Pulled") && e.count("Created") == 0 && !e.restarted() && e.ready != "true":
		return certain(Waiting, e.events["Pulling"].fact).likely().saying("pulls")
	case e.from != nil && slices.Contains([]string{"ContainerCreating", "PodInitializing", "Pending"}, e.state):
		return certain(Waiting, e.from).open()
	}
	return nil
}

// bare has what shows alone that something is wrong, by what it is about.
var bare = []struct {
	kind          incident.Kind
	reason, value string
	cause         Cause
	words         string
}{{incident.Phase, "", "Failed", Unknown, "bare unknown"}, {incident.Ready, "", "false", NotReady, "bare notReady"},
	{incident.Condition, "Initialized", "False", Waiting, "bare init"},
	{incident.Condition, "Ready", "False", NotReady, "bare notReady"},
	{incident.Condition, "Available", "False", Waiting, "bare workload"},
	{incident.Phase, "", "Pending", Waiting, "bare waiting"}}

// unwell: the text shows that something does not run, or is not ready, and no other rule knows
// more.
func unwell(e *evidence) *ruling {
	row := e.from != nil && e.from.Kind == incident.Row && e.ready == "false" && e.state != "Completed"
	switch waits := row && e.state != "Running" || e.from != nil && e.from.Kind == incident.Waiting; {
	case waits && strings.Contains(e.state, "/"): // Init:0/2
		r := certain(Waiting, e.from).open().saying("waits for init")
		r.what = strings.Replace(e.state, "/", " of ", 1)
		return r
	case waits: // the reason may be cut off
		words := map[bool]string{true: "bare waiting", false: "waits for reason"}
		return certain(Waiting, e.from).open().saying(words[e.state == ""])
	}
	for _, b := range bare {
		f := e.find(func(f *incident.Fact) bool {
			newest := b.kind != incident.Condition || f == e.conditions[b.reason] &&
				(b.reason != "Available" || f.Message == "" || strings.Contains(f.Message, "minimum availability"))
			return f.Kind == b.kind && f.Value == b.value && newest && e.about(f)
		})
		if f != nil && !e.init && (e == e.of || b.kind == incident.Ready && e.ready == b.value) {
			r := certain(b.cause, f).open().saying(b.words)
			r.what = strings.TrimSuffix(" ("+firstLine(f.Message, 120)+")", " ()")
			return r
		}
	}
	return nil
}

// relisted: a later list of pods has other pods of the workload in place of this one, and all are
// ready.
func relisted(e *evidence) *ruling {
	row := e.of.row
	if row == nil || e != e.of || e.ready != "false" || len(e.rows) < len(e.pod.Facts) {
		return nil
	}
	var r *ruling
	for _, o := range e.log.rows {
		ready, all, _ := strings.Cut(o.Value, "/")
		if o.File != row.File || o.Listing <= row.Listing || workloadOf(o.Pod) != workloadOf(e.pod) {
			continue
		}
		if o.Pod == e.pod || ready != all {
			return nil
		}
		r = certain(Nothing, row, o).open().saying("listed anew")
		r.what = o.Pod.Name
	}
	return r
}
