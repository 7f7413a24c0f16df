// Package scenario writes a scenario for a verdict: a run that meets the kills, ends and starts
// that a recording dates.
//
// Each cause has a template with a few parameters: when a program begins to fail or exits, for how
// long it fails, and how long it takes to stop. [Of] runs the values that the dated facts suggest,
// the simplest first. Each dated fact is an expectation: the run meets the fact if the expectation
// holds. No run has a life that the recording does not show.
package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// Result is a scenario for a verdict.
type Result struct {
	Text []byte // the scenario file: the pod, and a Scenario with behavior and expectations
	// Meets is the number of dated facts that the scenario expects. Misses has a sentence about
	// each other one, with its place.
	Meets  int
	Misses []string
	// Remarks are sentences that add to the verdict: when failures began and ended, what the
	// recording does not show, and, only if it shows a success, a setting that would have survived.
	Remarks []string
}

// Of returns a scenario for a verdict on a container of a recording. An error says what is missing:
// a cause that has a template, the settings, dated facts, or a run with the recorded times.
func Of(ctx context.Context, rec *incident.Recording, v *verdict.Verdict) (*Result, error) {
	c, err := newSubject(rec, v)
	if err != nil {
		return nil, err
	}
	var best *behavior
	ticks := 3*int(c.end.Sub(c.sights[0].at.At)/c.period) + 2000 // of probes in a run: a million takes two seconds
	list, most := c.behaviors(), max(1_000_000/ticks, 8)
	for i := 0; i < min(len(list), most) && (best == nil || len(best.met) < len(c.sights)); i++ {
		a, err := c.try(ctx, list[i])
		if err != nil {
			return nil, err
		}
		if a != nil && (best == nil || len(a.met) > len(best.met)) {
			best = a
		}
	}
	if best == nil {
		return nil, errors.New("no run has the recorded times without a life that the recording does not show")
	}
	r := &Result{Meets: len(best.met), Remarks: c.remarks(best)}
	for _, s := range c.sights {
		if !slices.Contains(best.met, s) {
			r.Misses = append(r.Misses, fmt.Sprintf("The run does not meet %s: %s %s at %s.", s.fact.Place,
				c.container.Name, s.did, c.when(s.at.At)))
		}
	}
	r.Text = c.text(best, best.met, slices.Concat(r.Remarks, r.Misses))
	return r, nil
}

// templates are the causes that have a template, and the probe that kills. Without a probe, the
// program exits.
var templates = map[verdict.Cause]trace.Probe{verdict.LivenessProbe: trace.Liveness,
	verdict.StartupProbe: trace.Startup, verdict.OwnExit: "", verdict.OutOfMemory: ""}

// retried is how long a start can be late: a kubelet looks again 10 s to 15 s after a back-off
// (pkg/kubelet/pod_workers.go of v1.37.0).
const retried = 15 * time.Second

// subject is what a scenario is about.
type subject struct {
	rec       *incident.Recording
	v         *verdict.Verdict
	facts     []*incident.Fact // of the container
	pod       string           // its name
	manifest  []byte
	container *v1.Container
	kills     trace.Probe // the probe that kills; empty: the program exits
	probe     *v1.Probe
	period    time.Duration  // of the probe, or retried: the run may differ as much from a fact
	sights    []*sight       // sorted by time
	anchor    *sight         // the run has it at that time: the first failure, or else the first start, kill or end
	failures  []*sight       // all of them; sights has the first and the last one
	success   *incident.Fact // the last one
	shown     int            // the number of starts that the recording shows
	end       time.Time      // of the last fact
}

