package probetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/gomega/types"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// occurrence is a moment of the run and the index of its record.
type occurrence struct {
	t      virtual.Time
	record int
	// text is a value from that moment on, or how the moment differs from what a matcher counts;
	// empty: it counts.
	text string
}

// recordsOf returns the indexes of the records.
func recordsOf(list []occurrence) (records []int) {
	for _, it := range list {
		records = append(records, it.record)
	}
	return records
}

// counted is the part of a matcher M that counts occurrences. It expects one or more in the whole
// run, unless the methods say otherwise.
type counted[M any] struct {
	windowed[M]
	in          func(*subject) ([]occurrence, error) // in the whole run, with near misses
	least, most *int                                 // nil: 1, any
}

// Times sets the exact number that the matcher expects. Times(0) expects none.
func (c *counted[M]) Times(n int) *M {
	c.least, c.most = &n, &n
	return c.whole
}

// AtLeast sets the minimum number that the matcher expects, 1 or more.
func (c *counted[M]) AtLeast(n int) *M {
	c.least, c.most = &n, nil
	return c.whole
}

// check reports whether the number of occurrences in the window is the expected one, and returns
// those in the window.
func (c *counted[M]) check(s *subject, all []occurrence) (ok bool, inside []occurrence, f *finding, err error) {
	from, to, err := c.span(s)
	switch {
	case err != nil:
		return false, nil, nil, err
	case c.least != nil && *c.least < 0:
		return false, nil, nil, fmt.Errorf("the expected number must not be negative, and it is %d", *c.least)
	case c.least != nil && *c.least == 0 && c.most == nil:
		return false, nil, nil, errors.New("AtLeast(0) holds for every run: use AtLeast(1), or Times(0) for none")
	}
	var before, after, misses []occurrence
	for _, it := range all {
		switch {
		case it.text != "" && it.t >= from && it.t <= to:
			misses = append(misses, it)
		case it.text != "":
		case it.t < from:
			before = append(before, it)
		case it.t > to:
			after = append(after, it)
		default:
			inside = append(inside, it)
		}
	}
	center := to
	switch {
	case len(inside) > 0:
		center = inside[0].t
	case len(after) > 0:
		center = after[0].t
	case len(before) > 0:
		center = before[len(before)-1].t
	case len(misses) > 0:
		center = misses[0].t
	}
	marks := recordsOf(slices.Concat(before, inside, after))
	n, least := len(inside), *cmp.Or(c.least, new(1))
	ok = n >= least && (c.most == nil || n <= *c.most)
	got := happened(before, inside, after)
	if n < least {
		got += nearMisses(misses)
	}
	return ok, inside, s.finding(got, center, marks...), nil
}

func (c *counted[M]) examine(actual any) (bool, *finding, error) {
	s, err := subjectOf(actual)
	if err != nil {
		return false, nil, err
	}
	all, err := c.in(s)
	if err != nil {
		return false, nil, err
	}
	ok, _, f, err := c.check(s, all)
	return ok, f, err
}

// expectation describes the expected number and the window.
func (c *counted[M]) expectation() string {
	if c.least == nil {
		return c.window.words()
	}
	text := fmt.Sprintf(" %d times", *c.least)
	if *c.least == 1 {
		text = " once"
	}
	if c.most == nil {
		text = " at least" + text
	}
	return text + c.window.words()
}

// CountMatcher examines how often something happened to a *Pod or a *Container.
type CountMatcher struct {
	counted[CountMatcher]
	words string // "restarted" in "to have restarted"
}

func newCount(name, words string, in func(*subject) ([]occurrence, error)) *CountMatcher {
	m := &CountMatcher{words: words}
	m.function, m.judge, m.whole, m.in = name, m, m, in
	return m
}

func (m *CountMatcher) expected(to string) string { return to + "have " + m.words + m.expectation() }

