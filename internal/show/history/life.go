package history

import (
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// States of a stretch, in addition to the states waiting and terminated of the pod status.
const (
	Running  = "running"
	Killing  = "killing"  // between the Killing event and the stop signal
	Stopping = "stopping" // between the stop signal and the exit
)

// Stretch is a period during which a container is in one state. Record may be nil.
type Stretch struct {
	From, To virtual.Time
	State    string
	Reason   string // of waiting and terminated, from the pod status
	Number   int    // of the instance; 0 for waiting and terminated
	Record   *trace.Record
}

// Life returns the states of a container until end, or until the removal of its pod. Stretches are
// in order and do not overlap. Each instance has a Running stretch, which may be empty.
func (c *Container) Life(p *Pod, end virtual.Time) []Stretch {
	end = min(end, p.Removed)
	var list []Stretch
	wait := func(from, to virtual.Time) {
		if why := c.WaitReason(from, to); why.Name != "" && to > from {
			list = append(list, Stretch{From: from, To: to, State: why.Name, Reason: why.Reason, Record: why.Record})
		}
	}
	from := max(p.Added, c.Added)
	for i := range c.Runs {
		run := &c.Runs[i]
		wait(from, min(run.Started, end))
		until := end
		if i+1 < len(c.Runs) {
			until = min(until, c.Runs[i+1].Started)
		}
		exited := max(min(run.Exited, until), run.Started)
		stopping := min(run.Stopping, exited)
		killing := min(run.Killing, stopping)
		list = append(list, Stretch{From: run.Started, To: killing, State: Running, Number: run.Number,
			Record: run.first()})
		if stopping > killing {
			list = append(list, Stretch{From: killing, To: stopping, State: Killing, Number: run.Number})
		}
		if exited > stopping {
			list = append(list, Stretch{From: stopping, To: exited, State: Stopping, Number: run.Number,
				Record: run.Record(trace.ContainerStopping)})
		}
		from = run.Exited
	}
	if from < end {
		wait(from, end)
	}
	return list
}

// first returns the first record of the instance. It is nil if a recording tells only that there
// was this instance.
func (i *Instance) first() *trace.Record {
	if len(i.Records) == 0 {
		return nil
	}
	return i.Records[0]
}

// Record returns the first record of a kind of the instance, or nil.
func (i *Instance) Record(kind trace.Kind) *trace.Record {
	for _, r := range i.Records {
		if r.Kind == kind {
			return r
		}
	}
	return nil
}
