package incident

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/strict"
	"probesim.dev/trace"
)

// place completes the facts after all files: names that only messages tell, the containers of events, and the times that count
// from an unknown moment.
func (r *reader) place() {
	r.nameUnnamed()
	for _, l := range r.lateProbes {
		r.placeProbe(l)
	}
	for _, p := range r.rec.Pods {
		if p.Object != nil && !p.Partial {
			continue
		}
		if t := r.rec.fromTemplate(p); t != nil {
			r.useTemplate(p, t)
		}
	}
	for _, f := range r.rec.Facts {
		r.nameContainer(f)
		f.untrim()
	}
	r.dateLogs()
	var newest time.Time
	for _, f := range r.rec.Facts {
		for _, m := range []Moment{f.When, f.Last} {
			if m.Known() && m.End().After(newest) {
				newest = m.End()
			}
		}
		if f.Kind == Event && f.Source == FromEvent {
			r.exact[eventKey{f.Pod, f.Reason, f.Message, f.Count}] = f
		}
	}
	for _, s := range r.sections {
		r.placeSection(s, newest)
	}
	r.placeRows()
	r.tellTwins()
}

var assigned = regexp.MustCompile(`^Successfully assigned (?:([a-z0-9][-a-z0-9]*)/)?([a-z0-9][-a-z0-9.]*) to (\S+)`)

// nameUnnamed names the pods of tables of events from messages that name their pod.
func (r *reader) nameUnnamed() {
	of := map[*Pod][]*Fact{}
	for _, f := range r.rec.Facts {
		if f.Pod != nil && f.Pod.Unnamed {
			of[f.Pod] = append(of[f.Pod], f)
		}
	}
	for _, p := range slices.Clone(r.rec.Pods) {
		if !p.Unnamed {
			continue
		}
		for _, f := range of[p] {
			if m := assigned.FindStringSubmatch(f.Message); m != nil {
				p.Namespace, p.Name, p.Node = m[1], m[2], m[3]
			} else if m := podName.FindStringSubmatch(f.Message); m != nil && (f.Reason == "Killing" || f.Reason == "BackOff" || f.Reason == "FailedSync" || f.Reason == "FailedPreStopHook") {
				p.Namespace, p.Name = m[2], m[1]
			} else {
				continue
			}
			p.Unnamed = false
			break
		}
		if other := r.onlyOther(p); other != nil && p.Unnamed {
			r.problem(p.Place, false, "the events do not name their pod: they are taken as those of %s, the only pod that this file names", other.Name)
			r.join(p, other)
			continue
		}
		if p.Unnamed {
			p.Name = "pod"
			r.problem(p.Place, false, "the events do not name their pod: they are taken as the events of one pod, shown as \"pod\"")
		}
	}
}

// onlyOther returns the only other pod of the file of a pod, or nil.
func (r *reader) onlyOther(p *Pod) *Pod {
	var found *Pod
	for _, o := range r.rec.Pods {
		if o == p || o.Place.File != p.Place.File {
			continue
		}
		if found != nil || o.Unnamed {
			return nil
		}
		found = o
	}
	return found
}

// join gives the facts of a pod to another pod.
func (r *reader) join(p, to *Pod) {
	for _, f := range r.rec.Facts {
		if f.Pod == p {
			f.Pod = to
		}
	}
	for _, name := range p.containers {
		to.addContainer(name)
	}
	if to.Object == nil && p.Object != nil {
		to.Object, to.Partial = p.Object, true
		to.Object.Name = to.Name
	}
	r.rec.Pods = slices.DeleteFunc(r.rec.Pods, func(o *Pod) bool { return o == p })
}

// parseProbeSpec reads a probe in the form of a manifest.
func parseProbeSpec(lines []string) *v1.Probe {
	var errs strict.Collector
	cut := indent(lines[0])
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l[min(cut, indent(l)):] + "\n")
	}
	docs, _ := strict.Parse("probe", []byte(b.String()), &errs)
	if len(docs) != 1 || errs.Len() > 0 || len(docs[0].Items) != 1 {
		return nil
	}
	var p v1.Probe
	if json.Unmarshal(docs[0].Items[0].JSON(), &p) != nil {
		return nil
	}
	return &p
}

