package reconstruct

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

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

// overrun returns the name and the definition of the answer of a command that fails in a way after its timeout, because the runtime does not
// end it.
func overrun(probe trace.Probe, o *outage) (name, definition string) {
	name, definition = string(probe)+"Overrun", ", code: 1"
	if number, named := strings.CutPrefix(o.word, string(probe)); named && o.answer != "" {
		name += number
		_, definition, _ = strings.Cut(o.answer, "name: "+o.word)
	}
	return name, "name: " + name + definition + ", ignoreTimeout: true"
}

// overruns returns behaviors in which each run of a command takes so long that the recorded failures follow each other, each as soon as the one
// before has ended: longer than the period of the probe, because the runtime does not end it at its timeout.
func overruns(p *v1.Probe, outages []outage, probe trace.Probe) []choice {
	var list []choice
	for i := range outages {
		o := &outages[i]
		if p.Exec == nil || o.count < 2 || o.word == "hang" {
			continue
		}
		took := round((o.last - o.first) / time.Duration(o.count-1))
		if took < period(p)+time.Second {
			continue
		}
		name, definition := overrun(probe, o)
		does := fmt.Sprintf("%s: %s in %s", probe, name, value.Format(took))
		list = append(list, choice{name: "overruns", answers: []string{definition}, rules: []rule{{does, o.says}}})
		if begins := o.first - took - period(p)/2; begins > 0 {
			list = append(list, choice{name: "overruns", answers: []string{definition}, rules: []rule{{"at: " + value.Format(round(begins)) + ", " + does, o.says}}})
		}
	}
	return list
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
		case s.desperate && p.Exec != nil && took >= timeout && !strings.Contains(o.word, " in "):
			name, definition := overrun(probe, o)
			o.word, o.answer = name+" in "+value.Format(round(took)), definition
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
