package measure

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// Why a start, or its least time, is not known.
const (
	noProbe        = "no startup or readiness probe, so Ready does not wait for the program"
	neverReady     = "never Ready"
	earlierStart   = "an earlier start, of which the pod no longer has the time of Ready"
	notReadyNow    = "not Ready any more, so the pod no longer has the time of Ready"
	clocksDisagree = "Ready before the container started, so a clock was set in between, or the files are of " +
		"different pods"
	notStarted       = "not started"
	noTimes          = "the input has no times of starts (kubectl get pods -o json has them)"
	noReadyTime      = "the input does not say since when the pod is Ready (kubectl get pods -o json does)"
	laterReady       = "Ready later than its probes allow a start, so it has been not Ready since"
	lateReady        = "Ready more than 10 minutes after the start, so it has probably been not Ready since"
	otherRestarted   = "another container of the pod started again before the pod was Ready"
	tooYoung         = "Ready so soon that it can be by the result of the instance before"
	kubeletRestarted = "Ready at one time with other pods of the node, so the kubelet has restarted since"
	otherProbes      = "only the greatest time is known, since other containers of the pod have probes"
	otherLate        = "only the greatest time is known, since another container of the pod started late"
	noSpec           = "only the greatest time is known, since rows of kubectl get pods have no probes: add their " +
		"workloads (kubectl get deploy,sts -o yaml)"
	readyAtOnce = "Ready in its first row with Running, and rows of kubectl get pods have no probes"
	eachChange  = "rows of kubectl get pods count as those of -w, which prints each change"
	gated       = "only the greatest time is known, since the pod has readiness gates"
)

// longestStart is the longest start that counts if no probe stops a start. It is the default of
// progressDeadlineSeconds, after which a rollout has failed.
const longestStart = 600 * time.Second

// start is the start of an instance.
type start struct {
	at       incident.Moment
	instance int
	end      *incident.Fact
	shown    incident.Moment // the row that shows it; unknown: the pod itself does
}

// pod is what the facts about a pod say about its starts, of all versions of the pod.
type pod struct {
	*incident.Pod
	starts   map[string][]start // of a container, in the order of time
	ready    []incident.Moment  // since when it was Ready, in the order of time
	unready  []incident.Moment  // since when it was not Ready
	waits    map[string]bool    // containers that wait for their start
	kills    map[string][]incident.Moment
	restarts map[string]int
	rows     bool             // the starts are those of rows
	rowLines map[string][]int // the lines of all rows, by file
}

// unused says why nothing can be measured in a pod, or returns nothing.
func unused(p *incident.Pod) string {
	known := func(f *incident.Fact) bool { return f.Kind != incident.Created && f.Kind != incident.Deleted }
	switch {
	case len(p.Object.Spec.Containers) == 0:
		return "it has no spec, which has the probes"
	case !slices.ContainsFunc(p.Facts, known):
		return "it has no status, which has the times"
	}
	return ""
}

func readPod(p *incident.Pod, rowLines map[string][]int) *pod {
	r := &pod{Pod: p, rowLines: rowLines, starts: map[string][]start{}, waits: map[string]bool{},
		kills: map[string][]incident.Moment{}, restarts: map[string]int{}}
	for _, f := range p.Facts {
		switch f.Kind {
		case incident.Waiting:
			r.waits[f.Container] = true
		case incident.Running:
			r.add(f.Container, start{at: f.When, instance: f.Count})
		case incident.Terminated:
			r.add(f.Container, start{at: f.When, instance: f.Instance, end: f})
		case incident.Restarts:
			r.restarts[f.Container] = max(r.restarts[f.Container], f.Count)
		case incident.Condition:
			r.condition(f)
		case incident.Event:
			for _, point := range f.Points {
				if f.Reason == "Killing" && point.At.Known() && !f.Aged {
					r.kills[f.Container] = append(r.kills[f.Container], point.At)
				}
			}
		}
	}
	r.addRows()
	for _, list := range r.starts {
		slices.SortStableFunc(list, func(a, b start) int {
			return cmp.Or(a.at.At.Compare(b.at.At), cmp.Compare(a.instance, b.instance))
		})
	}
	slices.SortFunc(r.ready, func(a, b incident.Moment) int { return a.At.Compare(b.At) })
	return r
}

