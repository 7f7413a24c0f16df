// Package soak simulates random scenarios and looks for panics, for records that break the rules of
// every trace, and for runs of one seed that differ:
//
//	go test ./internal/proof/soak -run '^TestSoak$' -timeout 0 -v -runs 1000000
package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/long"
	"probesim.dev/internal/proof/random"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var (
	first   = flag.Uint64("first", 1, "seed of the first scenario of TestSoak")
	runs    = flag.Int64("runs", int64(long.Sample(80, 200)), "runs of TestSoak; rounded up to whole scenarios")
	changes = flag.Bool("change-probes", false, "change the probes of running pods, in v1.38-preview")
	longer  = flag.Bool("longer", false, "simulate scenarios of up to 20 minutes instead of short ones")
)

// seedsOfScenario is the number of seeds of each scenario file.
const seedsOfScenario = 20

// maxFindings is the number of scenarios with findings after which the test stops: a defect often
// shows in many of them.
const maxFindings = 50

// TestSoak makes each run of random scenarios twice: as 'probesim run' does, and with the internal
// records and checks. Each scenario has 20 seeds, and the seeds run with the supported releases of
// Kubernetes in turn.
func TestSoak(t *testing.T) {
	o := random.Options{Seeds: seedsOfScenario, Short: !*longer, WithProbeChanges: *changes}
	versions := profile.Names()
	if *changes {
		versions = []string{"v1.38-preview"} // the only version with the gate
	}
	soak(t, o, *first, *runs, versions)
}

// TestSoakOfOthers makes runs that TestSoak makes only with other flags.
func TestSoakOfOthers(t *testing.T) {
	o, preview := random.Options{Seeds: seedsOfScenario, Short: true}, []string{"v1.38-preview"}
	soak(t, random.Options{Seeds: seedsOfScenario}, 77, 40, profile.Names())
	soak(t, o, 1, int64(long.Sample(80, 200)), preview)
	soak(t, o, 487, 40, profile.Names()) // it evicts a pod again while the first eviction waits
	o.WithProbeChanges = true
	soak(t, o, 1, int64(long.Sample(80, 400)), preview)
}

// soak makes runs of random scenarios from a seed on. It logs what was simulated, and that so far
// each minute.
func soak(t *testing.T, o random.Options, first uint64, runs int64, versions []string) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // the heap of a run is small, and the runs allocate much
	began, logged, found, total := time.Now(), time.Now(), 0, result{}
	log := func() {
		logged = time.Now()
		t.Logf("%d runs of %d scenarios, %d records, %.0f hours of node time, in %s; Kubernetes %s", total.runs,
			total.scenarios, total.records, total.seconds/3600, logged.Sub(began).Round(time.Second),
			strings.Join(versions, ", "))
	}
	const perScenario = 2 * seedsOfScenario
	err := pool.InOrder(t.Context(), int((runs+perScenario-1)/perScenario), pool.Options{},
		func(ctx context.Context, i int) result {
			return checkScenario(ctx, o, first+uint64(i), versions)
		}, func(_ int, r result) error {
			if total.add(r); r.found != nil {
				t.Error(r.found)
				found++
			}
			if time.Since(logged) > time.Minute {
				log()
			}
			if found >= maxFindings {
				return errors.New("too many findings")
			}
			return nil
		})
	if log(); err != nil {
		t.Error(err)
	}
}

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
	var rules checker
	var hasher trace.Hasher
	c := &chooser{of: choose.Seeded(*plan.Seed)}
	n := node.New(node.Options{
		Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays, Config: plan.Config,
		ControlPlane: plan.ControlPlane(), Chooser: c,
		Trace: &trace.Recorder{Internal: true, Sink: func(r *trace.Record) {
			rules.check(r)
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
	violations, more := rules.violations()
	for _, v := range violations {
		errs = append(errs, errors.New("broken rule: "+v.String()))
	}
	if more > 0 {
		errs = append(errs, fmt.Errorf("and %d more broken rules", more))
	}
	return hasher.Sum(), records, errors.Join(errs...)
}
