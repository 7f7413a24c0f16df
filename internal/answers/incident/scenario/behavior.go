package scenario

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/scenarios/text"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// behavior is the template of a cause with its parameters, and what its run meets.
type behavior struct {
	moment   bool          // from the time begin of the run on; otherwise in each instance from this age on
	begin    time.Duration // when the program begins to fail, or exits
	long     time.Duration // for how long it fails; 0: for good
	last     int           // the last instance that does so; -1: all
	slow     time.Duration // how long the next one takes to start
	stop     time.Duration // how long it takes to stop; unstoppable: until the SIGKILL
	duration time.Duration // of the run
	zero     time.Time     // the time in the recording of t=0 of the run
	met      []*sight
}

const unstoppable = -2

// behaviors returns the behaviors that the dated facts suggest, the simplest first.
func (c *subject) behaviors() (list []behavior) {
	begins, stops := []behavior{{}}, []time.Duration{100 * time.Millisecond}
	if c.kills == "" {
		begins = []behavior{{begin: ((c.v.Life.Least + c.v.Life.Greatest) / 2).Round(time.Millisecond)},
			{begin: c.v.Life.Least}, {begin: c.v.Life.Greatest}}
	} else {
		toKill := time.Duration(cmp.Or(c.probe.FailureThreshold, 3)-1) * c.period
		// before the first probe that fails
		for _, early := range []time.Duration{c.period / 2, c.period * 9 / 10, c.period / 10} {
			begins = append(begins, behavior{begin: c.gap(started, failed) - early},
				behavior{begin: c.gap(started, killed) - toKill - early})
		}
		if c.v.ExitCode == nil || *c.v.ExitCode == 137 { // the code of a SIGKILL
			stops = append(stops, unstoppable)
		}
		stops = append(stops, c.gap(killed, ended), c.gap(killed, started))
		for d := time.Second; d < 30*time.Second; d += max(time.Second, d/5) {
			stops = append(stops, d)
		}
	}
	outage := []behavior{}
	if len(c.failures) > 0 {
		first, last := c.failures[0].at.At, c.failures[len(c.failures)-1].at.At
		b := behavior{moment: true, begin: max(first.Sub(c.sights[0].at.At)-c.period/2, 0).Round(time.Millisecond)}
		if c.success != nil && c.success.When.At.After(last) {
			b.long = last.Sub(first).Round(time.Millisecond) + c.period
		}
		outage = append(outage, b)
	}
	slow := c.slowStart()
	for _, try := range []struct {
		from []behavior
		last int           // -1: all instances
		slow time.Duration // of the next one
	}{{begins[:1], -1, 0}, {begins[:1], c.shown - 2, slow}, {begins[:1], c.shown - 2, 0}, {begins[1:], -1, 0},
		{begins[1:], c.shown - 2, 0}, {outage, -1, 0}} {
		for _, b := range try.from {
			b.last, b.slow = try.last, try.slow
			for _, b.stop = range stops {
				if b.begin >= 0 && b.stop != -1 && !c.contradicts(&b) {
					list = append(list, b)
				}
			}
		}
	}
	return list
}

// slowStart returns how long the last instance takes to start if its probe has failed in it and
// succeeded then, or 0.
func (c *subject) slowStart() time.Duration {
	if c.success == nil || len(c.failures) == 0 {
		return 0
	}
	last := c.failures[len(c.failures)-1]
	for _, s := range slices.Backward(c.sights) {
		switch {
		case s.record != started:
		case s.at.At.Before(last.at.At):
			return (last.at.Best().Sub(s.at.Best()) + c.period/2).Round(time.Second)
		default:
			return 0
		}
	}
	return 0
}

// contradicts reports whether the probe fails from the start on in a behavior, and the recording
// shows that an instance was killed much later, or, if all instances fail, that the last one is up.
func (c *subject) contradicts(b *behavior) bool {
	if c.kills == "" || b.begin > 0 || b.moment {
		return false
	}
	p := c.probe
	latest := time.Duration(p.InitialDelaySeconds+p.TimeoutSeconds)*time.Second + c.period*
		time.Duration(cmp.Or(p.FailureThreshold, 3)+1) + retried
	up := c.success != nil && c.success.Kind != incident.Row && c.shown > 1
	return c.gap(started, killed) > latest || b.last < 0 && up
}

