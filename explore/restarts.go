package explore

import (
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Downtimes of the kubelet: the shortest that a scenario file can have, and that of a step without
// one.
const (
	quickRestart = time.Millisecond
	slowRestart  = 3 * time.Second
)

// branches is the number of runs of a task of restarts. All of them branch off from one run.
const branches = 64

// restarts has tasks that restart the kubelet at each instant of the run as written. Until the
// restart, such a run is the run as written.
func restarts(e *Explorer) []task {
	var tasks []task
	for list := range slices.Chunk(e.faults(KubeletRestart, quickRestart, slowRestart), branches) {
		tasks = append(tasks, task{size: len(list), do: func(r *runner) { r.restart(list) }})
	}
	return tasks
}

// restart makes runs with a restart each, ordered by time. It makes the run as written once, stops
// it before each restart, and lets a copy of the node go on with the restart.
func (r *runner) restart(list []Change) {
	o := runOptions{interrupt: r.ctx.Err, pods: r.pods, room: r.room}
	stem := r.subject.begin(&Run{}, Change{}, o)
	defer stem.node.Close()
	var records trace.Recorder // of one run after the other, to use its memory again
	for _, c := range list {
		r.make(func() (Change, *Run) { return c, r.branch(stem, c, &records, o) })
	}
}

// branch makes a run with a restart. It begins where the run parts from the run as written, if
// possible.
func (r *runner) branch(stem *progress, c Change, records *trace.Recorder, o runOptions) *Run {
	if run := r.subject.branch(stem, c, records, &o); run != nil && run.Err == nil {
		return run
	}
	// The error of a run that ends early has numbers about the whole run.
	return r.subject.run(c, o)
}

// branch makes the run of a change whose only fault is a restart of the kubelet, from the run
// without it, which has not come to that time. It returns nil if this is not possible. The records
// of the run are valid until the recorder is used again.
func (s *Subject) branch(stem *progress, c Change, records *trace.Recorder, o *runOptions) *Run {
	run, at := &Run{}, virtual.At(c.Faults[0].At)
	defer run.recover()
	plan, err := s.plan(c)
	if err != nil || stem.node.RunUntil(at-1) != nil {
		return nil
	}
	run.plan = plan
	n, ok := stem.node.CopyAtRestart(at, records)
	if !ok {
		return nil
	}
	defer n.Close()
	p := &progress{Run: run, subject: s, recorder: records, node: n, driver: stem.driver.Branch(n, at, plan)}
	p.finish(c, o)
	return run
}