// condition adds a time since when the pod was Ready or not.
func (p *pod) condition(f *incident.Fact) {
	switch {
	case f.Reason != "Ready" || !f.When.Known():
	case f.Value == "True" && !slices.Contains(p.ready, f.When):
		p.ready = append(p.ready, f.When)
	case f.Value == "False":
		p.unready = append(p.unready, f.When)
	}
}

// add adds a start, or what another version of the pod shows of it.
func (p *pod) add(container string, s start) {
	list := p.starts[container]
	i := slices.IndexFunc(list, func(o start) bool {
		return o.at == s.at && (o.instance == s.instance || min(o.instance, s.instance) < 0)
	})
	switch {
	case !s.at.Known() && s.end == nil:
	case i < 0:
		p.starts[container] = append(list, s)
	case s.end != nil:
		list[i].end = s.end
	}
}

// measure computes how long a start took.
func (p *pod) measure(s *sample, i int, o *Options) {
	list := p.starts[s.container.Name]
	s.at, s.instance = list[i].at, list[i].instance
	k, err := o.clockOf(p.Object, s.container.Name)
	switch {
	case err != nil:
		s.unknown = err.Error()
		return
	case s.container.Unnamed: // its probes are not known
	case s.probes.StartupProbe == nil && s.probes.ReadinessProbe == nil:
		s.unknown = noProbe
		return
	case !s.at.Known():
		s.unknown = noTimes
		return
	}
	if k.limit != bounds.Never {
		s.container.Limit = value.Seconds(k.limit)
	}
	shown := list[i].shown
	if hooks := s.probes.Lifecycle; p.rows {
		s.note = eachChange
		// the status shows a start soon, but for a postStart hook
		if first := shown.At.Add(-k.unasked); s.instance == 0 && !s.container.Unnamed && first.After(s.at.At) &&
			(hooks == nil || hooks.PostStart == nil) {
			s.at = incident.Moment{At: first, Within: s.at.End().Sub(first)}
		}
	}
	from := s.at.At
	if s.instance > 0 || i > 0 {
		from = s.at.End() // in the second of its start, the instance before can have become Ready
	}
	r := slices.IndexFunc(p.ready, func(m incident.Moment) bool {
		return m.End().After(from) && (i+1 == len(list) || m.At.Before(list[i+1].at.At))
	})
	if r < 0 {
		s.unknown = p.notReady(list, i)
		return
	}
	s.ready = p.ready[r]
	s.fromAbove = p.others(s, o)
	if s.container.Unnamed {
		s.fromAbove = noSpec
	}
	s.took = k.took(s.at, s.ready, s.fromAbove == "")
	switch {
	case s.container.Unnamed && s.ready == shown:
		s.unknown, s.fromAbove = readyAtOnce, ""
	case p.restarted(s):
		s.unknown, s.fromAbove = otherRestarted, ""
	case s.took.Least > k.never:
		s.unknown, s.fromAbove = laterReady, ""
	case k.never == bounds.Never && between(s.at, s.ready).Least > longestStart:
		s.unknown, s.fromAbove = lateReady, ""
	case s.instance != 0 && s.ready.At.Sub(s.at.End()) <= k.look && !o.end.After(s.ready.End().Add(k.look)):
		s.unknown, s.fromAbove = tooYoung, ""
	}
}

// notReady says why a pod does not show when a start ended.
func (p *pod) notReady(list []start, i int) string {
	s := &list[i]
	switch {
	case slices.ContainsFunc(p.unready, func(since incident.Moment) bool { return !since.At.After(s.at.End()) }):
		return neverReady
	case s.instance == 0 && len(list) == 1 && len(p.ready) > 0:
		return clocksDisagree
	case slices.Contains(p.ready, s.at):
		return tooYoung
	case len(p.ready)+len(p.unready) == 0:
		return noReadyTime
	case i+1 < len(list) || s.end != nil:
		return earlierStart
	}
	return notReadyNow
}