// placeProbe gives a probe in a text to the only pod of its file.
func (r *reader) placeProbe(l lateProbe) {
	var of []*Pod
	for _, p := range r.rec.Pods {
		if p.Place.File == l.file {
			of = append(of, p)
		}
	}
	if len(of) != 1 {
		r.problem(l.at, true, "this %s probe was not used: the file has %d pods, and the text does not say which of them has it", l.which, len(of))
		return
	}
	p := of[0]
	if p.Object == nil {
		p.Object, p.Partial = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}, true
	}
	spec := &p.Object.Spec
	if len(spec.Containers) == 0 {
		spec.Containers = []v1.Container{{Name: ""}}
	}
	if len(spec.Containers) > 1 {
		r.problem(l.at, true, "this %s probe was not used: the pod has %d containers, and the text does not say which of them has it", l.which, len(spec.Containers))
		return
	}
	SetProbe(&spec.Containers[0], l.which, l.probe)
}

func (r *reader) useTemplate(p *Pod, t *template) {
	object := t.pod.DeepCopy()
	object.Name, object.Namespace = p.Name, p.Namespace
	if p.Object != nil {
		object.Status = p.Object.Status
	}
	p.Object, p.Partial, p.Template = object, false, t.place
	for _, c := range slices.Concat(object.Spec.InitContainers, object.Spec.Containers) {
		p.addContainer(c.Name)
	}
}

// ofContainer finds the container in messages of events.
var ofContainer = regexp.MustCompile(`^(?:Created|Started|Stopping) container:? ([a-z0-9][-a-z0-9]*)$|^Container ([a-z0-9][-a-z0-9]*) (?:failed|definition)|://([a-z0-9][-a-z0-9]*):Container failed| container "([a-z0-9][-a-z0-9]*)" is unhealthy|failed container=([a-z0-9][-a-z0-9]*)|^Back-off restarting failed container ([a-z0-9][-a-z0-9]*) in pod `)

// ofAContainer has the reasons of events about containers, among those whose messages may not name the container.
var ofAContainer = map[string]bool{"Unhealthy": true, "ProbeWarning": true, "Pulled": true, "Pulling": true, "Created": true, "Started": true,
	"Killing": true, "BackOff": true, "Failed": true}

// nameContainer finds the container of an event in a text without field paths: its message names it, or the pod has only one.
func (r *reader) nameContainer(f *Fact) {
	if f.Kind != Event || f.Container != "" || f.Pod == nil {
		return
	}
	if m := ofContainer.FindStringSubmatch(f.Message); m != nil {
		f.Container = strings.Join(m[1:], "")
		f.Pod.addContainer(f.Container)
	}
}

// untrim adds the space before an output that is empty, which kubectl describe cuts off the end of a message.
func (f *Fact) untrim() {
	if f.Kind == Event && strings.HasSuffix(f.Message, " probe failed:") {
		f.Message += " "
	}
}

// adopt gives the events that name no container to the only container of the pod that can have them.
func (r *reader) adopt(p *Pod) {
	if p.Object != nil && p.Partial && len(p.Object.Spec.Containers) == 1 && p.Object.Spec.Containers[0].Name == "" {
		if len(p.containers) == 1 {
			p.Object.Spec.Containers[0].Name = p.containers[0]
		} else {
			p.Object.Spec.Containers[0].Name = "app"
		}
		p.addContainer(p.Object.Spec.Containers[0].Name)
	}
	ambiguous := 0
	var first *Fact
	for _, f := range p.Facts {
		if f.Kind != Event || f.Container != "" || !ofAContainer[f.Reason] {
			continue
		}
		if len(p.containers) == 0 {
			p.addContainer("app")
			r.problem(f.Place, false, "no fact names the container of pod %s: it is shown as \"app\"", p.Name)
		}
		if name := p.onlyFor(f); name != "" {
			f.Container = name
		} else if ambiguous++; ambiguous == 1 {
			first = f
		}
	}
	if first != nil {
		r.problem(first.Place, true, "pod %s has %d containers, and %d of its events do not say to which of them they belong: they are in the table of events, but not in the lane of a container",
			p.Name, len(p.containers), ambiguous)
	}
}

