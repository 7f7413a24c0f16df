package node_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// healthy returns a pod with one container that always answers its three probes immediately.
func healthy(i int, period int32) (*v1.Pod, fakeruntime.Pod) {
	grace := int64(30)
	name := fmt.Sprintf("p%05d", i)
	probe := func() *v1.Probe {
		exec := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}
		return &v1.Probe{ProbeHandler: exec, PeriodSeconds: period, FailureThreshold: 3, SuccessThreshold: 1,
			TimeoutSeconds: 1}
	}
	app := v1.Container{Name: "app", Image: "app:1", ImagePullPolicy: v1.PullIfNotPresent,
		StartupProbe: probe(), LivenessProbe: probe(), ReadinessProbe: probe()}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace,
			Containers: []v1.Container{app}},
	}
	return pod, fakeruntime.Pod{UID: string(pod.UID), Namespace: pod.Namespace, Name: name}
}

// BenchmarkProbes reports the number of probes per second on one core, with a recorded trace: one
// pod, three probes with a period of 1 s, 24 virtual hours.
func BenchmarkProbes(b *testing.B) {
	b.ReportAllocs()
	probes := 0
	for range b.N {
		n := node.New(node.Options{})
		n.At(0, func() { n.AddPod(healthy(0, 1)) })
		if err := n.RunUntil(virtual.At(24 * time.Hour)); err != nil {
			b.Fatal(err)
		}
		for r := range n.Trace().All() {
			if r.Kind == trace.ProbeExecuted {
				probes++
			}
		}
		n.Close()
	}
	b.ReportMetric(float64(probes)/b.Elapsed().Seconds(), "probes/s")
}

// BenchmarkNode runs a node of 250 pods with three probes each at the default period, for an hour
// and for a day.
func BenchmarkNode(b *testing.B) {
	for _, hours := range []int{1, 24} {
		b.Run(fmt.Sprintf("%dh", hours), func(b *testing.B) {
			for range b.N {
				n := started(b, 250)
				if err := n.RunUntil(n.Now().Add(time.Duration(hours) * time.Hour)); err != nil {
					b.Fatal(err)
				}
				n.Close()
			}
		})
	}
}

// BenchmarkEvent reports the cost of one kernel event on nodes of different sizes, after all pods
// have started. Run it for at least a second: it advances in steps of one virtual second.
func BenchmarkEvent(b *testing.B) {
	for _, pods := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("%dpods", pods), func(b *testing.B) {
			n := started(b, pods)
			defer n.Close()
			before, until := n.Events(), n.Now()
			runtime.GC() // collect the garbage of the start
			b.ResetTimer()
			for n.Events()-before < int64(b.N) {
				until = until.Add(time.Second)
				if err := n.RunUntil(until); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n.Events()-before), "ns/event")
		})
	}
}

// BenchmarkQuickstart reports the runs per second of the scenario exec-liveness on all CPUs, 160 s
// of a pod with one probe after 150 s of an idle node: without a seed, with another seed each time,
// and the latter without the shortcuts of the kubelet.
func BenchmarkQuickstart(b *testing.B) {
	all, err := library.Scenarios()
	if err != nil {
		b.Fatal(err)
	}
	quickstart := all[slices.IndexFunc(all, func(s *scenarios.Scenario) bool {
		return s.Metadata.Name == "exec-liveness"
	})].Plans()[0]
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command does, in cmd/probesim/memory.go
	defer runtime.KeepAlive(make([]byte, 8_000_000))
	runtime.MemProfileRate = 0 // the command has no memory profile
	for _, c := range []struct {
		name   string
		seeded bool
		o      node.Options
	}{
		{name: "unseeded"},
		{name: "seeded", seeded: true},
		{name: "without-shortcuts", seeded: true, o: node.Options{}.FullLists()},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var runs atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for plan := *quickstart; pb.Next(); {
					if seed := runs.Add(1); c.seeded {
						plan.Seed = &seed
					}
					if err := simulate(&plan, c.o); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(runs.Load())/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// simulate runs a plan on a node with these options.
func simulate(plan *scenarios.Plan, o node.Options) error {
	o.Profile, _ = plan.Profile()
	o.Uptime, o.Seed, o.Delays, o.Config = &plan.Uptime, plan.Seed, plan.Delays, plan.Config
	n := node.New(o)
	defer n.Close()
	drive.Start(plan, n)
	return n.RunUntil(virtual.At(plan.Duration))
}

// started returns a node with this number of healthy pods, added 100 ms apart and running. It
// discards its records.
func started(b *testing.B, pods int) *node.Node {
	n := node.New(node.Options{Trace: &trace.Recorder{Sink: func(*trace.Record) {}}})
	for i := range pods {
		n.At(virtual.At(time.Duration(i)*100*time.Millisecond), func() { n.AddPod(healthy(i, 10)) })
	}
	if err := n.RunUntil(virtual.At(time.Duration(pods)*100*time.Millisecond + time.Minute)); err != nil {
		b.Fatal(err)
	}
	return n
}
