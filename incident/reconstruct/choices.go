package reconstruct

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// addStart adds the dimensions of the first start of a container.
func (m *model) addStart(c *v1.Container) {
	m.parts = append(m.parts,
		&part{container: c.Name, what: "delay", try: func(s *search, p *part) []choice { return tryDelay(s, p, c) }},
		&part{container: c.Name, what: "hook", try: func(s *search, p *part) []choice { return tryHook(s, c) }})
}

// addParts adds the dimensions of a container: its exits, and each of its probes. The first ones explain what they can, so the probes come
// first if they killed as many instances as ended.
func (m *model) addParts(c *v1.Container) {
	first := []*part{
		{container: c.Name, what: "exits", try: func(s *search, p *part) []choice { return tryExits(s, c) }},
		{container: c.Name, what: "stop", try: func(s *search, p *part) []choice { return tryStop(s, c) }}}
	var then []*part
	if len(probesOf(c)) > 1 {
		then = append(then, &part{container: c.Name, what: allProbes, try: func(s *search, p *part) []choice { return tryTogether(s, c) }})
	}
	for _, probe := range probesOf(c) {
		then = append(then, &part{container: c.Name, what: string(probe), try: func(s *search, p *part) []choice { return tryProbe(s, p, c, probe) }})
	}
	if m.killed(c) {
		first, then = then, first
	}
	m.parts = append(append(m.parts, first...), then...)
}

// killed reports whether probes killed as many instances of a container as ended. The kubelet may have dropped the events about some.
func (m *model) killed(c *v1.Container) bool {
	kills, restarts := m.kills(c.Name, trace.Liveness)+m.kills(c.Name, trace.Startup), m.restarts(c.Name)
	if m.noisy("Normal") {
		restarts = -1
		for _, f := range m.pod.Facts {
			if f.Kind == incident.Event && f.Reason == "Started" && f.Container == c.Name {
				restarts += f.Count
			}
		}
	}
	return kills > 0 && kills >= restarts
}

// tryDelay lets the first start of a container take as long as recorded: as the times between its events tell, or else because of its
// image.
func tryDelay(s *search, p *part, c *v1.Container) []choice {
	if s.model.startMissing(c.Name) {
		return nil
	}
	if create, start, known := s.latencies(p, c.Name); known {
		return []choice{{name: "measured", create: create, startup: start}}
	}
	if f := s.model.firstEvent(c.Name); f != nil && f.Reason != "Started" {
		return s.pending(c)
	}
	starts := s.starts(c.Name)
	for _, f := range s.model.pod.Facts {
		first := f.Kind == incident.Event && f.Reason == "Started" && !f.AtLeast || (f.Kind == incident.Running || f.Kind == incident.Terminated) && !f.Previous && f.Count == 0
		if f.Container != c.Name || !first || !f.When.Known() || len(starts) == 0 || c.Name == s.model.starter {
			continue
		}
		late := f.When.At.Add(f.When.Within/2).Sub(s.best.zero) - starts[0].Offset()
		if p.create == 0 {
			late += 31 * time.Millisecond // the default
		}
		if create := round(p.create + late); create > 0 && create < time.Hour && late.Abs() > 5*time.Millisecond {
			return []choice{{name: "delay", create: create}}
		}
	}
	return nil
}

// startMissing reports whether the recording lacks the first start of a container: a probe failed or killed it before the first start that
// it has.
func (m *model) startMissing(container string) bool {
	var started, probed time.Time
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Container != container || !f.When.Known() || f.AtLeast {
			continue
		}
		switch {
		case f.Reason == "Started" && (started.IsZero() || f.When.At.Before(started)):
			started = f.When.At
		case (f.Reason == "Killing" || incident.ParseUnhealthy(f.Message).Probe != "") && (probed.IsZero() || f.When.At.Before(probed)):
			probed = f.When.At
		}
	}
	return !started.IsZero() && !probed.IsZero() && probed.Before(started)
}

// pending lets the first start of a container take longer than the recording, if that has no later event about it.
func (s *search) pending(c *v1.Container) []choice {
	seen := map[string]bool{}
	for _, f := range s.model.pod.Facts {
		if f.Container == c.Name {
			seen[f.Reason] = seen[f.Reason] || f.Kind == incident.Event
			seen["started"] = seen["started"] || f.Kind == incident.Running || f.Kind == incident.Terminated
		}
	}
	long := s.model.duration(s.best.zero) + time.Minute
	switch {
	case seen["Started"] || seen["started"]:
		return nil
	case seen["Created"]:
		return []choice{{name: "none"}, {name: "pending", startup: long}}
	case seen["Pulled"]:
		return []choice{{name: "none"}, {name: "pending", create: long}}
	}
	return nil
}

// latencies returns how long the runtime needs to create and to start a container, if the times of its first events tell it.
func (s *search) latencies(p *part, container string) (create, start time.Duration, known bool) {
	if s.model.startMissing(container) {
		return 0, 0, false
	}
	var recorded [3]time.Duration
	reasons := []string{"Pulled", "Created", "Started"}
	for i, reason := range reasons {
		for _, f := range s.model.pod.Facts {
			exact := f.Kind == incident.Event && f.Container == container && f.Reason == reason && f.When.Known() && f.When.Within <= time.Millisecond && !f.AtLeast
			if at := f.When.At.Sub(s.best.zero); exact && (recorded[i] == 0 || at < recorded[i]) {
				recorded[i] = at
			}
		}
	}
	var run [3]time.Duration
	for i := range s.best.run.Records {
		if r := &s.best.run.Records[i]; r.Kind == trace.Event && r.Container == container {
			if k := slices.Index(reasons, r.Reason); k >= 0 && run[k] == 0 {
				run[k] = r.T.Offset()
			}
		}
	}
	if slices.Contains(recorded[:], 0) || slices.Contains(run[:], 0) || !slices.IsSorted(recorded[:]) {
		return 0, 0, false
	}
	create, start = p.create, p.startup
	if create == 0 {
		create = fakeruntime.DefaultDelays().CreateContainer.Max
	}
	if start == 0 {
		start = fakeruntime.DefaultDelays().StartContainer.Max
	}
	longer := func(k int) time.Duration { return recorded[k] - recorded[k-1] - (run[k] - run[k-1]) }
	change := func(from, by time.Duration, old time.Duration) time.Duration {
		if by.Abs() < time.Millisecond {
			return old
		}
		return max(round(from+by), time.Millisecond)
	}
	return change(create, longer(1), p.create), change(start, longer(2), p.startup), true
}

// tryHook lets the postStart hook of a container take as long as the container after it started late: the kubelet starts containers in
// turn, after the hook of the one before.
func tryHook(s *search, c *v1.Container) []choice {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil || c.Lifecycle.PostStart.Sleep != nil {
		return nil
	}
	if failed := s.failedHook(c); failed != nil {
		return append([]choice{{name: "none"}}, failed...)
	}
	for _, f := range s.model.pod.Facts {
		if f.Kind == incident.Waiting && f.Container == c.Name && f.Reason != "CrashLoopBackOff" && len(s.model.recordedStarts(c)) > 0 {
			return []choice{{name: "none"}, {name: "hook", rules: []rule{{"postStart: hang", fmt.Sprintf("%s: the container has started, but waits: its hook has not ended", f.Place)}}}}
		}
	}
	list := []choice{{name: "none"}}
	if _, late := s.lateness(c); late > 20*time.Millisecond {
		list = append(list, s.calibrated(c, "postStart: ok in %s", round(late), "the next container starts after the hook", 3))
	}
	return append(list, s.lastingHooks(c)...)
}

