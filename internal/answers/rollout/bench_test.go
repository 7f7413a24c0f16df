package rollout

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	"probesim.dev/internal/input"
	"probesim.dev/internal/value"
)

const benchManifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: example.com/web:1
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
`

func benchFiles(replicas int) []input.File {
	return []input.File{{Name: "web.yaml", Data: fmt.Appendf(nil, benchManifest, replicas)}}
}

func benchOptions() Options {
	start := value.Interval{Min: 8 * time.Second, Max: 15 * time.Second}
	return Options{Delays: "typical", Rate: 200,
		Latency: value.Interval{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond},
		App:     App{Start: value.Durations{Ordinary: &start}}}
}

// BenchmarkRun simulates one rollout.
func BenchmarkRun(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // as the command does
	for _, replicas := range []int{3, 50} {
		b.Run(fmt.Sprint(replicas, " replicas"), func(b *testing.B) {
			o := benchOptions()
			o.complete()
			list, _, err := load(benchFiles(replicas), nil, &o)
			if err != nil {
				b.Fatal(err)
			}
			healthy, err := list[0].healthy(&o)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := list[0].simulate(b.Context(), &o, healthy, int64(i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDeployment makes all the runs that probesim rollout makes for a Deployment, one after
// the other.
func BenchmarkDeployment(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Run(benchFiles(3), nil, benchOptions()); err != nil {
			b.Fatal(err)
		}
	}
}
