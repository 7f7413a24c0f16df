package history

import (
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// States of a stretch besides those that a status gives to a container that does not run: waiting and terminated.
const (
	Running  = "running"
	Killing  = "killing"  // the kubelet says that it will stop it
	Stopping = "stopping" // between the stop signal and the exit
)

// Stretch is a time in which a container is in one state. Record says so; nil if none does.
type Stretch struct {
	From, To virtual.Time
	State    string
	Reason   string // of waiting and terminated, as the status gives it
	Number   int    // of the instance; 0 of waiting and terminated
	Record   *trace.Record
}

// Life returns what becomes of a container until end, or until its pod is removed: stretches that do not overlap, one after the
// other. Each instance has one in which it runs, if only for a moment.
func (c *Container) Life(p *Pod, end virtual.Time) []Stretch {
	end = min(end, p.Removed)
	var list []Stretch
	wait := func(from, to virtual.Time) {
		if why := c.WaitReason(from, to); why.Name != "" && to > from {
			list = append(list, Stretch{From: from, To: to, State: why.Name, Reason: why.Reason, Record: why.Record})
		}
	}
	from := p.Added
	for i := range c.Runs {
		run := &c.Runs[i]
		wait(from, min(run.Started, end))
		exited := max(min(run.Exited, end), run.Started)
		stopping := min(run.Stopping, exited)
		killing := min(run.Killing, stopping)
		list = append(list, Stretch{From: run.Started, To: killing, State: Running, Number: run.Number, Record: run.Records[0]})
		if stopping > killing {
			list = append(list, Stretch{From: killing, To: stopping, State: Killing, Number: run.Number})
		}
		if exited > stopping {
			list = append(list, Stretch{From: stopping, To: exited, State: Stopping, Number: run.Number, Record: run.Record(trace.ContainerStopping)})
		}
		from = run.Exited
	}
	if from < end {
		wait(from, end)
	}
	return list
}

// Record returns the first record of the instance of a kind; nil if there is none.
func (i *Instance) Record(kind trace.Kind) *trace.Record {
	for _, r := range i.Records {
		if r.Kind == kind {
			return r
		}
	}
	return nil
}
