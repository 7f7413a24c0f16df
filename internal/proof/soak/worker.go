package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"probesim.dev/internal/proof/invariant"
	"probesim.dev/internal/proof/random"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// tally counts what was simulated.
type tally struct {
	scenarios, runs, records int64
	seconds                  float64 // of virtual time
}

func (t *tally) add(other tally) {
	t.scenarios += other.scenarios
	t.runs += other.runs
	t.records += other.records
	t.seconds += other.seconds
}

// finding is a run that broke a rule.
type finding struct {
	scenario uint64 // seed of the scenario file
	run      string // the run of the scenario; empty if the scenario does not load
	err      error
}

func (f finding) String() string {
	if f.run == "" {
		return fmt.Sprintf("scenario %d: %v", f.scenario, f.err)
	}
	return fmt.Sprintf("scenario %d, %s: %v", f.scenario, f.run, f.err)
}

// checkScenario makes the runs of the random scenario of a seed, each twice, until one of them
// breaks a rule: further runs would usually break it too.
func checkScenario(ctx context.Context, o random.Options, seed uint64, versions []string) (t tally, found *finding) {
	loaded, err := scenarios.LoadBytes("random.yaml", o.Scenario(seed), nil)
	if err != nil {
		return t, &finding{scenario: seed, err: err}
	}
	t.scenarios++
	for i := range o.Seeds {
		run := int64(i) + 1
		plan := loaded[0].Plan(versions[(seed+uint64(i))%uint64(len(versions))], &run)
		if !plan.Admitted() {
			continue
		}
		err := checkPlan(ctx, plan, &t)
		switch {
		case ctx.Err() != nil:
			return t, nil
		case err != nil:
			return t, &finding{seed, fmt.Sprintf("seed %d with Kubernetes %s", run, plan.Version), err}
		}
	}
	return t, nil
}

// checkPlan makes a run twice: once as probesim run does, and once with the internal records and a
// chooser that checks the questions of the kernel. Both runs must have the same hash.
func checkPlan(ctx context.Context, plan *scenarios.Plan, t *tally) error {
	usual := simulate.Run(ctx, plan, simulate.Options{})
	if usual.Err != nil {
		return usual.Err
	}
	watched, err := watch(plan)
	if err != nil {
		return err
	}
	t.runs += 2
	t.records += int64(len(usual.Records)) + watched.records
	t.seconds += 2 * plan.Duration.Seconds()
	if hash := trace.Hash(usual.Records); hash != watched.hash {
		return fmt.Errorf("two runs differ: their hashes are %s and %s", hash, watched.hash)
	}
	return nil
}

// watchedRun is the result of watch.
type watchedRun struct {
	hash    string
	records int64
}

// watch makes a run with the internal records, and checks the rules of package invariant and of
// chooser.
func watch(plan *scenarios.Plan) (run watchedRun, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	known, ok := plan.Profile()
	if !ok {
		return run, fmt.Errorf("version %s of Kubernetes is not supported", plan.Version)
	}
	var rules invariant.Checker
	var hash trace.Hasher
	c := &chooser{of: choose.Seeded(*plan.Seed)}
	n := node.New(node.Options{
		Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays, Config: plan.Config,
		ControlPlane: plan.ControlPlane(), Chooser: c,
		Trace: &trace.Recorder{Internal: true, Sink: func(r *trace.Record) {
			rules.Check(r)
			hash.Add(r)
			run.records++
		}},
	})
	defer n.Close()
	driver := drive.Start(plan, n)
	end := virtual.At(plan.Duration)
	errs := []error{n.RunUntil(end), driver.Err(), c.err}
	if now := n.Now(); now != end {
		errs = append(errs, fmt.Errorf("the run ended at %v, and not at %v", now, end))
	}
	violations, more := rules.Violations()
	for _, v := range violations {
		errs = append(errs, errors.New("broken rule: "+v.String()))
	}
	if more > 0 {
		errs = append(errs, fmt.Errorf("and %d more broken rules", more))
	}
	run.hash = hash.Sum()
	return run, errors.Join(errs...)
}