// happened lists the occurrences inside the window and outside of it.
func happened(before, inside, after []occurrence) string {
	text := "It did not"
	switch n := len(inside); {
	case n == 1:
		text = "It did once, at " + listTimes(inside)
	case n > 1:
		text = fmt.Sprintf("It did %d times, at %s", n, listTimes(inside))
	}
	if len(before) > 0 {
		text += "; earlier at " + listTimes(before)
	}
	if len(after) > 0 {
		text += "; later at " + listTimes(after)
	}
	return text
}

// nearMisses lists what almost counts, by how it differs.
func nearMisses(list []occurrence) string {
	var kinds []string
	times := map[string][]occurrence{}
	for _, it := range list {
		if times[it.text] == nil {
			kinds = append(kinds, it.text)
		}
		times[it.text] = append(times[it.text], it)
	}
	for i, miss := range kinds {
		kinds[i] = miss + " at " + listTimes(times[miss])
	}
	if len(kinds) > maxMisses {
		kinds = append(kinds[:maxMisses], fmt.Sprintf("and %d other kinds", len(kinds)-maxMisses))
	}
	if len(kinds) == 0 {
		return ""
	}
	return ". Near misses: " + strings.Join(kinds, "; ")
}

// maxMisses is the number of kinds of near misses that a message lists.
const maxMisses = 3

// maxTimes is the number of occurrences that a message lists.
const maxTimes = 6

func listTimes(list []occurrence) string {
	var words []string
	for i, it := range list {
		if i == maxTimes {
			words = append(words, fmt.Sprintf("and %d more", len(list)-maxTimes))
			break
		}
		words = append(words, trace.FormatTime(it.t))
	}
	return strings.Join(words, ", ")
}

// HaveBecomeReady succeeds if the pod or container became Ready: its status at the API server
// changed from not ready to ready.
//
//	Expect(web).To(HaveBecomeReady().Within(30 * time.Second))
//	Expect(web).To(HaveBecomeReady().Times(1).After(time.Minute))
func HaveBecomeReady() *HaveBecomeReadyMatcher {
	return newCount("HaveBecomeReady", "become ready", func(s *subject) (became []occurrence, err error) {
		for _, c := range s.readyChanges() {
			if c.text == isTrue {
				c.text = ""
				became = append(became, c)
			}
		}
		return became, nil
	})
}

// HaveBecomeReadyMatcher is the type of HaveBecomeReady.
type HaveBecomeReadyMatcher = CountMatcher

// HaveBeenKilledBecauseOf succeeds if the container, or a container of the pod, was stopped for a
// reason. The reasons of the kubelet are LivenessProbe, StartupProbe, FailedPostStartHook,
// ImageChanged, Resized, RestartAllContainers, Deleted, Evicted and Stopped (the pod or its sandbox
// ended); they count when the kubelet sends the stop signal. A kill from outside has the reason
// OOMKilled, or the reason given to node.KillContainer.
//
//	Expect(web.Container("app")).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1).Within(2 * time.Minute))
//
// Any other reason is an error, even with NotTo.
func HaveBeenKilledBecauseOf(reason string) *HaveBeenKilledBecauseOfMatcher {
	words := "been killed because of " + reason
	return newCount("HaveBeenKilledBecauseOf", words, func(s *subject) ([]occurrence, error) {
		known := slices.Contains(stopReasons, reason)
		killed := s.records(func(r *trace.Record) bool { return killReason(r) != "" })
		for i := range killed {
			if of := killReason(s.record(killed[i].record)); of != reason {
				killed[i].text = "because of " + of
			} else {
				known = true
			}
		}
		if !known {
			return nil, fmt.Errorf("no container is ever killed because of %q%s; the reasons are %s",
				reason, strict.DidYouMean(reason, stopReasons), strings.Join(stopReasons, ", "))
		}
		needed := map[string]trace.Probe{"LivenessProbe": trace.Liveness, "StartupProbe": trace.Startup}[reason]
		if needed != "" && !slices.Contains(s.probes(), needed) {
			return nil, fmt.Errorf("%s has no %s probe", s, needed)
		}
		return killed, nil
	})
}