// onlyFor returns the only container that can have an event, or nothing.
func (p *Pod) onlyFor(f *Fact) string {
	if len(p.containers) == 1 {
		return p.containers[0]
	}
	if p.Object == nil {
		return ""
	}
	u := ParseUnhealthy(f.Message)
	found := ""
	for _, c := range p.Object.Spec.Containers {
		fits := u.Probe != "" && ProbeOf(&c, u.Probe) != nil || u.Probe == "" && c.Image != "" && strings.Contains(f.Message, `"`+c.Image+`"`)
		if fits && found != "" {
			return ""
		}
		if fits {
			found = c.Name
		}
	}
	return found
}

// ProbeOf returns a probe of a container, or nil.
func ProbeOf(c *v1.Container, which trace.Probe) *v1.Probe {
	switch which {
	case trace.Liveness:
		return c.LivenessProbe
	case trace.Readiness:
		return c.ReadinessProbe
	case trace.Startup:
		return c.StartupProbe
	}
	return nil
}

// dateLogs gives the lines of logs a year: that of the other facts.
func (r *reader) dateLogs() {
	if len(r.logTimes) == 0 {
		return
	}
	year := 0
	for _, f := range r.rec.Facts {
		if f.Source != FromLog && f.When.Known() {
			year = f.When.At.Year()
		}
	}
	for _, p := range r.rec.Pods {
		if year == 0 && p.Object != nil && p.Object.Status.StartTime != nil && plausible(p.Object.Status.StartTime.Time) {
			year = p.Object.Status.StartTime.Year()
		}
	}
	at := r.logTimes[0].Place
	if year == 0 {
		r.problem(at, false, "the lines of the log have no year, and no other fact has one: their times are shown without a year")
		r.rec.Relative = true
		return
	}
	for _, f := range r.logTimes {
		f.When.At = f.When.At.AddDate(year-2000, 0, 0)
		f.Last = f.When
	}
}

// eventKey identifies an event that a text and an object tell.
type eventKey struct {
	pod             *Pod
	reason, message string
	count           int
}

// invented is the time of the newest facts of a recording without dates.
var invented = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// placeSection gives a text with ages its time: that of a fact with a date that tells the same. Without such a fact, the newest fact of
// the text is placed at the end of the other facts.
func (r *reader) placeSection(s *section, newest time.Time) {
	s.sharpen()
	now := r.whenPrinted(s)
	switch {
	case now.known():
		r.placeStatus(s, now)
	case newest.IsZero():
		now, r.rec.Relative = before(invented), true
		r.problem(s.at, false, "the times of this text are ages, and nothing tells when it was printed: times have no date")
	default:
		now = before(newest)
		r.problem(s.at, false, "the times of this text are ages, and nothing tells when it was printed: they are counted back from the newest other fact, %s", formatTime(newest))
	}
	for i, f := range s.facts {
		f.When, f.Last = now.ago(s.ages[i][0]), now.ago(s.ages[i][1])
		if f.Last.Known() && f.When.At.After(f.Last.At) {
			f.When = f.Last
		}
		if f.Count == 1 && !f.AtLeast {
			f.When = f.Last
		}
		f.narrow()
		f.setPoints()
	}
}