// others says what else than the container can have made the pod Ready later, or nothing.
func (p *pod) others(s *sample, o *Options) string {
	if len(p.Object.Spec.ReadinessGates) > 0 {
		return gated
	}
	for c := range podutil.Containers(&p.Object.Spec) {
		own := p.starts[c.Name]
		switch {
		case c.Name == s.container.Name, podutil.IsInit(&p.Object.Spec, c):
		case c.StartupProbe != nil || c.ReadinessProbe != nil:
			return otherProbes
		case len(own) > 0:
			k, err := o.clockOf(p.Object, c.Name)
			last := own[len(own)-1].at
			if err != nil || !last.Known() || s.ready.At.Sub(last.End()) < k.unasked {
				return otherLate
			}
		}
	}
	return ""
}

// restarted reports whether another container started again between the start and Ready.
func (p *pod) restarted(s *sample) bool {
	for name, list := range p.starts {
		for _, o := range list {
			if name != s.container.Name && o.instance > 0 && o.at.At.After(s.at.At) && !o.at.At.After(s.ready.End()) {
				return true
			}
		}
	}
	return false
}

// ends adds the ends of the instances of a container.
func (p *pod) ends(c *Container, spec *v1.Container) {
	c.Restarts += p.restarts[c.Name]
	for _, f := range p.Facts {
		if by := incident.ParseKilling(f.Message); f.Kind == incident.Event && f.Reason == "Killing" && f.Container ==
			c.Name && (by == incident.ByLiveness || by == incident.ByStartup) {
			c.Kills += f.Count
		}
	}
	for _, s := range p.starts[c.Name] {
		if s.end == nil || !s.end.ExitKnown {
			continue
		}
		i := slices.IndexFunc(c.Lives,
			func(l Life) bool { return l.Reason == s.end.Reason && l.ExitCode == s.end.ExitCode })
		if i < 0 {
			i, c.Lives = len(c.Lives), append(c.Lives, Life{Reason: s.end.Reason, ExitCode: s.end.ExitCode})
		}
		life := &c.Lives[i]
		life.Count++
		if s.at.Known() && s.end.Last.Known() {
			life.Lasted = life.Lasted.Join(interval(between(s.at, s.end.Last)))
		}
		p.stop(c, spec, s)
	}
}

// stop adds the time from the Killing event of an instance to its end. The kubelet sends the event
// before the preStop hook (killContainer in pkg/kubelet/kuberuntime/kuberuntime_container.go at
// v1.37.0).
func (p *pod) stop(c *Container, spec *v1.Container, s start) {
	end := s.end.Last
	if !end.Known() || s.end.Aged {
		return
	}
	for _, kill := range slices.Backward(p.kills[c.Name]) {
		if kill.End().Before(s.at.At) || kill.At.After(end.End()) {
			continue
		}
		took := between(kill, end)
		grace := 30 * time.Second
		if g := p.Object.Spec.TerminationGracePeriodSeconds; g != nil {
			grace = time.Duration(*g) * time.Second
		}
		if s.end.ExitCode == 137 && took.Greatest >= grace {
			c.Killed++
			return
		}
		if spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil {
			var sleep time.Duration
			if took.Least = 0; spec.Lifecycle.PreStop.Sleep != nil {
				sleep = time.Duration(spec.Lifecycle.PreStop.Sleep.Seconds) * time.Second
				took.Least = between(kill, end).Least - sleep
			}
			took = bounds.Range{Least: max(took.Least, 0), Greatest: max(took.Greatest-sleep, 0)}
		}
		c.Stop = c.Stop.Join(interval(took))
		c.Stops++
		return
	}
}

