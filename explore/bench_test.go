//go:build unix

package explore_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"probesim.dev/explore"
	"probesim.dev/scenarios/library"
)

// BenchmarkExploreQuickstart explores each scenario of the quickstart on all CPUs, and all of them
// one after the other. It reports the runs a second, and the runs for each second of CPU time. On a
// machine that does nothing else, the former is the latter times the number of CPUs.
func BenchmarkExploreQuickstart(b *testing.B) {
	list, err := library.Scenarios()
	if err != nil {
		b.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as the command does
	runtime.MemProfileRate = 0                         // the command has no memory profile
	var all []explore.Subject
	for _, s := range list {
		if strings.HasPrefix(s.File, "quickstart/") {
			all = append(all, subjectOf(s))
			b.Run(s.Metadata.Name, func(b *testing.B) { benchmark(b, subjectOf(s)) })
		}
	}
	b.Run("all", func(b *testing.B) { benchmark(b, all...) })
}

func benchmark(b *testing.B, subjects ...explore.Subject) {
	runs := 0
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		for _, s := range subjects {
			runs += exploreAll(b, s)
		}
	}
	b.ReportMetric(float64(runs)/(cpuTime(b)-before).Seconds(), "runs/cpu-s")
	b.ReportMetric(float64(runs)/b.Elapsed().Seconds(), "runs/s")
}

// exploreAll explores a subject on all CPUs and returns the number of runs.
func exploreAll(b *testing.B, s explore.Subject) int {
	x, err := explore.New(context.Background(), s, explore.Options{Runs: 2000})
	if err != nil {
		b.Fatal(err)
	}
	var runs, next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(x.Tasks()); i = next.Add(1) - 1 {
				runs.Add(int64(x.Do(context.Background(), int(i)).Runs()))
			}
		})
	}
	workers.Wait()
	return int(runs.Load())
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