// placeStatus gives the status in a text of kubectl describe the time at which the text was printed.
func (r *reader) placeStatus(s *section, now printed) {
	status := func(f *Fact) bool {
		return f.Source == FromDescribe && f.Kind != Event && f.Pod == s.pod && f.Place.File == s.at.File && f.Place.Line <= s.at.Line
	}
	line := 0 // of the last text before the events
	for _, f := range r.rec.Facts {
		if status(f) {
			line = max(line, f.Place.Line)
		}
	}
	at := Moment{now.from, now.to.Sub(now.from) + time.Second}
	for _, f := range r.rec.Facts {
		if !status(f) || f.Place.Line != line {
			continue
		}
		switch f.Kind {
		case Condition:
			f.Last = at
		case Phase, Waiting, Restarts, Ready, Started:
			f.When = at
		}
	}
}

// narrow takes the start time of the pod into account if the time of an event is less exact: the kubelet sets the start time before it
// starts a container, within a second after the scheduler binds the pod (updateStatusInternal in pkg/kubelet/status/status_manager.go,
// v1.37.0).
func (f *Fact) narrow() {
	start := f.Pod.StartTime()
	if !start.Known() || f.When.Within <= start.Within {
		return
	}
	end := f.When.End()
	switch {
	case f.Reason == "Scheduled":
		start.At, start.Within = start.At.Add(-scheduledBefore), start.Within+scheduledBefore
		if f.When.overlaps(start, 0) {
			f.When, f.Last = start, start
		}
	case ofAContainer[f.Reason] && f.When.At.Before(start.At) && start.At.Before(end):
		f.When = Moment{start.At, end.Sub(start.At)}
		if f.Count == 1 && !f.AtLeast {
			f.Last = f.When
		}
	}
}

func (f *Fact) setPoints() {
	f.Points = []Point{{1, f.When}}
	if f.Count > 1 {
		f.Points = append(f.Points, Point{f.Count, f.Last})
	}
}

// placeRows gives the rows of kubectl get pods their times: the creation of the pod and its age.
func (r *reader) placeRows() {
	created := map[*Pod]time.Time{}
	var earliest time.Time // of the facts with a date
	for _, f := range r.rec.Facts {
		if f.When.Known() && (earliest.IsZero() || f.When.At.Before(earliest)) {
			earliest = f.When.At
		}
		if f.Kind == Created && f.Source != FromDescribe {
			created[f.Pod] = f.When.At
		}
	}
	told := map[*Pod]bool{}
	for _, row := range r.rows {
		f := row.fact
		zero, known := created[f.Pod]
		if !known && !told[f.Pod] {
			told[f.Pod] = true
			from := "creation of the pod"
			if row.polled {
				from = "start of the script"
			}
			if earliest.IsZero() || r.rec.Relative {
				r.problem(f.Place, false, "the times of pod %s are ages, and nothing tells its creation: times count from the %s", f.Pod.Name, from)
			} else {
				r.problem(f.Place, false, "the times of pod %s are ages, and nothing tells its creation: they count from the first other fact, %s. Add the pod (kubectl get pod -o json) to place them", f.Pod.Name, formatTime(earliest))
			}
		}
		if !known {
			zero = invented
			if !earliest.IsZero() {
				zero = earliest
			}
			r.rec.Relative = r.rec.Relative || len(r.rec.Facts) == len(r.rows)
		}
		if row.age.known {
			f.When = Moment{At: zero.Add(row.age.at), Within: row.age.unit}
		}
	}
}

func (t *textReader) watched(f *Fact, a, restarted age) {
	t.rows = append(t.rows, sinceCreation{fact: f, age: a, restarted: restarted})
}

func (t *textReader) polled(f *Fact, a age) {
	t.rows = append(t.rows, sinceCreation{fact: f, age: a, polled: true})
}