// lastingHooks returns choices in which the postStart hook of a container lasts until something that the kubelet does only after the hook:
// it stops the pod, or tells that its containers are ready.
func (s *search) lastingHooks(c *v1.Container) []choice {
	starts := s.starts(c.Name)
	if len(starts) == 0 {
		return nil
	}
	var list []choice
	for _, f := range s.model.pod.Facts {
		stops := f.Kind == incident.Event && f.Reason == "Killing" && incident.ParseKilling(f.Message) == incident.ByDeletion
		ready := f.Kind == incident.Condition && f.Value == "True" && f.Reason != "PodScheduled"
		if !stops && !ready || !f.When.Known() {
			continue
		}
		took := f.When.At.Add(f.When.Within/2).Sub(s.best.zero) - starts[0].Offset()
		if took < 100*time.Millisecond || took > time.Hour {
			continue
		}
		hook := choice{name: "lasting hook", rare: true, rules: []rule{{"postStart: ok in " + value.Format(round(took)),
			fmt.Sprintf("%s: this follows the end of the hook", f.Place)}}}
		list = append(list, hook)
		if stops && !s.model.deleted.IsZero() { // the request was before that
			for _, before := range []time.Duration{200 * time.Millisecond, took / 2} {
				hook.deleted, hook.grace = ptr(f.When.At.Add(-before)), s.model.grace
				list = append(list, hook)
			}
		}
	}
	return list
}

// failedHook lets the postStart hook of a container fail, if an event says so: at once, or as long after the start as the event.
func (s *search) failedHook(c *v1.Container) []choice {
	m := s.model
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "FailedPostStartHook" || f.Container != c.Name || !f.When.Known() {
			continue
		}
		says := fmt.Sprintf("%s: the hook failed", f.Place)
		list := []choice{{name: "hook", rules: []rule{{"postStart: fail", says}}}, {name: "hook", rules: []rule{{"postStart: hang", says + " because the container ended before it"}}}}
		if n := m.restarts(c.Name) + 1 - f.Count; n > 0 { // those of the first instances did not fail, so the instance before exited by itself
			at := f.When.Best().Sub(s.best.zero)
			for _, code := range []int{1, 0} {
				list = append(list, choice{name: "hook", rules: []rule{
					{fmt.Sprintf("instance: %d.., postStart: fail", n), fmt.Sprintf("%s %d times, and the container started %d times", says, f.Count, m.restarts(c.Name)+1)},
					{fmt.Sprintf("instance: %d, at: %s, exit: %d", n-1, between(at-1300*time.Millisecond, at-200*time.Millisecond), code), fmt.Sprintf("%s: the instance that failed its hook started then. The exit code is not recorded.", f.Place)}}})
			}
		}
		for _, e := range m.pod.Facts {
			took := f.When.At.Sub(e.When.At)
			if e.Kind == incident.Event && e.Reason == "Started" && e.Container == c.Name && e.When.Within <= time.Millisecond && took > 40*time.Millisecond {
				list = append(list, choice{name: "hook", rules: []rule{{"postStart: fail in " + value.Format(round(took)), says}}})
				break
			}
		}
		return list
	}
	return nil
}

// lateness returns how much later than in the best run so far the first event about the next container is, and that event.
func (s *search) lateness(c *v1.Container) (*incident.Fact, time.Duration) {
	containers := append(slices.Clone(s.model.object.Spec.InitContainers), s.model.object.Spec.Containers...)
	i := slices.IndexFunc(containers, func(o v1.Container) bool { return o.Name == c.Name })
	if i < 0 || i+1 >= len(containers) {
		return nil, 0
	}
	next := containers[i+1].Name
	f := s.model.firstEvent(next)
	if f == nil {
		return nil, 0
	}
	at, _ := firstOf(s.best.run.Records, next, f.Reason)
	return f, f.When.At.Add(f.When.Within/2).Sub(s.best.zero) - at
}

// firstOf returns when the first event with a reason about a container was.
func firstOf(records []trace.Record, container, reason string) (time.Duration, bool) {
	for i := range records {
		if r := &records[i]; r.Kind == trace.Event && r.Container == container && r.Reason == reason {
			return r.T.Offset(), true
		}
	}
	return 0, false
}

// firstEvent returns the first event about a container whose time is known exactly, or nil.
func (m *model) firstEvent(container string) *incident.Fact {
	if m.startMissing(container) {
		return nil
	}
	var first *incident.Fact
	for _, f := range m.pod.Facts {
		exact := f.Kind == incident.Event && f.When.Known() && f.When.Within <= time.Millisecond && !f.AtLeast
		if exact && f.Container == container && steps[f.Reason] && (first == nil || f.When.At.Before(first.When.At)) {
			first = f
		}
	}
	return first
}

// steps are the reasons of the events in which a container starts.
var steps = map[string]bool{"Pulling": true, "Pulled": true, "Created": true, "Started": true}

// tryStart moves the first start within the time that the recording allows, if that is more than a second.
func tryStart(s *search, _ *part) []choice {
	var list []choice
	for i := range 9 {
		list = append(list, choice{name: "start", start: ptr(s.model.earliest.Add(s.model.doubt * time.Duration(i) / 8))})
	}
	return list
}

// outage is a time in which a probe failed in one way, as far as the recording tells.
type outage struct {
	word        string // the answer
	pattern     string // what equal failures have in common
	answer      string // the definition of a named answer
	count       int
	first, last time.Duration // the requests of the first and the last failure
	began       interval      // when the first can have been
	doubt       time.Duration // of the last
	says        string
}

