package node_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A kubelet can stop at the instant at which several of its calls end: here two probes of a
// container that exits.
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
			Rules: []fakeruntime.Rule{{Probes: &hang},
				{From: fakeruntime.Draw{Min: 40 * time.Second, Max: 40 * time.Second},
					Exit: &fakeruntime.Exit{Code: 1}}},
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

// The next kubelet attaches and mounts the volumes whose mount the previous one has not ended. It
// only mounts the others again, one loop of 100 ms earlier. The delays make this loop decide which
// poll finds the volumes.
func TestKubeletStopsDuringAMount(t *testing.T) {
	for _, c := range []struct{ stop, delay, want time.Duration }{
		{time.Second, 1850 * time.Millisecond, 6801500 * time.Microsecond},
		{2200 * time.Millisecond, 1850 * time.Millisecond, 7701500 * time.Microsecond},
	} {
		n := node.New(node.Options{Delays: fakeruntime.Delays{VolumeMount: &fakeruntime.Draw{Min: c.delay,
			Max: c.delay}}})
		pod, program := healthy(0, 10)
		pod.Spec.Volumes = []v1.Volume{{Name: "cache",
			VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "cache", MountPath: "/cache"}}
		var started []virtual.Time
		n.Observe(func(r *trace.Record) {
			if r.Kind == trace.ContainerStarted {
				started = append(started, r.T)
			}
		})
		n.At(0, func() { n.AddPod(pod, program) })
		n.At(virtual.At(c.stop), func() { n.StopKubelet() })
		n.At(virtual.At(c.stop+3*time.Second), n.StartKubelet)
		if err := n.RunUntil(virtual.At(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if len(started) == 0 || started[len(started)-1] != virtual.At(c.want) {
			t.Errorf("with a stop at %v the container starts at %v, want %v", c.stop, started, c.want)
		}
		n.Close()
	}
}
