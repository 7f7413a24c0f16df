package trace_test

import (
	"testing"
	"time"

	"probesim.dev/sim/virtual"
	. "probesim.dev/trace"
)

// TestNumbersOfObjects follows a rollout that takes 20 s, with a loss that ends and one that goes
// on.
func TestNumbersOfObjects(t *testing.T) {
	at := func(s int) virtual.Time { return virtual.At(time.Duration(s) * time.Second) }
	state := func(s int, generation int64, updated, ready int32) Record {
		return Record{T: at(s), Kind: WorkloadChanged,
			Object: &Object{Name: "Deployment default/web", Workload: &Workload{
				Desired: 3, Replicas: 3, Updated: updated, Ready: ready, Available: ready, Generation: generation,
				Observed: generation,
			}}}
	}
	loss := func(s int, kind Kind, step int64, lost float64) Record {
		took := map[Kind]time.Duration{LossEnded: time.Second}[kind]
		return Record{Step: step, T: at(s), Kind: kind, Took: took, Pod: "default/web-1-0", Reason: "refused",
			Object: &Object{
				Name: "Service default/web", Loss: &Loss{Router: "kube-proxy", Rate: 90, One: 1, Of: 3, Lost: lost},
			}}
	}
	records := []Record{
		state(1, 1, 3, 0), state(5, 1, 3, 3), state(60, 2, 0, 3), state(70, 2, 2, 2), loss(70, LossStarted, 5, 0),
		loss(71, LossEnded, 6, 30),
		state(80, 2, 3, 3), state(90, 2, 3, 3), loss(90, LossStarted, 9, 0),
	}
	want := []ObjectNumbers{
		{Name: "Deployment default/web", Took: 20 * time.Second, Complete: true, Fewest: 2},
		{Name: "Service default/web", Fewest: -1, Lost: 330},
	}
	got := NumbersOfObjects(records, at(100))
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the numbers are %+v, want %+v", got, want)
	}
	if got := NumbersOfObjects(records[:4], at(75)); got[0].Complete || got[0].Fewest != 2 {
		t.Errorf("in the middle of the rollout they are %+v", got)
	}
}
