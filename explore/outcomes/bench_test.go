package outcomes_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"probesim.dev/explore/outcomes"
	"probesim.dev/scenarios/library"
)

// BenchmarkExploreQuickstart explores each scenario of the quickstart on all CPUs, and reports its runs a second.
func BenchmarkExploreQuickstart(b *testing.B) {
	all, err := library.Scenarios()
	if err != nil {
		b.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as the command does
	for _, s := range all {
		if strings.HasPrefix(s.File, "quickstart/") {
			b.Run(s.Metadata.Name, func(b *testing.B) { benchmark(b, subjectOf(s)) })
		}
	}
}

func benchmark(b *testing.B, s outcomes.Subject) {
	var runs atomic.Int64
	b.ReportAllocs()
	for b.Loop() {
		x, err := outcomes.New(context.Background(), s, outcomes.Options{Runs: 2000})
		if err != nil {
			b.Fatal(err)
		}
		var next atomic.Int64
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for i := next.Add(1) - 1; i < int64(x.Tasks()); i = next.Add(1) - 1 {
					runs.Add(int64(x.Do(context.Background(), int(i)).Runs()))
				}
			})
		}
		workers.Wait()
	}
	b.ReportMetric(float64(runs.Load())/b.Elapsed().Seconds(), "runs/s")
}