// outages returns the failures of a probe, in the order of their first times.
func (s *search) outages(c *v1.Container, probe trace.Probe) []outage {
	var list []outage
	p := incident.ProbeOf(c, probe)
	add := func(first, last incident.Moment, count int, u incident.Unhealthy, says string) {
		o := outage{count: count, says: says}
		o.word, o.answer = answer(p, u, fmt.Sprintf("%s%d", probe, len(list)+1))
		o.pattern = patternOf(u)
		took := 10 * time.Millisecond
		if answersDeadline(p, u, first, last, count) {
			o.word = "DEADLINE_EXCEEDED"
		} else if hangs(p, u) {
			took = fullTimeout(p, u)
		}
		o.first = first.Best().Sub(s.best.zero) - took
		o.began = interval{first.At.Sub(s.best.zero) - took, first.End().Sub(s.best.zero) - took}
		o.last = last.At.Sub(s.best.zero) + last.Within/2 - took
		o.doubt = last.Within / 2
		list = append(list, o)
	}
	for _, f := range s.model.failures(c.Name, probe) {
		if runtimeGone(f.Message) || containerGone(f.Message) {
			continue
		}
		u := incident.ParseUnhealthy(f.Message)
		first, count := f.When, f.Count
		if killed := s.model.firstKill(c.Name, probe); f.AtLeast && killed.Known() { // the failures before the last one are not recorded
			count = max(count, int(max(p.FailureThreshold, 1)))
			first.At = first.At.Add(-time.Duration(count-1) * period(p))
		}
		add(first, f.Last, count, u, fmt.Sprintf("%s: %q, %d times", f.Place, firstLine(f.Message), f.Count))
	}
	if len(list) > 0 {
		return list
	}
	if killed := s.model.firstKill(c.Name, probe); killed.Known() && len(s.model.logged(c.Name, probe)) == 0 { // the events about the failures are lost
		n := max(p.FailureThreshold, 1)
		first := killed
		first.At = first.At.Add(-time.Duration(n-1) * period(p))
		add(first, killed, int(n), incident.Unhealthy{Probe: probe, Result: trace.Failure}, "The probe had its container killed, but the recording has no failure of it.")
		return list
	}
	var open *incident.Fact // failures in a log, in runs of equal outputs
	var last incident.Moment
	count := 0
	flush := func() {
		if open != nil {
			add(open.When, last, count, incident.Unhealthy{Probe: probe, Result: open.Result, Output: open.Message}, fmt.Sprintf("%s: %d lines of the log", open.Place, count))
		}
		open, count = nil, 0
	}
	for _, f := range s.model.logged(c.Name, probe) {
		if f.Result == trace.Success || open != nil && (f.Message != open.Message || f.Result != open.Result) {
			flush()
		}
		if f.Result != trace.Success {
			if open == nil {
				open = f
			}
			last = f.When
			count++
		}
	}
	flush()
	return list
}

var (
	statusCode = regexp.MustCompile(`statuscode: (\d{3})$`)
	grpcStatus = regexp.MustCompile(`responded with "(\w+)"`)
	grpcCode   = regexp.MustCompile(`rpc error: code = (\w+) desc`)
	rpcTimeout = regexp.MustCompile(`health rpc did not complete within`)
	redirects  = regexp.MustCompile(`^Get "(.*)": stopped after 10 redirects$`)
	grpcEnd    = regexp.MustCompile(`error reading from server: (.+)$`)
)

// grpcAnswer returns the answer of a gRPC server that makes a probe fail with an output (pkg/probe/grpc/grpc.go).
func grpcAnswer(output, name string) (word, definition string) {
	switch {
	case strings.HasPrefix(output, "timeout: failed to connect"): // the client tries again until the timeout
		return "down", ""
	case rpcTimeout.MatchString(output): // the client is connected
		return late, ""
	case timeouts.in(output):
		return "hang", ""
	case strings.Contains(output, "does not implement"):
		return "UNIMPLEMENTED", ""
	case grpcStatus.MatchString(output):
		return grpcStatus.FindStringSubmatch(output)[1], ""
	case grpcEnd.MatchString(output):
		return name, transportError(name, grpcEnd.FindStringSubmatch(output)[1])
	case grpcCode.MatchString(output):
		return codeName(grpcCode.FindStringSubmatch(output)[1]), ""
	}
	return "fail", ""
}

// late is the answer of a program that accepts a request and answers after any timeout.
const late = "ok in 1h"

