package shrink

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"probesim.dev/internal/value"
)

// specs returns what is in the scenarios of the file.
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
					add(item, "Scenario") // which the item need not say
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

// durations returns the durations of runs that are in the file. Without them runs would last longer.
func (s *shrinker) durations() nodes {
	durations := nodes{}
	for _, spec := range s.specs() {
		if d := field(spec, "duration"); d != nil {
			durations[d] = true
		}
	}
	return durations
}

// defaultDuration is how long a run is that does not say so.
const defaultDuration = 10 * time.Minute

func duration(spec *yaml.Node) time.Duration {
	if d, err := value.ParseDuration(text(field(spec, "duration"))); err == nil {
		return d
	}
	return defaultDuration
}

// shortenRuns makes runs shorter, with some time to spare: without what is still in the file things may
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

// cutRuns makes each run as short as can be, to the second.
func (s *shrinker) cutRuns() {
	for _, spec := range s.specs() {
		s.cut(spec)
	}
}

// cut looks for the shortest run, as if what is shown took some time to come and then stayed.
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

// setDuration tries another duration. What is to happen after the end of the run is left out.
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
