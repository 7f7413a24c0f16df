package outcomes

import (
	"context"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
	"probesim.dev/scenarios/random"
	"probesim.dev/trace"
)

// randomScenarios is the number of random scenarios of TestBranches, besides the library. Each scenario has restartsOfEach runs or a few more.
const (
	randomScenarios = 300
	restartsOfEach  = 4
)

// A run that branches off before its restart has the same records, with the internal ones, and the same outcome as the run from the beginning.
func TestBranches(t *testing.T) {
	list, err := library.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(randomScenarios) {
		loaded, err := scenarios.LoadBytes("random.yaml", random.Scenario(seed), nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, loaded...)
	}
	var next, branched, runs atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1) - 1); i < len(list); i = int(next.Add(1) - 1) {
				plans := list[i].Plans()
				compareBranches(t, &Subject{Plan: list[i].Plan(plans[len(plans)-1].Version, nil)}, i, &branched, &runs)
			}
		})
	}
	workers.Wait()
	if branched.Load() < runs.Load()*9/10 {
		t.Errorf("only %d of %d runs branch off", branched.Load(), runs.Load())
	}
}

// compareBranches compares runs with restarts at some of the instants of a subject, other ones for each number. It counts the runs, and
// those that branch off.
func compareBranches(t *testing.T, s *Subject, number int, branched, runs *atomic.Int64) {
	e, err := New(context.Background(), *s, Options{Policies: []string{"canonical"}})
	if err != nil {
		return // it ends early
	}
	o := runOptions{internal: true, pods: e.pods}
	stem := s.begin(&Run{}, Change{}, o)
	defer stem.node.Close()
	list := e.faults(KubeletRestart, quickRestart, slowRestart)
	step := len(list)/restartsOfEach + 1
	for i := number % step; i < len(list); i += step {
		runs.Add(1)
		got := s.branch(stem, list[i], &trace.Recorder{}, &o)
		if got == nil {
			continue
		}
		branched.Add(1)
		want := s.run(list[i], o)
		if want.Err != nil && got.Err != nil {
			continue // the search repeats it from the beginning
		}
		same := reflect.DeepEqual(got.Records, want.Records) && reflect.DeepEqual(got.History, want.History) && reflect.DeepEqual(got.times, want.times)
		if !same || got.Err != nil || want.Err != nil {
			t.Errorf("%s: %s: the records or the outcome differ; errors %v and %v", s.Plan.Scenario.Metadata.Name, list[i].Faults[0], got.Err, want.Err)
		}
	}
}