// codeName returns the name of a code in the gRPC specification from its spelling in grpc-go: NOT_FOUND for NotFound.
func codeName(code string) string {
	if code == "Canceled" {
		return "CANCELLED"
	}
	var b strings.Builder
	for i, r := range code {
		if i > 0 && 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

// stalledBody reports whether a probe timed out while the body of the response came.
func stalledBody(p *v1.Probe, u incident.Unhealthy) bool {
	return p.HTTPGet != nil && strings.Contains(u.Output, "while reading body")
}

// answer returns the answer of a program that makes a probe fail with an output.
func answer(p *v1.Probe, u incident.Unhealthy, name string) (word, definition string) {
	exec := p.Exec != nil
	u.Output = beginning(u.Output)
	switch {
	case u.Result == trace.Warning && p.HTTPGet != nil:
		return "warn", ""
	case stalledBody(p, u):
		return name, fmt.Sprintf("name: %s, bodyEnd: never", name)
	case u.Result == trace.Error:
		if p.TCPSocket != nil || p.GRPC != nil {
			return "fail", ""
		}
		return "error", ""
	case p.GRPC != nil:
		return grpcAnswer(u.Output, name)
	case timeouts.in(u.Output):
		return "hang", ""
	case p.HTTPGet != nil && redirects.MatchString(u.Output): // net/http follows a redirect to itself ten times
		return name, fmt.Sprintf("name: %s, code: 302, location: %s, then: %s", name, strconv.Quote(redirects.FindStringSubmatch(u.Output)[1]), name)
	case exec && strings.TrimSpace(u.Output) == "":
		return "1", ""
	case exec:
		return name, fmt.Sprintf("name: %s, code: 1, body: %s", name, strconv.Quote(u.Output))
	case p.HTTPGet != nil && statusCode.MatchString(u.Output):
		return statusCode.FindStringSubmatch(u.Output)[1], ""
	case p.HTTPGet != nil && noAnswer(u.Output):
		_, text, found := strings.Cut(u.Output, `": `)
		if !found {
			text = "EOF"
		}
		return name, transportError(name, text)
	case refused.in(u.Output):
		return "down", ""
	case p.HTTPGet != nil && strings.HasPrefix(u.Output, `Get "`): // any other error of the client
		if _, text, found := strings.Cut(u.Output, `": `); found {
			return name, transportError(name, text)
		}
	}
	return "fail", ""
}

// transportError returns the definition of an answer with which a request ends in an error of the client.
func transportError(name, text string) string {
	return fmt.Sprintf("name: %s, transportError: %s", name, strconv.Quote(text))
}

func period(p *v1.Probe) time.Duration {
	if p.PeriodSeconds == 0 {
		return 10 * time.Second
	}
	return time.Duration(p.PeriodSeconds) * time.Second
}

// between returns a draw: the recording tells only that a moment is in this range. Without a seed a run takes the middle.
func between(from, to time.Duration) string {
	from, to = max(round(from), 0), max(round(to), 0)
	if from >= to {
		return value.Format(to)
	}
	return value.Format(from) + ".." + value.Format(to)
}

// tryProbe returns behaviors that fail a probe as recorded.
func tryProbe(s *search, part *part, c *v1.Container, probe trace.Probe) []choice {
	p := incident.ProbeOf(c, probe)
	tick := period(p)
	outages := s.outages(c, probe)
	if len(outages) == 0 {
		return s.unrecorded(c, probe)
	}
	answers := definitionsOf(outages)
	list := []choice{{name: "none"}}
	rare := false
	add := func(name string, rules []rule) {
		list = append(list, choice{name: name, rules: rules, answers: answers, rare: rare})
	}
	add("windows", absolute(outages, probe, tick))
	if ok := s.otherwiseOK(c, probe); ok != nil {
		add("only windows", append(ok, absolute(outages, probe, tick)...))
	}
	if rules := s.betweenRuns(c, outages, probe, tick); rules != nil {
		add("windows between runs", rules)
	}
	add("each life to the end", eachLife(s, c, outages, probe, tick, true))
	add("each life", eachLife(s, c, outages, probe, tick, false))
	add("slow start", slowStart(s, c, outages, probe, tick))
	add("for ever", []rule{{text: fmt.Sprintf("%s: %s", probe, outages[0].word), comment: outages[0].says}})
	for _, name := range []string{"counted", "counted at the end", "counted in the middle", "one by one"} {
		if rules := s.counted(c, outages, probe, tick, name); rules != nil {
			add(name, rules)
		}
	}
	add("every", recurrent(outages, probe, tick))
	for _, rules := range byCount(outages, probe, tick) {
		add("by count", rules)
	}
	if slow := s.slowAnswer(probe, tick); slow != nil {
		for _, base := range slices.Clone(list[1:min(len(list), 6)]) {
			list = append(list, choice{name: "slow and " + base.name, rules: append([]rule{*slow}, base.rules...), answers: base.answers})
		}
	}
	rare = true
	if probe == trace.Startup {
		for _, slow := range s.slowStartups(c) {
			for _, base := range slices.Clone(list[1:min(len(list), 6)]) {
				list = append(list, choice{name: "slow startup and " + base.name, rare: true, rules: append(slices.Clone(slow.rules), base.rules...), answers: base.answers})
			}
		}
	}
	if s.model.restarts(c.Name) > 0 {
		after := max(s.since(c, outages[0].first), 0)
		for _, begin := range []string{fmt.Sprintf("after: %s, ", between(after-tick, after)), ""} {
			for _, length := range lengths(outages[0].last - outages[0].first) {
				var rules []rule
				for _, o := range outages {
					rules = append(rules, rule{fmt.Sprintf("%sfor: %s, %s: %s", begin, value.Format(length), probe, o.word), o.says})
				}
				if len(rules) == 1 {
					add("each life for", rules)
				}
			}
		}
	}
	fits := s.fits(c, probe, outages)
	for _, rules := range s.inTurn(c, outages, probe, tick) {
		add("in turn", rules)
		for _, stop := range tryStop(s, c) {
			if len(stop.rules) > 0 && s.model.kills(c.Name, probe) > 0 {
				add("in turn and stop", append(slices.Clone(rules), stop.rules...))
			}
		}
	}
	if slow := s.slowFailures(c, probe, outages); slow != nil {
		answers = definitionsOf(slow)
		add("slow windows", absolute(slow, probe, tick))
		for _, stop := range tryStop(s, c) {
			if len(stop.rules) > 0 && s.model.failsWhileStopped(c, probe) {
				add("slow windows and stop", append(absolute(slow, probe, tick), stop.rules...))
			}
		}
		fits = append(fits, s.fits(c, probe, slow)...)
	}
	if (probe == trace.Readiness || s.model.kills(c.Name, probe) == 0) && !s.model.failsWhileStopped(c, probe) {
		return append(list, fits...)
	}
	// The time that the container needs to stop decides when the probe runs again: try both together.
	for _, stop := range tryStop(s, c) {
		for _, base := range slices.Clone(list[:min(len(list), 6)]) {
			if len(stop.rules) > 0 && len(base.rules) > 0 {
				list = append(list, choice{name: base.name + " and " + stop.name, rules: append(slices.Clone(base.rules), stop.rules...), answers: base.answers})
			}
		}
	}
	return append(list, fits...)
}

// definitionsOf returns the definitions of the named answers of failures.
func definitionsOf(outages []outage) []string {
	var list []string
	for _, o := range outages {
		if o.answer != "" {
			list = append(list, o.answer)
		}
	}
	return list
}

// lasting returns the answer of a command that goes on until its container ends, because the runtime does not end it at the timeout, and its
// definition.
func lasting(probe trace.Probe) (word, definition string) {
	name := string(probe) + "Lasting"
	return name + " in 1h", fmt.Sprintf("name: %s, code: 1, ignoreTimeout: true", name)
}

// slowFailures returns the failures of a probe as those of requests that an earlier run of the probe in the best run so far sent: the
// program answered late, or ended before it answered. It returns nil if all are at the times of runs.
func (s *search) slowFailures(c *v1.Container, probe trace.Probe, outages []outage) []outage {
	p := incident.ProbeOf(c, probe)
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	before := func(at time.Duration) (time.Duration, bool) {
		best, found := time.Duration(0), false
		for _, r := range s.probeRuns(c.Name, probe) {
			if sent := r.T.Offset() - r.Took; sent < at+near && (!found || sent > best) {
				best, found = sent, true
			}
		}
		return best, found
	}
	slow := false
	list := slices.Clone(outages)
	for i := range list {
		o := &list[i]
		died := s.diedAt(c, o.first) || probe != trace.Readiness && s.model.stopping(c, o.first, s.best.zero)
		sent, found := before(o.first)
		if died {
			sent, found = before(o.first - 2*near)
		}
		took := o.first - sent + 10*time.Millisecond
		if !found || took < 2*near || o.word == "hang" || o.word == late || p.GRPC != nil && o.word == "down" {
			continue
		}
		switch {
		case died && p.Exec != nil:
			o.word, o.answer = lasting(probe)
		case died:
			o.word, o.answer = "hang", ""
		case took < timeout && !strings.Contains(o.word, " in "):
			o.word += " in " + value.Format(round(took))
		default:
			continue
		}
		slow = true
		o.first = sent
		if o.count == 1 {
			o.last = sent
		} else if sent, found := before(o.last + o.doubt - took); found {
			o.last = sent
		}
	}
	if !slow {
		return nil
	}
	return list
}

// diedAt reports whether the best run so far has an end of a container at about a time.
func (s *search) diedAt(c *v1.Container, at time.Duration) bool {
	return slices.ContainsFunc(s.best.run.Records, func(r trace.Record) bool {
		return r.Kind == trace.ContainerExited && r.Container == c.Name && (r.T.Offset()-at).Abs() < time.Second
	})
}

// stopping reports whether the kubelet had begun to stop a container at a time, after which it starts no liveness and startup probes.
func (m *model) stopping(c *v1.Container, at time.Duration, zero time.Time) bool {
	for _, k := range m.pod.Facts {
		if k.Kind == incident.Event && k.Reason == "Killing" && k.Container == c.Name && k.When.Known() && incident.ParseKilling(k.Message) == incident.ByDeletion && k.When.At.Before(zero.Add(at)) {
			return true
		}
	}
	return false
}

// failsWhileStopped reports whether a probe failed after the kubelet had begun to stop its container.
func (m *model) failsWhileStopped(c *v1.Container, probe trace.Probe) bool {
	for _, f := range m.failures(c.Name, probe) {
		for _, k := range m.pod.Facts {
			if k.Kind == incident.Event && k.Reason == "Killing" && k.Container == c.Name && k.When.Known() && f.Last.End().After(k.When.At) {
				return true
			}
		}
	}
	return false
}

// absolute fails the probe from before the first failure until after the last one. The shorter windows come last, and win.
func absolute(outages []outage, probe trace.Probe, tick time.Duration) []rule {
	var rules []rule
	sorted := slices.Clone(outages)
	slices.SortStableFunc(sorted, func(a, b outage) int { return cmp.Compare(b.last-b.first, a.last-a.first) })
	for _, o := range sorted {
		rules = append(rules, window(o.first, o.last, probe, o.word, tick, o.says))
	}
	return rules
}

// betweenRuns is absolute for probes whose runs in the best run so far are closer to each other than their period, such as those that the
// kubelet adds when a container has started: each window begins after the run before the first failure. It returns nil if absolute does.
func (s *search) betweenRuns(c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration) []rule {
	closer := false
	var rules []rule
	for _, o := range outages {
		from, to := max(o.first-tick, 0), o.last+tick
		for _, r := range s.probeRuns(c.Name, probe) {
			at := r.T.Offset() - r.Took
			if before := o.first - near; at < before && at >= from {
				from, closer = at+time.Millisecond, closer || before-at < tick*8/10
			}
			if after := o.last + o.doubt + near; at > after && at < to {
				to, closer = at-time.Millisecond, closer || at-after < tick*8/10
			}
		}
		middle := (from + o.first) / 2
		rules = append(rules, rule{fmt.Sprintf("at: %s, for: %s, %s: %s", between(from, o.first), between(max(o.last-middle, 0)+time.Millisecond, to-middle), probe, o.word), o.says})
	}
	if !closer {
		return nil
	}
	return rules
}

// window returns a rule for failures from first to last. The program changed between two runs of the probe.
func window(first, last time.Duration, probe trace.Probe, word string, tick time.Duration, says string) rule {
	from := max(first-tick, 0)
	length := last - (from+first)/2
	return rule{fmt.Sprintf("at: %s, for: %s, %s: %s", between(from, first), between(length+time.Millisecond, length+tick-time.Millisecond), probe, word), says}
}

// since returns the time from the start of the instance in which a moment is.
func (s *search) since(c *v1.Container, at time.Duration) time.Duration {
	var last time.Duration
	for _, t := range s.starts(c.Name) {
		if t.Offset() <= at+time.Second {
			last = t.Offset()
		}
	}
	return at - last
}

// eachLife fails the probe in each instance from some time after its start on, until the last recorded failure or for ever.
func eachLife(s *search, c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration, forever bool) []rule {
	var rules []rule
	last := time.Duration(0)
	for _, o := range outages {
		after := s.since(c, o.first)
		rules = append(rules, rule{fmt.Sprintf("after: %s, %s: %s", between(after-tick, after), probe, o.word), o.says})
		last = max(last, o.last)
	}
	if !forever {
		rules = append(rules, rule{fmt.Sprintf("at: %s, %s: ok", between(last+time.Millisecond, last+tick), probe), "No failure is recorded after this."})
	}
	return rules
}

// slowStart fails the probe for some time after each start.
func slowStart(s *search, c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration) []rule {
	sorted := slices.Clone(outages)
	slices.SortStableFunc(sorted, func(a, b outage) int { return int(s.since(c, b.last) - s.since(c, a.last)) })
	var rules []rule
	for _, o := range sorted { // the shorter ones win
		length := max(s.since(c, o.last), 0)
		rules = append(rules, rule{fmt.Sprintf("for: %s, %s: %s", between(length+time.Millisecond, length+tick), probe, o.word), o.says})
	}
	return rules
}

// counted fails as many runs of the probe as are recorded, of those that the best run so far has.
func (s *search) counted(c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration, how string) []rule {
	var rules []rule
	for _, o := range outages {
		var ticks []time.Duration
		for _, r := range s.probeRuns(c.Name, probe) {
			if at := r.T.Offset() - r.Took; at >= o.first-tick/2 && at <= o.last+o.doubt+tick/4 {
				ticks = append(ticks, at)
			}
		}
		if o.count > len(ticks) || len(ticks) == 0 {
			return nil
		}
		n := len(ticks)
		fails := make([]bool, n)
		switch how {
		case "counted":
			for i := range o.count - 1 {
				fails[i] = true
			}
			fails[n-1] = true
		case "counted at the end":
			fails[0] = true
			for i := range o.count - 1 {
				fails[n-1-i] = true
			}
		case "counted in the middle":
			for i := range o.count {
				fails[i*(n-1)/max(o.count-1, 1)] = true
			}
		case "one by one":
			for i := 0; i < n && i < 2*o.count; i += 2 {
				fails[i] = true
			}
			fails[n-1] = true
		}
		for i := 0; i < n; i++ {
			if !fails[i] {
				continue
			}
			j := i
			for j+1 < n && fails[j+1] {
				j++
			}
			rules = append(rules, window(ticks[i], ticks[j], probe, o.word, min(tick, 2*time.Second), o.says))
			i = j
		}
		if len(rules) > 200 {
			return nil
		}
	}
	return rules
}

// inTurn fails the probe in each instance in all ways, one after the other: each as often as the numbers of failures and instances tell.
func (s *search) inTurn(c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration) [][]rule {
	kills := s.model.kills(c.Name, probe)
	if len(outages) < 2 || kills == 0 {
		return nil
	}
	sorted := slices.Clone(outages)
	slices.SortStableFunc(sorted, func(a, b outage) int { return cmp.Compare(a.first, b.first) })
	var list [][]rule
	after := max(s.since(c, sorted[0].first), 0)
	for _, lives := range []int{kills, kills + 1} {
		words, says := "", ""
		for i, o := range sorted {
			words += o.word
			if i+1 < len(sorted) {
				words += fmt.Sprintf(" x%d, ", max((o.count+lives/2)/lives, 1))
			}
			says += o.says + ". "
		}
		for _, clock := range []string{"", fmt.Sprintf("after: %s, ", between(after-tick, after))} {
			list = append(list, []rule{{fmt.Sprintf("%s%s: [%s]", clock, probe, words), says + "All instances are assumed to be alike."}})
		}
	}
	return list
}

// recurrent fails one run of the probe at a time, at equal distances between the first and the last failure.
func recurrent(outages []outage, probe trace.Probe, tick time.Duration) []rule {
	var rules []rule
	for _, o := range outages {
		if o.count < 3 {
			rules = append(rules, window(o.first, o.last, probe, o.word, tick, o.says))
			continue
		}
		every := (o.last - o.first) / time.Duration(o.count-1)
		rules = append(rules, rule{fmt.Sprintf("at: %s, every: %s, for: %s, %s: %s", between(o.first-tick, o.first), value.Format(max(round(every), time.Millisecond)),
			between(min(tick, every)/2, min(tick, every)), probe, o.word), o.says})
	}
	return rules
}

// byCount fails a number of runs in a row in each instance.
func byCount(outages []outage, probe trace.Probe, tick time.Duration) [][]rule {
	var list [][]rule
	o := outages[0]
	for _, n := range []int{o.count, max(o.count/2, 1), max(o.count/3, 1), max(o.count/4, 1)} {
		if len(outages) > 1 || n > 100_000 {
			break
		}
		text := fmt.Sprintf("at: %s, %s: [%s x%d, ok]", between(o.first-tick, o.first), probe, o.word, n)
		each := fmt.Sprintf("%s: [%s x%d, ok]", probe, o.word, n)
		list = append(list, []rule{{text, o.says}}, []rule{{each, o.says}})
	}
	return list
}

// slowAnswer returns a rule for a program that takes its time to answer: the pod became Ready later than in the best run so far.
func (s *search) slowAnswer(probe trace.Probe, tick time.Duration) *rule {
	if probe == trace.Liveness {
		return nil
	}
	for _, f := range s.model.pod.Facts {
		if f.Kind != incident.Condition || f.Reason != "Ready" || f.Value != "True" || !f.When.Known() {
			continue
		}
		want := f.When.At.Add(f.When.Within / 2).Sub(s.best.zero)
		var ready time.Duration // of the last change in the run
		on := false
		for i := range s.best.run.Records {
			if r := &s.best.run.Records[i]; r.Kind == trace.StatusPatched && r.Status.Ready != on {
				if on = r.Status.Ready; on {
					ready = r.T.Offset()
				}
			}
		}
		if took := want - ready; on && took > 400*time.Millisecond && took < 2*tick {
			return &rule{fmt.Sprintf("%s: ok in %s", probe, value.Format(round(took))), fmt.Sprintf("%s: the pod became Ready at %s", f.Place, value.Format(round(want)))}
		}
	}
	return nil
}

// unrecorded returns behaviors in which a probe fails although the recording has no failure: the pod was not Ready, or not started, and
// the events may have expired.
func (s *search) unrecorded(c *v1.Container, probe trace.Probe) []choice {
	list := []choice{{name: "none"}}
	says := "The recording has no failure of this probe, but the container was not ready."
	if probe == trace.Startup {
		says = "The recording has no failure of this probe, but the container had not started."
	}
	if probe == trace.Liveness {
		return list
	}
	if slow := s.slowAnswer(probe, period(incident.ProbeOf(c, probe))); slow != nil {
		list = append(list, choice{name: "slow", rules: []rule{*slow}})
	}
	if probe == trace.Startup {
		list = append(list, s.slowStartups(c)...)
	}
	if _, late := s.lateness(c); probe == trace.Startup && isInit(s.model.object, c) && late > 20*time.Millisecond {
		list = append(list, s.calibrated(c, "startup: ok in %s", round(late), "the next container starts when this one has started", 3))
	}
	for _, f := range s.model.pod.Facts {
		tells := probe == trace.Readiness && f.Kind == incident.Condition && (f.Reason == "Ready" || f.Reason == "ContainersReady") ||
			f.Container == c.Name && (probe == trace.Readiness && f.Kind == incident.Ready || probe == trace.Startup && f.Kind == incident.Started)
		if !tells {
			continue
		}
		if f.Value == "False" || f.Value == "false" {
			list = append(list, choice{name: "never", rules: []rule{{fmt.Sprintf("%s: fail", probe), says}}})
			if f.Kind == incident.Condition && f.When.Known() {
				at := f.When.At.Sub(s.best.zero) - period(incident.ProbeOf(c, probe))*time.Duration(max(incident.ProbeOf(c, probe).FailureThreshold, 1))
				list = append(list, choice{name: "since", rules: []rule{{fmt.Sprintf("at: %s, %s: fail", value.Format(max(round(at), 0)), probe), says}}})
			}
		} else if f.Kind == incident.Condition && f.When.Known() {
			at := f.When.At.Sub(s.best.zero) - period(incident.ProbeOf(c, probe))/2
			list = append(list, choice{name: "until", rules: []rule{{fmt.Sprintf("at: 0s, for: %s, %s: fail", value.Format(max(round(at), time.Millisecond)), probe), says}}})
		}
	}
	return list
}

// slowStartups returns choices in which the startup probe of a container gets its answer so late that another probe has its recorded
// failures at its runs: the kubelet syncs the pod as soon as the startup probe has succeeded, and runs the probes of the container and the
// readiness probes of all containers that are not ready (UpdatePodStatus in pkg/kubelet/prober/prober_manager.go at v1.37.0).
func (s *search) slowStartups(c *v1.Container) []choice {
	runs := s.probeRuns(c.Name, trace.Startup)
	if len(runs) == 0 {
		return nil
	}
	took := runs[len(runs)-1].Took
	timeout := time.Duration(max(incident.ProbeOf(c, trace.Startup).TimeoutSeconds, 1)) * time.Second
	var list []choice
	for _, other := range s.model.containers() {
		for _, probe := range []trace.Probe{trace.Liveness, trace.Readiness} {
			p := incident.ProbeOf(other, probe)
			if p == nil || other.Name != c.Name && probe != trace.Readiness {
				continue
			}
			late, says, known := s.lateFailure(other, probe)
			for by := late; known && by < timeout; by += period(p) {
				if longer := took + by; longer > slowAfter && longer < timeout {
					list = append(list, choice{name: "slow startup", rare: true, rules: []rule{{"startup: ok in " + value.Format(round(longer)), says}}})
				}
			}
		}
	}
	return list
}

// lateFailure returns by how much later than in the best run so far a probe runs, as the time of its first failure tells: by less than its
// period.
func (s *search) lateFailure(c *v1.Container, probe trace.Probe) (late time.Duration, says string, known bool) {
	runs, outages := s.probeRuns(c.Name, probe), s.outages(c, probe)
	if len(runs) == 0 || len(outages) == 0 {
		return 0, "", false
	}
	first := slices.MinFunc(outages, func(a, b outage) int { return cmp.Compare(a.first, b.first) })
	tick := period(incident.ProbeOf(c, probe))
	late = (first.first - requestOf(runs[0])) % tick
	return (late + tick) % tick, first.says, true
}

// tryExits returns behaviors in which the program exits as recorded.
func tryExits(s *search, c *v1.Container) []choice {
	m := s.model
	list := []choice{{name: "none"}}
	restarts, started := 0, 0
	var last *incident.Fact
	for _, f := range m.pod.Facts {
		if f.Container != c.Name {
			continue
		}
		switch {
		case f.Kind == incident.Restarts:
			restarts = max(restarts, f.Count)
		case f.Kind == incident.Terminated && f.Last.Known():
			if last == nil || !f.Previous {
				last = f
			}
		case f.Kind == incident.Event && f.Reason == "Started":
			started += f.Count
		}
	}
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Row && len(m.object.Spec.Containers) == 1 {
			restarts = max(restarts, f.Count)
		}
	}
	restarts = max(restarts, started-1)
	if isInit(m.object, c) && !podutil.IsRestartableInitContainer(c) { // which by itself ends after a second
		list = append(list, s.untilNext(c)...)
		long := m.duration(s.best.zero)
		list = append(list, choice{name: "it runs on", rules: []rule{{fmt.Sprintf("after: %s, exit: 0", value.Format(long)), "It was still running at the end of the recording."}}})
	}
	list = append(list, s.byBackOff(c)...)
	list = append(list, s.lives(c)...)
	kills := m.kills(c.Name, trace.Liveness) + m.kills(c.Name, trace.Startup)
	if kills > 0 && restarts == kills+1 { // one ended for another reason
		for _, d := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second} {
			for _, number := range []int{0, restarts - 1} {
				list = append(list, choice{name: "not killed", rules: []rule{{fmt.Sprintf("instance: %d, after: %s, exit: 1", number, value.Format(d)),
					fmt.Sprintf("Probes killed %d instances, but %d ended. The recording does not tell why this one did.", kills, restarts)}}})
			}
		}
	}
	if last == nil {
		if restarts > kills {
			for _, d := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
				list = append(list, choice{name: "guess", rules: []rule{{fmt.Sprintf("instance: ..%d, after: %s, exit: 1", max(restarts-1, 0), value.Format(d)), "The recording does not tell why the container restarted, nor its exit code."}}})
			}
		}
		return list
	}
	number := last.Count
	if last.Previous && !m.waiting(c.Name) {
		number = max(last.Count-1, 0)
	}
	code := max(min(last.ExitCode, 255), 0)
	exit := func(name, when, says string) {
		list = append(list, choice{name: name, rules: []rule{{fmt.Sprintf("%s, exit: %d", when, code), says}}})
	}
	at := last.Last.At.Sub(s.best.zero)
	exit("at", "at: "+between(at, at+time.Second-time.Millisecond), fmt.Sprintf("%s: it exited with code %d", last.Place, code))
	list = append(list, s.recordedExits(c, restarts)...)
	if !last.When.Known() {
		return list
	}
	life := last.Last.At.Sub(last.When.At)
	lives := between(life-time.Second+time.Millisecond, life+time.Second-time.Millisecond)
	says := fmt.Sprintf("%s: instance %d ran for %s, up to a second more or less, and exited with code %d", last.Place, number, value.Format(life), code)
	exit("each", "after: "+lives, says+". All instances are assumed to be like it.")
	exit("so far", fmt.Sprintf("instance: ..%d, after: %s", number, lives), says+". All instances before it are assumed to be like it.")
	exit("this", fmt.Sprintf("instance: %d, after: %s", number, lives), says)
	for _, shift := range []time.Duration{-700 * time.Millisecond, -400 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond} {
		if d := round(life + shift); d > 0 {
			exit("so far, shifted", fmt.Sprintf("instance: ..%d, after: %s", number, value.Format(d)), says+".")
		}
	}
	if life <= 2*time.Second {
		exit("at once", fmt.Sprintf("instance: ..%d, after: 1ms", number), says+". All instances before it are assumed to be like it.")
		exit("each at once", "after: 1ms", says+". All instances are assumed to be like it.")
	}
	if number > 0 {
		for _, d := range []time.Duration{time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
			list = append(list, choice{name: "earlier", rules: []rule{
				{fmt.Sprintf("instance: ..%d, after: %s, exit: %d", number-1, value.Format(d), max(code, 1)), "The recording does not tell when the earlier instances exited."},
				{fmt.Sprintf("instance: %d, after: %s, exit: %d", number, lives, code), says}}})
		}
	}
	return list
}

