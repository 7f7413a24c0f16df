package shrink

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"probesim.dev/internal/value"
)

// specs returns the specs of the scenarios in the file.
func (s *shrinker) specs() []*yaml.Node {
	var specs []*yaml.Node
	add := func(n *yaml.Node, kind string) {
		if spec := field(n, "spec"); spec != nil && kind == "Scenario" {
			specs = append(specs, spec)
		}
	}
	for _, doc := range s.docs {
		add(doc, text(field(doc, "kind")))
		if items := field(doc, "items"); items != nil {
			for _, item := range items.Content {
				if text(field(doc, "kind")) == "ScenarioList" {
					add(item, "Scenario") // the kind of an item is optional
				} else {
					add(item, text(field(item, "kind")))
				}
			}
		}
	}
	return specs
}

func text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}

// durations returns the duration fields of the file. Removing one would make its run longer.
func (s *shrinker) durations() nodes {
	durations := nodes{}
	for _, spec := range s.specs() {
		if d := field(spec, "duration"); d != nil {
			durations[d] = true
		}
	}
	return durations
}

// defaultDuration is the duration of a scenario without one.
const defaultDuration = 10 * time.Minute

func duration(spec *yaml.Node) time.Duration {
	if d, err := value.ParseDuration(text(field(spec, "duration"))); err == nil {
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
func (s *shrinker) cut(spec *yaml.Node) {
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
func (s *shrinker) setDuration(spec *yaml.Node, d time.Duration) bool {
	was := spec.Content
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: value.Format(d)}
	if field(spec, "duration") == nil {
		spec.Content = append([]*yaml.Node{{Kind: yaml.ScalarNode, Value: "duration"}, n}, was...)
	} else {
		spec.Content = slices.Clone(was)
		spec.Content[slices.Index(was, field(spec, "duration"))] = n
	}
	if s.try(&repair{fixed: n, items: true}) {
		return true
	}
	spec.Content = was
	return false
}
