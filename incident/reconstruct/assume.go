package reconstruct

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/incident"
	"probesim.dev/trace"
)

// assumeProbe gives a container a probe that the recording does not have but whose failures it tells, and says why it has these settings.
func (m *model) assumeProbe(c *v1.Container, probe trace.Probe) {
	a := m.told(c.Name, probe)
	if len(a.failures) == 0 && len(a.lines) == 0 {
		return
	}
	a.assumePeriod()
	a.assumeThreshold()
	a.assumeDelay()
	a.assumeHandler()
	incident.SetProbe(c, probe, a.settings)
	m.assumed = append(m.assumed, fmt.Sprintf("%s probe of %s: %s", probe, c.Name, strings.Join(a.why, "; ")))
}

// assumed is what a recording tells about a probe, and the settings that follow.
type assumed struct {
	model       *model
	container   string
	probe       trace.Probe
	failures    []*incident.Fact // its events
	lines       []*incident.Fact // its lines in a log
	count       int              // of the failures that the events count
	first, last incident.Moment  // of these
	atLeast     bool             // there can be earlier failures
	kills       int

	settings *v1.Probe
	why      []string
}

func (m *model) told(container string, probe trace.Probe) *assumed {
	a := &assumed{model: m, container: container, probe: probe, failures: m.failures(container, probe), lines: m.logged(container, probe),
		kills: m.kills(container, probe), settings: &v1.Probe{PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 1}}
	for _, f := range a.failures {
		a.count += f.Count
		a.atLeast = a.atLeast || f.AtLeast
		if !a.first.Known() || f.When.At.Before(a.first.At) {
			a.first = f.When
		}
		if f.Last.At.After(a.last.At) {
			a.last = f.Last
		}
	}
	return a
}

func (a *assumed) say(format string, args ...any) {
	a.why = append(a.why, fmt.Sprintf(format, args...))
}

// setPeriod sets the period to a whole number of seconds.
func (a *assumed) setPeriod(seconds float64) {
	a.settings.PeriodSeconds = int32(max(1, math.Round(seconds)))
}

// assumePeriod takes the period from what tells it best: the kill, the log, each failure of a watch, the number of failures, or the first
// of them.
func (a *assumed) assumePeriod() {
	if len(a.lines) > 1 {
		gap := a.gapOfLines()
		a.setPeriod(gap.Seconds())
		a.say("the shortest time between two lines of the log is %s", gap.Round(time.Millisecond))
		return
	}
	if over, ok := a.untilKill(); ok {
		a.setPeriod(over.Seconds() / float64(a.thresholdOfKills()-1))
		a.say("%s from the first failure to the kill", over.Round(10*time.Millisecond))
		return
	}
	if over, period := a.meanPeriod(); period > 0 {
		a.setPeriod(period)
		a.say("%d failures in %s", a.count, over.Round(time.Second))
		return
	}
	if gap := a.gapOfUpdates(); gap > 0 {
		a.setPeriod(gap)
		a.say("failures follow each other after %.0fs", gap)
		return
	}
	if early := a.earlyFailure(); early > 0 {
		a.settings.PeriodSeconds = early
		a.say("a failure came within %ds of the start", early)
		return
	}
	a.say("periodSeconds 10 is the default")
}

// gapOfLines returns the shortest time between two lines of the log.
func (a *assumed) gapOfLines() time.Duration {
	least := time.Hour
	for i := 1; i < len(a.lines); i++ {
		if gap := a.lines[i].When.At.Sub(a.lines[i-1].When.At); gap > 500*time.Millisecond {
			least = min(least, gap)
		}
	}
	return least
}

// gapOfUpdates returns the shortest time in seconds between two failures of a stream of updates, which tells each of them, or 0.
func (a *assumed) gapOfUpdates() float64 {
	least := 0.0
	for _, f := range a.failures {
		for i := 1; i < len(f.Points); i++ {
			from, to := f.Points[i-1], f.Points[i]
			if to.Count != from.Count+1 || f.Count <= 3 {
				continue
			}
			if gap := to.At.At.Sub(from.At.At.Truncate(time.Second)).Seconds(); gap >= 1 && (least == 0 || gap < least) {
				least = gap
			}
		}
	}
	return least
}