// killReason returns the reason for which a container is stopped or killed; empty: the record is
// about something else.
func killReason(r *trace.Record) string {
	switch {
	case r.Kind == trace.ContainerStopping:
		return r.Reason
	case r.Kind == trace.Step && r.Reason == "kill":
		return r.Message
	}
	return ""
}

// HaveBeenKilledBecauseOfMatcher is the type of HaveBeenKilledBecauseOf.
type HaveBeenKilledBecauseOfMatcher = CountMatcher

// stopReasons are the reasons of ContainerStopping records and the usual reason of a kill from
// outside.
var stopReasons = append(match.ReasonsOf(trace.ContainerStopping), "OOMKilled")

// HaveBeenReadyBeforeStarted succeeds if a status of the container, or of a container of the pod,
// was ready and not started. With a startup probe that must never happen:
//
//	Expect(web).NotTo(HaveBeenReadyBeforeStarted())
func HaveBeenReadyBeforeStarted() *HaveBeenReadyBeforeStartedMatcher {
	early := func(c *trace.ContainerStatus) bool { return c.Ready && !c.Started }
	const words = "been ready before it was started"
	return newCount("HaveBeenReadyBeforeStarted", words, func(s *subject) (found []occurrence, err error) {
		for _, st := range s.statuses() {
			if s.hasContainer(st.status, early) {
				found = append(found, st.occurrence)
			}
		}
		return found, nil
	})
}

// HaveBeenReadyBeforeStartedMatcher is the type of HaveBeenReadyBeforeStarted. It counts statuses.
type HaveBeenReadyBeforeStartedMatcher = CountMatcher

// HaveRestarted succeeds if the container, or a container of the pod, restarted. A restart happens
// when the next instance of the container starts.
//
//	Expect(web.Container("app")).To(HaveRestarted().Times(2).Between(40*time.Second, 2*time.Minute))
func HaveRestarted() *HaveRestartedMatcher {
	return newCount("HaveRestarted", "restarted", func(s *subject) ([]occurrence, error) {
		return s.records(func(r *trace.Record) bool { return r.Kind == trace.ContainerStarted && r.Instance > 0 }), nil
	})
}

// HaveRestartedMatcher is the type of HaveRestarted.
type HaveRestartedMatcher = CountMatcher

// HaveBeenProbed succeeds if a probe of the container, or of a container of the pod, ran:
// trace.Liveness, trace.Readiness or trace.Startup. A run counts at the time when it began.
//
//	Expect(web).To(HaveBeenProbed(trace.Liveness).At(10*time.Second, 20*time.Second))
//	Expect(web).To(HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).Times(3).
//		Between(time.Minute, 2*time.Minute))
//
// A probe that the subject does not have is an error, even with NotTo.
func HaveBeenProbed(probe trace.Probe) *HaveBeenProbedMatcher {
	m := &HaveBeenProbedMatcher{probe: probe}
	m.function, m.judge, m.whole = "HaveBeenProbed", m, m
	return m
}

// HaveBeenProbedMatcher is the type of HaveBeenProbed.
type HaveBeenProbedMatcher struct {
	counted[HaveBeenProbedMatcher]
	probe  trace.Probe
	result *trace.Result // nil: any
	at     []any         // durations and matchers
	atSet  bool
}

// At requires a run at each of these times, which count from the addition of the pod. Other runs
// may happen too. Each time is a time.Duration, compared to the millisecond, or a Gomega matcher of
// a time.Duration.
func (m *HaveBeenProbedMatcher) At(times ...any) *HaveBeenProbedMatcher {
	m.at, m.atSet = times, true
	return m
}

// WithResult limits the matcher to runs with a result: trace.Success, trace.Failure, trace.Warning
// or trace.Error. Any other result is an error.
func (m *HaveBeenProbedMatcher) WithResult(r trace.Result) *HaveBeenProbedMatcher {
	m.result = &r
	return m
}