// between returns the time between two moments.
func between(from, to incident.Moment) bounds.Range {
	return bounds.Range{Least: max(to.At.Sub(from.End()), 0), Greatest: max(to.End().Sub(from.At), 0)}
}

// clock is what the kubelet adds to a start before a pod is Ready: the time from the moment at
// which the program is up.
type clock struct {
	atOnce time.Duration // at most, from the start, if the program is up then
	// at most, from the moment at which the program is up, if it comes up after the first run of
	// the probe that waits for it
	later time.Duration
	// unasked is the longest time from the start until the pod is Ready if no probe waits for the
	// program.
	unasked time.Duration
	// look is the longest time until the probes have looked at a new instance.
	look time.Duration
	// A first start of up to limit is not stopped, and one of over never always is; bounds.Never:
	// no probe stops it.
	limit, never time.Duration
}

// clockOf returns the clock of a container, over all versions and nodes that the options leave
// open.
func (o *Options) clockOf(pod *v1.Pod, container string) (clock, error) {
	k := clock{limit: bounds.Never}
	pod, err := plain(pod)
	if err != nil {
		return clock{}, err
	}
	c := podutil.Find(pod, container)
	for _, of := range []*v1.Probe{c.StartupProbe, c.ReadinessProbe} {
		if of != nil {
			k.look = max(k.look, time.Duration(of.PeriodSeconds+of.TimeoutSeconds+1)*time.Second)
		}
	}
	for _, p := range o.profiles() {
		b, err := bounds.Of(bounds.Settings{Pod: pod, Container: container, Profile: p, Delays: o.Delays})
		if err != nil {
			return clock{}, err
		}
		k.atOnce = max(k.atOnce, b.UntilReady(true))
		k.later = max(k.later, b.UntilReady(false))
		k.unasked = max(k.unasked, b.ReadyUnasked().Greatest)
		for _, which := range b.StartCases() {
			may := b.Start(which)
			if k.never = max(k.never, may.Greatest); which == bounds.FirstInstance || which == bounds.YoungKubelet {
				k.limit = min(k.limit, may.Least)
			}
		}
	}
	if k.never == 0 {
		k.never = bounds.Never
	}
	return k, nil
}

// plain returns a pod with what decides when its containers become ready: their probes, with the
// defaults of the API server. Live pods have fields that need a whole cluster.
func plain(pod *v1.Pod) (*v1.Pod, error) {
	p := pod.DeepCopy()
	for c := range podutil.Containers(&p.Spec) {
		*c = v1.Container{Name: c.Name, Image: "image", RestartPolicy: c.RestartPolicy, Ports: c.Ports,
			StartupProbe: c.StartupProbe, LivenessProbe: c.LivenessProbe, ReadinessProbe: c.ReadinessProbe}
	}
	admission.Default(p)
	for c := range podutil.Containers(&p.Spec) {
		for _, of := range trace.ProbeTypes {
			probe := prober.ProbeOf(c, of)
			switch {
			case probe == nil:
			case min(probe.InitialDelaySeconds, probe.TimeoutSeconds, probe.PeriodSeconds, probe.SuccessThreshold,
				probe.FailureThreshold) < 0:
				return nil, fmt.Errorf("a setting of the %s probe of %s is negative", of, c.Name)
			case probe.HTTPGet != nil && probe.HTTPGet.Port.StrVal != "": // a text can lack its number
				probe.HTTPGet.Port = intstr.FromInt32(8080)
			}
		}
	}
	return p, nil
}

// took returns how long a start took that a pod shows as Ready, from both times in whole seconds.
// least is false if something else than the container can have made the pod Ready later.
func (k clock) took(at, ready incident.Moment, least bool) bounds.Range {
	since := between(at, ready)
	took := bounds.Range{Greatest: min(since.Greatest, k.never)} // a longer start would have been stopped
	if least && since.Least > k.atOnce {
		took.Least = max(since.Least-k.later, 0)
	}
	return took
}

