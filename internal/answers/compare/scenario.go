package compare

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/internal/answers/check"
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
	Number Number `json:"number"` // what is compared
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
}

// Number names a number of a run.
type Number string

const (
	Restarts Number = "restarts"
	ToReady  Number = "toReady" // the longest of the pods
	Unready  Number = "unready"
	Took     Number = "took" // of the last rollout of a Deployment
	Lost     Number = "lost" // requests to a Service
)

// numbers has what is compared. The numbers of a run have one if of returns a value.
var numbers = []struct {
	id     Number
	text   string
	isTime bool
	of     func(summary.Numbers) *int64
}{
	{Restarts, "restarts", false, func(n summary.Numbers) *int64 { return ofPods(n, int64(n.Restarts)) }},
	{ToReady, "time to Ready", true, func(n summary.Numbers) *int64 { return ofPods(n, int64(n.ToReady)) }},
	{Unready, "time not Ready after that", true,
		func(n summary.Numbers) *int64 { return ofPods(n, int64(n.Unready)) }},
	{Took, "rollout takes", true, func(n summary.Numbers) *int64 {
		if n.Object == nil || n.Object.Took == nil {
			return nil
		}
		return new(int64(*n.Object.Took))
	}},
	{Lost, "lost requests", false, func(n summary.Numbers) *int64 {
		if n.Object == nil || n.Object.Lost == nil {
			return nil
		}
		return new(int64(*n.Object.Lost))
	}},
}

// ofPods returns a number that only pods have.
func ofPods(n summary.Numbers, value int64) *int64 {
	if n.Object != nil {
		return nil
	}
	return &value
}

// Spread has the median and the maximum over the runs: a number, or seconds, which are null for
// never.
type Spread struct {
	Median figure `json:"median"`
	Max    figure `json:"max"`
}

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
	return fmt.Appendf(nil, "%d", v.n), nil
}

func (v figure) String() string {
	switch {
	case !v.time:
		return fmt.Sprint(v.n)
	case v.n == int64(summary.Never):
		return "never"
	}
	return check.FormatUp(value.Seconds(v.n))
}

func (d *Difference) String() string {
	if d == nil {
		return ""
	}
	text, sign := d.By, "+"
	if text.n < 0 {
		text.n, sign = -text.n, "-"
	}
	if text.time && text.n == int64(summary.Never) {
		return fmt.Sprintf("%s (seed %d)", map[string]string{"+": "never", "-": "no longer never"}[sign], d.Seed)
	}
	return fmt.Sprintf("%s%s (seed %d)", sign, text, d.Seed)
}

// Run has the numbers of the pods of a run, of one workload each.
type Run struct {
	Seed int64
	Pods map[string]summary.Numbers // by workload, in total over its pods
}

// Runs compares runs in pairs. Both lists have the same seeds in the same order.
func Runs(name, version string, before, after []Run) Scenario {
	s := Scenario{Name: name, Kubernetes: version, Runs: len(before), Numbers: []Pair{}}
	var pods []string
	for _, list := range [][]Run{before, after} {
		for _, r := range list {
			pods = append(pods, slices.Sorted(maps.Keys(r.Pods))...)
		}
	}
	slices.Sort(pods)
	for _, p := range slices.Compact(pods) {
		for _, n := range numbers {
			one := pair(p, n.id, n.isTime, n.of, before, after)
			if one.Same+one.Better+one.Worse > 0 {
				s.Numbers = append(s.Numbers, one)
			}
		}
	}
	return s
}

// pair compares a number in the pairs of runs in which both sides have it.
func pair(pods string, id Number, isTime bool, of func(summary.Numbers) *int64, before, after []Run) Pair {
	p := Pair{Pods: pods, Number: id}
	var old, now summary.Distribution
	for i := range before {
		was, is := of(before[i].Pods[pods]), of(after[i].Pods[pods])
		if was == nil || is == nil {
			continue
		}
		a, b := *was, *is
		seed := before[i].Seed
		old.Add(seed, a)
		now.Add(seed, b)
		difference := b - a
		switch never := int64(summary.Never); {
		case a == b || isTime && time.Duration(difference).Abs() < noise:
			difference = 0
		case isTime && b == never:
			difference = never
		case isTime && a == never:
			difference = -never
		}
		d := &Difference{seed, figure{difference, isTime}}
		switch {
		case difference == 0:
			p.Same++
		case difference < 0:
			p.Better++
			if p.MostBetter == nil || difference < p.MostBetter.By.n {
				p.MostBetter = d
			}
		default:
			p.Worse++
			if p.MostWorse == nil || difference > p.MostWorse.By.n {
				p.MostWorse = d
			}
		}
	}
	spread := func(d *summary.Distribution) Spread {
		if d.Count() == 0 {
			return Spread{}
		}
		greatest, _ := d.Max()
		return Spread{figure{d.Median(), isTime}, figure{greatest, isTime}}
	}
	p.Before, p.After = spread(&old), spread(&now)
	return p
}

// worse reports whether the median or the maximum of a number got worse.
func (s Scenario) worse() bool { return slices.ContainsFunc(s.Numbers, Pair.isWorse) }

func (p Pair) isWorse() bool {
	more := func(a, b figure) bool { return b.n > a.n && (!a.time || b.n-a.n >= int64(noise)) }
	return more(p.Before.Median, p.After.Median) || more(p.Before.Max, p.After.Max)
}

func (n Number) text() string {
	for _, known := range numbers {
		if known.id == n {
			return known.text
		}
	}
	return string(n)
}

// Judge judges a pair: a number of which the median or the maximum got worse, or only got better,
// or that got better in all seeds in which it differs.
func (p *Pair) Judge() Change {
	switch {
	case p.isWorse():
		return Worse
	case p.Better > 0 && (p.Worse == 0 || p.After.Median.n < p.Before.Median.n):
		return Better
	case p.Better+p.Worse == 0:
		return Same
	}
	return ""
}

// Cells returns the number, and its columns: the median and the maximum before and after, and two
// counts of seeds.
func (p *Pair) Cells() []string {
	return []string{p.Number.text(), p.Before.Median.String(), p.Before.Max.String(), p.After.Median.String(),
		p.After.Max.String(), fmt.Sprint(p.Better), fmt.Sprint(p.Worse)}
}

// Of says what the runs are.
func (s *Scenario) Of() string {
	if s.Runs == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d seeds", s.Runs)
}