// tellTwins tells about pods of the same name.
func (r *reader) tellTwins() {
	seen := map[string]*Pod{}
	for _, p := range r.rec.Pods {
		if first := seen[p.Key()]; first != nil && p.Name != "" {
			r.problem(p.Place, false, "this pod %s has the UID %s; the one in %s has %s. They are two pods; --pod with a UID chooses one", p.Key(), or(p.UID, "none"), first.Place, or(first.UID, "none"))
			continue
		}
		seen[p.Key()] = p
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// moveLog changes the times of the lines of logs.
func (r *reader) moveLog(by time.Duration) {
	for _, f := range r.logTimes {
		f.When.At, f.Last.At = f.When.At.Add(by), f.Last.At.Add(by)
	}
}

// shift returns how much later than in the log an event has the same failures, if it has as many, and the first and the last of them
// differ by the same.
func shift(e *Fact, runs []*Fact) (time.Duration, bool) {
	if len(runs) != e.Count || e.Count < 2 || e.AtLeast || !e.Last.Known() {
		return 0, false
	}
	first, last := e.When.At.Sub(runs[0].When.At), e.Last.At.Sub(runs[len(runs)-1].When.At)
	return first, (first - last).Abs() <= time.Second+e.Last.Within
}

// startsBeforeCreation tells about pods whose containers started before the API server created them, by their clocks.
func (r *reader) startsBeforeCreation() {
	for _, p := range r.rec.Pods {
		var created, started *Fact
		for _, f := range p.Facts {
			switch {
			case !f.When.Known():
			case f.Kind == Created && f.Source == FromPod:
				created = f
			case f.Kind == Running || f.Kind == Terminated || f.Kind == Event && f.Reason == "Started" && f.Source == FromEvent:
				if started == nil || f.When.At.Before(started.When.At) {
					started = f
				}
			}
		}
		if created == nil || started == nil {
			continue
		}
		if before := created.When.At.Sub(started.When.End()); before > time.Second {
			r.problem(started.Place, false, "container %s of pod %s started at %s, %s before the pod was created: the clocks of its node and of the API server disagree, or the start is that of an older pod. Both times are shown as recorded",
				started.Container, p.Name, formatTime(started.When.At), before.Round(time.Second))
		}
	}
}

// compareClocks finds logs whose clock differs from that of the API server: a probe failed in the log when an event says so. The
// difference of a time zone is a multiple of a quarter of an hour; such a log is moved.
func (r *reader) compareClocks() {
	var events []*Fact
	for _, f := range r.rec.Facts {
		if f.Kind == Event && f.Source == FromEvent && f.Reason == "Unhealthy" && f.When.Within == 0 {
			events = append(events, f)
		}
	}
	type key struct {
		pod    *Pod
		probe  trace.Probe
		output string
	}
	const most = 1000 // of the events, and of the lines about each
	runs := map[key][]*Fact{}
	for _, f := range r.logTimes {
		if k := (key{f.Pod, f.Probe, f.Message}); f.Kind == ProbeRun && len(runs[k]) < most {
			runs[k] = append(runs[k], f)
		}
	}
	offsets := map[time.Duration]int{}
	var best time.Duration
	for _, e := range events[:min(len(events), most)] {
		u := ParseUnhealthy(e.Message)
		for _, f := range runs[key{e.Pod, u.Probe, u.Output}] {
			off := e.When.At.Sub(f.When.At)
			rounded := off.Round(15 * time.Minute)
			if (off-rounded).Abs() > 2*time.Second || rounded.Abs() > 14*time.Hour {
				continue
			}
			if offsets[rounded]++; offsets[rounded] > offsets[best] || offsets[rounded] == offsets[best] && rounded.Abs() < best.Abs() {
				best = rounded
			}
		}
	}
	if best == 0 {
		if offsets[0] > 0 {
			return
		}
		for _, e := range events[:min(len(events), most)] {
			u := ParseUnhealthy(e.Message)
			if off, same := shift(e, runs[key{e.Pod, u.Probe, u.Output}]); same && off.Abs() > 2*time.Second {
				off = off.Round(time.Millisecond)
				r.moveLog(off)
				r.problem(r.logTimes[0].Place, false, "the log has the same failures as the events, but %s %s: their clocks disagree. The times of the log are moved by %s",
					off.Abs(), map[bool]string{true: "earlier", false: "later"}[off > 0], off)
				return
			}
		}
		return
	}
	r.moveLog(best)
	r.problem(r.logTimes[0].Place, false, "the clock of the log differs by %s from that of the events, as a time zone does: the times of the log are moved by %s", -best, best)
}
