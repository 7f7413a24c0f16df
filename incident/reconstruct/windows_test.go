package reconstruct

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/incident"
	"probesim.dev/incident/cluster"
	"probesim.dev/trace"
)

// stretch is a time in which a program fails a probe, as a rule of a scenario says, with ranges for both ends.
type stretch struct {
	open, close [2]time.Time // earliest and latest
	endless     bool         // until the instance ends
}

// alignment is how far the clocks of two runs can be apart: scenarios have milliseconds, and requests take an unknown time.
const alignment = 100 * time.Millisecond

// life is an instance of a container in a run.
type life struct {
	number     int
	start, end time.Time // end is zero if it is still running
}

func livesOf(records []trace.Record, zero time.Time, pod, container string) []life {
	var list []life
	for i := range records {
		r := &records[i]
		if r.Pod != pod || r.Container != container {
			continue
		}
		switch r.Kind {
		case trace.ContainerStarted:
			list = append(list, life{number: r.Instance, start: zero.Add(r.T.Offset())})
		case trace.ContainerExited:
			for k := range list {
				if list[k].number == r.Instance {
					list[k].end = zero.Add(r.T.Offset())
				}
			}
		}
	}
	return list
}

// stretches returns the times for which the rules of a program give their own answer to a probe, or their own exit.
func stretches(rules []fakeruntime.Rule, probe trace.Probe, lives []life, zero, end time.Time) []stretch {
	var list []stretch
	for i := range rules {
		rule := &rules[i]
		series := map[trace.Probe]*fakeruntime.Series{trace.Liveness: rule.Liveness, trace.Readiness: rule.Readiness, trace.Startup: rule.Startup}[probe]
		if series == nil {
			series = rule.Probes
		}
		if series == nil {
			continue
		}
		from := []time.Time{zero}
		if rule.Clock != fakeruntime.AtScenario {
			from = nil
			for _, l := range lives {
				if rule.Clock == fakeruntime.AfterStart && rule.Instance.Contains(l.number) {
					from = append(from, l.start)
				}
			}
		}
		for _, f := range from {
			s := stretch{open: [2]time.Time{f.Add(rule.From.Min), f.Add(rule.From.Max)}, endless: rule.For == nil || len(series.Items) > 1}
			if !s.endless {
				s.close = [2]time.Time{s.open[0].Add(rule.For.Min), s.open[1].Add(rule.For.Max)}
			}
			for range 2000 {
				list = append(list, s)
				if rule.Every == nil || rule.Every.Min <= 0 || s.open[0].After(end) {
					break
				}
				for _, t := range []*time.Time{&s.open[0], &s.open[1], &s.close[0], &s.close[1]} {
					*t = t.Add(rule.Every.Min)
				}
			}
		}
	}
	return list
}

// windows compares the recorded failures of a pod with the windows of its reconstruction. It returns how many begin and end in the ranges
// that the reconstruction gives, and describes the others.
func windows(p *proof, truth []trace.Record, program fakeruntime.Pod, r *Result) {
	zero := cluster.Zero
	object := r.model.object
	key := object.Namespace + "/" + object.Name
	inferredProgram := r.Plan.Pods()[0].Program
	for _, c := range append(slices.Clone(object.Spec.InitContainers), object.Spec.Containers...) {
		real := livesOf(truth, zero, key, c.Name)
		again := livesOf(r.Run.Records, r.Zero, key, c.Name)
		for _, probe := range []trace.Probe{trace.Startup, trace.Liveness, trace.Readiness} {
			inferred := stretches(inferredProgram.Containers[c.Name].Program.Rules, probe, again, r.Zero, r.model.end)
			generated := stretches(program.Containers[c.Name].Program.Rules, probe, real, zero, r.model.end)
			for _, f := range r.model.failures(c.Name, probe) {
				if runtimeGone(f.Message) || f.AtLeast || f.When.Within > time.Millisecond || len(inferred) == 0 {
					continue
				}
				begin, end, open := trueWindow(truth, zero, key, c.Name, probe, f, real, generated)
				if begin.IsZero() {
					continue
				}
				p.windows++
				switch {
				case !slices.ContainsFunc(inferred, func(s stretch) bool {
					return !begin.Before(s.open[0].Add(-alignment)) && !begin.After(s.open[1].Add(alignment))
				}):
					p.outside = append(p.outside, fmt.Sprintf("%s %s %s: began at %s, inferred %s", key, c.Name, probe, begin.Sub(r.Zero), describe(inferred, r.Zero)))
				case !slices.ContainsFunc(inferred, func(s stretch) bool {
					return s.endless || open && !end.After(s.close[1].Add(alignment)) || !end.Before(s.close[0].Add(-alignment)) && !end.After(s.close[1].Add(alignment))
				}):
					p.outside = append(p.outside, fmt.Sprintf("%s %s %s: ended at %s (%t), inferred %s", key, c.Name, probe, end.Sub(r.Zero), open, describe(inferred, r.Zero)))
				default:
					p.inside++
				}
			}
		}
	}
}

