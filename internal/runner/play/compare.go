package play

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// Lag is how much later than on the node something can be seen: an event takes some milliseconds to
// its watch, and the player some to its first line.
const Lag = 50 * time.Millisecond

// together is how far apart two things must be for their order to count: they come on different
// ways.
const together = 2 * Lag

// milestone is something that happens in a run, with the time at which it does.
type milestone struct {
	key string
	at  virtual.Time
}

// maxRepeated is the number of equal events of which each is a milestone: the kubelet drops events
// of a pod after 25 (tools/record/events_cache.go of client-go v0.37.2), and a cluster shows no
// more of them.
const maxRepeated = 8

// milestoneEvents are those that are milestones. Others repeat what a record says.
var milestoneEvents = []string{"Unhealthy", "Killing", "BackOff", "ProbeWarning", "FailedPreStopHook",
	"FailedPostStartHook"}

// milestones returns what happens in a run, of the kinds that both engines and a cluster show. Runs
// agree about the keys and their order, and differ in the times. late is by how much later than
// their containers players begin: until then, connections are refused.
func milestones(records []trace.Record, late time.Duration) []milestone {
	m := marker{late: late, seen: map[string]bool{}, counts: map[string]int{}, ready: map[string]bool{},
		restarts: map[string]int32{}, up: map[string]virtual.Time{}}
	for i := range records {
		if r := &records[i]; r.Pod != "" && r.T >= 0 {
			m.mark(r)
		}
	}
	return m.list
}

// marker finds milestones.
type marker struct {
	list     []milestone
	seen     map[string]bool
	counts   map[string]int
	ready    map[string]bool // by pod
	restarts map[string]int32
	late     time.Duration
	up       map[string]virtual.Time // when the players of containers began, by pod and container
}

func (m *marker) put(r *trace.Record, format string, args ...any) {
	key := fmt.Sprintf("%s: ", trace.PodName(r.Pod)) + fmt.Sprintf(format, args...)
	if !m.seen[key] {
		m.seen[key] = true
		m.list = append(m.list, milestone{key, r.T})
	}
}

// next puts the next one of equal things.
func (m *marker) next(r *trace.Record, what string) {
	key := r.Pod + what
	if m.counts[key]++; m.counts[key] <= maxRepeated {
		m.put(r, "%s %d", what, m.counts[key])
	}
}

func (m *marker) mark(r *trace.Record) {
	instance := fmt.Sprintf("%s %d", r.Container, r.Instance)
	switch r.Kind {
	case trace.PodAdded, trace.PodDeleteRequested, trace.PodRemoved:
		m.next(r, string(r.Kind))
	case trace.ContainerStarted, trace.ContainerStopping:
		if r.Kind == trace.ContainerStarted {
			m.up[r.Pod+r.Container] = r.T.Add(m.late + Lag)
		}
		m.put(r, "%s %s", instance, r.Kind)
	case trace.ContainerExited:
		m.put(r, "%s exits with %d", instance, r.ExitCode)
	case trace.HookStarted: // a hook that is killed does not tell of its end
		m.put(r, "%s %s %s", instance, r.Kind, r.Reason)
	case trace.Event:
		if slices.Contains(milestoneEvents, r.Reason) {
			word := ""
			if r.Reason == "Unhealthy" {
				word, _, _ = strings.Cut(r.Message, " ")
				if r.T < m.up[r.Pod+r.Container] && strings.Contains(r.Message, "refused") {
					return // there is no player yet
				}
			}
			m.next(r, strings.TrimSpace(strings.Join([]string{r.Container, "event", r.Reason, word}, " ")))
		}
	case trace.StatusPatched:
		m.status(r)
	}
}

// status marks the changes of Ready, and the restarts.
func (m *marker) status(r *trace.Record) {
	if m.ready[r.Pod] != r.Status.Ready {
		m.ready[r.Pod] = r.Status.Ready
		m.next(r, map[bool]string{true: "Ready", false: "not Ready"}[r.Status.Ready])
	}
	for _, c := range r.Status.Containers {
		if key := r.Pod + " " + c.Name; c.RestartCount > m.restarts[key] {
			m.restarts[key] = c.RestartCount
			m.put(r, "%s restartCount %d", c.Name, c.RestartCount)
		}
	}
}

// Difference is a milestone whose time no simulated run comes near, or that one side lacks.
type Difference struct {
	What     string
	At       virtual.Time // in reality
	Earliest virtual.Time // in simulated runs
	Latest   virtual.Time
	Missing  bool // in reality
	New      bool // in no simulated run
}

// String describes the difference for people.
func (d Difference) String() string {
	switch {
	case d.Missing:
		return fmt.Sprintf("%s: never; simulated at %s", d.What, span(d.Earliest, d.Latest))
	case d.New:
		return fmt.Sprintf("%s: at %s; never in a simulated run", d.What, seconds(d.At))
	case d.At > d.Latest:
		return fmt.Sprintf("%s: %s later, at %s; simulated at %s", d.What, seconds(virtual.At(d.At.Sub(d.Latest))),
			seconds(d.At), span(d.Earliest, d.Latest))
	}
	return fmt.Sprintf("%s: %s earlier, at %s; simulated at %s", d.What, seconds(virtual.At(d.Earliest.Sub(d.At))),
		seconds(d.At), span(d.Earliest, d.Latest))
}