// interval returns a range in whole milliseconds.
func interval(r bounds.Range) *value.Interval {
	return &value.Interval{Min: r.Least.Round(time.Millisecond), Max: r.Greatest.Round(time.Millisecond)}
}

// Rows of kubectl get pods -w tell starts too: a container has started by the first row with STATUS
// Running, after the row before, and is ready at the first row with READY 1/1. The rows have no
// probes. Those of the workload count if it is in the files.

// ofRows returns the rows of kubectl get pods about a pod, or nothing if one has no age.
func ofRows(p *incident.Pod) (rows []*incident.Fact) {
	for _, f := range p.Facts {
		if f.Kind == incident.Row && (f.AgeWithin == 0 || !f.When.Known()) {
			return nil
		} else if f.Kind == incident.Row {
			rows = append(rows, f)
		}
	}
	return rows
}

// made matches the name of a pod of a Deployment: the safe characters of a hash and of a random
// suffix (k8s.io/apimachinery/pkg/util/rand).
var made = regexp.MustCompile(`^(.+)-([bcdfghjklmnpqrstvwxz2456789]{6,10})-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// withoutSpec returns a pod of which the files have only rows, with a container of no known name.
func withoutSpec(p *incident.Pod) *incident.Pod {
	known, object := *p, &v1.Pod{}
	object.Name, object.Namespace = p.Name, p.Namespace
	object.Spec.Containers = []v1.Container{{Name: unnamed}}
	if m := made.FindStringSubmatch(p.Name); m != nil {
		object.Labels = map[string]string{"pod-template-hash": m[2]}
		object.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: m[1] + "-" + m[2],
			Controller: new(true)}}
	}
	known.Object = object
	return &known
}

// unnamed is the container of a pod of which the files have only rows.
const unnamed = "container"

// addRows adds what rows tell of the only container of a pod. A row that a script prints for its
// own reasons need not come at a change: the same row twice, or a header in between, says so.
func (p *pod) addRows() {
	rows := ofRows(p.Pod)
	if len(p.starts) > 0 || len(rows) == 0 || len(p.Object.Spec.Containers) != 1 {
		return
	}
	p.rows = true
	container := p.Object.Spec.Containers[0].Name
	polled := rows[len(rows)-1].Line-rows[0].Line >= p.lines(rows[0].File, rows[0].Line, rows[len(rows)-1].Line)
	for i, f := range rows[1:] {
		polled = polled || same(rows[i], f) && f.When != rows[i].When
	}
	before, instance := incident.Moment{At: rows[0].When.At.Add(-rows[0].Age)}, -1
	for _, f := range rows {
		since := incident.Moment{At: before.At, Within: f.When.End().Sub(before.At)}
		if f.Value != "0/1" && f.Value != "1/1" {
			p.rows, p.starts = false, map[string][]start{}
			return
		}
		if f.Reason == "Running" && f.Count > instance {
			instance = f.Count
			p.add(container, start{at: since, instance: instance, shown: f.When})
		}
		ready := f.When
		if polled {
			ready = since
		}
		switch {
		case f.Reason != "Running":
		case f.Value == "1/1":
			p.ready = append(p.ready, ready)
		default:
			p.unready = append(p.unready, f.When)
		}
		before = f.When
	}
}

// same reports whether two rows differ only in their ages.
func same(a, b *incident.Fact) bool {
	return a.Value == b.Value && a.Reason == b.Reason && a.Count == b.Count
}

// linesOfRows returns the lines of the rows of each file, in order.
func linesOfRows(rec *incident.Recording) map[string][]int {
	lines := map[string][]int{}
	for _, f := range rec.Facts {
		if f.Kind == incident.Row {
			lines[f.File] = append(lines[f.File], f.Line)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(lines)) {
		slices.Sort(lines[file])
	}
	return lines
}

// lines counts the rows of all pods in some lines of a file.
func (p *pod) lines(file string, from, to int) int {
	list := p.rowLines[file]
	first, _ := slices.BinarySearch(list, from)
	last, _ := slices.BinarySearch(list, to+1)
	return last - first
}
