package simulate_test

import (
	"testing"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
	"probesim.dev/scenarios/simulate"
)

// BenchmarkQuickstart reports the runs per second of the quickstart scenario, with its expectations: without a seed, and with
// another seed each time.
func BenchmarkQuickstart(b *testing.B) {
	s := quickstart(b)
	version := s.Plans()[0].Version
	b.Run("unseeded", func(b *testing.B) {
		runs(b, func(int64) *scenarios.Plan { return s.Plan(version, nil) })
	})
	b.Run("seeded", func(b *testing.B) {
		runs(b, func(n int64) *scenarios.Plan { return s.Plan(version, &n) })
	})
}

func runs(b *testing.B, plan func(n int64) *scenarios.Plan) {
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		n++
		if r := simulate.Run(b.Context(), plan(n), simulate.Options{}); r.Err != nil {
			b.Fatal(r.Err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "runs/s")
}

func quickstart(b *testing.B) *scenarios.Scenario {
	all, err := library.Scenarios()
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range all {
		if s.Metadata.Name == "exec-liveness" {
			return s
		}
	}
	b.Fatal("the library has no scenario exec-liveness")
	return nil
}