func span(a, b virtual.Time) string { return seconds(a) + " to " + seconds(b) }

func seconds(t virtual.Time) string { return fmt.Sprintf("%.2fs", t.Offset().Seconds()) }

// Comparison is a played run beside simulated ones.
type Comparison struct {
	Simulated   int // number of runs
	Equal       int // number of them with the same milestones in the same order
	Times       int // number of milestones
	Within      int // number of them whose time a simulated run has
	Differences []Difference
	Losses      []Loss
	// Late is by how much the pods were created later than asked for, or the players began later
	// than the events about them say: by this much, times may be later.
	Late time.Duration
}

// Loss is how many requests to a Service a played run has lost, and how many simulated ones lose.
type Loss struct {
	Service            string
	Lost, Fewest, Most float64
}

// String describes the loss for people.
func (l Loss) String() string {
	return fmt.Sprintf("%.0f requests to %s lost, %.0f to %.0f in simulated runs", l.Lost, trace.PodName(l.Service),
		l.Fewest, l.Most)
}

// lostOf returns how many requests to a Service a run loses.
func lostOf(service string, records []trace.Record, end virtual.Time) (sum float64) {
	for _, l := range trace.Losses(records, end) {
		if records[l.First].Object.Name == "Service "+service {
			sum += l.Lost
		}
	}
	return sum
}

// compareLosses compares what is lost of the requests to each Service.
func (c *Comparison) compareLosses(real *simulate.Result, runs [][]trace.Record, streams []traffic.Entry) {
	for i, s := range streams {
		if slices.ContainsFunc(streams[:i], func(o traffic.Entry) bool { return o.Service == s.Service }) {
			continue
		}
		l := Loss{Service: s.Service, Lost: lostOf(s.Service, real.Records, real.End), Fewest: math.Inf(1)}
		for _, records := range runs {
			lost := lostOf(s.Service, records, real.End)
			l.Fewest, l.Most = min(l.Fewest, lost), max(l.Most, lost)
		}
		c.Losses = append(c.Losses, l)
	}
}

// String is the answer in one line.
func (c *Comparison) String() string {
	order := "order and kinds equal a simulated run"
	if c.Equal == 0 {
		order = "order and kinds equal no simulated run"
	}
	text := fmt.Sprintf("%s; %d of %d times within what %d runs show", order, c.Within, c.Times, c.Simulated)
	if c.Late > Lag {
		text += fmt.Sprintf(", give or take %s of a late start", seconds(virtual.At(c.Late)))
	}
	if len(c.Differences) > 0 {
		worst := c.Differences[0]
		for _, d := range c.Differences {
			if d.off() > worst.off() {
				worst = d
			}
		}
		text += "; " + worst.String()
	}
	for _, l := range c.Losses {
		text += "; " + l.String()
	}
	return text
}

// off is how far a time is from the simulated ones.
func (d *Difference) off() time.Duration {
	if d.Missing || d.New {
		return time.Hour
	}
	return max(d.At.Sub(d.Latest), d.Earliest.Sub(d.At))
}

// compare compares the records of a played run with those of simulated runs.
func compare(real []trace.Record, end virtual.Time, runs [][]trace.Record) *Comparison {
	c := &Comparison{Simulated: len(runs)}
	c.Late = lateness(real)
	played := milestones(real, c.Late)
	ranges, counts := map[string][2]virtual.Time{}, map[string]int{}
	for _, records := range runs {
		simulated := milestones(records, c.Late)
		if sameOrder(played, simulated, end, together+c.Late) {
			c.Equal++
		}
		for _, m := range simulated {
			if r, known := ranges[m.key]; known {
				ranges[m.key] = [2]virtual.Time{min(r[0], m.at), max(r[1], m.at)}
			} else {
				ranges[m.key] = [2]virtual.Time{m.at, m.at}
			}
			counts[m.key]++
		}
	}
	seen := map[string]bool{}
	for _, m := range played {
		seen[m.key] = true
		r, known := ranges[m.key]
		switch c.Times++; {
		case !known:
			c.Differences = append(c.Differences, Difference{What: m.key, At: m.at, New: true})
		case m.at.Add(Lag) < r[0] || m.at > r[1].Add(Lag+c.Late):
			c.Differences = append(c.Differences, Difference{What: m.key, At: m.at, Earliest: r[0], Latest: r[1]})
		default:
			c.Within++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ranges)) {
		if r := ranges[key]; !seen[key] && counts[key] == len(runs) && r[1].Add(together) < end {
			c.Times++
			c.Differences = append(c.Differences, Difference{What: key, Earliest: r[0], Latest: r[1], Missing: true})
		}
	}
	return c
}