// meanPeriod returns the time from the first failure to the last, and the period in seconds if all runs in between failed. The period is 0 if
// it is not close to whole seconds: then some runs did not fail.
func (a *assumed) meanPeriod() (time.Duration, float64) {
	if a.count <= 2 || len(a.failures) == 0 || len(a.failures[0].Points) > 2 {
		return 0, 0
	}
	over := a.last.At.Sub(a.first.At) + a.last.Within/2
	period := over.Seconds() / float64(a.count-1)
	if period < 0.9 || math.Abs(period-math.Round(period)) >= 0.1*period || over >= time.Duration(a.count)*time.Hour {
		return 0, 0
	}
	return over, period
}

// thresholdOfKills returns the failures for each kill, or 3, the default, if the recording does not tell all of them.
func (a *assumed) thresholdOfKills() int32 {
	if a.kills == 0 || a.count < a.kills || a.atLeast || a.model.warnings() >= burst {
		return 3
	}
	return int32(max(1, math.Round(float64(a.count)/float64(a.kills))))
}

// untilKill returns the time from the first failure to the kill, if the recording tells it and it has a length.
func (a *assumed) untilKill() (time.Duration, bool) {
	killed := a.model.firstKill(a.container, a.probe)
	if a.atLeast || a.kills == 0 || a.count < a.kills || a.thresholdOfKills() < 2 || !killed.Known() {
		return 0, false
	}
	over := killed.At.Sub(a.first.At)
	period := over.Seconds() / float64(a.thresholdOfKills()-1)
	return over, period > 0.5 && period < 3600
}

// earlyFailure returns the longest period with which a run comes as early after the container as the first failure, or 0 if the default is
// short enough. The first tick of a worker comes with the pod, and finds no container. The next one comes after a period (worker.go in
// pkg/kubelet/prober at v1.37.0).
func (a *assumed) earlyFailure() int32 {
	start := a.model.onlyStart(a.container)
	if start == nil || !a.first.Known() {
		return 0
	}
	after := a.first.End().Sub(start.When.At)
	if after < 0 || after >= 10*time.Second {
		return 0
	}
	return int32(max(1, after/time.Second))
}

// onlyStart returns the first fact about the only start of a container, or nil if the container can have started more often.
func (m *model) onlyStart(container string) *incident.Fact {
	var first *incident.Fact
	for _, f := range m.pod.Facts {
		if f.Container != container {
			continue
		}
		switch {
		case f.Kind == incident.Terminated, f.Kind == incident.Event && f.Reason == "Killing", crashBackOff(f):
			return nil
		case f.Kind != incident.Event || !steps[f.Reason]:
		case f.Count > 1:
			return nil
		case f.When.Known() && (first == nil || f.When.At.Before(first.When.At)):
			first = f
		}
	}
	return first
}

// assumeThreshold takes the threshold from the number of failures for each kill.
func (a *assumed) assumeThreshold() {
	switch {
	case a.kills > 0 && a.atLeast:
		a.say("failureThreshold 3 is the default, because the recording does not tell how many failures there were")
	case a.kills > 0 && a.count >= a.kills:
		a.settings.FailureThreshold = a.thresholdOfKills()
		a.say("%d failures and %d kills", a.count, a.kills)
	case a.kills == 0 && a.count >= 3 && a.probe != trace.Readiness:
		a.settings.FailureThreshold = int32(a.count + 1)
		a.say("no kill after %d failures", a.count)
	}
}

