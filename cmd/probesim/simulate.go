package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/value"
	"probesim.dev/sim/node"
	"probesim.dev/sim/trace"
)

// simulation is a run that was made.
type simulation struct {
	job       *job
	records   []trace.Record
	internal  bool
	end       time.Duration // before job.until if it ended early
	unreached []scenarios.Unreached
	results   []expect.Result
	err       error // why it ended early
}

// errInterrupted ends a run that someone does not want to wait for.
var errInterrupted = errors.New("interrupted")

// chunk is how far a run goes before it looks whether it is still wanted.
const chunk = time.Minute

// maxRecords bounds the trace of a run, which is kept in memory: 300 bytes a record, 6 GB.
const maxRecords = 20_000_000

// simulate makes a run. Each record goes to sink, if there is one, as it is written. Progress is told the
// virtual time now and then. A panic becomes the error of the run.
func (j *job) simulate(ctx context.Context, internal bool, sink func(*trace.Record), progress func(time.Duration)) (s *simulation) {
	s = &simulation{job: j, internal: internal || expect.Internal(j.plan.Scenario)}
	defer func() {
		if p := recover(); p != nil {
			s.err = fmt.Errorf("probesim is at fault, please report it with the scenario: panic: %v\n%s", p, debug.Stack())
		}
	}()
	known, ok := j.plan.Profile()
	if !ok {
		s.err = fmt.Errorf("there is no profile of Kubernetes %s", j.plan.Version)
		return s
	}
	recorder := &trace.Recorder{Internal: s.internal}
	if sink != nil {
		recorder.Sink = func(r *trace.Record) {
			sink(r)
			s.records = append(s.records, *r)
		}
	}
	n := node.New(node.Options{Profile: known, Uptime: &j.plan.Uptime, Seed: j.plan.Seed, Delays: j.plan.Delays, Config: j.plan.Config, Trace: recorder})
	defer n.Close()
	driver := j.plan.Drive(n)
	s.err = runUntil(ctx, n, j.until, maxRecords, progress)
	s.end = min(n.Now(), j.until)
	if sink == nil {
		s.records = recorder.Records()
	}
	s.unreached = driver.Unreached()
	s.check()
	return s
}

func runUntil(ctx context.Context, n *node.Node, until time.Duration, records int64, progress func(time.Duration)) error {
	for t := min(chunk, until); ; t = min(t+chunk, until) {
		if err := n.RunUntil(t); err != nil {
			return err
		}
		progress(t)
		switch {
		case n.Trace().Len() > records:
			return fmt.Errorf("stopped at %s: more than %d records; fewer pods or a shorter duration make a smaller trace", value.Format(t), records)
		case t == until:
			return nil
		case ctx.Err() != nil:
			return errInterrupted
		}
	}
}

// run is what expectations are checked against.
func (s *simulation) run() expect.Run {
	return expect.Run{Records: s.records, End: s.end, Internal: s.internal}
}

// check checks the expectations. Of a scenario with this run alone, one that some run must hold is
// to hold in this one.
func (s *simulation) check() {
	results, err := expect.Check(s.job.plan, s.run())
	if err != nil {
		s.err = errors.Join(s.err, err)
		return
	}
	s.results = results
	if !s.job.alone {
		return
	}
	for i := range results {
		if results[i].Outcome == expect.Unmet {
			results[i].Outcome = expect.Failed
		}
	}
}