// newSubject returns what a verdict is about, or says what is missing.
func newSubject(rec *incident.Recording, v *verdict.Verdict) (*subject, error) {
	probe, err := killerOf(v)
	if err != nil {
		return nil, err
	}
	pod := podOf(v.Pod)
	manifest, err := manifests.Document(pod)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	i := slices.IndexFunc(all,
		func(x v1.Container) bool { return x.Name == v.Container || v.Container == "" && len(all) == 1 })
	if i < 0 {
		return nil, fmt.Errorf("the settings of container %q are missing", v.Container)
	}
	c := &subject{rec: rec, v: v, pod: pod.Name, manifest: manifest, container: &all[i], kills: probe, period: retried,
		shown: max(v.Restarts, v.Kills) + 1}
	if c.probe = prober.ProbeOf(c.container, probe); c.probe != nil {
		c.period = time.Duration(cmp.Or(c.probe.PeriodSeconds, 10)) * time.Second
	}
	c.collect(len(all) == 1)
	if err := c.missing(); err != nil {
		return nil, err
	}
	c.anchor = c.sights[slices.IndexFunc(c.sights,
		func(s *sight) bool { return s.record == failed || s.record != "" && len(c.failures) == 0 })]
	return c, nil
}

// killerOf returns the probe that kills the container of a verdict, or "" if it exits. The error
// tells why no scenario can show the cause.
func killerOf(v *verdict.Verdict) (trace.Probe, error) {
	probe, known := templates[v.Cause]
	switch {
	case !known:
		return "", fmt.Errorf("a scenario shows kills by probes and exits, and the cause is %s", v.Cause)
	case v.Sure == verdict.Open && len(v.Or) > 0:
		return "", errors.New("the cause is open: a scenario would show only one of those that are left")
	case v.Pod == nil || v.Pod.Object == nil || len(v.Pod.Object.Spec.Containers) == 0:
		return "", errors.New("the settings are missing: add the pod as YAML, the text of kubectl describe pod, or " +
			"its manifest")
	}
	return probe, nil
}

// missing returns an error about what the recording lacks for a scenario.
func (c *subject) missing() error {
	switch {
	case c.kills != "" && c.probe == nil:
		return fmt.Errorf("the settings of the %s probe are missing", c.kills)
	case c.gap(started, killed) < 0 && c.gap(started, ended) < 0 && c.gap(killed, killed) < 0:
		return errors.New("the dates of two kills are missing, or the start and the end of one instance")
	case c.kills == "" && (c.v.ExitCode == nil || c.v.Life == nil),
		c.v.ExitCode != nil && (*c.v.ExitCode < 0 || *c.v.ExitCode > 255):
		return errors.New("an exit code from 0 to 255, or the start or the end of the instance that exited, is " +
			"missing")
	}
	return nil
}

// sight is something that a fact dates. A run meets it or misses it.
type sight struct {
	fact    *incident.Fact
	at      incident.Moment
	record  trace.Kind // one of the constants, or empty: something else
	did     string     // what the container did
	expects string     // the same as an expectation
}

// The records of the sights that have parameters of a template.
const started, killed, ended, failed = trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited,
	trace.ProbeExecuted

// maxDuration is the longest run. Older facts are left out.
const maxDuration = 24 * time.Hour

// collect collects the facts of the container, and what they date. Nothing compares ages with
// dates: it keeps what there is more of. Of the sights that can be the same it keeps the most exact
// one, and of the failures the first and the last one.
func (c *subject) collect(only bool) {
	aged := map[bool][]*incident.Fact{}
	for _, f := range c.v.Pod.Facts {
		if f.Container == c.container.Name || f.Container == "" && only {
			aged[f.Aged] = append(aged[f.Aged], f)
		}
	}
	c.facts = aged[len(aged[true]) > len(aged[false])]
	for _, f := range c.facts {
		c.look(f)
		for _, m := range []incident.Moment{f.When, f.Last} {
			if m.End().After(c.end) {
				c.end = m.End()
			}
		}
	}
	slices.SortStableFunc(c.sights, func(a, b *sight) int { return cmp.Compare(a.at.Within, b.at.Within) })
	var kept []*sight
	seen := map[trace.Kind]int{}
	for _, s := range c.sights {
		same := func(k *sight) bool {
			return k.expects == s.expects && !k.at.At.After(s.at.End()) && !s.at.At.After(k.at.End())
		}
		if s.at.At.After(c.end.Add(-maxDuration)) && !slices.ContainsFunc(kept, same) {
			kept = append(kept, s)
			seen[s.record]++
		}
	}
	c.shown = max(c.shown, seen[started], seen[ended]+1) // the kubelet starts it again
	slices.SortStableFunc(kept, func(a, b *sight) int { return a.at.At.Compare(b.at.At) })
	c.failures = slices.DeleteFunc(slices.Clone(kept), func(s *sight) bool { return s.record != failed })
	c.sights = slices.DeleteFunc(kept, func(s *sight) bool {
		return s.record == failed && s != c.failures[0] && s != c.failures[len(c.failures)-1]
	})
}