func describe(list []stretch, zero time.Time) string {
	text := ""
	for i, s := range list {
		if i > 6 {
			return text + "…"
		}
		text += fmt.Sprintf("[%s..%s to ", s.open[0].Sub(zero), s.open[1].Sub(zero))
		if s.endless {
			text += "the end] "
		} else {
			text += fmt.Sprintf("%s..%s] ", s.close[0].Sub(zero), s.close[1].Sub(zero))
		}
	}
	return text
}

// trueWindow returns when the program began to fail a probe in the way of a recorded event, and when it stopped: the last change in the
// scenario before the first failure, and the first change after the last one. The end is open if the recording has no later run of the
// probe in this instance: only the last failure is certain.
func trueWindow(truth []trace.Record, zero time.Time, pod, container string, probe trace.Probe, f *incident.Fact, lives []life, changes []stretch) (begin, end time.Time, open bool) {
	type run struct {
		at   time.Time
		fail bool
	}
	var runs []run
	var first, last int
	first, last = -1, -1
	for i := range truth {
		x := &truth[i]
		if x.Kind != trace.ProbeExecuted || x.Pod != pod || x.Container != container || x.Probe != probe {
			continue
		}
		u := incident.ParseUnhealthy(f.Message)
		done := zero.Add(x.T.Offset())
		fails := x.Result == u.Result && x.Message == u.Output
		runs = append(runs, run{done.Add(-x.Took), fails})
		if fails && done.Sub(f.When.At).Abs() < time.Microsecond {
			first = len(runs) - 1
		}
		if fails && first >= 0 && !done.After(f.Last.End()) {
			last = len(runs) - 1
		}
	}
	if first < 0 || last < first {
		return time.Time{}, time.Time{}, false
	}
	instance := func(t time.Time) life {
		var l life
		for _, x := range lives {
			if !x.start.After(t.Add(time.Second)) {
				l = x
			}
		}
		return l
	}
	// The earliest and the latest change that explain the failure.
	begin = instance(runs[first].at).start
	if begin.After(runs[first].at) {
		begin = runs[first].at
	}
	if first > 0 && runs[first-1].at.After(begin) {
		begin = runs[first].at // the answers changed with a run, unless at a time
		if !runs[first-1].fail {
			for _, t := range boundaries(changes) {
				if t.After(runs[first-1].at) && !t.After(runs[first].at) {
					begin = t
				}
			}
		}
	} else {
		for _, t := range boundaries(changes) {
			if t.After(begin) && !t.After(runs[first].at) {
				begin = t
			}
		}
	}
	stop := instance(runs[last].at).end
	if last+1 >= len(runs) || !stop.IsZero() && runs[last+1].at.After(stop) {
		return begin, runs[last].at, true
	}
	end = runs[last+1].at
	for _, t := range slices.Backward(boundaries(changes)) {
		if t.After(runs[last].at) && !t.After(runs[last+1].at) {
			end = t
		}
	}
	return begin, end, false
}

// boundaries returns the times at which the answers of a program change.
func boundaries(list []stretch) []time.Time {
	var times []time.Time
	middle := func(m [2]time.Time) time.Time { return m[0].Add(m[1].Sub(m[0]) / 2) }
	for _, s := range list {
		times = append(times, middle(s.open))
		if !s.endless {
			times = append(times, middle(s.close))
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}