// untilNext lets an init container that ends well run until the next container starts.
func (s *search) untilNext(c *v1.Container) []choice {
	if f, late := s.lateness(c); f == nil || late.Abs() < 100*time.Millisecond {
		return nil
	}
	return []choice{s.calibrated(c, "after: %s, exit: 0", time.Second, "the next container starts after it", 5)}
}

// calibrated returns a choice with a duration that delays the next container. The runs tell by how much to change it.
func (s *search) calibrated(c *v1.Container, format string, d time.Duration, says string, left int) choice {
	f, _ := s.lateness(c)
	next := func(a *attempt) *choice {
		best := s.best
		s.best = a
		_, late := s.lateness(c)
		s.best = best
		longer := max(round(d+late), time.Millisecond)
		if late.Abs() < 2*time.Millisecond || left == 0 || longer == d || longer > time.Hour {
			return nil
		}
		again := s.calibrated(c, format, longer, says, left-1)
		return &again
	}
	return choice{name: "until the next", next: next, rules: []rule{{fmt.Sprintf(format, value.Format(d)), fmt.Sprintf("%s: %s", f.Place, says)}}}
}

// byBackOff returns behaviors in which each instance lives so long that the first back-off comes when it is recorded: after the second
// exit.
func (s *search) byBackOff(c *v1.Container) []choice {
	starts := s.starts(c.Name)
	for _, f := range s.model.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "BackOff" || f.Container != c.Name || !f.When.Known() || len(starts) == 0 {
			continue
		}
		life := max((f.When.Best().Sub(s.best.zero)-starts[0].Offset()-time.Second)/2, time.Millisecond)
		which := []string{""}
		if n := s.model.restarts(c.Name); n > 0 {
			which = append(which, fmt.Sprintf("instance: ..%d, ", n-1))
		}
		var list []choice
		for _, instances := range which {
			for _, code := range []int{1, 0} {
				list = append(list, s.backOffChoice(c, f, instances, life, code, 4))
			}
		}
		return list
	}
	return nil
}