// try runs a behavior. It returns nil if the run does not have what the recording has first, or has
// a life that it does not show.
func (c *subject) try(ctx context.Context, b behavior) (*behavior, error) {
	b.duration = c.end.Sub(c.sights[0].at.At) + time.Minute
	if c.sights[0].record != started { // and something comes before it
		b.duration += b.begin + time.Hour
	}
	run, err := c.run(ctx, &b, nil)
	if err != nil {
		return nil, err
	}
	times, starts := c.times(run.Records, c.anchor.record), c.times(run.Records, started)
	if len(times) == 0 {
		return nil, nil
	}
	b.zero = c.anchor.at.Best().Add(-times[0])
	b.duration = (c.end.Sub(b.zero) + time.Second).Truncate(time.Second)
	if len(starts) > c.shown && starts[c.shown] < c.end.Sub(b.zero)-c.period {
		return nil, nil
	}
	if run, err = c.run(ctx, &b, c.sights); err != nil {
		return nil, err
	}
	for i, r := range run.Results {
		if r.Outcome == report.OK {
			b.met = append(b.met, c.sights[i])
		}
	}
	return &b, nil
}

// run runs the scenario of a behavior.
func (c *subject) run(ctx context.Context, b *behavior, expected []*sight) (*simulate.Result, error) {
	loaded, err := scenarios.LoadBytes("incident.yaml", c.text(b, expected, nil), nil)
	if err != nil {
		return nil, fmt.Errorf("the recorded settings are not valid: %w", err)
	}
	run := simulate.Run(ctx, loaded[0].Plans()[0], simulate.Options{})
	return run, run.Err
}

// times returns the times of the starts, kills or ends of the container, or of the failures of its
// probe.
func (c *subject) times(records []trace.Record, kind trace.Kind) (list []time.Duration) {
	for i := range records {
		if r := &records[i]; r.Container == c.container.Name && r.Kind == kind && (kind != failed ||
			r.Probe == c.kills && r.Result == trace.Failure) {
			list = append(list, r.T.Offset())
		}
	}
	return list
}

// remarks returns what the scenario adds to the verdict.
func (c *subject) remarks(b *behavior) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch age := c.gap(started, failed); {
	case c.kills == "":
		add("Each instance that ends in the run exits by itself, with the exit code of the last one, %d.",
			*c.v.ExitCode)
	case len(c.failures) == 0:
		add("No fact shows how the %s probe failed.", c.kills)
	case b.begin == 0 && b.last >= 0:
		add("The start of each instance up to number %d takes longer than the %s probe allows.", b.last, c.kills)
	case b.begin == 0 && !b.moment:
		add("The %s probe fails from the start of each instance on.", c.kills)
	case !b.moment && age >= 0:
		add("The program began to fail %v to %v after its start.", max(age-c.period, 0), age)
	default:
		add("The program began to fail in the %v before %s.", c.period, c.when(c.failures[0].at.End()))
	}
	if b.slow > 0 {
		add("The next instance takes about %v to start.", b.slow)
	}
	if c.v.ExitCode == nil {
		add("No fact shows the exit code after a kill.")
	}
	if b.long > 0 { // n failures in a row take n-1 periods
		add("It stopped failing in the %v after %s.", c.period, c.when(c.failures[len(c.failures)-1].at.At))
		add("With %sProbe.failureThreshold: %d, the run has no kill, if the success at %s did not need the restart.",
			c.kills, b.long/c.period+2, c.success.Place)
	}
	return list
}

