package reconstruct

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// slack is the tolerance of windows besides the precision of a fact: a run has other latencies than the cluster. Each restart of the
// container adds as much, up to maxSlack, because the kubelet notices exits at its next relist and retries starts when it syncs the pod.
const (
	slack    = 500 * time.Millisecond
	maxSlack = 3 * time.Second
)

// claimer turns facts into expectations for a run whose t=0 is zero.
type claimer struct {
	*model
	zero   time.Time
	end    time.Duration // the time at which the status was recorded
	claims []Claim
	done   map[string]bool
	slack  time.Duration // of the fact that is claimed
	about  string        // the container that the fact is about
}

// claims returns the claims of the recording, and sets those that no run can explain.
func (m *model) claims(zero time.Time) []Claim {
	m.beyond = nil
	c := &claimer{model: m, zero: zero, end: max(m.end.Sub(zero), time.Second) + m.since, done: map[string]bool{}}
	for _, f := range m.pod.Facts {
		c.add(f)
	}
	c.absent()
	return c.claims
}

// Limits of what a missing event tells: events expire after an hour, and the kubelet drops some beyond a burst of warnings.
const (
	expiry = time.Hour
	burst  = 25
)

// absent claims that probes without a recorded failure did not fail, and that containers of which the recording has nothing did not start.
func (c *claimer) absent() {
	var any *incident.Fact
	for _, f := range c.pod.Facts {
		if f.Kind == incident.Event && f.When.Known() && f.Source == incident.FromEvent && f.Container != "" {
			any = f
		}
		if combined(f) && f.Reason == "Unhealthy" {
			return
		}
	}
	if any == nil || c.end > expiry {
		return
	}
	for _, spec := range c.containers() {
		if c.hasEvent("Started") && !c.noisy("Normal") && !slices.ContainsFunc(c.pod.Facts, func(f *incident.Fact) bool { return f.Container == spec.Name }) {
			c.claim(any, "no start of "+spec.Name, fmt.Sprintf("never: ..%s, container: %s, record: {kind: Event, reason: Started}", c.at(), spec.Name))
		}
	}
	if c.warnings() >= burst {
		return
	}
	for _, list := range [][]v1.Container{c.object.Spec.InitContainers, c.object.Spec.Containers} {
		for i := range list {
			for _, probe := range trace.ProbeTypes {
				if incident.ProbeOf(&list[i], probe) == nil || len(c.failures(list[i].Name, probe)) > 0 || c.kills(list[i].Name, probe) > 0 {
					continue
				}
				title := strings.ToUpper(string(probe[:1])) + string(probe[1:])
				c.claim(any, fmt.Sprintf("no failure of the %s probe of %s", probe, list[i].Name),
					fmt.Sprintf("never: ..%s, container: %s, record: {kind: Event, reason: Unhealthy, message: /^%s probe failed/}", c.at(), list[i].Name, title))
			}
		}
	}
}

// duration returns the virtual time of a run.
func (m *model) duration(zero time.Time) time.Duration {
	return (max(m.end.Sub(zero), time.Second) + max(m.since, 0) + m.longer + 2*time.Second).Truncate(time.Second)
}

func (c *claimer) claim(f *incident.Fact, says, expect string) {
	if why := c.rejected[claimKey{f, says}]; why != "" {
		c.outside(f, says, "no run of this manifest can show it: "+why)
		return
	}
	c.claims = append(c.claims, Claim{Fact: f, Says: says, expect: expect})
}

func (c *claimer) outside(f *incident.Fact, says, reason string) {
	c.beyond = append(c.beyond, Claim{Fact: f, Says: says, Beyond: true, Reason: reason})
}