// assumeDelay takes the initial delay from the time between the start of a container and the first failure of a probe that kills the container.
func (a *assumed) assumeDelay() {
	if a.kills == 0 || a.atLeast || !a.first.Known() || a.probe == trace.Readiness {
		return
	}
	for _, f := range a.model.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "Started" || f.Container != a.container || f.When.Within > time.Second {
			continue
		}
		after := a.first.At.Sub(f.When.At) - time.Duration(a.settings.PeriodSeconds)*time.Second
		if after > 0 && after < 10*time.Minute {
			least, period := int32(math.Ceil(after.Seconds())), a.settings.PeriodSeconds
			a.settings.InitialDelaySeconds = least + (period-1)/2 // the ends of the range may be wrong by a second
			a.say("the first failure came %s after the start, so initialDelaySeconds is from %d to %d if all runs fail",
				a.first.At.Sub(f.When.At).Round(10*time.Millisecond), least, least+period-1)
		}
		return
	}
}

// assumeHandler takes a handler whose failures have the output of the last failure.
func (a *assumed) assumeHandler() {
	output := ""
	if len(a.failures) > 0 {
		output = incident.ParseUnhealthy(a.failures[len(a.failures)-1].Message).Output
	}
	if len(a.lines) > 1 || output == "" && len(a.lines) > 0 {
		output = a.lines[0].Message
	}
	a.settings.ProbeHandler = handlerFor(output)
	if strings.Contains(output, "timed out") || strings.Contains(output, "deadline") {
		a.say("timeoutSeconds 1 is the default")
	}
}

// handlerFor returns a handler whose failures have such an output.
func handlerFor(output string) v1.ProbeHandler {
	switch {
	case strings.HasPrefix(output, "Get ") || strings.Contains(output, "statuscode") || strings.Contains(output, "Client.Timeout"):
		return v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}}
	case strings.HasPrefix(output, "dial tcp"):
		return v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(8080)}}
	case strings.HasPrefix(output, "service unhealthy") || strings.HasPrefix(output, "timeout: failed to connect service"):
		return v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 8080}}
	}
	return v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"unknown"}}}
}

// failures returns the events about a probe of a container, in the order of their first times.
func (m *model) failures(container string, probe trace.Probe) []*incident.Fact {
	return m.factsWhere(func(f *incident.Fact) bool {
		return f.Kind == incident.Event && f.Container == container && f.When.Known() && incident.ParseUnhealthy(f.Message).Probe == probe
	})
}

// logged returns the runs of a probe in a log.
func (m *model) logged(container string, probe trace.Probe) []*incident.Fact {
	return m.factsWhere(func(f *incident.Fact) bool {
		return f.Kind == incident.ProbeRun && f.Container == container && f.Probe == probe
	})
}

// killsBy returns the events about the kills of a container by a probe.
func (m *model) killsBy(container string, probe trace.Probe) []*incident.Fact {
	return m.factsWhere(func(f *incident.Fact) bool {
		return f.Kind == incident.Event && f.Reason == "Killing" && f.Container == container && incident.ParseKilling(f.Message) == causes[probe]
	})
}

var causes = map[trace.Probe]incident.Cause{trace.Liveness: incident.ByLiveness, trace.Startup: incident.ByStartup}

func (m *model) factsWhere(holds func(f *incident.Fact) bool) []*incident.Fact {
	return slices.DeleteFunc(slices.Clone(m.pod.Facts), func(f *incident.Fact) bool { return !holds(f) })
}

// kills returns the number of times that a probe had its container killed.
func (m *model) kills(container string, probe trace.Probe) int {
	return occurrences(m.killsBy(container, probe))
}

// firstKill returns the time of the first kill by a probe.
func (m *model) firstKill(container string, probe trace.Probe) incident.Moment {
	if kills := m.killsBy(container, probe); len(kills) > 0 {
		return kills[0].When
	}
	return incident.Moment{}
}

// warnings returns the number of warnings about the pod.
func (m *model) warnings() int {
	return occurrences(m.factsWhere(func(f *incident.Fact) bool {
		return f.Kind == incident.Event && (f.Type == "Warning" || incident.ParseUnhealthy(f.Message).Probe != "")
	}))
}

func occurrences(events []*incident.Fact) int {
	n := 0
	for _, f := range events {
		n += f.Count
	}
	return n
}