// validName matches names that can stand in a scenario without quotes.
var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$`)

// podOf returns the parts of a pod on which its containers and probes depend. Nothing else is
// written.
func podOf(p *incident.Pod) *v1.Pod {
	old := p.Object.DeepCopy().Spec
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: old.RestartPolicy,
		TerminationGracePeriodSeconds: old.TerminationGracePeriodSeconds,
		InitContainers:                old.InitContainers, Containers: old.Containers}}
	pod.Name, pod.Namespace = cmp.Or(validName.FindString(strings.ReplaceAll(p.Name, ".", "-")), "pod"), p.Namespace
	for c := range podutil.Containers(&pod.Spec) {
		for _, probe := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p.Partial && probe != nil && probe.HTTPGet != nil && probe.HTTPGet.Port.StrVal != "" {
				probe.HTTPGet.Port = intstr.FromInt32(8080) // the text can lack the number of a named port
			}
		}
		*c = v1.Container{Name: cmp.Or(c.Name, "container"), Image: cmp.Or(c.Image, "unknown"), Ports: c.Ports,
			LivenessProbe:  c.LivenessProbe,
			ReadinessProbe: c.ReadinessProbe, StartupProbe: c.StartupProbe, Lifecycle: c.Lifecycle,
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules}
	}
	return pod
}

// text returns the scenario file of a behavior.
func (c *subject) text(b *behavior, expected []*sight, comments []string) []byte {
	f := text.File{
		Comments: slices.Concat([]string{c.v.Sentence, "t=0 is " + c.when(b.zero) + "."}, comments),
		Objects:  []byte("---\n" + printable.Lines(string(c.manifest)) + "---\n"),
		Name:     "incident-" + c.pod, Spec: [][2]string{{"duration: " + b.duration.String()}},
		Pods: []text.Pod{{Name: c.pod, Containers: []text.List{{Key: c.container.Name, Lines: c.rules(b)}}}},
	}
	shown := text.List{Key: "expect", Comment: "what the recording shows"}
	for _, s := range expected {
		at := s.at.At.Sub(b.zero)
		from, to := max(at-c.period, 0), max(min(at+s.at.Within+c.period, b.duration), 0)
		shown.Lines = append(shown.Lines, fmt.Sprintf("- {container: %s, within: %v..%v, %s}",
			c.container.Name, from.Truncate(time.Millisecond), to.Truncate(time.Millisecond), s.expects))
	}
	f.Lists = []text.List{shown}
	return f.Bytes()
}

// rules returns what the program does.
func (c *subject) rules(b *behavior) []string {
	when, code := "", int32(143) // as most programs end at a SIGTERM
	part := func(is bool, format string, x any) {
		if is {
			when += fmt.Sprintf(format, x)
		}
	}
	part(b.last >= 0, "instance: ..%d, ", b.last)
	part(b.moment, "at: %v, ", b.begin)
	part(!b.moment && b.begin > 0, "after: %v, ", b.begin)
	part(b.long > 0, "for: %v, ", b.long)
	exit := fmt.Sprint(*cmp.Or(c.v.ExitCode, &code))
	if b.stop == unstoppable {
		exit = "never"
	}
	if c.kills == "" {
		return []string{fmt.Sprintf("- {%sexit: %s}", cmp.Or(when, "after: 1ms, "), exit)}
	}
	whens := []string{when}
	if b.slow > 0 {
		whens = append(whens, fmt.Sprintf("instance: %d.., for: %v, ", b.last+1, b.slow))
	}
	var rules []string
	for _, when := range whens {
		rules = append(rules, fmt.Sprintf("- {%s%s: %s}", when, c.kills, cmp.Or(c.answer(c.kills, c.probe), "fail")))
		if answer := c.answer(trace.Readiness, c.container.ReadinessProbe); answer != "" {
			rules = append(rules, fmt.Sprintf("- {%sreadiness: %s}", when, answer))
		}
	}
	return append(rules, fmt.Sprintf("- {afterSigterm: %v, exit: %s}", max(b.stop, 0), exit))
}

// failing matches what a failed probe says about its answer: a status code, that nothing listens,
// or that there was none.
var failing = regexp.MustCompile(`statuscode: ([1-5]\d\d)\b|(refused)|(?:deadline exceeded|timed out|[Tt]imeout)`)

// answer returns what a program answers so that a probe fails as in its most frequent recorded
// failure, or nothing if there is none.
func (c *subject) answer(kind trace.Probe, p *v1.Probe) string {
	output, most := "", -1
	for _, f := range c.facts {
		if u := f.Unhealthy(); p != nil && u.Result == trace.Failure && u.Probe == kind && f.Count > most {
			output, most = u.Output, f.Count
		}
	}
	switch match := failing.FindStringSubmatch(output); {
	case most < 0:
		return ""
	case p.HTTPGet == nil && (match == nil || match[1] != ""):
		return "fail"
	case match == nil || match[2] != "": // the connection failed
		return "down"
	default:
		return cmp.Or(match[1], "hang")
	}
}
