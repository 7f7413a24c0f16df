package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/kube/profile"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// instantRuntime is a runtime whose calls succeed immediately and change nothing.
type instantRuntime struct{ calls []fakeruntime.Method }

func (r *instantRuntime) Call(_ *sim.Proc, c fakeruntime.Call) *fakeruntime.Op {
	r.calls = append(r.calls, c.Method)
	return &fakeruntime.Op{Call: c, Done: true, ID: "id"}
}

func (r *instantRuntime) ListsEnds(ends []virtual.Time, _ virtual.Time, _ ...fakeruntime.Method) []virtual.Time {
	return append(ends, virtual.Max)
}

func (r *instantRuntime) SkipLists(*sim.Proc, int64, int) {}

func (r *instantRuntime) Release(*fakeruntime.Op) {}

func (r *instantRuntime) CancelProbes(string) {}

func (r *instantRuntime) Answer(c fakeruntime.Call) *fakeruntime.Op {
	return &fakeruntime.Op{Call: c, Done: true}
}

func (r *instantRuntime) Healthy() bool { return true }

func (r *instantRuntime) Down() bool { return false }

func (r *instantRuntime) DownAt(virtual.Time) bool { return false }

func (r *instantRuntime) LastOutage() virtual.Time { return virtual.Min }

func (r *instantRuntime) MountDelay(string) time.Duration { return 0 }

func (r *instantRuntime) Generation() uint64 { return 0 }

func (r *instantRuntime) EventInstance(string, string, string) int { return 0 }

func (r *instantRuntime) Instance(string) int { return 0 }

func (r *instantRuntime) Step(string) int64 { return 0 }

func (r *instantRuntime) LastStep(string, string) int64 { return 0 }

func (r *instantRuntime) NextAttempt(string, string) int { return 0 }

// backOffWorld has a kubelet and a pod whose container starts whenever its back-off allows it.
type backOffWorld struct {
	*Kubelet
	sim     *sim.Sim
	runtime *instantRuntime
	update  podUpdate
	ahead   time.Duration // of the wall clock
}

func newBackOffWorld(t *testing.T) *backOffWorld {
	w := &backOffWorld{sim: sim.New(sim.Options{}), runtime: &instantRuntime{}}
	t.Cleanup(w.sim.Close)
	wall := func(w virtual.Wall) time.Time { return time.Unix(0, 0).Add(w.Offset()) }
	now := func() time.Time { return wall(virtual.Wall(w.sim.Now()).Add(w.ahead)) }
	w.Kubelet = New(Options{
		Sim: w.sim, Trace: &trace.Recorder{}, Profile: profile.Newest(), Now: now, Wall: wall, Runtime: w.runtime,
		API: apiserver.New(apiserver.Options{Sim: w.sim, Trace: &trace.Recorder{}, Now: now}),
	})
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "ns", "web", "uid"
	pod.Spec.Containers = []v1.Container{{Name: "app"}}
	w.update = podUpdate{pod: pod}
	return w
}

// try syncs a pod whose container exited at the given times. It reports whether the container
// started, otherwise the end of its back-off.
func (w *backOffWorld) try(p *sim.Proc, finished ...virtual.Wall) (bool, virtual.Wall) {
	s := &podStatus{}
	for i := len(finished) - 1; i >= 0; i-- { // newest first
		s.containers = append(s.containers,
			fakeruntime.Container{Name: "app", Attempt: i, State: fakeruntime.Exited, FinishedAt: finished[i]})
	}
	var did syncResult
	w.startOrBackOff(p, w.update, &w.update.pod.Spec.Containers[0], s, &podActions{sandboxID: "sandbox"}, &did)
	if did.err {
		return false, *did.expires
	}
	return true, 0
}

// crashes makes the container crash a fixed time after each start, and returns the delays before
// the restarts.
func (w *backOffWorld) crashes(p *sim.Proc, ran time.Duration, n int) []time.Duration {
	var delays []time.Duration
	for range n {
		p.Sleep(ran)
		finished := virtual.Wall(p.Now())
		if started, expires := w.try(p, finished); !started {
			p.Sleep(virtual.Time(expires).Sub(p.Now()) - 1)
			if started, _ := w.try(p, finished); started {
				delays = append(delays, -1) // still in the back-off
			}
			p.Sleep(1)
			w.try(p, finished)
		}
		delays = append(delays, p.Now().Sub(virtual.Time(finished)))
	}
	return delays
}

// events returns the warnings and the Killing events of a run.
func (w *backOffWorld) events() string {
	var list []string
	for _, r := range w.trace.Records() {
		if r.Kind == trace.Event && (r.Type == v1.EventTypeWarning || r.Reason == "Killing") {
			list = append(list, fmt.Sprintf("%v %s", r.T, r.Reason))
		}
	}
	return strings.Join(list, ", ")
}

// addContainer adds a container to a status. The words are its state and then its probe results.
func (w *backOffWorld) addContainer(s *podStatus, name, words string) {
	c := fakeruntime.Container{ID: name, Name: name, SandboxID: "s"}
	state, rest, _ := strings.Cut(words, " ")
	switch state {
	case "none":
		return
	case "exit":
		c.State = fakeruntime.Exited
		if rest == "1" {
			c.ExitCode = 1
		}
	default:
		c.State = fakeruntime.ContainerState(state)
		w.store(name, strings.Fields(rest))
	}
	s.containers = append(s.containers, c)
}

// store stores probe results of a container.
func (w *backOffWorld) store(name string, list []string) {
	w.sim.Go("workers of "+name, func(p *sim.Proc) {
		for _, word := range list {
			probe, text, _ := strings.Cut(word, "=")
			to := map[string]*results.Manager{"liveness": w.results.Liveness, "startup": w.results.Startup}[probe]
			r := map[string]results.Result{"Success": results.Success, "Failure": results.Failure,
				"Unknown": results.Unknown}[text]
			to.Set(p, results.Subject{}, results.Update{ContainerID: containerIDPrefix + name, Result: r})
		}
	})
	w.sim.RunUntil(0)
}

// podWithInit returns a pod with the regular container app and with the named init containers. A +
// marks a sidecar with a startup and a liveness probe, a * a sidecar without probes.
func podWithInit(policy v1.RestartPolicy, init string) *v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: policy, Containers: []v1.Container{{Name: "app"}}}}
	for word := range strings.FieldsSeq(init) {
		c := v1.Container{Name: strings.TrimRight(word, "+*")}
		if c.Name != word {
			c.RestartPolicy = &always
		}
		if strings.HasSuffix(word, "+") {
			c.StartupProbe, c.LivenessProbe = &v1.Probe{}, &v1.Probe{}
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	return pod
}

func stateWith(name, word string) v1.ContainerStatus {
	c := v1.ContainerStatus{Name: name}
	failed := &v1.ContainerStateTerminated{ExitCode: 1}
	switch word {
	case "waiting":
		c.State.Waiting = &v1.ContainerStateWaiting{}
	case "done":
		c.State.Terminated = &v1.ContainerStateTerminated{}
	case "failed":
		c.State.Terminated = failed
	case "crashed":
		c.State.Waiting, c.LastTerminationState.Terminated = &v1.ContainerStateWaiting{}, failed
	default:
		started := word == "started"
		c.State.Running, c.Started = &v1.ContainerStateRunning{}, &started
	}
	return c
}

// probeWith returns a probe with a termination grace period, or without one for 0.
func probeWith(grace int64) *v1.Probe {
	if grace == 0 {
		return &v1.Probe{}
	}
	return &v1.Probe{TerminationGracePeriodSeconds: &grace}
}

func seconds(n int64) *int64 { return &n }
