package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// script builds the records of a run by hand.
type script struct {
	rec trace.Recorder
}

func (s *script) add(t float64, r trace.Record) {
	r.T = virtual.At(time.Duration(t * float64(time.Second)).Round(time.Millisecond))
	s.rec.Add(r)
}

func (s *script) pod(t float64, kind trace.Kind, pod string) {
	s.add(t, trace.Record{Kind: kind, Pod: pod})
}

func (s *script) life(t float64, kind trace.Kind, pod, container string, instance int, code int32) {
	r := trace.Record{Kind: kind, Pod: pod, Container: container, Instance: instance, ExitCode: code}
	if kind == trace.ContainerStopping {
		r.GraceSeconds, r.Reason = 30, "LivenessProbe"
	}
	s.add(t, r)
}

func (s *script) probe(t float64, pod, container string, instance int, probe trace.Probe, result trace.Result,
	message string) {
	s.add(t, trace.Record{Kind: trace.ProbeExecuted, Pod: pod, Container: container, Instance: instance,
		Probe: probe, Result: result, Message: message, Took: 20 * time.Millisecond})
	if result == trace.Failure {
		title := map[trace.Probe]string{trace.Startup: "Startup", trace.Liveness: "Liveness",
			trace.Readiness: "Readiness"}[probe]
		s.event(t, pod, container, instance, "Warning", "Unhealthy", title+" probe failed: "+message)
	}
}

func (s *script) event(t float64, pod, container string, instance int, typ, reason, message string) {
	s.add(t, trace.Record{Kind: trace.Event, Pod: pod, Container: container, Instance: instance, Type: typ,
		Reason: reason, Message: message})
}

func (s *script) status(t float64, pod string, ready bool, containers ...trace.ContainerStatus) {
	s.add(t, trace.Record{Kind: trace.StatusPatched, Pod: pod,
		Status: &trace.PodStatus{Phase: "Running", Initialized: true,
			Ready: ready, ContainersReady: ready, Containers: containers}})
}

func running(name string, started, ready bool, restarts int32) trace.ContainerStatus {
	return trace.ContainerStatus{Name: name, State: "running", Started: started, Ready: ready, RestartCount: restarts}
}

func waiting(name, reason string, restarts int32) trace.ContainerStatus {
	return trace.ContainerStatus{Name: name, State: "waiting", Reason: reason, RestartCount: restarts}
}

const web = "default/web"

func (s *script) start(t float64, instance int) {
	s.event(t-0.088, web, "app", instance, "Normal", "Pulled",
		`Container image "app:1" already present on machine and can be accessed by the pod`)
	s.event(t-0.057, web, "app", instance, "Normal", "Created", "Container created")
	s.life(t, trace.ContainerStarted, web, "app", instance, 0)
	s.event(t, web, "app", instance, "Normal", "Started", "Container started")
	s.status(t+0.009, web, false, running("app", false, false, int32(instance)))
}

// restart returns the run of a pod whose startup probe succeeds after 9 s and whose liveness probe
// fails from 60 s.
func restart(until float64) []trace.Record {
	s := &script{}
	s.pod(0, trace.PodAdded, web)
	s.status(0.013, web, false, waiting("app", "ContainerCreating", 0))
	s.start(0.3, 0)
	for _, t := range []float64{3.02, 6.02} {
		s.probe(t, web, "app", 0, trace.Startup, trace.Failure, "starting")
	}
	s.probe(9.02, web, "app", 0, trace.Startup, trace.Success, "")
	s.status(9.02, web, false, running("app", true, false, 0))
	s.probe(9.04, web, "app", 0, trace.Readiness, trace.Success, "")
	s.status(9.04, web, true, running("app", true, true, 0))
	for t := 10.02; t < 81; t += 5 {
		if int(t)%10 == 0 && t < 60 {
			s.probe(t, web, "app", 0, trace.Liveness, trace.Success, "")
		} else if int(t)%10 == 0 {
			s.probe(t, web, "app", 0, trace.Liveness, trace.Failure, "broken")
		}
		s.probe(t+4.02, web, "app", 0, trace.Readiness, trace.Success, "")
	}
	s.event(80.02, web, "app", 0, "Normal", "Killing", "Container app failed liveness probe, will be restarted")
	s.life(80.02, trace.ContainerStopping, web, "app", 0, 0)
	s.life(85.027, trace.ContainerExited, web, "app", 0, 143)
	s.start(85.115, 1)
	s.probe(85.145, web, "app", 1, trace.Readiness, trace.Failure, "starting")
	s.probe(90.02, web, "app", 1, trace.Startup, trace.Failure, "starting")
	s.probe(93.02, web, "app", 1, trace.Startup, trace.Success, "")
	s.status(93.03, web, false, running("app", true, false, 1))
	s.probe(93.04, web, "app", 1, trace.Readiness, trace.Success, "")
	s.status(93.05, web, true, running("app", true, true, 1))
	for t := 98.04; t < until; t += 5 {
		s.probe(t, web, "app", 1, trace.Readiness, trace.Success, "")
		if int(t)%2 == 0 {
			s.probe(t+2, web, "app", 1, trace.Liveness, trace.Success, "")
		}
	}
	return s.rec.Records()
}