// lateness returns by how much a run is late because the machine is busy: the first pod was to be
// with its kubelet at the beginning, which then writes a status, and a player writes its first line
// when its container starts.
func lateness(records []trace.Record) (late time.Duration) {
	written := false
	for i := range records {
		switch r := &records[i]; {
		case r.Kind == trace.ContainerStarted:
			late = max(late, r.Took)
		case r.Kind == trace.StatusPatched && !written:
			late, written = max(late, r.T.Offset()), true
		}
	}
	return late
}

// sameOrder reports whether two runs have the same milestones in the same order, but for those that
// are near each other. What comes at the end of a run need not have come in the other one yet.
func sameOrder(a, b []milestone, end virtual.Time, near time.Duration) bool {
	until := end.Add(-time.Second - near)
	order := map[string]virtual.Time{}
	for _, m := range b {
		order[m.key] = m.at
	}
	known := map[string]bool{}
	for _, m := range a {
		known[m.key] = true
		if _, has := order[m.key]; !has && m.at < until {
			return false
		}
	}
	for _, m := range b {
		if !known[m.key] && m.at < until {
			return false
		}
	}
	last := slices.Clone(a)
	slices.SortStableFunc(last, func(x, y milestone) int { return cmp.Compare(x.at, y.at) })
	for i, m := range last {
		for _, later := range last[i+1:] {
			first, ok := order[m.key]
			second, has := order[later.key]
			if ok && has && later.at.Sub(m.at) > near && first.Sub(second) > near {
				return false
			}
		}
	}
	return true
}

// Compare simulates a run with many seeds on a node like the one of the cluster, and compares it.
// set names the delays of which the play does not tell.
func (r *Run) Compare(ctx context.Context, seeds int, node Node, set string) (*Comparison, error) {
	var runs [][]trace.Record
	rest, _ := fakeruntime.DelaySet(set)
	err := pool.InOrder(ctx, seeds, pool.Options{}, func(ctx context.Context, i int) *simulate.Result {
		p := r.Plan.Scenario.Plan(r.Plan.Version, new(int64(i+1)))
		p.Delays, p.Set = node.Delays().Over(p.Delays).Over(rest), set
		p.Uptime = r.uptime(i, seeds)
		return simulate.Run(ctx, p, simulate.Options{Until: r.Until, Unjudged: true})
	}, func(_ int, s *simulate.Result) error {
		runs = append(runs, s.Records)
		return s.Err
	})
	if err != nil {
		return nil, err
	}
	c := compare(r.Result.Records, r.Result.End, runs)
	c.compareLosses(r.Result, runs, r.Plan.Streams())
	return c, nil
}

// usualAge is the age of a kubelet of which nothing is known. An older one does nothing else: only
// one that is younger than the period of a probe delays its first run.
const usualAge = time.Hour

// uptime returns the age of the kubelet in a simulated run. Its periods have any phase: runs divide
// a second among them.
func (r *Run) uptime(run, runs int) time.Duration {
	return min(cmp.Or(r.Age, usualAge), usualAge) + time.Duration(run)*time.Second/time.Duration(runs)
}

// Node is how long the calls of the starts of containers took, least and greatest, in the events of
// the kubelet as a watch sees them, by the names of their delays in a scenario.
type Node map[string]fakeruntime.Draw

// delaysOfNode are the delays that a Node can have.
var delaysOfNode = []string{"runPodSandbox", "createContainer", "startContainer"}

// add widens the range of a delay to a time, unless the time is unknown.
func (n Node) add(delay string, t time.Duration) {
	if t <= 0 {
		return
	}
	d, seen := n[delay]
	if !seen {
		d = fakeruntime.Exactly(t)
	}
	n[delay] = fakeruntime.Draw{Min: min(d.Min, t), Max: max(d.Max, t)}
}

// merge adds the ranges of another node.
func (n Node) merge(o Node) {
	for _, delay := range delaysOfNode {
		n.add(delay, o[delay].Min)
		n.add(delay, o[delay].Max)
	}
}

// String returns the delays as the field delays of a scenario.
func (n Node) String() string {
	var parts []string
	for _, delay := range delaysOfNode {
		if d, seen := n[delay]; seen {
			parts = append(parts, fmt.Sprintf("%s: %s..%s", delay, d.Min.Truncate(time.Millisecond),
				(d.Max+time.Millisecond-1).Truncate(time.Millisecond)))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Delays returns the delays for simulated runs. A played pod has no volumes to wait for, and the
// image is on the node.
func (n Node) Delays() fakeruntime.Delays {
	of := func(delay string) *fakeruntime.Draw {
		if d, seen := n[delay]; seen {
			return &d
		}
		return nil
	}
	return fakeruntime.Delays{
		VolumeMount: new(fakeruntime.Draw), ImagePull: new(fakeruntime.Draw), RunPodSandbox: of("runPodSandbox"),
		CreateContainer: of("createContainer"), StartContainer: of("startContainer"),
	}
}
