package drive

import (
	"slices"

	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// lease is the state of a lease. The program that has waited longest takes it when it is free.
type lease struct {
	holder  *candidate
	until   virtual.Time // when it is free, after the end of its holder
	waiting []*candidate
}

// candidate is an instance of a container that wants a lease.
type candidate struct {
	pod, container string
	instance       int
	lease          *format.Lease
}

// leaseWanted follows the programs that want leases.
func (d *Driver) leaseWanted(r *trace.Record) {
	of := d.plan.LeaseOf(r.Pod, r.Container)
	if of == nil {
		return
	}
	l := d.leases[of.Name]
	if l == nil {
		l = &lease{}
		d.leases[of.Name] = l
	}
	is := func(c *candidate) bool {
		return c.pod == r.Pod && c.container == r.Container && c.instance == r.Instance
	}
	switch {
	case r.Kind == trace.ContainerStarted:
		l.waiting = append(l.waiting, &candidate{r.Pod, r.Container, r.Instance, of})
	case l.holder != nil && is(l.holder):
		l.holder, l.until = nil, r.T.Add(of.Free())
	default:
		l.waiting = slices.DeleteFunc(l.waiting, is)
	}
	d.world.At(max(r.T, l.until), func() { d.takeLease(d.leases[of.Name], max(r.T, l.until)) })
}

// takeLease gives a lease that is free at t to the next program.
func (d *Driver) takeLease(l *lease, t virtual.Time) {
	if l.holder != nil || t < l.until || len(l.waiting) == 0 {
		return
	}
	c := l.waiting[0]
	l.holder, l.waiting = c, l.waiting[1:]
	d.world.OccurIn(string(d.pods[c.pod].Pod.UID), c.container, d.plan.Scenario.Lease(c.lease.Name))
}