// crashLoop returns the run of a pod whose program exits 20 s after each start.
func crashLoop(until float64) []trace.Record {
	s := &script{}
	s.pod(0, trace.PodAdded, web)
	s.status(0.013, web, false, waiting("app", "ContainerCreating", 0))
	backOff := 0.0
	for t, n := 0.3, 0; t < until; n++ {
		s.start(t, n)
		s.status(t+0.02, web, true, running("app", true, true, int32(n)))
		for p := 5.0; p < 20; p += 5 {
			s.probe(t+p, web, "app", n, trace.Liveness, trace.Success, "")
		}
		t += 20
		s.life(t, trace.ContainerExited, web, "app", n, 1)
		s.status(t+0.7, web, false, trace.ContainerStatus{Name: "app", State: "terminated", Reason: "Error",
			ExitCode: 1, RestartCount: int32(n)})
		if backOff > 0 {
			s.status(t+1.2, web, false, waiting("app", "CrashLoopBackOff", int32(n)))
			s.event(t+1.2, web, "app", n, "Warning", "BackOff",
				"Back-off restarting failed container app in pod web_default(1)")
		}
		t += max(backOff, 1)
		backOff = min(max(10, 2*backOff), 300)
	}
	return s.rec.Records()
}

// sidecar returns the run of a pod with two containers that is deleted at 40 s.
func sidecar() []trace.Record {
	s := &script{}
	s.pod(2, trace.PodAdded, web)
	s.status(2.01, web, false, waiting("proxy", "PodInitializing", 0), waiting("app", "PodInitializing", 0))
	s.life(2.3, trace.ContainerStarted, web, "proxy", 0, 0)
	s.life(2.4, trace.ContainerStarted, web, "app", 0, 0)
	s.status(2.5, web, false, running("proxy", true, true, 0), running("app", true, false, 0))
	for t := 3.0; t < 40; t += 2 {
		result := trace.Success
		if t < 8 || t == 21 {
			result = trace.Failure
		}
		s.probe(t, web, "app", 0, trace.Readiness, result, "HTTP probe failed with statuscode: 503")
		s.probe(t+0.7, web, "proxy", 0, trace.Liveness,
			map[bool]trace.Result{true: trace.Error, false: trace.Success}[t == 15], "")
	}
	s.status(9, web, true, running("proxy", true, true, 0), running("app", true, true, 0))
	s.status(21.01, web, false, running("proxy", true, true, 0), running("app", true, false, 0))
	s.status(23.01, web, true, running("proxy", true, true, 0), running("app", true, true, 0))
	s.pod(40, trace.PodDeleteRequested, web)
	s.life(40.1, trace.ContainerStopping, web, "app", 0, 0)
	s.life(40.1, trace.ContainerStopping, web, "proxy", 0, 0)
	s.life(40.3, trace.ContainerExited, web, "proxy", 0, 0)
	s.life(48.3, trace.ContainerExited, web, "app", 0, 137)
	s.pod(49, trace.PodRemoved, web)
	return s.rec.Records()
}

// unborn returns the run of three pods without a status: nothing happens to the first, the second
// runs, and the third is added late.
func unborn() []trace.Record {
	s := &script{}
	s.pod(0, trace.PodAdded, web)
	s.pod(0, trace.PodAdded, "default/mute")
	s.life(10, trace.ContainerStarted, "default/mute", "app", 0, 0)
	s.pod(59, trace.PodAdded, "default/late")
	return s.rec.Records()
}

// stepped returns a run with steps on the node and on a container.
func stepped() []trace.Record {
	s := &script{}
	s.pod(0, trace.PodAdded, web)
	s.start(0.3, 0)
	s.add(20, trace.Record{Kind: trace.Step, Reason: "setDelays", Message: "{for: 30s, delays: {exec: 2s}}"})
	s.add(30, trace.Record{Kind: trace.Step, Pod: web, Container: "app", Reason: "kill", Message: "OOMKilled"})
	s.life(30, trace.ContainerExited, web, "app", 0, 137)
	s.start(31, 1)
	s.add(50, trace.Record{Kind: trace.Step, Reason: "setDelays", Message: trace.StepOver})
	s.add(55, trace.Record{Kind: trace.Step, Pod: web, Reason: "evict"})
	return s.rec.Records()
}

// replicas returns the run of n pods that become ready one after the other. Every third pod crashes
// once, and the kubelet is down for 10 s.
func replicas(n int) []trace.Record {
	s := &script{}
	var records []trace.Record
	for i := range n {
		pod := fmt.Sprintf("shop/api-%d", i)
		at := float64(i)
		s.pod(at, trace.PodAdded, pod)
		s.status(at+0.1, pod, false, waiting("app", "ContainerCreating", 0))
		s.life(at+0.3, trace.ContainerStarted, pod, "app", 0, 0)
		s.event(at+0.3, pod, "app", 0, "Normal", "Started", "Container started")
		s.status(at+5, pod, true, running("app", true, true, 0))
		if i%3 == 1 {
			s.life(at+20, trace.ContainerExited, pod, "app", 0, 2)
			s.status(at+20.1, pod, false, waiting("app", "CrashLoopBackOff", 0))
			s.event(at+20.2, pod, "app", 0, "Warning", "BackOff", "Back-off restarting failed container app in pod "+
				pod)
			s.life(at+30, trace.ContainerStarted, pod, "app", 1, 0)
			s.status(at+33, pod, true, running("app", true, true, 1))
		}
	}
	s.add(40, trace.Record{Kind: trace.KubeletStopped})
	s.add(50, trace.Record{Kind: trace.KubeletStarted})
	records = append(records, s.rec.Records()...)
	slices.SortStableFunc(records, func(a, b trace.Record) int { return cmp.Compare(a.T, b.T) })
	return records
}
