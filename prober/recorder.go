package prober

import (
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Recorder writes the trace records of one worker and keeps their causes. The cause of a record is
// the step of an earlier record; 0 means none. The kubelet has no counterpart.
type Recorder struct {
	env *Options
	// eligibleCause is the cause that made the container eligible for probing: its start, or the
	// success of its startup probe. It is 0 while the container is not eligible.
	eligibleCause int64
	// runCause is the probe run of the present turn, 0 before there is one.
	runCause int64

	pod       string // namespace/name
	container string
	probe     trace.Probe
	// containerID and instance identify the container in the status that the worker acts on. They
	// are empty and 0 until the worker has seen a container.
	containerID string
	instance    int
}

// newContainer sets the container of the records that follow.
func (r *Recorder) newContainer(id string) {
	r.containerID, r.instance, r.eligibleCause = id, r.env.Instance(id), 0
}

// Triggered records that a manual trigger woke the worker.
func (r *Recorder) Triggered(p *sim.Proc) {
	if r.env.Trace.Wants(trace.TriggerTaken) {
		r.env.Trace.Add(trace.Record{
			T: p.Now(), Kind: trace.TriggerTaken, Cause: p.Cause(), Pod: r.pod, Container: r.container,
			Instance: r.instance, Probe: r.probe,
		})
	}
}

// Skipped records why the worker does not probe at this tick.
func (r *Recorder) Skipped(p *sim.Proc, reason string) {
	if r.env.Trace.Wants(trace.ProbeSkipped) {
		r.env.Trace.Add(trace.Record{
			T: p.Now(), Kind: trace.ProbeSkipped, Pod: r.pod, Container: r.container, Instance: r.instance,
			Probe: r.probe, Reason: reason,
		})
	}
}

// Ineligible records why the worker does not probe a running container, which is not eligible for
// probing.
func (r *Recorder) Ineligible(p *sim.Proc, reason string) {
	r.eligibleCause = 0
	r.Skipped(p, reason)
}

// ProbeChanged forgets what made the container eligible: the change of its probe does.
func (r *Recorder) ProbeChanged() { r.eligibleCause = 0 }

// startRun stores the cause of the container's eligibility, before the run can change it.
func (r *Recorder) startRun() {
	if r.eligibleCause == 0 {
		r.eligibleCause = max(r.env.causeOfEligibility(r.containerID), r.env.Results.Of(r.probe).Changed(r.containerID))
	}
}

// endRun records a probe run that began at start. The record is the cause of the rest of the turn.
func (r *Recorder) endRun(p *sim.Proc, start virtual.Time, o outcome) {
	p.Sim().Turn(p.Name(), "probed")
	r.runCause = r.env.Trace.Add(trace.Record{
		T: p.Now(), Kind: trace.ProbeExecuted, Cause: max(p.Cause(), r.eligibleCause),
		Pod: r.pod, Container: r.container, Instance: r.instance,
		Probe: r.probe, Result: o.result, Message: o.message, Took: p.Now().Sub(start),
	})
	p.SetCause(r.runCause)
}

// resultCause returns the cause of a result stored now: the probe run of this turn, or if there is
// none yet, the last change of the container.
func (r *Recorder) resultCause() int64 {
	if r.runCause != 0 {
		return r.runCause
	}
	return max(r.env.Step(r.containerID), r.env.Results.Of(r.probe).Changed(r.containerID))
}

// EndTurn forgets the probe run.
func (r *Recorder) EndTurn() { r.runCause = 0 }

// causeOfEligibility returns the later of the last change of a container and its startup result.
func (o *Options) causeOfEligibility(containerID string) int64 {
	return max(o.Step(containerID), o.Results.Startup.Cause(containerID))
}
