package shrink

import (
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// specs returns the specs of the scenarios in the file.
func (s *shrinker) specs() []*strict.Node {
	var specs []*strict.Node
	add := func(n *strict.Node, kind string) {
		if spec := n.Field("spec"); spec.Kind == strict.Mapping && kind == "Scenario" {
			specs = append(specs, spec)
		}
	}
	for _, doc := range s.docs {
		kind := doc.Field("kind").Value
		add(doc, kind)
		for _, item := range doc.Field("items").Items {
			if kind == "ScenarioList" {
				add(item, "Scenario") // the kind of an item is optional
			} else {
				add(item, item.Field("kind").Value)
			}
		}
	}
	return specs
}

// durations returns the duration fields of the file. Removing one would make its run longer.
func (s *shrinker) durations() nodes {
	durations := nodes{}
	for _, spec := range s.specs() {
		durations[spec.Field("duration")] = true
	}
	return durations
}

// defaultDuration is the duration of a scenario without one.
const defaultDuration = 10 * time.Minute

func duration(spec *strict.Node) time.Duration {
	if d, err := value.ParseDuration(spec.Field("duration").Value); err == nil {
		return d
	}
	return defaultDuration
}

// shortenRuns makes runs shorter and leaves some spare time: after more removals the problem may
// come later.
func (s *shrinker) shortenRuns() {
	for _, spec := range s.specs() {
		was := duration(spec)
		s.cut(spec)
		if spare := 10*time.Second + duration(spec)*3/2; spare < was {
			s.setDuration(spec, spare.Truncate(time.Second))
		}
	}
}

// cutRuns makes each run as short as possible, to the second.
func (s *shrinker) cutRuns() {
	for _, spec := range s.specs() {
		s.cut(spec)
	}
}

// cut searches for the shortest run. It assumes that the problem appears at some time and then
// stays.
func (s *shrinker) cut(spec *strict.Node) {
	enough, less := duration(spec), time.Duration(0)
	for enough-less > time.Second && !s.exhausted() {
		middle := max(less+time.Second, (less + (enough-less)/2).Truncate(time.Second))
		if middle < enough && s.setDuration(spec, middle) {
			enough = middle
		} else {
			less = middle
		}
	}
}

// setDuration tries another duration and removes the steps and expectations after the new end.
func (s *shrinker) setDuration(spec *strict.Node, d time.Duration) bool {
	n := spec.Field("duration")
	was := *n
	if n.Kind == strict.Missing {
		n = spec.Put("duration", "duration", strict.Scalar, "")
	}
	*n = strict.Node{Kind: strict.Scalar, Tag: "!!str", Value: value.Format(d)}
	if s.try(&repair{fixed: n, items: true}) {
		return true
	}
	if *n = was; was.Kind == strict.Missing {
		spec.Keep(func(item *strict.Node) bool { return item != n })
	}
	return false
}