// look collects what a fact of the container dates.
func (c *subject) look(f *incident.Fact) {
	when, last := incident.Point{At: f.When}, incident.Point{At: f.Last}
	start, kill := "record: {kind: ContainerStarted}",
		fmt.Sprintf(`record: {kind: Event, reason: Killing, message: "/failed %s probe/"}`, c.kills)
	u := f.Unhealthy()
	switch {
	case f.Kind == incident.Event && f.Reason == "Started":
		c.shown = max(c.shown, f.Count)
		c.add(f, started, "started", start, f.Points...)
	case f.Kind == incident.Event && f.Reason == "Killing" &&
		string(incident.ParseKilling(f.Message)) == string(c.kills):
		c.add(f, killed, "was killed by its probe", kill, f.Points...)
		if f.Count > 1 && !f.AtLeast {
			all := incident.Moment{At: f.When.At, Within: f.Last.End().Sub(f.When.At)}
			c.sights = append(c.sights, &sight{f, all, "", fmt.Sprintf("was killed %d times, first", f.Count),
				fmt.Sprintf("count: %d.., %s", f.Count, kill)})
		}
	case u.Result == trace.Failure && u.Probe == c.kills:
		c.add(f, failed, "failed its probe",
			fmt.Sprintf(`record: {kind: Event, reason: Unhealthy, message: "/(?i)^%s probe failed/"}`, c.kills), when,
			last)
	case f.Kind == incident.Running, f.Kind == incident.Terminated:
		if c.add(f, started, "started", start, when); f.ExitKnown {
			c.add(f, ended, fmt.Sprintf("ended with exit code %d", f.ExitCode),
				fmt.Sprintf("record: {kind: ContainerExited, exitCode: %d}", f.ExitCode), last)
		}
	case (f.Kind == incident.Restarts || f.Kind == incident.Row) && f.Count >= 0:
		c.add(f, "", fmt.Sprintf("had the restart count %d", f.Count),
			fmt.Sprintf("status: {restartCount: %d}", f.Count), when)
	}
	if u.Result == trace.Success && u.Probe == c.kills || showsReady(f) {
		c.success = f
	}
}

// showsReady reports whether a container has started or is ready, or all containers of a row are.
func showsReady(f *incident.Fact) bool {
	ready, all, row := strings.Cut(f.Value, "/")
	return (f.Kind == incident.Ready || f.Kind == incident.Started) && f.Value == "true" || row && ready == all
}

func (c *subject) add(f *incident.Fact, record trace.Kind, did, expects string, points ...incident.Point) {
	for _, p := range points {
		if p.At.Known() && p.At.Within <= time.Minute { // ages over some minutes have no seconds
			c.sights = append(c.sights, &sight{f, p.At, record, did, expects})
		}
	}
}

// gap returns the time from something to the first that follows it, or -1.
func (c *subject) gap(from, to trace.Kind) time.Duration {
	var last *sight
	for _, s := range c.sights {
		if s.record == to && last != nil {
			return s.at.Best().Sub(last.at.Best()).Round(time.Millisecond)
		} else if s.record == from {
			last = s
		}
	}
	return -1
}

// when returns a time of the recording in words.
func (c *subject) when(t time.Time) string {
	if c.rec.Relative {
		return fmt.Sprint(t.Sub(c.rec.Zero()).Round(time.Millisecond), " of the timeline")
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
