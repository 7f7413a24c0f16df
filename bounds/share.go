package bounds

import (
	"time"
)

// shareSamples is the number of nodes of a share.
const shareSamples = 64

// StartShare returns the share of the first starts that succeed, from 0 to 1, if a start takes an evenly distributed time between
// two durations, and the latencies before the start and the age of the kubelet are evenly distributed too.
func (s *Subject) StartShare(n Nodes, from, to time.Duration) (float64, error) {
	c := s.center(n)
	c.Rules = []Rule{{Instance: AnyInstance, Misfortune: Refuse}}
	_, longest := s.periods()
	begin, age := n.total(longest, append([]delay{runPodSandbox}, s.starts()...)...), uptimes(&c)
	sum := 0.0
	for i := range time.Duration(shareSamples) {
		x := c.in(begin, begin.from+(begin.to-begin.from)*(2*i+1)/(2*shareSamples))
		x = x.in(age, age.from+(age.to-age.from)*(i*5%shareSamples)/shareSamples)
		limit, err := s.start(x)
		switch {
		case err != nil:
			return 0, err
		case limit.bound.Least >= to:
			sum++
		case limit.bound.Least > from:
			sum += float64(limit.bound.Least-from) / float64(to-from)
		}
	}
	return sum / shareSamples, nil
}
