package explore

import (
	"context"
	"reflect"
	"testing"

	"probesim.dev/internal/long"
	"probesim.dev/internal/proof/random"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
	"probesim.dev/trace"
)

// restartsOfEach is the number of runs of each scenario of TestBranches. Some have a few more.
const restartsOfEach = 4

// A run that branches off before its restart has the same records, with the internal ones, and the
// same outcome as the run from the beginning. The scenarios are each tenth, or each, of the library
// and of 300 random ones.
func TestBranches(t *testing.T) {
	all, err := library.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	var list []*scenarios.Scenario
	step := long.Sample(10, 1)
	for i := 0; i < len(all); i += step {
		list = append(list, all[i])
	}
	for seed := 0; seed < 300; seed += step {
		loaded, err := scenarios.LoadBytes("random.yaml", random.Scenario(uint64(seed)), nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, loaded...)
	}
	branched, runs := 0, 0
	for i, s := range list {
		plans := s.Plans()
		compareBranches(t, &Subject{Plan: s.Plan(plans[len(plans)-1].Version, nil)}, i, &branched, &runs)
	}
	if branched < runs*9/10 {
		t.Errorf("only %d of %d runs branch off", branched, runs)
	}
}

// compareBranches compares runs with restarts at some of the instants of a subject, other ones for
// each number. It counts the runs, and those that branch off.
func compareBranches(t *testing.T, s *Subject, number int, branched, runs *int) {
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
		*runs++
		got := s.branch(stem, list[i], &trace.Recorder{}, &o)
		if got == nil {
			continue
		}
		*branched++
		want := s.run(list[i], o)
		if want.Err != nil && got.Err != nil {
			continue // the search repeats it from the beginning
		}
		same := reflect.DeepEqual(got.Records, want.Records) && reflect.DeepEqual(got.History, want.History) &&
			reflect.DeepEqual(got.times, want.times)
		if !same || got.Err != nil || want.Err != nil {
			t.Errorf("%s: %s: the records or the outcome differ; errors %v and %v", s.Plan.Scenario.Metadata.Name,
				list[i].Faults[0], got.Err, want.Err)
		}
	}
}
