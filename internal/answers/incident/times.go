package incident

import (
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// age is the age of something as kubectl writes it: the true age is at least at, and less than at
// plus unit, because kubectl leaves out small units. known is false for <unknown> and <invalid>.
type age struct {
	at, unit time.Duration
	known    bool
}

var units = map[string]time.Duration{"y": 365 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute,
	"s": time.Second}

// oldest is the greatest age that counts as one: Kubernetes is younger.
const oldest = 50 * 365 * 24 * time.Hour

// isAge reports whether a word is an age of kubectl.
func isAge(s string) bool { return s == "<unknown>" || s == "<invalid>" || parseAge(s).known }

// parseAge reads numbers with units (HumanDuration of k8s.io/apimachinery/pkg/util/duration). Any
// other text is unknown.
func parseAge(text string) (a age) {
	for parts := 0; text != ""; parts++ {
		i := strings.IndexAny(text, "ydhms")
		if i < 1 || !digit(text[0]) || parts > 3 {
			return age{}
		}
		unit := units[text[i:i+1]]
		n, err := strconv.ParseInt(text[:i], 10, 64)
		if err != nil || n > int64(oldest/unit) {
			return age{}
		}
		a.at += time.Duration(n) * unit
		a.unit, a.known = unit, true
		text = text[i+1:]
	}
	return a
}

// invented is the time of the newest facts of a recording without dates.
var invented = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// placeTimes gives the facts their times that count from an unknown moment: lines of logs without a
// year, and ages.
func (r *reader) placeTimes() {
	started, created, newest := r.dates()
	year := newest
	for _, p := range r.rec.Pods {
		at := startTime(p.Object)
		if year = latest(year, at.At); at.Known() { // the scheduler binds the pod up to a second before
			started[anchor{p, "Scheduled", ""}] = Moment{at.At.Add(-time.Second), at.Within + time.Second}
		}
	}
	if r.rec.Relative = year.IsZero() && len(r.logTimes) > 0; r.rec.Relative {
		year = invented
		r.problem(r.logTimes[0].Place, false, "the lines of the log have no year, and no other fact has one: their "+
			"times are shown without a year")
	}
	for _, f := range r.logTimes {
		f.When.At = f.When.At.AddDate(year.Year()-f.When.At.Year(), 0, 0)
		f.Last, newest = f.When, latest(newest, f.When.End())
	}
	if newest.IsZero() {
		newest, r.rec.Relative = invented, len(r.sections)+len(r.rows) > 0
	}
	first := map[eventKey]Moment{}
	for _, s := range slices.Backward(r.sections) {
		r.placeSection(s, started, newest.Add(-s.before(first, newest)))
		for _, f := range s.facts {
			if f.When.Known() && !f.AtLeast {
				first[f.key()] = f.When
			}
		}
	}
	r.placeRows(created, newest)
	r.mergeRows()
}

// dates returns the moments that dates tell: of what anchors identify, of the creation of pods, and
// of the newest fact.
func (r *reader) dates() (started map[anchor]Moment, created map[*Pod]time.Time, newest time.Time) {
	started, created = map[anchor]Moment{}, map[*Pod]time.Time{}
	ended := map[anchor]*Fact{}
	for _, f := range r.rec.Facts {
		if (f.Source != FromLog || f.When.At.Year() != noYear) && f.When.Known() {
			newest = latest(newest, f.When.End(), f.Last.End())
		}
		switch {
		case f.Kind == Created:
			created[f.Pod] = f.When.At
		case f.Kind == Terminated && f.Source != FromText:
			ended[anchor{f.Pod, "Started", f.Container}] = f
		case f.Kind == Running && f.When.Known():
			started[anchor{f.Pod, "Started", f.Container}] = f.When
		}
	}
	for _, f := range r.rec.Facts {
		last := anchor{f.Pod, "Started", f.Container}
		if f != ended[last] {
			continue
		}
		if !started[last].Known() { // it has not started again
			started[last] = f.When
		}
		if f.Last.Known() { // a kill was at most the grace period before
			grace := graceOf(f.Pod)
			started[anchor{f.Pod, "Killing", f.Container}] = Moment{f.Last.At.Add(-grace), f.Last.Within + grace}
		}
	}
	return started, created, newest
}

func latest(list ...time.Time) time.Time { return slices.MaxFunc(list, time.Time.Compare) }

// graceOf returns the grace period of a pod, or the default one: kubectl describe does not show it.
func graceOf(p *Pod) time.Duration {
	if p.Object != nil && p.Object.Spec.TerminationGracePeriodSeconds != nil {
		return time.Duration(min(max(*p.Object.Spec.TerminationGracePeriodSeconds, 0), 1<<31)) * time.Second
	}
	return v1.DefaultTerminationGracePeriodSeconds * time.Second
}

// anchor identifies an event that a status dates: the start of a pod on its node, the last start of
// a container, and the kill that ended it.
type anchor struct {
	pod               *Pod
	reason, container string
}

// printedAt returns the second in which a text was printed, or the seconds if it is longer: the
// date of an event and its age in the text. Of several events it takes the one that says it most
// exactly. The times of both are truncated to seconds, so an age that is exact to the second tells
// the second of an event.
func (s *section) printedAt(dates map[anchor]Moment) (best Moment) {
	for _, f := range s.facts {
		at, a := dates[anchor{f.Pod, f.Reason, f.Container}], f.ages[1]
		now := Moment{at.At.Truncate(time.Second).Add(a.at), max(at.Within, time.Second) + a.unit - 2*time.Second}
		if at.Known() && a.known && a.unit < time.Hour && (!best.Known() || now.Within < best.Within) {
			best = now
		}
	}
	return best
}

// before returns how long before another text a text was printed, if both count back from one
// moment: the first occurrence of an event was so much younger. It returns 0 if the ages do not
// differ by more than they are exact.
func (s *section) before(first map[eventKey]Moment, now time.Time) (apart time.Duration) {
	exact := time.Duration(1<<63 - 1)
	for _, f := range s.facts {
		at, a := first[f.key()], f.ages[0]
		if d := now.Sub(at.End()) - a.at; at.Known() && a.known && d > a.unit+at.Within && at.Within < exact {
			apart, exact = d, at.Within
		}
	}
	return apart
}

// before returns the time of something that had an age when a text was printed.
func (a age) before(now Moment) Moment {
	if !a.known {
		return Moment{}
	}
	return Moment{now.At.Add(time.Second - a.at - a.unit), now.Within + a.unit}
}

// placeSection gives a text with ages its time. If no date tells when it was printed, it was
// printed with the newest other fact.
func (r *reader) placeSection(s *section, dates map[anchor]Moment, newest time.Time) {
	s.unwatch()
	now := s.printedAt(dates)
	dated := now.Known()
	switch {
	case len(s.facts) == 0:
		return
	case dated:
		for _, f := range s.status {
			switch f.Kind {
			case Condition:
				f.Last = Moment{now.At, now.Within + time.Second}
			case Phase, Waiting, Restarts, Ready:
				f.When = Moment{now.At, now.Within + time.Second}
			}
		}
	default:
		now.At = newest.Add(-time.Second)
		counted := "times have no date"
		if !r.rec.Relative {
			counted = "they are counted back from the newest other fact, " + formatTime(newest)
		}
		r.problem(s.at, false, "the times of this text are ages, and nothing tells when it was printed: %s", counted)
	}
	for _, f := range s.facts {
		if f.AtLeast && s.counts {
			f.AtLeast, f.CountShown = false, true
		}
		f.When, f.Last, f.Aged = f.ages[0].before(now), f.ages[1].before(now), !dated
		f.setPoints()
	}
}

// unwatch makes the ages of a watch count back from its last row. Each row was printed when it
// happened; an event that is printed again, with a greater count, shows how much later that was.
func (s *section) unwatch() {
	var clock time.Duration
	seen, at := map[eventKey]*Fact{}, map[*Fact]time.Duration{}
	for _, f := range s.facts {
		key := f.key()
		fresh := f.ages[1].known && f.ages[1].at <= 5*time.Second
		if old := seen[key]; fresh && old != nil && f.Count > old.Count {
			clock = max(clock, at[old]-old.ages[0].at+f.ages[0].at)
		}
		at[f] = clock
		if fresh || seen[key] == nil {
			seen[key] = f
		}
	}
	for _, f := range s.facts {
		late := clock - at[f]
		f.ages[0].at, f.ages[1].at, f.Age = f.ages[0].at+late, f.ages[1].at+late, f.Age+late
	}
}

func (f *Fact) setPoints() {
	f.Points = []Point{{1, f.When}}
	if f.Count > 1 {
		f.Points = append(f.Points, Point{f.Count, f.Last})
	}
}

// placeRows gives the rows of kubectl get pods their times: the creation of the pod and its age. If
// nothing tells the creation, the last row of each pod was printed together with the other texts.
func (r *reader) placeRows(created map[*Pod]time.Time, newest time.Time) {
	last := map[*Pod]time.Duration{} // the age of the last row
	for _, row := range r.rows {
		last[row.Pod] = max(last[row.Pod], row.ages[0].at)
	}
	told := false
	for _, row := range r.rows {
		zero, known := created[row.Pod]
		if !known {
			zero = newest.Add(-last[row.Pod] - time.Second)
		}
		if age := row.ages[0]; age.known {
			row.When, row.Aged = Moment{zero.Add(age.at), age.unit}, !known
		}
		if known {
			continue
		}
		if row.When.Within = min(row.When.Within, newest.Sub(row.When.At)); !told {
			told = true
			r.problem(row.Place, false, "the times of pod %s are ages, and nothing tells its creation: its last row "+
				"counts as "+
				"the end of the recording. Add the pod (kubectl get pod -o json) to place them", row.Pod.Name)
		}
	}
}

// eventKey identifies an event.
type eventKey struct {
	pod                        *Pod
	reason, message, container string
}

func (f *Fact) key() eventKey { return eventKey{f.Pod, f.Reason, f.Message, f.Container} }

// mergeRows makes one fact of the rows about one event.
func (r *reader) mergeRows() {
	of := map[eventKey]*Fact{}
	r.rec.Facts = slices.DeleteFunc(r.rec.Facts, func(f *Fact) bool {
		old := of[f.key()]
		if f.Kind != Event || f.Source == FromEvent {
			return false
		}
		if old != nil {
			old.merge(f)
			return true
		}
		of[f.key()] = f
		return false
	})
}

// goesOn adds a row of a text that was printed later, in which the count is greater. It returns
// false for other rows.
func (f *Fact) goesOn(o *Fact) bool {
	if f.section == nil || o.section == nil || f.section == o.section || !o.Last.At.After(f.Last.End()) {
		return false
	}
	f.Points = append(f.Points, Point{o.Count, o.Last})
	f.Count, f.Last, f.Age, f.AgeWithin = o.Count, o.Last, o.Age, o.AgeWithin
	f.Place, f.Text, f.section = o.Place, o.Text, o.section
	return true
}

// merge adds another row about the same event. A count that grows is an update. Other rows of a
// table are further occurrences. A later table tells the same events again.
func (f *Fact) merge(o *Fact) {
	grows := o.CountShown && f.CountShown && o.Count > f.Count
	if grows && f.goesOn(o) {
		return
	}
	points := o.Points
	if f.section == o.section && (!grows || f.section == nil) {
		points = append(points, f.Points...)
	}
	switch {
	case f.section == o.section && !grows:
		f.Count, f.AtLeast = f.Count+o.Count, f.AtLeast || o.AtLeast
	case o.CountShown && o.Count < f.Count:
		return
	default:
		f.section, f.Count = o.section, max(f.Count, o.Count)
	}
	if o.AgeWithin > 0 && (f.AgeWithin == 0 || o.Age < f.Age || grows) {
		f.Age, f.AgeWithin = o.Age, o.AgeWithin
	}
	points = slices.DeleteFunc(points, func(p Point) bool { return !p.At.Known() })
	if len(points) == 0 {
		return
	}
	slices.SortStableFunc(points, func(a, b Point) int { return a.At.At.Compare(b.At.At) })
	f.When, f.Last = points[0].At, points[len(points)-1].At
	f.Points = points[:min(len(points), f.Count, maxPoints)]
	for i := range f.Points {
		f.Points[i].Count = i + 1
	}
	f.Points[len(f.Points)-1] = Point{f.Count, f.Last}
}