// backOffChoice returns a choice in which each instance lives for some time. The runs tell by how much to change it.
func (s *search) backOffChoice(c *v1.Container, f *incident.Fact, instances string, life time.Duration, code, left int) choice {
	next := func(a *attempt) *choice {
		at, found := firstOf(a.run.Records, c.Name, "BackOff")
		longer := max(round(life+(f.When.Best().Sub(a.zero)-at)/2), time.Millisecond)
		if !found || left == 0 || longer == life {
			return nil
		}
		again := s.backOffChoice(c, f, instances, longer, code, left-1)
		return &again
	}
	return choice{name: "back-off", next: next, rules: []rule{{fmt.Sprintf("%safter: %s, exit: %d", instances, value.Format(round(life)), code),
		fmt.Sprintf("%s: the first back-off follows the second exit.", f.Place)}}}
}

// recordedExits returns behaviors in which each instance whose end is recorded exits then. The instance before the first of them must
// have exited before that started.
func (s *search) recordedExits(c *v1.Container, restarts int) []choice {
	var ends []*incident.Fact
	for _, f := range s.model.pod.Facts {
		if f.Container == c.Name && f.Kind == incident.Terminated && f.Last.Known() {
			ends = append(ends, f)
		}
	}
	slices.SortStableFunc(ends, func(a, b *incident.Fact) int { return a.Last.At.Compare(b.Last.At) })
	if len(ends) == 0 {
		return nil
	}
	number := restarts
	// The times of exits are truncated to seconds. Exact times of what followed may tell in which part of its second an exit was.
	recorded := func(from, to time.Duration) []rule {
		var rules []rule
		for i := len(ends) - 1; i >= 0; i-- {
			f := ends[i]
			if number = f.Count; f.Previous && !s.model.waiting(c.Name) {
				number = max(f.Count-1, 0)
			}
			at := f.Last.At.Sub(s.best.zero)
			rules = append(rules, rule{fmt.Sprintf("instance: %d, at: %s, exit: %d", number, between(at+from, at+to), max(min(f.ExitCode, 255), 0)),
				fmt.Sprintf("%s: instance %d exited with code %d", f.Place, number, f.ExitCode)})
		}
		return rules
	}
	rules := recorded(0, time.Second-time.Millisecond)
	list := []choice{{name: "recorded", rules: rules}}
	for part := range 5 {
		from := time.Duration(part) * 200 * time.Millisecond
		list = append(list, choice{name: "recorded", rules: recorded(from, from+199*time.Millisecond)})
	}
	first := ends[0]
	if number == 0 || !first.When.Known() {
		return list
	}
	start := first.When.At.Add(first.When.Within / 2).Sub(s.best.zero)
	for _, before := range []time.Duration{700 * time.Millisecond, 200 * time.Millisecond, 1200 * time.Millisecond, 2 * time.Second, 10500 * time.Millisecond, 20500 * time.Millisecond, 40500 * time.Millisecond} {
		if start <= before {
			continue
		}
		earlier := rule{fmt.Sprintf("instance: %d, at: %s, exit: 1", number-1, value.Format(round(start-before))),
			fmt.Sprintf("%s: the next instance started at %s. The exit code is not recorded.", first.Place, value.Format(round(start)))}
		list = append(list, choice{name: "recorded and before", rules: append([]rule{earlier}, rules...)})
		if number > 1 {
			life := first.Last.At.Sub(first.When.At)
			list = append(list, choice{name: "recorded and before", rules: append([]rule{
				{fmt.Sprintf("instance: ..%d, after: %s, exit: 1", number-2, value.Format(max(round(life), time.Millisecond))), "The recording does not tell when the earlier instances exited."}, earlier}, rules...)})
		}
	}
	return list
}