func (m *HaveBeenProbedMatcher) expected(to string) string {
	text := to + "have been probed for " + string(m.probe)
	if m.result != nil {
		text += " with the result " + string(*m.result)
	}
	if len(m.at) > 0 {
		text += " at " + listOf(m.at, timeText) + " after the pod was added"
	}
	return text + m.expectation()
}

func (m *HaveBeenProbedMatcher) examine(actual any) (bool, *finding, error) {
	s, err := subjectOf(actual)
	if err == nil {
		err = m.possible(s)
	}
	if err != nil {
		return false, nil, err
	}
	runs := s.records(func(r *trace.Record) bool { return r.Kind == trace.ProbeExecuted && r.Probe == m.probe })
	for i := range runs {
		r := s.record(runs[i].record)
		runs[i].t = runs[i].t.Add(-r.Took)
		if m.result != nil && r.Result != *m.result {
			runs[i].text = "the result " + string(r.Result)
		}
	}
	ok, inside, found, err := m.check(s, runs)
	if err != nil {
		return false, nil, err
	}
	hit, err := hitsAll(m.at, inside, s.added())
	return ok && hit, found, err
}

// possible returns an error if no run of a probe can match.
func (m *HaveBeenProbedMatcher) possible(s *subject) error {
	if results := []string{string(trace.Success), string(trace.Failure), string(trace.Warning),
		string(trace.Error)}; m.result != nil && !slices.Contains(results, string(*m.result)) {
		return fmt.Errorf("a probe never has the result %q%s", *m.result, strict.DidYouMean(string(*m.result), results))
	}
	probes := []string{string(trace.Liveness), string(trace.Readiness), string(trace.Startup)}
	switch {
	case m.probe == "":
		return errors.New("the probe is missing: give trace.Liveness, trace.Readiness or trace.Startup")
	case !slices.Contains(probes, string(m.probe)):
		return fmt.Errorf("there is no %s probe%s", m.probe, strict.DidYouMean(string(m.probe), probes))
	case !slices.Contains(s.probes(), m.probe):
		return fmt.Errorf("%s has no %s probe", s, m.probe)
	case m.atSet && len(m.at) == 0:
		return errors.New("At has no times: give one or more")
	case m.atSet && m.most != nil && *m.most < 1:
		return errors.New("At requires a run, and Times(0) requires none: use one of them")
	}
	from, to, err := m.span(s)
	if err != nil {
		return err
	}
	for _, t := range m.at {
		if err := possibleTime(s, t); err != nil {
			return err
		}
		if d, ok := t.(time.Duration); ok && (s.added().Add(d) < from || s.added().Add(d) > to) {
			return fmt.Errorf("the time %s is outside of the window%s", value.Format(d), m.window.words())
		}
	}
	return nil
}

// probes returns the types of probes that the container, or a container of the pod, has.
func (s *subject) probes() []trace.Probe {
	var list []trace.Probe
	for _, name := range s.pod.containers() {
		if s.container != "" && s.container != name {
			continue
		}
		for _, p := range trace.ProbeTypes {
			if prober.ProbeOf(podutil.Find(s.pod.Object, name), p) != nil {
				list = append(list, p)
			}
		}
	}
	return list
}

// hitsAll reports whether an occurrence matches each of the times.
func hitsAll(times []any, all []occurrence, added virtual.Time) (bool, error) {
	for _, expected := range times {
		hit := false
		for _, it := range all {
			ok, err := matchesTime(expected, it.t.Sub(added))
			if err != nil {
				return false, err
			}
			hit = hit || ok
		}
		if !hit {
			return false, nil
		}
	}
	return true, nil
}

// HaveEvent succeeds if the kubelet emitted an event with a reason, such as Unhealthy, about the
// pod or its containers, or about the container. Each emission counts; kubectl shows repeated ones
// as one event with a count.
//
//	Expect(web).To(HaveEvent("Unhealthy").OfType(v1.EventTypeWarning).WithMessage(HavePrefix("Liveness")).Times(3))
//
// A reason that the kubelet never uses is an error, even with NotTo.
func HaveEvent(reason string) *HaveEventMatcher {
	m := &HaveEventMatcher{reason: reason}
	m.function, m.judge, m.whole, m.in = "HaveEvent", m, m, m.events
	return m
}

