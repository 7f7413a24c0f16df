package compare

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/summary"
	"probesim.dev/internal/value"
)

// Scenario compares the runs of a scenario with both manifests, in one version of Kubernetes. The
// runs of a pair have the same seed, so that the same things happen in them.
type Scenario struct {
	Name       string `json:"name"`
	Kubernetes string `json:"kubernetes"`
	Runs       int    `json:"runs"` // pairs of runs
	Numbers    []Pair `json:"numbers"`
}

// Pair compares one number of a workload over all runs.
type Pair struct {
	Pods   string `json:"pods"`   // namespace/name of the workload
	Number string `json:"number"` // the key of its kind
	Before Spread `json:"before"`
	After  Spread `json:"after"`
	// Better, Same and Worse count the seeds by the sum over the pods of the workload.
	Better int `json:"better"`
	Same   int `json:"same"`
	Worse  int `json:"worse"`
	// MostWorse and MostBetter are the greatest differences of a seed, and the seeds that have
	// them. They are nil if there is none.
	MostBetter *Difference `json:"mostBetter,omitempty"`
	MostWorse  *Difference `json:"mostWorse,omitempty"`

	kind summary.Kind
}

// Spread has the median and the maximum over the runs: a number, or seconds, which are null for
// never.
type Spread struct {
	Median figure `json:"median"`
	Max    figure `json:"max"`
}

func (s Spread) String() string { return s.Median.String() + ", " + s.Max.String() }

// Difference is how much more a number is after the change in a seed.
type Difference struct {
	Seed int64  `json:"seed"`
	By   figure `json:"by"`
}

// figure is a count or a time.
type figure struct {
	n    int64
	time bool
}

// MarshalJSON implements json.Marshaler.
func (v figure) MarshalJSON() ([]byte, error) {
	if v.time {
		return value.Seconds(v.n).MarshalJSON()
	}
	return fmt.Append(nil, v.n), nil
}

func (v figure) String() string {
	if v.time {
		return check.FormatTime(value.Seconds(v.n))
	}
	return fmt.Sprint(v.n)
}

// Run has the numbers of the pods of a run, of one workload each.
type Run struct {
	Seed int64
	Pods map[string]summary.Numbers // by workload, in total over its pods
}

// compared are the kinds of numbers that are compared. The less there is of each, the better.
var compared = []string{"restarts", "timeToReady", "notReady", "rolloutTook", "lostRequests"}

// Runs compares runs in pairs. Both lists have the same seeds in the same order.
func Runs(name, version string, before, after []Run) Scenario {
	s := Scenario{Name: name, Kubernetes: version, Runs: len(before), Numbers: []Pair{}}
	pods := map[string]bool{}
	for _, r := range slices.Concat(before, after) {
		for name := range r.Pods {
			pods[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		for i, kind := range summary.Kinds {
			p := Pair{Pods: name, Number: kind.Key, kind: kind}
			if slices.Contains(compared, kind.Key) && p.compare(i, before, after) {
				s.Numbers = append(s.Numbers, p)
			}
		}
	}
	return s
}

// compare compares the number in the pairs of runs in which both sides have it, and reports whether
// there are any.
func (p *Pair) compare(number int, before, after []Run) bool {
	var old, now summary.Distribution
	for i := range before {
		a, b := before[i].Pods[p.Pods], after[i].Pods[p.Pods]
		was, is := a.Values()[number], b.Values()[number]
		if was == nil || is == nil {
			continue
		}
		old.Add(before[i].Seed, *was)
		now.Add(before[i].Seed, *is)
		p.count(before[i].Seed, *was, *is)
	}
	if old.Count() == 0 {
		return false
	}
	spread := func(d *summary.Distribution) Spread {
		greatest, _ := d.Max()
		return Spread{figure{d.Median(), p.kind.IsTime}, figure{greatest, p.kind.IsTime}}
	}
	p.Before, p.After = spread(&old), spread(&now)
	return true
}

// count counts a seed.
func (p *Pair) count(seed, was, is int64) {
	const never = int64(summary.Never)
	by := is - was
	switch {
	case p.kind.IsTime && was != is && is == never:
		by = never
	case p.kind.IsTime && was != is && was == never:
		by = -never
	case p.kind.IsTime && time.Duration(by).Abs() < noise:
		by = 0
	}
	d := &Difference{seed, figure{by, p.kind.IsTime}}
	switch {
	case by == 0:
		p.Same++
	case by < 0:
		p.Better++
		if p.MostBetter == nil || by < p.MostBetter.By.n {
			p.MostBetter = d
		}
	default:
		p.Worse++
		if p.MostWorse == nil || by > p.MostWorse.By.n {
			p.MostWorse = d
		}
	}
}

// worse reports whether the median or the maximum of a number got worse.
func (s Scenario) worse() bool {
	return slices.ContainsFunc(s.Numbers, func(p Pair) bool { return p.Judge() == Worse })
}

// Judge judges a pair: a number of which the median or the maximum got worse, or only got better,
// or that got better in all seeds in which it differs.
func (p *Pair) Judge() Change {
	more := func(a, b figure) bool { return b.n > a.n && (!a.time || b.n-a.n >= int64(noise)) }
	switch {
	case more(p.Before.Median, p.After.Median) || more(p.Before.Max, p.After.Max):
		return Worse
	case p.Better > 0 && (p.Worse == 0 || p.After.Median.n < p.Before.Median.n):
		return Better
	case p.Better+p.Worse == 0:
		return Same
	}
	return ""
}

// cells returns the number, its median and maximum before and after, and how many seeds got better
// and worse, with the one that got worst.
func (p *Pair) cells() []document.Cell {
	worse := fmt.Sprint(p.Worse)
	if p.MostWorse != nil && p.Better+p.Same+p.Worse > 1 {
		worse += fmt.Sprintf(" (seed %d)", p.MostWorse.Seed)
	}
	style := styles[p.Judge()]
	return []document.Cell{{Text: p.kind.Label}, {Text: p.Before.String()}, {Text: p.After.String(), Style: style},
		{Text: fmt.Sprint(p.Better), Style: style}, {Text: worse, Style: style}}
}

// addTo adds the scenario, with a table for each workload.
func (s *Scenario) addTo(d *document.Document) {
	part := d.Section(document.Section{
		Title: fmt.Sprintf("Scenario %s, Kubernetes %s: median and maximum of %s of runs",
			s.Name, s.Kubernetes, printable.Count(s.Runs, "pair"))})
	for rest := s.Numbers; len(rest) > 0; { // those of a workload follow each other
		table := &document.Table{Left: 1, Head: []string{rest[0].Pods, "before", "after", "better", "worse"}}
		for pods := rest[0].Pods; len(rest) > 0 && rest[0].Pods == pods; rest = rest[1:] {
			table.Row(rest[0].cells()...)
		}
		part.Table(table)
	}
}