// ignoresSignal is the rule of a program that does not end when the kubelet stops it.
var ignoresSignal = rule{"afterSigterm: 0s, exit: never", "It used up its grace period: it ignores the stop signal."}

// tryStop returns behaviors after the stop signal.
func tryStop(s *search, c *v1.Container) []choice {
	m := s.model
	list := []choice{{name: "none"}}
	if isInit(m.object, c) && !podutil.IsRestartableInitContainer(c) {
		return list
	}
	stop := func(rules ...rule) { list = append(list, choice{name: "stop", rules: rules}) }
	killed := false
	for _, f := range m.pod.Facts {
		if f.Container != c.Name {
			continue
		}
		if f.Kind == incident.Event && f.Reason == "Killing" && f.Last.Known() {
			killed = true
			for _, t := range m.pod.Facts {
				if t.Container == c.Name && t.Kind == incident.Terminated && t.Last.Known() && !t.Last.End().Before(f.Last.At) {
					took := max(t.Last.At.Sub(f.Last.Best()), 0)
					for _, d := range []time.Duration{took, took + 500*time.Millisecond, max(took-500*time.Millisecond, 0)} {
						stop(rule{fmt.Sprintf("afterSigterm: %s, exit: %d", value.Format(round(d)), max(min(t.ExitCode, 255), 0)),
							fmt.Sprintf("%s: it exited with code %d about %s after the stop signal.", t.Place, t.ExitCode, value.Format(round(d)))})
					}
				}
			}
		}
	}
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Event && f.Reason == "FailedPreStopHook" && f.Container == c.Name && c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep == nil {
			stop(rule{"preStop: fail", fmt.Sprintf("%s: the hook failed", f.Place)})
			killed = true
			break
		}
	}
	if killed {
		for _, d := range s.endsOfRequests(c) {
			stop(rule{fmt.Sprintf("afterSigterm: %s, exit: 0", value.Format(round(d))), "A request of a probe that had been sent before the stop signal failed then."})
		}
		stop(ignoresSignal)
		for _, d := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second} {
			stop(rule{fmt.Sprintf("afterSigterm: %s, exit: 0", value.Format(d)), "The recording does not tell how it exited."})
		}
	}
	return list
}