// window returns the times at which something can have happened.
func (c *claimer) window(m incident.Moment) (from, to time.Duration) {
	doubt := c.slack
	if c.retries {
		doubt += c.retryDoubt(c.about, m.At)
	}
	from, to = m.At.Sub(c.zero)-doubt, m.End().Sub(c.zero)+doubt
	last := c.duration(c.zero)
	return round(min(max(from, 0), last-time.Millisecond)), round(min(max(to, time.Millisecond), last))
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

func span(from, to time.Duration) string {
	return value.Format(from) + ".." + value.Format(max(to, from))
}

func (c *claimer) within(m incident.Moment) string { return span(c.window(m)) }

func (c *claimer) add(f *incident.Fact) {
	c.slack, c.about = c.slackOf(f.Container), f.Container
	switch f.Kind {
	case incident.Event:
		c.event(f)
	case incident.ProbeRun:
		c.logged(f)
	case incident.Condition:
		c.condition(f)
	case incident.Phase:
		if f.Source != incident.FromLog && f.Source != incident.FromWatch && c.latest(f) {
			c.claim(f, "the pod is "+f.Value, fmt.Sprintf("at: %s, status: {phase: %s}", c.at(), strconv.Quote(f.Value)))
		}
	case incident.Row:
		c.row(f)
	case incident.ProbeSync, incident.Lifecycle, incident.Log, incident.Created, incident.Deleted:
		// They say nothing that other facts do not say, or serve as the times of steps.
	default:
		if c.has(f.Container) && (f.Kind == incident.Restarts || c.latest(f)) {
			c.container(f)
		}
	}
}

// slackOf returns the tolerance for a fact about a container.
func (m *model) slackOf(container string) time.Duration {
	return min(slack*time.Duration(1+m.restarts(container)), maxSlack)
}

// restarts returns the highest restartCount of a container, or of any container.
func (m *model) restarts(name string) int {
	n := 0
	for _, f := range m.pod.Facts {
		if name != "" && f.Container != name {
			continue
		}
		switch {
		case f.Kind == incident.Restarts || f.Kind == incident.Row || f.Kind == incident.Running:
			n = max(n, f.Count)
		case f.Kind == incident.Event && f.Reason == "Started":
			n = max(n, f.Count-1)
		}
	}
	return min(n, 1000)
}

// at is the time of the recording.
func (c *claimer) at() string { return value.Format(round(c.end)) }

// seen returns when the status of a container, or of the pod, is that of the recording.
func (c *claimer) seen(container string) string {
	doubt := c.retryDoubt(container, c.zero.Add(c.end))
	if !c.retries || doubt == 0 {
		return "at: " + c.at()
	}
	return "within: " + span(round(max(c.end-doubt, 0)), round(min(c.end+doubt, c.duration(c.zero))))
}

// has reports whether the manifest has a container.
func (c *claimer) has(name string) bool { return c.spec(name) != nil }

func (m *model) spec(name string) *v1.Container {
	for _, list := range [][]v1.Container{m.object.Spec.InitContainers, m.object.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// latest reports whether no later snapshot of the pod tells the same.
func (c *claimer) latest(f *incident.Fact) bool {
	for i := len(c.pod.Facts) - 1; i >= 0; i-- {
		o := c.pod.Facts[i]
		if o.Source == f.Source && o.Kind == f.Kind && o.Container == f.Container && o.Reason == f.Reason && o.Previous == f.Previous {
			return o == f || f.Kind == incident.Terminated || f.Kind == incident.Running
		}
	}
	return true
}

// sums are the reasons of events that differ in their words from version to version: all of a container count together.
var sums = map[string]bool{"Pulling": true, "Pulled": true, "Created": true, "Started": true}

func (c *claimer) event(f *incident.Fact) {
	says := fmt.Sprintf("%s: %s", f.Reason, firstLine(f.Message))
	switch {
	case !f.When.Known():
		c.outside(f, says, "the event has no time")
		return
	case combined(f):
		c.outside(f, says, "the kubelet combined events with different messages")
		return
	case outsiders[f.Reason] != "" && !noImage(f):
		c.outside(f, says, outsiders[f.Reason])
		return
	case f.Reason == "Pulling" && c.has(f.Container) && c.spec(f.Container).ImagePullPolicy != v1.PullAlways:
		c.outside(f, says, "the image was not on the node; in a run it is, unless the pull policy is Always")
		return
	case f.Container != "" && !c.has(f.Container):
		c.outside(f, says, "the manifest has no container "+f.Container)
		return
	}
	matcher, all := c.matcher(f)
	if matcher == "" {
		c.outside(f, says, "the simulator has no such event")
		return
	}
	if c.done[matcher] {
		return
	}
	c.done[matcher] = true
	c.series(all, says, matcher, f.Reason == "BackOff" || noImage(f) || f.Reason == "Pulling" && c.lacksImage(f.Container))
}

// ofPods are the reasons of events about whole pods that a run has, too.
var ofPods = map[string]bool{"Evicted": true, "DeadlineExceeded": true, "ExceededGracePeriod": true}

// outsiders are the reasons of events that are not about containers and probes, or not of the kubelet.
var outsiders = map[string]string{
	"Scheduled": "the scheduler binds pods, and the simulator begins after it", "FailedScheduling": "the scheduler is not simulated",
	"SuccessfulMountVolume": "volumes are simulated as a delay only", "FailedMount": "volumes are simulated as a delay only",
	"FailedAttachVolume": "volumes are simulated as a delay only", "SuccessfulAttachVolume": "volumes are simulated as a delay only",
	"DNSConfigForming": "the network is not simulated", "NodeControllerEviction": "a controller deleted the pod: controllers are not simulated",
	"TaintManagerEviction": "a controller deleted the pod: controllers are not simulated", "NodeNotReady": "controllers are not simulated",
	"Preempted": "the scheduler is not simulated", "FailedKillPod": "the runtime failed, which the recording does not explain further",
	"FailedCreatePodSandBox": "the runtime or the network failed, which the recording does not explain further",
	"SandboxChanged":         "the sandbox of the pod ended, which the recording does not explain further",
	"FailedSync":             "it repeats what another event says",
	"InspectFailed":          "the runtime failed, which the recording does not explain further", "Failed": "the container could not start, for a reason outside of probes", "FailedPreStopHook": "the recording does not tell what the hook does",
	"FailedPostStartHook": "the recording does not tell what the hook does",
}

// matcher returns the fields of an expectation about events like f, and all facts about such events.
func (c *claimer) matcher(f *incident.Fact) (string, []*incident.Fact) {
	alike := func(holds func(o *incident.Fact) bool) []*incident.Fact {
		return c.factsWhere(func(o *incident.Fact) bool {
			return o.Kind == incident.Event && o.Reason == f.Reason && o.Container == f.Container && o.When.Known() && holds(o)
		})
	}
	event := "record: {kind: Event, reason: " + f.Reason
	if f.Container != "" {
		event = "container: " + f.Container + ", " + event
	}
	u := incident.ParseUnhealthy(f.Message)
	switch {
	case ofPods[f.Reason] && f.Container == "", sums[f.Reason]:
		return event + "}", alike(func(*incident.Fact) bool { return true })
	case noImage(f):
		words := pullWords(f)
		return fmt.Sprintf("%s, message: %q}", event, "/^"+words+"/"), alike(func(o *incident.Fact) bool { return pullWords(o) == words })
	case f.Reason == "BackOff":
		return event + ", message: /^Back-off restarting/}", alike(crashBackOff)
	case u.Probe != "" && incident.ProbeOf(c.spec(f.Container), u.Probe) == nil:
		return "", nil
	case u.Probe != "" && (f.Reason == "Unhealthy" || f.Reason == "ProbeWarning"):
		told := c.tellsErrors(f.Container, u.Probe)
		same := pattern(f.Message, u, told)
		return fmt.Sprintf("%s, message: %s}", event, strconv.Quote(same)), alike(func(o *incident.Fact) bool {
			v := incident.ParseUnhealthy(o.Message)
			return v.Probe == u.Probe && pattern(o.Message, v, told) == same
		})
	case f.Reason == "Killing":
		cause := incident.ParseKilling(f.Message)
		words := map[incident.Cause]string{incident.ByLiveness: "/failed liveness probe/", incident.ByStartup: "/failed startup probe/", incident.ByDeletion: "/Stopping container/", incident.ByDefinition: "/definition changed/"}[cause]
		if words == "" {
			return "", nil
		}
		return fmt.Sprintf("%s, message: %s}", event, words), alike(func(o *incident.Fact) bool { return incident.ParseKilling(o.Message) == cause })
	}
	return "", nil
}

// pattern returns what an expectation matches instead of a message, whose addresses and words differ from those of a run. If the causes of all
// errors of the probe are told, it matches errors with this cause only.
func pattern(message string, u incident.Unhealthy, told bool) string {
	probe := strings.ToUpper(string(u.Probe[:1])) + string(u.Probe[1:])
	switch {
	case u.Result == "error" && told && runtimeGone(message):
		return "/^" + probe + " probe errored.*" + noRuntime.pattern() + "/"
	case told && containerGone(message):
		return "/^" + probe + " probe errored.*" + noContainer.pattern() + "/"
	case u.Result != "failure":
		return "/^" + probe + " probe (errored|warning)/"
	case kindOf(u.Output) != "":
		return "/^" + probe + " probe failed.*" + kindOf(u.Output) + "/"
	}
	if len(message) > 200 {
		return "/^" + regexp.QuoteMeta(strings.ToValidUTF8(message[:200], "")) + "/"
	}
	return message
}

// phrases are words, one of which an output has.
type phrases []string

// in reports whether an output has one of the phrases.
func (p phrases) in(output string) bool {
	return slices.ContainsFunc(p, func(phrase string) bool { return strings.Contains(output, phrase) })
}

// tellsErrors reports whether the messages of all errors of a probe tell that its container or the container runtime was gone.
func (m *model) tellsErrors(container string, probe trace.Probe) bool {
	return !slices.ContainsFunc(m.failures(container, probe), func(f *incident.Fact) bool {
		return incident.ParseUnhealthy(f.Message).Result == trace.Error && !runtimeGone(f.Message) && !containerGone(f.Message)
	})
}

// pattern returns a regular expression for texts with one of the phrases.
func (p phrases) pattern() string { return "(" + strings.Join(p, "|") + ")" }

var (
	refused = phrases{"connection refused"}
	// timeouts are the words of requests and commands that took too long.
	timeouts = phrases{"deadline exceeded", "Client.Timeout", "timed out", "i/o timeout", "request canceled", "DeadlineExceeded", "Deadline Exceeded", "did not complete within", "TLS handshake timeout"}
	// hungUp are the words of requests whose connection ended without an answer, or with another one than expected.
	hungUp = phrases{"connection reset by peer", "server gave HTTP response", "malformed HTTP"}
)

// noAnswer reports whether a connection ended without an answer.
func noAnswer(output string) bool { return strings.HasSuffix(output, ": EOF") || hungUp.in(output) }

// mostOutput is the number of bytes of an output that count. The recording has up to 10 KiB of the output of a command, but its beginning tells
// which failure it was.
const mostOutput = 256

func beginning(output string) string {
	if len(output) <= mostOutput {
		return output
	}
	return strings.ToValidUTF8(output[:mostOutput], "")
}

// kindOf returns a regular expression for outputs whose words differ between versions, or nothing.
func kindOf(output string) string {
	output = beginning(output)
	switch {
	case strings.HasPrefix(output, "timeout: "): // of gRPC
		return output[:min(len(output), len("timeout: failed to"))]
	case timeouts.in(output):
		if strings.Contains(output, "TLS handshake timeout") {
			return "TLS handshake timeout"
		}
		return "(deadline exceeded|Client.Timeout|timed out|i/o timeout|request canceled|Deadline ?Exceeded)"
	case refused.in(output):
		return "connection refused"
	case noAnswer(output):
		return "(: EOF$|reset by peer|HTTP response|malformed HTTP)"
	}
	return ""
}

// firstLine returns the first line of a text, and at most 200 characters of it.
func firstLine(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if runes := []rune(line); len(runes) > 200 {
		line, more = string(runes[:200]), true
	}
	if more {
		line += " …"
	}
	return line
}

// series claims the first time, the number and the last time of events or lines of a log.
func (c *claimer) series(all []*incident.Fact, says, matcher string, roughly bool) {
	first, last, count, least := all[0].When, all[0].Last, 0, false
	for _, f := range all {
		if f.When.At.Before(first.At) {
			first = f.When
		}
		if f.Last.At.After(last.At) || !last.Known() {
			last = f.Last
		}
		count += f.Count
		least = least || f.AtLeast
	}
	f := all[0]
	if !least {
		before := c.slack
		if first.Within <= time.Second && (f.Reason == "Pulling" || f.Reason == "Pulled" || f.Reason == "Created" || f.Reason == "Started") {
			c.slack = slack // of the first start
		}
		if steps[f.Reason] && c.startMissing(f.Container) || !c.keeps(f, first.At) {
			c.claim(f, says, "within: "+c.within(first)+", "+matcher)
		} else {
			c.claim(f, "the first "+says, "first: "+c.within(first)+", "+matcher)
		}
		c.slack = before
	}
	if count == 1 {
		if least {
			c.claim(f, says, "within: "+c.within(last)+", "+matcher)
		}
		return
	}
	from, _ := c.window(first)
	_, to := c.window(last)
	number := strconv.Itoa(count)
	switch {
	case least || c.noisy(f.Type) || !c.keeps(f, last.At): // each object counts up to its last update, and the spam filter drops the updates after it
		number += ".."
	case roughly: // the kubelet tries again when it syncs the pod, at times that it draws
		number = fmt.Sprintf("%d..%d", int(math.Floor(0.6*float64(count))), int(math.Ceil(1.5*float64(count)))+1)
	case to > c.end && (f.Reason == "Unhealthy" || ofPods[f.Reason]): // the next one can follow the recording by less than the slack: one in each second, the shortest period
		number = fmt.Sprintf("%d..%d", count, count+1+int((to-c.end)/time.Second))
	}
	c.claim(f, fmt.Sprintf("%d times %s", count, says), fmt.Sprintf("within: %s, count: %s, %s", span(from, to), number, matcher))
	c.claim(f, "the last "+says, "within: "+c.within(widened(last, roughly))+", "+matcher)
}

// keeps reports whether the recording tells all events like one before a time. It does not if the events of the same type fill the burst,
// beyond which the kubelet may drop some, or if the kubelet has combined events with the same reason.
func (m *model) keeps(like *incident.Fact, until time.Time) bool {
	n := 0
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Type != like.Type || !f.When.At.Before(until) {
			continue
		}
		if n += f.Count; n >= burst || combined(f) && f.Reason == like.Reason {
			return false
		}
	}
	return true
}

// combined reports whether an event is one of several with different messages.
func combined(f *incident.Fact) bool {
	return f.Kind == incident.Event && strings.HasPrefix(f.Message, "(combined from similar events)")
}

// noisy reports whether the pod has so many events of a type that the kubelet may have dropped some.
func (m *model) noisy(typ string) bool {
	n := 0
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Event && f.Type == typ {
			n += f.Count
		}
	}
	return n >= burst
}

func widened(m incident.Moment, roughly bool) incident.Moment {
	if roughly {
		m.At = m.At.Add(-15 * time.Second)
		m.Within += 30 * time.Second
	}
	return m
}

// logged claims the runs of a probe in a log: those with one result and one output together.
func (c *claimer) logged(f *incident.Fact) {
	spec := c.spec(f.Container)
	if spec == nil || incident.ProbeOf(spec, f.Probe) == nil {
		return
	}
	matcher := fmt.Sprintf("container: %s, record: {kind: ProbeExecuted, probe: %s, result: %s}", f.Container, f.Probe, f.Result)
	if c.done[matcher] {
		return
	}
	c.done[matcher] = true
	var all []*incident.Fact
	for _, o := range c.pod.Facts {
		if o.Kind == incident.ProbeRun && o.Container == f.Container && o.Probe == f.Probe && o.Result == f.Result {
			all = append(all, o)
		}
	}
	c.series(all, fmt.Sprintf("%s of the %s probe in the log", f.Result, f.Probe), matcher, false)
}

func (c *claimer) condition(f *incident.Fact) {
	field := map[string]string{"Ready": "ready", "ContainersReady": "containersReady", "Initialized": "initialized"}[f.Reason]
	if field == "" || f.Value != "True" && f.Value != "False" || !c.latest(f) {
		return
	}
	on := f.Value == "True"
	if f.When.Known() {
		created := false // the condition has this value since the beginning
		for _, o := range c.pod.Facts {
			created = created || o.Kind == incident.Created && !f.When.At.After(o.When.At.Add(2*time.Second)) && !on
		}
		created = created || !on && !f.When.At.After(c.first.At.Add(time.Second)) // since its first status
		says := fmt.Sprintf("%s is %s since", f.Reason, f.Value)
		_, to := c.window(f.When)
		switch {
		case created:
		case to < 100*time.Millisecond:
			c.outside(f, says, "it was before the moment at which the run begins")
		default:
			c.claim(f, says, fmt.Sprintf("within: %s, becomes: {%s: %t}", c.within(f.When), field, on))
		}
		if to = max(to, time.Second); to < c.end {
			c.claim(f, fmt.Sprintf("%s stays %s", f.Reason, f.Value), fmt.Sprintf("always: %s, status: {%s: %t}", span(to, round(c.end)), field, on))
			return
		}
	}
	c.claim(f, fmt.Sprintf("%s is %s", f.Reason, f.Value), fmt.Sprintf("%s, status: {%s: %t}", c.seen(f.Container), field, on))
}

// row claims what a row of kubectl get pods tells.
func (c *claimer) row(f *incident.Fact) {
	if !f.When.Known() {
		return
	}
	ready, all, _ := strings.Cut(f.Value, "/")
	if all != strconv.Itoa(len(c.object.Spec.Containers)) {
		return
	}
	c.claim(f, "READY "+f.Value, fmt.Sprintf("within: %s, status: {ready: %t}", c.within(f.When), ready == all))
	if len(c.object.Spec.Containers) == 1 {
		c.claim(f, fmt.Sprintf("RESTARTS %d", f.Count), fmt.Sprintf("within: %s, container: %s, status: {restartCount: %d}", c.within(f.When), c.object.Spec.Containers[0].Name, f.Count))
	}
}

// waits has the reasons of waiting containers that a run can have.
var waits = map[string]bool{"CrashLoopBackOff": true, "ContainerCreating": true, "PodInitializing": true, "ErrImagePull": true, "ImagePullBackOff": true}

func (c *claimer) container(f *incident.Fact) {
	of := "container: " + f.Container
	state := func(says, text string) {
		c.claim(f, says, fmt.Sprintf("%s, %s, status: {%s}", c.seen(f.Container), of, text))
	}
	switch f.Kind {
	case incident.Running:
		if f.When.Known() {
			c.claim(f, fmt.Sprintf("instance %d started", f.Count), fmt.Sprintf("within: %s, %s, record: {kind: ContainerStarted}", c.within(f.When), c.instance(f.Container, f.Count)))
		}
		state("it runs", "state: running")
	case incident.Waiting:
		if !waits[f.Reason] {
			c.outside(f, "it waits: "+f.Reason, "the simulator has no such reason to wait")
			return
		}
		state("it waits: "+f.Reason, "state: waiting, reason: "+f.Reason)
	case incident.Terminated:
		number := c.numberOf(f)
		if f.When.Known() {
			c.claim(f, fmt.Sprintf("instance %d started", number), fmt.Sprintf("within: %s, %s, record: {kind: ContainerStarted}", c.within(f.When), c.instance(f.Container, number)))
		}
		if f.Last.Known() {
			c.claim(f, fmt.Sprintf("instance %d exited with code %d", number, f.ExitCode),
				fmt.Sprintf("within: %s, %s, record: {kind: ContainerExited, exitCode: %d}", c.within(f.Last), c.instance(f.Container, number), max(min(f.ExitCode, 255), 0)))
		}
		if !f.Previous {
			state("it has ended", "state: terminated")
		}
	case incident.Restarts:
		if f.Source == incident.FromLog || !c.latest(f) {
			if f.When.Known() {
				c.claim(f, fmt.Sprintf("restartCount is %d", f.Count), fmt.Sprintf("within: %s, %s, status: {restartCount: %d}", c.within(f.When), of, f.Count))
			}
			return
		}
		state(fmt.Sprintf("restartCount is %d", f.Count), fmt.Sprintf("restartCount: %d", f.Count))
	case incident.Ready:
		state("ready is "+f.Value, "ready: "+f.Value)
	case incident.Started:
		state("started is "+f.Value, "started: "+f.Value)
	}
}

// instance returns the fields of an expectation about the instance of a container with a number, without the number if restartCounts do not
// tell it.
func (c *claimer) instance(container string, number int) string {
	if c.miscounted(container) {
		return "container: " + container
	}
	return fmt.Sprintf("container: %s, instance: %d", container, number)
}

// uncounted are the reasons to wait of a container whose restartCount can be another number than that of its last instance: the kubelet
// gives its defaults to a container that the runtime does not have.
var uncounted = map[string]bool{"RestartingAllContainers": true, "PodInitializing": true, "ContainerCreating": true}

// miscounted reports whether the restartCount of a container can be another number than that of its last instance. A new sandbox, an
// in-place restart of all containers, and the end of a pod whose containers are gone raise it (convertToAPIContainerStatuses in
// pkg/kubelet/kubelet_pods.go and TerminatePod in pkg/kubelet/status/status_manager.go at v1.37.0), and a container that was created need
// not have started.
func (m *model) miscounted(container string) bool {
	created, started := 0, 0
	for _, f := range m.pod.Facts {
		switch {
		case f.Kind == incident.Terminated && f.Reason == "ContainerStatusUnknown", f.Kind == incident.Event && (f.Reason == "SandboxChanged" || f.Reason == "Evicted"):
			return true
		case f.Kind == incident.Waiting && f.Container == container && (uncounted[f.Reason] || withoutImage[f.Reason] && podutil.AllContainersCouldRestart(&m.object.Spec)):
			return true
		case f.Kind == incident.Event && f.Reason == "Created" && f.Container == container:
			created += f.Count
		case f.Kind == incident.Event && f.Reason == "Started" && f.Container == container:
			started += f.Count
		}
	}
	return created > started && !m.noisy("Normal")
}
