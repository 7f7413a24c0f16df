package check_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/manifests"
)

// BenchmarkTenWorkloads checks ten workloads of well-known charts on typical nodes, on as many cores as -cpu allows.
func BenchmarkTenWorkloads(b *testing.B) {
	const workloads = 10
	names, err := filepath.Glob("../scenarios/library/manifests/charts/*.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var files []check.File
	found := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		file := check.File{Name: name, Data: data}
		files = append(files, file)
		if err := check.EachWorkload([]check.File{file}, func(check.File, *manifests.Workload) scenarios.Errors { found++; return nil }); err != nil {
			b.Fatal(err)
		}
		if found >= workloads {
			break
		}
	}
	delays, _ := fakeruntime.DelaySet("typical")
	// As in the command, which has no memory profiler.
	defer runtime.KeepAlive(make([]byte, 40_000_000))
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 0
	for b.Loop() {
		c, err := check.New(files, check.Options{Nodes: bounds.Nodes{Delays: delays}})
		if err != nil {
			b.Fatal(err)
		}
		tasks := make(chan int, c.Tasks())
		for i := range c.Tasks() {
			tasks <- i
		}
		close(tasks)
		var group sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			group.Go(func() {
				for i := range tasks {
					if err := c.Do(context.Background(), i); err != nil {
						b.Error(err)
					}
				}
			})
		}
		group.Wait()
		b.ReportMetric(float64(c.Tasks()), "containers")
		b.ReportMetric(float64(c.Workloads()), "workloads")
	}
}
