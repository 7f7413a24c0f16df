package bounds

import "time"

// housekeepingPeriod is the period at which the kubelet lists what runs for its housekeeping, from its start on (pkg/kubelet/kubelet.go at
// v1.37.0). These lists are not relists.
const housekeepingPeriod = 2 * time.Second

// atHousekeeping extends a bound of the time until a status by a case close to that of its greatest value, in which the kubelet lists what runs when
// a probe has a result that leads to the status. The sync loop takes the result after that (syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0).
// The bound must be about as close to its goal as two lists and a status that the status manager writes before.
//
// The age of the kubelet moves the results against these lists. If they keep their distance from the relists, a kubelet that is older by whole
// periods of the relists comes close. The lists can also delay the start, so the search takes some steps.
func (s *Subject) atHousekeeping(n Nodes, b Bound, f measure) (Bound, error) {
	write := n.most(apiGet) + n.most(apiPatch)
	if b.goal == nil || b.found(true) || b.isNone() || b.Greatest == Never || b.goal.greatest-b.Greatest > 2*n.lists()+write+timeTolerance {
		return b, nil
	}
	for _, result := range []func(sample) time.Duration{
		func(one sample) time.Duration { return one.started },
		func(one sample) time.Duration {
			return one.outcome - b.AtGreatest.value(apiGet) - b.AtGreatest.value(apiPatch)
		},
	} {
		for _, unit := range []time.Duration{fine, b.AtGreatest.relistPeriod()} {
			c := b.AtGreatest
			for range 2 {
				one, err := c.question.measure(s, c)
				if err != nil || one.bound.Least == Never {
					return b, err
				}
				if result(one) == 0 {
					continue
				}
				if one, err = f(c.aged(ageAfter(c.Uptime, unit, fine-result(one)))); err != nil {
					return b, err
				}
				if b = b.Or(one.bound); b.found(true) || b.goal.greatest-b.Greatest <= fine {
					return b, nil
				}
				c = one.bound.AtGreatest
			}
		}
	}
	return b, nil
}

// ageAfter returns the age, greater than another one by a multiple of a unit, that comes the soonest after a moment of the housekeeping.
func ageAfter(age, unit, moment time.Duration) time.Duration {
	since := func(age time.Duration) time.Duration { return modulo(age-moment, housekeepingPeriod) }
	if unit <= fine {
		return age + housekeepingPeriod - since(age)
	}
	best := age
	for i := range time.Duration(ages) {
		if next := age + i*unit; since(next) < since(best) {
			best = next
		}
	}
	return best
}

// aged returns the case with a kubelet of another age, and the same phase of the wall clock.
func (c Case) aged(age time.Duration) Case {
	if c.Wall > 0 {
		c.Wall = modulo(c.Wall+c.Uptime-age, time.Second)
	}
	c.Uptime = age
	return c
}

// unevenly returns the nodes with lists that take a little less at most. Otherwise, the relists can return to the same phase of the housekeeping soon,
// as they do after 100 relists a second and 60 ms apart, and then come in few of its phases.
func (n Nodes) unevenly() Nodes {
	if list := n.draw(listContainers); list.Max-list.Min > uneven {
		list.Max -= uneven
		n.Delays.ListContainers = &list
	}
	return n
}

// uneven is small enough to change no time by more than a millisecond.
const uneven = 100 * time.Microsecond
