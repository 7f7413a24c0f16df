package measure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/input"
	"probesim.dev/internal/long"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
	"probesim.dev/trace"
)

// kubeletVariable names the program of conformance that runs scenarios on a real kubelet. Without
// it, the simulator runs them.
const kubeletVariable = "PROBESIM_KUBELET"

// workload is a random Deployment whose starts are known.
type workload struct {
	scenario string
	starts   map[string][]time.Duration // by container and instance; the last one is that of all later instances
}

// randomWorkload draws probes and starts. Instances end, and some starts are too long for their
// probes.
func randomWorkload(r *rand.Rand) workload {
	between := func(a, b int) int { return a + r.IntN(b-a+1) }
	w := workload{starts: map[string][]time.Duration{}}
	probe := func(of string, failures int) string {
		handler := []string{"httpGet: {port: 80}", "tcpSocket: {port: 80}", "exec: {command: [ok]}",
			"grpc: {port: 80}"}[r.IntN(4)]
		delay, successes := max(between(-15, 15), 0), 1
		if of == "readinessProbe" {
			successes = max(between(-4, 3), 1)
		}
		return fmt.Sprintf(", %s: {%s, initialDelaySeconds: %d, periodSeconds: %d, timeoutSeconds: %d, "+
			"failureThreshold: %d, successThreshold: %d}", of, handler, delay, between(1, 15), between(1, 4),
			between(1, failures), successes)
	}
	var specs, inits, programs []string
	if r.IntN(4) == 0 {
		inits = append(inits, "{name: migrate, image: \"web:1\"}")
		programs = append(programs, fmt.Sprintf("{name: migrate, behavior: [{after: %dms, exit: 0}]}",
			between(1, 9000)))
	}
	for _, name := range []string{"app", "side"}[:1+r.IntN(4)/3] {
		var probes string
		if which := between(1, 3); which != 1 {
			probes += probe("readinessProbe", 3)
		} else {
			probes += probe("startupProbe", 30)
		}
		if r.IntN(3) == 0 {
			probes += probe("livenessProbe", 10)
		}
		if r.IntN(3) == 0 && !strings.Contains(probes, "startupProbe") {
			probes += probe("startupProbe", 30)
		}
		var rules []string
		last := between(0, 2)
		for i := range last + 1 {
			start := time.Duration(between(1, 50_000)) * time.Millisecond
			w.starts[name] = append(w.starts[name], start)
			instances := fmt.Sprint(i)
			if i == last {
				instances += ".."
			}
			rules = append(rules, fmt.Sprintf("{instance: %s, for: %s, probes: down}", instances, start),
				fmt.Sprintf("{instance: %d, after: %s, exit: %d}", i,
					start+time.Duration(between(1, 90_000))*time.Millisecond, r.IntN(2)))
		}
		if spec := fmt.Sprintf("{name: %s, image: \"web:1\"%s", name, probes); name == "side" && r.IntN(2) == 0 {
			inits = append(inits, spec+", restartPolicy: Always}")
		} else {
			specs = append(specs, spec+"}")
		}
		programs = append(programs, fmt.Sprintf("{name: %s, behavior: [%s]}", name, strings.Join(rules, ", ")))
	}
	w.scenario = fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {initContainers: [%s], containers: [%s]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: known}
spec:
  duration: %ds
  kubernetesVersions: [v1.37]
  seeds: 1
  delays: {set: typical}
  pods: [{name: web, replicas: %d, at: %dms, containers: [%s]}]
`, strings.Join(inits, ", "), strings.Join(specs, ", "), between(60, 300), between(1, 3), between(0, 2999),
		strings.Join(programs, ", "))
	return w
}

// TestKnownStarts checks that the range of each measured start contains how long it took, on the
// real kubelet if there is one.
func TestKnownStarts(t *testing.T) {
	typical, _ := fakeruntime.DelaySet("typical")
	kubelet := os.Getenv(kubeletVariable)
	workloads, pods, starts, measured := long.Sample(100, 1000), 0, 0, 0
	for seed := range uint64(workloads) {
		r := rand.New(rand.NewPCG(seed, 4343))
		w := randomWorkload(r)
		loaded, err := scenarios.LoadBytes("scenario.yaml", []byte(w.scenario), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, w.scenario)
		}
		p := loaded[0].Plans()[0]
		records := run(t, kubelet, seed, w.scenario, p)
		for _, ready := range []moment{atResult, atPatch} {
			c := &cluster{zero: time.Date(2026, 5, 1, 10, 0, 0, r.IntN(1e9), time.UTC), ready: ready,
				all: r.IntN(2) == 0}
			for _, spec := range p.Specs() {
				c.record(spec, records)
			}
			report := measure.Of(incident.Read([]input.File{{Name: "pods.json", Data: c.text.Bytes()}}),
				measure.Options{Delays: typical})
			for _, of := range report.Workloads {
				for _, container := range of.Containers {
					for _, s := range container.Starts {
						if ready == atPatch {
							measured++
						}
						took := w.starts[container.Name][min(s.Instance, len(w.starts[container.Name])-1)]
						if took < s.Took.Min || took > s.Took.Max {
							t.Errorf("seed %d: instance %d of %s in %s takes %s to start, and measure says %v to "+
								"%v\n%s", seed, s.Instance, container.Name, s.Pod, took, s.Took.Min, s.Took.Max,
								w.scenario)
						}
					}
				}
			}
			starts += c.starts / 2 // of two readings
		}
		pods += len(p.Specs())
	}
	if measured < workloads {
		t.Errorf("only %d of %d starts are measured", measured, starts)
	}
	t.Logf("%d workloads, %d pods: %d of %d starts are measured; the kubelet is %q", workloads, pods, measured, starts,
		kubelet)
}

// TestKnownStartsOfRows checks the ranges that rows of kubectl get pods -w tell, with the workload
// and without it.
func TestKnownStartsOfRows(t *testing.T) {
	typical, _ := fakeruntime.DelaySet("typical")
	measured := map[bool]int{}
	for seed := range uint64(long.Sample(100, 1000)) {
		r := rand.New(rand.NewPCG(seed, 171))
		w := randomWorkload(r)
		loaded, err := scenarios.LoadBytes("scenario.yaml", []byte(w.scenario), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, w.scenario)
		}
		p := loaded[0].Plans()[0]
		records := run(t, "", seed, w.scenario, p)
		for _, withSpec := range []bool{false, true} {
			text := bytes.NewBufferString("NAME READY STATUS RESTARTS AGE\n")
			for _, spec := range p.Specs() {
				rows(text, spec, records, time.Duration(r.IntN(1e9)))
			}
			files := []input.File{{Name: "rows.txt", Data: text.Bytes()}}
			if withSpec {
				workload, _, _ := strings.Cut(w.scenario, "\n---\n")
				files = append(files, input.File{Name: "web.yaml", Data: []byte(workload)})
			}
			for _, of := range measure.Of(incident.Read(files), measure.Options{Delays: typical}).Workloads {
				for _, container := range of.Containers {
					for _, s := range container.Starts {
						measured[withSpec]++
						took := w.starts["app"][min(s.Instance, len(w.starts["app"])-1)]
						if took < s.Took.Min || took > s.Took.Max {
							t.Errorf("seed %d, with spec %v: instance %d in %s takes %s to start, and measure says "+
								"%v to %v\n%s%s", seed, withSpec, s.Instance, s.Pod, took, s.Took.Min, s.Took.Max,
								text, w.scenario)
						}
					}
				}
			}
		}
	}
	if min(measured[false], measured[true]) < 20 {
		t.Errorf("only %v starts are measured", measured)
	}
	t.Logf("measured starts: %v", measured)
}

// rows writes a row for each status of a pod, as kubectl get pods -w does (printPod in
// pkg/printers/internalversion/printers.go at v1.37.0). The creation is late in its second.
func rows(to *bytes.Buffer, spec *v1.Pod, records []trace.Record, late time.Duration) {
	var created time.Duration
	for i := range records {
		r := &records[i]
		switch {
		case r.Pod != spec.Namespace+"/"+spec.Name:
		case r.Kind == trace.PodAdded:
			created = r.T.Offset() - late
		case r.Kind == trace.StatusPatched:
			ready, restarts, status := 0, int32(0), r.Status.Phase
			for i, c := range r.Status.Containers[len(spec.Spec.InitContainers):] {
				if c.Ready {
					ready++
				}
				if restarts = max(restarts, c.RestartCount); i == 0 && c.State != "running" && c.Reason != "" {
					status = c.Reason
				}
			}
			fmt.Fprintf(to, "%s %d/%d %s %d %s\n", spec.Name, ready, len(spec.Spec.Containers), status, restarts,
				duration.HumanDuration(r.T.Offset()-created))
		}
	}
}

// run returns the trace of a scenario.
func run(t *testing.T, kubelet string, seed uint64, scenario string, p *plan.Plan) []trace.Record {
	t.Helper()
	if kubelet == "" {
		return simulate.Run(context.Background(), p, simulate.Options{}).Records
	}
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(kubelet, "trace", file, "--seed", fmt.Sprint(seed+1)).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%v: %s", err, exit.Stderr)
	}
	records, err := trace.ReadAll(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// moment is the time of a Ready condition. The kubelet takes it between the result of the probe and
// the patch of the status, and the trace has only these.
type moment bool

const (
	atResult moment = false
	atPatch  moment = true
)

// cluster writes pods as kubectl get -o json does: their last versions, or all of them, as with -w.
type cluster struct {
	zero   time.Time
	ready  moment
	all    bool
	text   bytes.Buffer
	starts int
}

// record writes a pod.
func (c *cluster) record(spec *v1.Pod, records []trace.Record) {
	pod := spec.DeepCopy()
	pod.APIVersion, pod.Kind, pod.Spec.NodeName = "v1", "Pod", "node-1"
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "1",
		Controller: new(true)}}
	at := func(r *trace.Record) metav1.Time {
		return metav1.Time{Time: c.zero.Add(r.T.Offset()).Truncate(time.Second)}
	}
	lives := map[string][]v1.ContainerStateTerminated{} // of a container, in the order of its instances
	ready := &v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse}
	pod.Status.Conditions = []v1.PodCondition{*ready}
	ready = &pod.Status.Conditions[0]
	var success *trace.Record
	for i := range records {
		r := &records[i]
		if r.Pod != pod.Namespace+"/"+pod.Name {
			continue
		}
		switch r.Kind {
		case trace.PodAdded:
			pod.CreationTimestamp, ready.LastTransitionTime = at(r), at(r)
		case trace.ContainerStarted:
			c.starts++
			lives[r.Container] = append(lives[r.Container], v1.ContainerStateTerminated{StartedAt: at(r)})
		case trace.ContainerExited:
			life := &lives[r.Container][r.Instance]
			life.ExitCode, life.Reason, life.FinishedAt = r.ExitCode, "Error", at(r)
		case trace.ProbeExecuted:
			if r.Result == trace.Success && r.Probe != trace.Liveness {
				success = r
			}
		case trace.StatusPatched:
			if is := r.Status.Ready; is != (ready.Status == v1.ConditionTrue) {
				ready.Status, ready.LastTransitionTime = map[bool]v1.ConditionStatus{true: v1.ConditionTrue,
					false: v1.ConditionFalse}[is], at(r)
				if is && c.ready == atResult {
					ready.LastTransitionTime = at(success)
				}
			}
			pod.Status.Phase, pod.Status.InitContainerStatuses,
				pod.Status.ContainerStatuses = v1.PodPhase(r.Status.Phase), nil, nil
			for i, s := range r.Status.Containers { // init containers come first
				of := &pod.Status.ContainerStatuses
				if i < len(pod.Spec.InitContainers) {
					of = &pod.Status.InitContainerStatuses
				}
				*of = append(*of, status(s, lives[s.Name]))
			}
			if c.all {
				c.write(pod)
			}
		}
	}
	c.write(pod)
}

// status is the status of a container, with the times of its instances.
func status(s trace.ContainerStatus, lives []v1.ContainerStateTerminated) v1.ContainerStatus {
	out := v1.ContainerStatus{Name: s.Name, Ready: s.Ready, Started: &s.Started, RestartCount: s.RestartCount}
	last := int(s.RestartCount)
	switch s.State {
	case "running":
		out.State.Running = &v1.ContainerStateRunning{StartedAt: lives[last].StartedAt}
		last--
	case "terminated":
		out.State.Terminated = &lives[last]
		last--
	default:
		out.State.Waiting = &v1.ContainerStateWaiting{Reason: s.Reason}
	}
	if last >= 0 && last < len(lives) {
		out.LastTerminationState.Terminated = &lives[last]
	}
	return out
}

func (c *cluster) write(pod *v1.Pod) {
	data, err := json.Marshal(pod)
	if err != nil {
		panic(err)
	}
	c.text.Write(append(data, '\n'))
}
