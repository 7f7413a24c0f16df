package reconstruct

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/incident"
	"probesim.dev/incident/cluster"
	"probesim.dev/internal/long"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/random"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

var windowSeeds = flag.Int("windows", long.Sample(40, 300), "the number of random scenarios whose windows TestWindows compares")
var windowsFrom = flag.Int("windows-from", 1, "the first seed")

// widths are the lengths of windows.
type widths struct {
	list      []time.Duration
	unbounded int
}

func (w *widths) add(b [2]time.Time) {
	if b[0].IsZero() || b[1].IsZero() {
		w.unbounded++
		return
	}
	w.list = append(w.list, b[1].Sub(b[0]))
}

// String returns the median, in which a window without a bound is longer than all others.
func (w *widths) String() string {
	all := len(w.list) + w.unbounded
	if all == 0 {
		return "none"
	}
	slices.Sort(w.list)
	median := "unbounded"
	if k := (all - 1) / 2; k < len(w.list) {
		median = w.list[k].Round(time.Millisecond).String()
	}
	bounded := "none"
	if len(w.list) > 0 {
		bounded = w.list[(len(w.list)-1)/2].Round(time.Millisecond).String()
	}
	return fmt.Sprintf("median %s; %d of %d without a bound, median of the others %s", median, w.unbounded, all, bounded)
}

// TestWindows records random scenarios as a cluster would, and compares the windows of failures that follow from the facts with the
// true ones.
func TestWindows(t *testing.T) {
	var began, stopped, needed widths
	total, inside, open, ended := 0, 0, 0, 0
	reasons := map[string]int{}
	for seed := *windowsFrom; seed < *windowsFrom+*windowSeeds; seed++ {
		loaded, err := scenarios.LoadBytes("random.yaml", random.Scenario(uint64(seed)), nil)
		if err != nil {
			t.Fatal(err)
		}
		plan := loaded[0].Plans()[0]
		run := simulate.Run(context.Background(), plan, simulate.Options{})
		if run.Err != nil {
			t.Fatal(run.Err)
		}
		rec := record(t, plan, run, run.End)
		for _, pod := range rec.Pods {
			m, err := newModel(rec, pod)
			if err != nil {
				continue
			}
			key := pod.Key()
			var program fakeruntime.Pod
			for _, planned := range plan.Pods() {
				if planned.Pod.Namespace == pod.Namespace && planned.Pod.Name == pod.Name {
					program = planned.Program
				}
			}
			for _, w := range m.windows() {
				lives := livesOf(run.Records, cluster.Zero, key, w.Container)
				truth := stretches(program.Containers[w.Container].Program.Rules, w.Probe, lives, cluster.Zero, m.end)
				begin, end, unknown := trueWindow(run.Records, cluster.Zero, key, w.Container, w.Probe, w.Fact, lives, truth)
				if begin.IsZero() {
					continue
				}
				total++
				began.add(w.Began)
				stopped.add(w.Stopped)
				if unknown {
					open++
				} else {
					ended++
					needed.add(w.Stopped)
				}
				if w.Open != "" && !unknown {
					reasons[w.Open]++
				}
				in := func(b [2]time.Time, at time.Time) bool {
					return !at.Before(b[0].Add(-alignment)) && (b[1].IsZero() || !at.After(b[1].Add(alignment)))
				}
				switch {
				case !in(w.Began, begin):
					t.Logf("seed %d: %s %s %s: began at %s: %s (%s)", seed, key, w.Container, w.Probe, begin.Sub(cluster.Zero), w.String(cluster.Zero), firstLine(w.Fact.Message))
				case !unknown && !in(w.Stopped, end), unknown && !w.Stopped[1].IsZero() && end.After(w.Stopped[1].Add(alignment)):
					t.Logf("seed %d: %s %s %s: stopped at %s (%t): %s (%s)", seed, key, w.Container, w.Probe, end.Sub(cluster.Zero), unknown, w.String(cluster.Zero), firstLine(w.Fact.Message))
				default:
					inside++
				}
			}
		}
	}
	t.Logf("%d of %d windows (%.1f%%) contain the true one", inside, total, 100*float64(inside)/float64(max(total, 1)))
	t.Logf("began: %s", &began)
	t.Logf("stopped: %s", &stopped)
	t.Logf("stopped, where the probe ran again: %s", &needed)
	for _, k := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return cmp.Compare(reasons[b], reasons[a]) }) {
		t.Logf("%5d without need: %s", reasons[k], k)
	}
	if total < *windowSeeds || inside*100 < total*97 {
		t.Errorf("only %d of %d windows contain the true one", inside, total)
	}
	if median := began.list[len(began.list)/2]; median > 15*time.Second || began.unbounded*100 > total {
		t.Errorf("the windows are wide: %s", &began)
	}
	if bounded := stopped.list[len(stopped.list)/2]; bounded > 15*time.Second || stopped.unbounded*10 > total*9 {
		t.Errorf("the windows are wide: %s", &stopped)
	}
}