// endsOfRequests returns how long after the stop signal failures of liveness and startup probes are recorded. The kubelet starts no such
// probes then, so a request that it had sent before ended with the container.
func (s *search) endsOfRequests(c *v1.Container) []time.Duration {
	var list []time.Duration
	for _, k := range s.model.pod.Facts {
		if k.Kind != incident.Event || k.Reason != "Killing" || k.Container != c.Name || !k.Last.Known() || incident.ParseKilling(k.Message) != incident.ByDeletion {
			continue
		}
		for _, probe := range []trace.Probe{trace.Startup, trace.Liveness} {
			for _, f := range s.model.failures(c.Name, probe) {
				if f.When.At.After(k.When.At) {
					list = append(list, f.When.At.Sub(k.When.At))
				}
			}
		}
	}
	return list
}

func isInit(pod *v1.Pod, c *v1.Container) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(i v1.Container) bool { return i.Name == c.Name })
}

// tryPhase moves the runs of the probes with respect to the first start, and the first start with respect to the creation of the pod:
// the kubelet starts the workers of the probes before it creates the sandbox, whose time the recording does not tell.
func tryPhase(s *search, _ *part) []choice {
	m := s.model
	list := []choice{}
	seen := map[string]bool{}
	for _, f := range m.pod.Facts {
		u := incident.ParseUnhealthy(f.Message)
		if f.Kind == incident.ProbeRun {
			u.Probe = f.Probe
		}
		c := m.spec(f.Container)
		if u.Probe == "" || f.When.Within > time.Second || !f.When.Known() || c == nil || incident.ProbeOf(c, u.Probe) == nil || seen[c.Name+string(u.Probe)] {
			continue
		}
		seen[c.Name+string(u.Probe)] = true // the first of each probe
		p := incident.ProbeOf(c, u.Probe)
		runs := s.probeRuns(f.Container, u.Probe)
		if len(runs) == 0 {
			continue
		}
		tick := period(p)
		want := f.When.At.Add(f.When.Within / 2).Sub(s.best.zero)
		for _, r := range []*trace.Record{runs[0], runs[len(runs)-1]} {
			by := (r.T.Offset() - want) % tick
			for _, d := range []time.Duration{by, by + tick, by - tick} {
				if at := m.sandbox + d; at >= time.Millisecond && at <= time.Hour {
					list = append(list, choice{name: "phase", sandbox: ptr(at.Round(time.Microsecond))})
				}
			}
		}
	}
	list = append(list, s.relists()...)
	if s.missesChange() {
		for _, uptime := range s.ages() {
			list = append(list, choice{name: "age", rare: true, uptime: uptime})
		}
	}
	for tenth := range 10 {
		list = append(list, choice{name: "uptime", uptime: 150*time.Second + time.Duration(tenth)*100*time.Millisecond + 37*time.Millisecond})
	}
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Created || f.Kind == incident.Event && f.Reason == "Scheduled" {
			at := f.When.Best().Sub(s.best.zero)
			if f.Kind == incident.Created {
				at += f.When.Within / 2
			}
			if mount := m.mount - at; at.Abs() > time.Second && mount >= 0 && mount < time.Hour {
				list = append(list, choice{name: "mount", mount: ptr(round(mount))})
			}
		}
	}
	return list
}

// relists moves the relists of the kubelet, in which it notices exits, so that a container that starts after one has its exact time.
func (s *search) relists() []choice {
	var list []choice
	uptime := cmp.Or(s.model.uptime, 150337*time.Millisecond) // the default of the format
	containers := append(slices.Clone(s.model.object.Spec.InitContainers), s.model.object.Spec.Containers...)
	for i := range containers {
		if i == 0 || !isInit(s.model.object, &containers[i-1]) || podutil.IsRestartableInitContainer(&containers[i-1]) {
			continue
		}
		if _, late := s.lateness(&containers[i-1]); late.Abs() > time.Millisecond {
			list = append(list, choice{name: "uptime", uptime: 150*time.Second + ((uptime-late)%time.Second+time.Second)%time.Second})
		}
	}
	return list
}

func ptr[T any](v T) *T { return &v }
