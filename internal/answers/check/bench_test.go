package check_test

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
)

// BenchmarkOneContainer checks a pod with a container with three probes on typical nodes.
func BenchmarkOneContainer(b *testing.B) {
	benchmark(b, []input.File{{Name: "web.yaml", Data: []byte(pod(`
startupProbe: {httpGet: {path: /up, port: 80}, periodSeconds: 5, failureThreshold: 12}
livenessProbe: {httpGet: {path: /live, port: 80}}
readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 5}`))}})
}

// BenchmarkTenWorkloads checks ten workloads of well-known charts.
func BenchmarkTenWorkloads(b *testing.B) { benchmark(b, charts(b, 10)) }

// BenchmarkManifests checks 2,000 manifests.
func BenchmarkManifests(b *testing.B) {
	of := charts(b, 1<<30)
	var files []input.File
	for len(files) < 2000 {
		files = append(files, of[len(files)%len(of)])
	}
	benchmark(b, files)
}

// charts returns the files with the first workloads of the charts of the library.
func charts(b *testing.B, workloads int) []input.File {
	names, err := filepath.Glob("../../../scenarios/library/manifests/charts/*.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var files []input.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, input.File{Name: name, Data: data})
		if c, err := check.New(files, check.Options{}); err == nil && c.Workloads() >= workloads {
			break
		}
	}
	return files
}

// benchmark checks files on typical nodes, on as many cores as -cpu allows.
func benchmark(b *testing.B, files []input.File) {
	for b.Loop() {
		c, err := check.New(files, check.Options{Nodes: typical})
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
					c.Do(i)
				}
			})
		}
		group.Wait()
		c.Report()
		b.ReportMetric(float64(c.Tasks()), "containers")
	}
}
