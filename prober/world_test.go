package prober

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/profile"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// world is a manager in a scripted environment: a stored status, a runner that answers from a list,
// and a sync loop that receives the results.
type world struct {
	t       testing.TB
	sim     *sim.Sim
	manager *manager // nil in the scripts of the preview
	managed Manager  // manager, or one of the preview
	stored  Results
	pod     *v1.Pod
	status  v1.PodStatus // as stored
	known   bool         // a status is stored
	answers map[string][]string
	verbose bool
	out     strings.Builder
}

type worldOptions struct {
	t       testing.TB
	pod     *v1.Pod
	uptime  time.Duration // of the kubelet at 0 s
	profile profile.Profile
	verbose bool
	chooser choose.Chooser
	// newManager is NewManager if it is nil.
	newManager func(Options) Manager
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func epochTime() metav1.Time { return metav1.NewTime(epoch) }

// newWorld returns a world at 0 s.
func newWorld(o worldOptions) *world {
	w := &world{t: o.t, pod: o.pod, verbose: o.verbose, answers: map[string][]string{}}
	w.sim = sim.New(sim.Options{Start: virtual.At(-o.uptime), Chooser: o.chooser})
	w.status.Phase, w.status.PodIP = v1.PodRunning, "10.64.0.1"
	recorder := &trace.Recorder{Internal: true}
	recorder.Observe(w.observe)
	w.stored = Results{
		Liveness:  w.results(recorder, trace.Liveness, o.profile),
		Readiness: w.results(recorder, trace.Readiness, o.profile),
		Startup:   w.results(recorder, trace.Startup, o.profile),
	}
	if o.newManager == nil {
		o.newManager = NewManager
	}
	w.managed = o.newManager(Options{
		Sim: w.sim, Trace: recorder, Profile: o.profile, Now: func() time.Time {
			return epoch.Add(w.sim.Now().Offset())
		},
		Status: w, Runner: w, Network: w, Events: w, Instance: func(id string) int {
			return map[string]int{"c1": 3}[id]
		},
		Step: func(string) int64 { return 0 }, Results: w.stored,
	})
	w.manager, _ = w.managed.(*manager)
	w.runUntil(0)
	return w
}

func (w *world) runUntil(t time.Duration) {
	w.t.Helper()
	if err := w.sim.RunUntil(virtual.At(t)); err != nil {
		w.t.Fatal(err)
	}
}

// results returns a results manager, and starts a process that receives its updates.
func (w *world) results(recorder *trace.Recorder, probe trace.Probe, p profile.Profile) *results.Manager {
	m := results.NewManager(w.sim, probe, recorder)
	if p.MutableContainerProbes {
		m = results.NewMutableManager(w.sim, probe, recorder)
	}
	w.sim.Go(string(probe)+" updates", func(p *sim.Proc) {
		for {
			if u := m.Updates().Recv(p); w.managed.IsResultCurrent(p, u, probe) {
				w.log("%s of %s is %s", probe, u.ContainerID, u.Result)
			} else {
				w.log("%s of %s was %s", probe, u.ContainerID, u.Result)
			}
		}
	})
	return m
}

// second returns a time in whole seconds, as the status manager stores it.
func (w *world) second(t time.Duration) metav1.Time {
	return metav1.NewTime(epoch.Add(t).Truncate(time.Second))
}

// Snapshot returns the present status. It is outdated immediately, because a script can change the
// status at any time.
func (w *world) Snapshot(types.UID) (*status.Snapshot, bool) {
	return &status.Snapshot{Status: w.status.DeepCopy(), Outdated: true}, w.known
}

// answer waits for the duration of the next answer of a probe and returns the answer.
func (w *world) answer(p *sim.Proc, probe trace.Probe, retry bool) string {
	answer := "ok"
	if list := w.answers[string(probe)]; len(list) > 0 {
		answer = list[0]
		if len(list) > 1 {
			w.answers[string(probe)] = list[1:]
		}
	}
	if retry {
		w.log("%s probe is tried again", probe)
	}
	if i := strings.LastIndex(answer, "/"); i >= 0 {
		if d, err := time.ParseDuration(answer[i+1:]); err == nil {
			p.Sleep(d)
			return answer[:i]
		}
	}
	return answer
}

// Connect returns the next answer of the probe.
func (w *world) Connect(p *sim.Proc, c Connection) Reply {
	answer := w.answer(p, c.Probe, c.Retry)
	code, location, _ := strings.Cut(answer, ">")
	if n, err := strconv.Atoi(code); err == nil {
		return Reply{Code: n, Location: location, Body: "fine"}
	}
	if strings.ToUpper(answer) == answer {
		return Reply{Status: answer}
	}
	reply, known := map[string]Reply{
		"ok": {Code: 200, Status: "SERVING", Body: "fine"}, "timeout": {TimedOut: true},
		"hang": {TimedOut: true, Unanswered: true}, "silent": {HandshakeTimeout: true, Unanswered: true},
		"refused": {Refused: true, Unanswered: true}, "closed": {HungUp: true},
		"broken": {Code: 200, BodyTruncated: true}, "reset": {TransportError: "reset"},
	}[answer]
	if !known {
		w.t.Fatalf("unknown answer %q", answer)
	}
	return reply
}

// RunInContainer returns the next answer of the probe.
func (w *world) RunInContainer(p *sim.Proc, c Command) Output {
	answer := w.answer(p, c.Probe, c.Retry)
	switch answer {
	case "ok":
		return Output{Text: "fine"}
	case "fail":
		return Output{Text: "broken", ExitCode: 1}
	case "timeout":
		return Output{TimedOut: true, Err: fmt.Errorf("command timed out: %v", c.Timeout)}
	case "error":
		return Output{Err: errors.New("no such container")}
	}
	w.t.Fatalf("unknown answer %q", answer)
	return Output{}
}

func (w *world) ContainerEvent(_ *v1.Pod, container, eventType, reason, message string) int64 {
	w.log("event %s %s about %s: %s", eventType, reason, container, message)
	return 0
}

func (w *world) observe(r *trace.Record) {
	switch {
	case r.Kind == trace.ProbeExecuted:
		w.log("%s probe of %s: %s %q", r.Probe, r.Container, r.Result, r.Message)
	case r.Kind == trace.ManualTrigger:
		w.log("%s of %s is triggered", r.Probe, r.Container)
	case r.Kind == trace.ProbeSkipped && w.verbose:
		w.log("%s of %s is not probed: %s", r.Probe, r.Container, r.Reason)
	}
}

// syncPod generates the pod's status and then stores it, as a sync of the pod does.
func (w *world) syncPod() {
	w.sim.Go("pod worker", func(p *sim.Proc) {
		status := w.status.DeepCopy()
		w.managed.UpdatePodStatus(p, w.pod, status)
		w.status = *status
		for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
			w.log("status of %s: started=%v ready=%v", c.Name, *c.Started, c.Ready)
		}
	})
}

// workers lists the workers and the stored results.
func (w *world) workers() string {
	var list, stored []string
	switch m := w.managed.(type) {
	case *manager:
		for k := range m.workers {
			list = append(list, k.Container+" "+string(k.ProbeType))
		}
	case fmt.Stringer:
		if all := m.String(); all != "" {
			list = append(list, all)
		}
	}
	slices.Sort(list)
	for _, id := range []string{"c1", "c2", "d1"} {
		for _, m := range []struct {
			probe trace.Probe
			*results.Manager
		}{
			{trace.Startup, w.stored.Startup}, {trace.Readiness, w.stored.Readiness},
			{trace.Liveness, w.stored.Liveness},
		} {
			if r, ok := m.Get(id); ok {
				stored = append(stored, fmt.Sprintf("%s of %s is %s", m.probe, id, r))
			}
		}
	}
	return fmt.Sprintf("workers: %s; results: %s", orNone(list), orNone(stored))
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