// stretch is a time in which a program fails a probe, as a rule of a scenario says, with ranges for both ends.
type stretch struct {
	open, close [2]time.Time // earliest and latest
	endless     bool         // until the instance ends
	series      bool         // the answers change with the runs
	start       *life        // the instance, if the stretch can begin with its start
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
		from := []life{{start: zero}}
		if rule.Clock != fakeruntime.AtScenario {
			from = nil
			for _, l := range lives {
				if rule.Clock == fakeruntime.AfterStart && rule.Instance.Contains(l.number) {
					from = append(from, l)
				}
			}
		}
		for _, l := range from {
			s := stretch{open: [2]time.Time{l.start.Add(rule.From.Min), l.start.Add(rule.From.Max)}, endless: rule.For == nil || len(series.Items) > 1, series: len(series.Items) > 1}
			if rule.Clock == fakeruntime.AfterStart && rule.From.Min == 0 {
				s.start = &l
			}
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

// opens reports whether a stretch can begin at a time. A rule from the start of an instance on means the start of the true one, which a
// recording tells to a second.
func (s *stretch) opens(at time.Time, lives []life) bool {
	from, to := s.open[0], s.open[1]
	for _, l := range lives {
		if s.start != nil && l.number == s.start.number && l.start.Sub(s.start.start).Abs() < 2*time.Second {
			from, to = earlier(from, l.start), later(to, l.start)
		}
	}
	return !at.Before(from.Add(-alignment)) && !at.After(to.Add(alignment))
}

// stated reports whether a rule says when the program began and stopped to cause a recorded failure: the run has that in a window of the
// rule. Requests also fail because their container ends, and the answers of a series change with the runs of the probe.
func stated(r *Result, container string, probe trace.Probe, f *incident.Fact, inferred []stretch) bool {
	middle := func(m [2]time.Time) time.Time { return m[0].Add(m[1].Sub(m[0]) / 2) }
	pattern := patternOf(incident.ParseUnhealthy(f.Message))
	for i := range r.Run.Records {
		x := &r.Run.Records[i]
		if x.Kind != trace.ProbeExecuted || x.Container != container || x.Probe != probe || patternOf(incident.Unhealthy{Probe: probe, Result: x.Result, Output: x.Message}) != pattern {
			continue
		}
		died := slices.ContainsFunc(r.Run.Records, func(e trace.Record) bool {
			return e.Kind == trace.ContainerExited && e.Container == container && e.T >= x.T.Add(-x.Took) && e.T <= x.T
		})
		if died && x.Took <= slowAfter {
			return false
		}
		at := r.Zero.Add(x.T.Offset() - x.Took) // of the first such failure
		return slices.ContainsFunc(inferred, func(s stretch) bool {
			return !s.series && !at.Before(middle(s.open)) && (s.endless || at.Before(middle(s.close)))
		})
	}
	return false
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// compare compares the recorded failures of a pod that its reconstruction explains with the ranges of the rules. It counts how many begin
// and end in these ranges, and describes the others.
func compare(p *proof, truth []trace.Record, program fakeruntime.Pod, r *Result) {
	zero := cluster.Zero
	object := r.model.object
	key := object.Namespace + "/" + object.Name
	inferredProgram := r.Plan.Pods()[0].Program
	for _, c := range append(slices.Clone(object.Spec.InitContainers), object.Spec.Containers...) {
		real := livesOf(truth, zero, key, c.Name)
		again := livesOf(r.Run.Records, r.Zero, key, c.Name)
		for _, probe := range trace.ProbeTypes {
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
				if slices.ContainsFunc(r.Claims, func(c Claim) bool { return c.Fact == f && !c.Holds && !c.Beyond }) {
					p.unexplained++ // the output says so; Windows has its window
					continue
				}
				if !stated(r, c.Name, probe, f, inferred) {
					p.unstated++
					continue
				}
				p.windows++
				switch {
				case !slices.ContainsFunc(inferred, func(s stretch) bool { return s.opens(begin, real) }):
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
	// The program began before the first of the equal failures in a row: a kubelet that has restarted begins a new event.
	row := first
	for row > 0 && runs[row-1].fail && !runs[row-1].at.Before(instance(runs[first].at).start) {
		row--
	}
	// The earliest and the latest change that explain the failure.
	begin = instance(runs[row].at).start
	if begin.After(runs[row].at) {
		begin = runs[row].at
	}
	if row > 0 && runs[row-1].at.After(begin) {
		begin = runs[row].at // the answers changed with a run, unless at a time
		for _, t := range boundaries(changes) {
			if t.After(runs[row-1].at) && !t.After(runs[row].at) {
				begin = t
			}
		}
	} else {
		for _, t := range boundaries(changes) {
			if t.After(begin) && !t.After(runs[row].at) {
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

// TestWindowOfDocs checks the window that docs/incident.md shows, and that the scenario has it as a comment.
func TestWindowOfDocs(t *testing.T) {
	r := reconstructed(t, simulated(t, readiness, "{at: 61s, for: 47s, readiness: 503}"))
	windows := r.Windows()
	if len(windows) != 1 {
		t.Fatal(windows)
	}
	w := windows[0]
	text := fmt.Sprintf("%s probe of %s, %s: %s", w.Probe, w.Container, w.Fact.Place, w.String(r.Zero))
	page, err := os.ReadFile("../../docs/incident.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\nwindow: "+text+"\n") {
		t.Errorf("docs/incident.md does not have\nwindow: %s", text)
	}
	if comments := strings.ReplaceAll(string(r.Text), "\n      # ", " "); !strings.Contains(comments, w.String(r.Zero)) {
		t.Errorf("the scenario does not have the window:\n%s", r.Text)
	}
}
