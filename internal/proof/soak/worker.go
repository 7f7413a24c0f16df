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

// result is what the runs of one scenario gave, or those of all scenarios.
type result struct {
	scenarios, runs, records int64
	seconds                  float64 // of virtual time
	found                    error   // the broken rule of the first run that broke one
}

func (r *result) add(other result) {
	r.scenarios += other.scenarios
	r.runs += other.runs
	r.records += other.records
	r.seconds += other.seconds
}

// checkScenario makes the runs of the random scenario of a seed, each twice, until one of them
// breaks a rule: further runs would usually break it too.
func checkScenario(ctx context.Context, o random.Options, seed uint64, versions []string) (r result) {
	loaded, err := scenarios.LoadBytes("random.yaml", o.Scenario(seed), nil)
	if err != nil {
		r.found = fmt.Errorf("scenario %d: %w", seed, err)
		return r
	}
	r.scenarios++
	for i := range o.Seeds {
		run := int64(i) + 1
		plan := loaded[0].Plan(versions[(seed+uint64(i))%uint64(len(versions))], &run)
		if !plan.Admitted() {
			continue
		}
		err := checkPlan(ctx, plan, &r)
		switch {
		case ctx.Err() != nil:
			return r
		case err != nil:
			r.found = fmt.Errorf("scenario %d, seed %d with Kubernetes %s: %w", seed, run, plan.Version, err)
			return r
		}
	}
	return r
}

// checkPlan makes a run twice: once as probesim run does, and once with the internal records and a
// chooser that checks the questions of the kernel. Both runs must have the same hash.
func checkPlan(ctx context.Context, plan *scenarios.Plan, r *result) error {
	usual := simulate.Run(ctx, plan, simulate.Options{})
	if usual.Err != nil {
		return usual.Err
	}
	hash, records, err := watch(plan)
	if err != nil {
		return err
	}
	r.runs += 2
	r.records += int64(len(usual.Records)) + records
	r.seconds += 2 * plan.Duration.Seconds()
	if usual := trace.Hash(usual.Records); usual != hash {
		return fmt.Errorf("two runs differ: their hashes are %s and %s", usual, hash)
	}
	return nil
}

// watch makes a run with the internal records, and checks the rules of package invariant and of
// chooser. It returns the hash of the observable records, and the number of all.
func watch(plan *scenarios.Plan) (hash string, records int64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	known, ok := plan.Profile()
	if !ok {
		return "", 0, fmt.Errorf("version %s of Kubernetes is not supported", plan.Version)
	}
	var rules invariant.Checker
	var hasher trace.Hasher
	c := &chooser{of: choose.Seeded(*plan.Seed)}
	n := node.New(node.Options{
		Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays, Config: plan.Config,
		ControlPlane: plan.ControlPlane(), Chooser: c,
		Trace: &trace.Recorder{Internal: true, Sink: func(r *trace.Record) {
			rules.Check(r)
			hasher.Add(r)
			records++
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
	return hasher.Sum(), records, errors.Join(errs...)
}
