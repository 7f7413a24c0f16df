package incident

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"probesim.dev/internal/input"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
)

// BenchmarkRead reads 50 MB of events in each of their forms, hostile lines of the same size, and
// 5,000 pods. Each takes less than 5 s, and less than 500 MB of memory at a time.
func BenchmarkRead(b *testing.B) {
	const size = 50 << 20
	fill := func(format string) func() []byte {
		return func() []byte {
			data := make([]byte, 0, size+1<<10)
			for i := 0; len(data) < size; i++ {
				data = fmt.Appendf(data, format, i, i%5000)
			}
			return data
		}
	}
	for name, data := range map[string]func() []byte{
		"describe": fill("  Warning  Unhealthy  %[1]ds (x4 over 2m)  kubelet  Liveness probe failed: Get " +
			"\"http://10.0.0.7:8080/healthz\": dial tcp 10.0.0.7:8080: connect: connection refused %[1]d\n"),
		"get events": fill("5m11s       Warning   Unhealthy   pod/web-%[2]d   Liveness probe failed: HTTP probe " +
			"failed with statuscode: 500 %[1]d\n"),
		"json": fill(
			`{"kind":"Event","apiVersion":"v1","type":"Warning","metadata":{"name":"e%[1]d","namespace":"default","uid":"5f8f3f0e-%[1]d","resourceVersion":"%[1]d"},"involvedObject":{"kind":"Pod","name":"web-%[2]d","namespace":"default","fieldPath":"spec.containers{app}"},"source":{"component":"kubelet","host":"n1"},"reason":"Unhealthy","message":"Liveness probe failed: HTTP probe failed with statuscode: 500","count":3,"firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2024-01-01T00:01:00Z"}` + "\n"),
		"log": fill(`I0302 10:00:01.500000    1234 prober.go:116] "Probe failed" probeType="Liveness" ` +
			`pod="default/web-%[2]d" podUID="u%[2]d" containerName="app" probeResult="failure" output="HTTP probe failed with statuscode: 500"` + "\n"),
		"prose": fill("we see that it is not ready %d and I do not know why, but the Liveness probe may have " +
			"been %d (see below) Normal\n"),
		"brackets": fill("[{\"a\":%[1]d\n"),
		"quotes": fill("> > > \x1b[31mWarning\x1b[0m Unhealthy pod/web-%[2]d (x4 over 2m %[1]d {kubelet " +
			"spec.containers{a Warning Warning Warning\n"),
		"parts":      fill("status:\n  state: {a: [%d\n \"conditions\": [{\n"),
		"yaml":       fill("kind: Pod\nmetadata: {name: web-%[2]d}\n  x: %[1]d\n"),
		"long lines": fill(strings.Repeat("I0000 Warning x (x1 over ", 2500) + "%[1]d %[2]d\n"),
		"pods":       func() []byte { return []byte(strings.Join(rows(5000), "")) },
	} {
		b.Run(name, func(b *testing.B) {
			text := data()
			b.SetBytes(int64(len(text)))
			debug.FreeOSMemory()
			for b.Loop() {
				var m runtime.MemStats
				r := Read([]input.File{{Name: "f", Data: text}})
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapSys-m.HeapReleased)/(1<<20), "MB-heap")
				b.ReportMetric(float64(len(r.Facts)), "facts")
				if name == "pods" {
					if err := report.Timeline(io.Discard, r.RunOf(r.Pods[:8]), document.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func rows(n int) []string {
	list := []string{"NAME READY STATUS RESTARTS AGE\n"}
	for i := range n {
		list = append(list, fmt.Sprintf("web-%d   0/1   CrashLoopBackOff   7 (2m ago)   5d\n", i))
	}
	return list
}