// HaveEventMatcher is the type of HaveEvent.
type HaveEventMatcher struct {
	counted[HaveEventMatcher]
	reason    string
	eventType *string // nil: any
	text      *any    // a string or a matcher; nil: any
}

// OfType limits the matcher to events of a type: v1.EventTypeNormal or v1.EventTypeWarning. Any
// other type is an error.
func (m *HaveEventMatcher) OfType(eventType string) *HaveEventMatcher {
	m.eventType = &eventType
	return m
}

// WithMessage limits the matcher to events with a message: the exact string, or one that a Gomega
// matcher accepts.
func (m *HaveEventMatcher) WithMessage(message any) *HaveEventMatcher {
	m.text = &message
	return m
}

func (m *HaveEventMatcher) expected(to string) string {
	text := to + "have an event "
	if m.eventType != nil {
		text += *m.eventType + " "
	}
	text += m.reason
	if m.text != nil {
		with := " with the message "
		if _, is := (*m.text).(types.GomegaMatcher); is {
			with = " with a message that matches "
		}
		text += with + textOf(*m.text, strconv.Quote)
	}
	return text + m.expectation()
}

// events returns the events with the reason in the pod. Those that the matcher excludes are near
// misses.
func (m *HaveEventMatcher) events(s *subject) ([]occurrence, error) {
	if err := m.possible(s); err != nil {
		return nil, err
	}
	of := &subject{pod: s.pod}
	events := of.records(func(r *trace.Record) bool { return r.Kind == trace.Event && r.Reason == m.reason })
	for i := range events {
		r := s.record(events[i].record)
		ok := s.about(r) && (m.eventType == nil || r.Type == *m.eventType)
		if ok && m.text != nil {
			var err error
			if ok, err = matches(*m.text, r.Message, func(e string) bool { return e == r.Message }); err != nil {
				return nil, err
			}
		}
		if !ok {
			events[i].text = fmt.Sprintf("%s %.100q", r.Type, r.Message)
			if !s.about(r) && r.Container != "" {
				events[i].text += " of the container " + r.Container
			}
		}
	}
	return events, nil
}

// possible returns an error if no event can match.
func (m *HaveEventMatcher) possible(s *subject) error {
	eventTypes := []string{v1.EventTypeNormal, v1.EventTypeWarning}
	if t := m.eventType; t != nil && !slices.Contains(eventTypes, *t) {
		return fmt.Errorf("events have the type Normal or Warning, and never %q%s", *t,
			strict.DidYouMean(*t, eventTypes))
	}
	if m.reason == "" {
		return errors.New("the reason of the event is missing")
	}
	if reasons := match.ReasonsOf(trace.Event); !slices.Contains(reasons, m.reason) {
		return fmt.Errorf("the kubelet emits no event with the reason %q%s", m.reason,
			strict.DidYouMean(m.reason, reasons))
	}
	if eventTypes = match.TypesOf(m.reason); m.eventType != nil && !slices.Contains(eventTypes, *m.eventType) {
		return fmt.Errorf("an event with the reason %s has the type %s, and never %s", m.reason,
			strings.Join(eventTypes, " or "), *m.eventType)
	}
	if s.container != "" && match.AboutPod(m.reason) {
		return fmt.Errorf("an event with the reason %s is about a pod, and never about a container: assert about "+
			"the pod", m.reason)
	}
	if probed := m.reason == "Unhealthy" || m.reason == "ProbeWarning"; probed && len(s.probes()) == 0 {
		return fmt.Errorf("%s has no probe, and only probes cause events with the reason %s", s, m.reason)
	}
	switch {
	case m.text == nil:
		return nil
	case *m.text == "":
		return errors.New("the message is missing: no event has an empty message")
	}
	return possible[string]("a message", "a string", *m.text)
}
