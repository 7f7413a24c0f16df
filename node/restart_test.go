package node_test

import (
	"testing"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A kubelet can stop at the instant at which several of its calls end: here two probes of a container that exits.
func TestKubeletStopsWhenCallsEnd(t *testing.T) {
	for seed := range int64(40) {
		recorder := &trace.Recorder{}
		n := node.New(node.Options{Seed: &seed, Trace: recorder})
		pod, program := healthy(0, 10)
		app := &pod.Spec.Containers[0]
		app.StartupProbe = nil
		app.LivenessProbe.TimeoutSeconds, app.ReadinessProbe.TimeoutSeconds = 30, 30
		hang := fakeruntime.Series{Items: []fakeruntime.Item{{Answer: fakeruntime.Answer{Word: fakeruntime.Hangs}}}}
		program.Containers = map[string]fakeruntime.ContainerConfig{"app": {Program: fakeruntime.Program{
			Rules: []fakeruntime.Rule{{Probes: &hang}, {From: fakeruntime.Draw{Min: 40 * time.Second, Max: 40 * time.Second}, Exit: &fakeruntime.Exit{Code: 1}}},
		}}}
		stopped := false
		n.Observe(func(r *trace.Record) {
			if r.Kind == trace.ContainerExited && !stopped {
				stopped = true
				n.At(r.T, func() { n.StopKubelet() })
				n.At(r.T.Add(time.Second), n.StartKubelet)
			}
		})
		n.At(0, func() { n.AddPod(pod, program) })
		if err := n.RunUntil(virtual.At(2 * time.Minute)); err != nil || !stopped {
			t.Errorf("seed %d: %v, the kubelet was stopped: %t", seed, err, stopped)
		}
		n.Close()
	}
}
