package drive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// fakeWorld is a world that does nothing by itself and logs all calls.
type fakeWorld struct {
	now       virtual.Time
	queue     []call
	observers []func(*trace.Record)
	log       []string
	stopped   bool
}

type call struct {
	at virtual.Time
	do func()
}

func (w *fakeWorld) At(t virtual.Time, do func()) {
	w.queue = append(w.queue, call{max(t, w.now), do})
}

func (w *fakeWorld) Observe(f func(*trace.Record)) { w.observers = append(w.observers, f) }

func (w *fakeWorld) AddAdmitted(pod *v1.Pod, program fakeruntime.Pod) error {
	w.logf("add %s/%s replica %d of %s", pod.Namespace, program.Name, program.Replica, program.Workload)
	w.record(trace.Record{Kind: trace.PodAdded, Pod: pod.Namespace + "/" + pod.Name})
	return nil
}

func (w *fakeWorld) DeletePod(namespace, name string, grace *int64) error {
	text := "own grace"
	if grace != nil {
		text = fmt.Sprintf("grace %d", *grace)
	}
	w.logf("delete %s/%s, %s", namespace, name, text)
	w.record(trace.Record{Kind: trace.PodDeleteRequested, Pod: namespace + "/" + name})
	return nil
}

func (w *fakeWorld) KillContainer(k fakeruntime.Kill) bool {
	w.logf("kill %s %s, %s, remove %t", k.PodUID, k.Container, k.Reason, k.Remove)
	return k.Container != "ended"
}

func (w *fakeWorld) PatchPod(namespace, name string, patch []byte) error {
	w.logf("patch %s/%s %s", namespace, name, patch)
	return nil
}

func (w *fakeWorld) PatchPodStatus(namespace, name string, patch []byte) error {
	w.logf("patch status of %s/%s %s", namespace, name, patch)
	return nil
}

func (w *fakeWorld) ResizePod(namespace, name string, patch []byte) error {
	w.logf("resize %s/%s %s", namespace, name, patch)
	return nil
}

func (w *fakeWorld) AddEphemeralContainer(namespace, name string, c v1.EphemeralContainer,
	program fakeruntime.ContainerConfig) error {
	w.logf("add container %s to %s/%s with %d rules", c.Name, namespace, name, len(program.Program.Rules))
	return nil
}

func (w *fakeWorld) EvictPod(namespace, name string) error {
	w.logf("evict %s/%s", namespace, name)
	return nil
}

func (w *fakeWorld) SetManifest(pod *v1.Pod, program fakeruntime.Pod) error {
	w.logf("manifest of %s/%s, image %s, program %t", pod.Namespace, pod.Name, pod.Spec.Containers[0].Image,
		program.UID == string(pod.UID))
	return nil
}

func (w *fakeWorld) RemoveManifest(namespace, name string) error {
	w.logf("no manifest of %s/%s", namespace, name)
	return nil
}

func (w *fakeWorld) StopKubelet() bool {
	running := !w.stopped
	w.stopped = true
	w.logf("stop kubelet: %t", running)
	return running
}

func (w *fakeWorld) StartKubelet() {
	w.stopped = false
	w.logf("start kubelet")
}

func (w *fakeWorld) ShutDown() bool {
	listens := !w.stopped
	w.logf("shut down: %t", listens)
	return listens
}

func (w *fakeWorld) PowerOff(back virtual.Time) { w.logf("power off until %s", back) }

func (w *fakeWorld) SetDelays(list ...fakeruntime.Delays) {
	var all []string
	for _, d := range list {
		all = append(all, fmt.Sprint(*d.Exec))
	}
	w.logf("delays %s", all)
}

func (w *fakeWorld) SetAPIDown(down bool) { w.logf("API down: %t", down) }

func (w *fakeWorld) FailCalls(f fakeruntime.Fault) { w.logf("fail %d of %s", f.Count, f.Method) }

func (w *fakeWorld) StepClock(by time.Duration) { w.logf("clock: %v", by) }

func (w *fakeWorld) Occur(moment int) { w.logf("moment %d", moment) }

func (w *fakeWorld) OccurIn(podUID, container string, moment int) {
	w.logf("moment %d in %s of %s", moment, container, podUID)
}

func (w *fakeWorld) AddService(s *v1.Service) error {
	w.logf("add service %s/%s", s.Namespace, s.Name)
	return nil
}

func (w *fakeWorld) AddWorkload(d *appsv1.Deployment, _ func(*v1.Pod) fakeruntime.Pod) error {
	w.logf("add deployment %s/%s", d.Namespace, d.Name)
	return nil
}

func (w *fakeWorld) PatchWorkload(namespace, name string, patch []byte) error {
	w.logf("patch deployment %s/%s %s", namespace, name, patch)
	return nil
}

func (w *fakeWorld) UndoWorkload(namespace, name string, revision int64) error {
	w.logf("undo deployment %s/%s %d", namespace, name, revision)
	return nil
}

func (w *fakeWorld) SetRuntimeHealth(h fakeruntime.Health) { w.logf("runtime: %+v", h) }

func (w *fakeWorld) Record(r trace.Record) int64 {
	w.logf("%s %s %s", r.Kind, r.Reason, r.Message)
	w.record(r)
	return 0
}

func (w *fakeWorld) record(r trace.Record) {
	r.T = w.now
	for _, f := range w.observers {
		f(&r)
	}
}

func (w *fakeWorld) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%s %s", w.now, fmt.Sprintf(format, args...)))
}

// run executes the due calls in the order of time until the end.
func (w *fakeWorld) run() {
	for len(w.queue) > 0 {
		slices.SortStableFunc(w.queue, func(a, b call) int { return cmp.Compare(a.at, b.at) })
		next := w.queue[0]
		w.queue = w.queue[1:]
		w.now = next.at
		next.do()
	}
}

const drivenPods = `
apiVersion: v1
kind: PodList
items: [{metadata: {name: a}, spec: {containers: [{name: c, image: x}]}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  seeds: 1..3
  pods: [{name: a, at: 1s}, {name: api, at: 2s..4s, stagger: 0s..2s}]
  steps: `

// driven loads a scenario with steps and drives its first run.
const webYAML = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: w}]}
`

func driven(t *testing.T, steps string) *plan.Scenario {
	t.Helper()
	loaded, err := scenarios.LoadBytes("s.yaml", []byte(drivenPods+steps), nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0]
}

func TestDrive(t *testing.T) {
	s := driven(t, `[{at: 1m, delete: {pod: api}}, {at: 10s..20s, delete: {pod: a, gracePeriodSeconds: 0}},
		{since: {pod: api-1, becomes: {ready: true}}, after: 2s, delete: {pod: a}}, {at: 500ms, delete: {pod: a}}]`)
	w := &fakeWorld{}
	driver := Start(s.Plan("v1.37", nil), w)
	w.At(virtual.At(30*time.Second), func() {
		for _, name := range []string{"default/api-0", "default/api-1"} {
			w.record(trace.Record{Kind: trace.StatusPatched, Pod: name, Status: &trace.PodStatus{Ready: true}})
		}
	})
	w.run()
	want := []string{
		"1s add default/a replica 0 of a",
		"3s add default/api-0 replica 0 of api",
		"4s add default/api-1 replica 1 of api",
		"15s delete default/a, grace 0",
		"32s delete default/a, own grace",
		"1m0s delete default/api-0, own grace",
		"1m0s delete default/api-1, own grace",
	}
	if got := strings.Join(w.log, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("calls are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if missed := driver.Unreached(); len(missed) != 1 || missed[0].Step.Path != "spec.steps[3]" ||
		missed[0].Due != virtual.At(500*time.Millisecond) {
		t.Errorf("unreached: %v; want only the step before there is a pod", missed)
	}
}

// TestDriveWorld checks the calls that steps make, and that their effects end in time.
func TestDriveWorld(t *testing.T) {
	s := driven(t, `[{at: 10s, kill: {pod: api}}, {at: 1s, kill: {pod: api, reason: Error, remove: true}},
		{at: 5s, setDelays: {for: 20s, delays: {exec: 1s}}}, {at: 15s, setDelays: {delays: {set: slow, exec: 2s}}},
		{at: 30s, patch: {pod: a, metadata: {labels: {x: v, z: null}}}}, {at: 31s, evict: {pod: a}},
		{at: 31s, debug: {pod: a, container: {name: e, image: x}}},
		{at: 31s, resize: {pod: a, spec: {containers: [{name: c, resources: {}}]}}},
		{at: 32s, patch: {pod: a, status: {conditions: [{type: x/y, status: "True"}]}}}, {at: 33s, stepClock: {by: -1m}}]`)
	w := &fakeWorld{}
	driver := Start(s.Plan("v1.37", nil), w)
	w.run()
	want := []string{
		"1s add default/a replica 0 of a",
		"3s add default/api-0 replica 0 of api",
		"4s add default/api-1 replica 1 of api",
		"5s Step setDelays {for: 20s, delays: {exec: 1s}}",
		"5s delays [{1s 1s}]",
		"10s kill uid-default-api-0 c, OOMKilled, remove false",
		"10s kill uid-default-api-1 c, OOMKilled, remove false",
		"15s Step setDelays {delays: {set: slow, exec: 2s}}",
		"15s delays [{1s 1s} {2s 2s}]",
		"25s Step setDelays over",
		"25s delays [{2s 2s}]",
		"30s Step patch {pod: a, metadata: {labels: {x: v, z: null}}}",
		`30s patch default/a {"metadata":{"labels":{"x":"v","z":null}}}`,
		"31s evict default/a",
		"31s Step debug {pod: a, container: {name: e, image: x}}",
		"31s add container e to default/a with 0 rules",
		"31s Step resize {pod: a, spec: {containers: [{name: c, resources: {}}]}}",
		`31s resize default/a {"spec":{"containers":[{"name":"c","resources":{}}]}}`,
		`32s Step patch {pod: a, status: {conditions: [{type: x/y, status: "True"}]}}`,
		`32s patch status of default/a {"status":{"conditions":[{"status":"True","type":"x/y"}]}}`,
		"33s Step stepClock {by: -1m}",
		"33s clock: -1m0s",
	}
	if got := strings.Join(w.log, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("calls are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if missed := driver.Unreached(); len(missed) != 1 || missed[0].Step.Path != "spec.steps[1]" {
		t.Errorf("unreached: %v; want only the step before there is a pod", missed)
	}
}

// TestDriveKubelet checks that a step cannot stop a kubelet that is down.
func TestDriveKubelet(t *testing.T) {
	s := driven(t, `[{at: 10s, restartKubelet: {}}, {at: 12s, restartKubelet: {}}, {at: 20s, restartKubelet: `+
		`{downtime: 10s..20s}}]`)
	w := &fakeWorld{}
	driver := Start(s.Plan("v1.37", nil), w)
	w.run()
	want := []string{
		"10s stop kubelet: true", "12s stop kubelet: false", "13s start kubelet", "20s stop kubelet: true",
		"35s start kubelet",
	}
	if got := w.log[3:]; !slices.Equal(got, want) {
		t.Errorf("calls are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if missed := driver.Unreached(); len(missed) != 1 || missed[0].Step.Path != "spec.steps[1]" {
		t.Errorf("unreached: %v; want only the step while the kubelet is down", missed)
	}
}

// TestDriveReboot checks that the containers end after the kubelet.
func TestDriveReboot(t *testing.T) {
	s := driven(t, `[{at: 10s, rebootNode: {}}, {at: 30s, rebootNode: {}}, {at: 80s, rebootNode: {downtime: 10s..20s}}]`)
	w := &fakeWorld{}
	driver := Start(s.Plan("v1.37", nil), w)
	w.run()
	want := []string{
		"10s stop kubelet: true", "10s Step rebootNode ", "10s power off until 1m10s", "30s stop kubelet: false",
		"1m10s start kubelet",
		"1m20s stop kubelet: true", "1m20s Step rebootNode ", "1m20s power off until 1m35s", "1m35s start kubelet",
	}
	if got := w.log[3:]; !slices.Equal(got, want) {
		t.Errorf("calls are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if missed := driver.Unreached(); len(missed) != 1 || missed[0].Step.Path != "spec.steps[1]" {
		t.Errorf("unreached: %v; want only the step while the node is down", missed)
	}
}

// TestDriveOutages checks that an outage lasts until the last of several overlapping steps ends.
func TestDriveOutages(t *testing.T) {
	s := driven(t, `[{at: 10s, apiDown: {for: 10s}}, {at: 15s, apiDown: {for: 20s..30s}}, {at: 1m, apiDown: {}}]`)
	w := &fakeWorld{}
	Start(s.Plan("v1.37", nil), w)
	w.run()
	want := []string{
		"10s Step apiDown {for: 10s}", "10s API down: true", "15s Step apiDown {for: 20s..30s}",
		"20s Step apiDown over",
		"40s Step apiDown over", "40s API down: false", "1m0s Step apiDown {}", "1m0s API down: true",
	}
	if got := w.log[3:]; !slices.Equal(got, want) {
		t.Errorf("calls are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDriveRuntimeOutages checks that outages of the runtime add up, and that the kubelet does not
// start during one.
func TestDriveRuntimeOutages(t *testing.T) {
	s := driven(t, `[{at: 10s, runtimeDown: {for: 20s}}, {at: 15s, runtimeDown: {for: 10s, condition: NetworkReady}},
		{at: 20s, restartKubelet: {}}, {at: 40s, runtimeDown: {condition: RuntimeReady}}, {at: 50s, restartKubelet: {}}]`)
	w := &fakeWorld{}
	Start(s.Plan("v1.37", nil), w)
	w.run()
	want := []string{
		"10s Step runtimeDown {for: 20s}", "10s runtime: {Down:true RuntimeNotReady:false NetworkNotReady:false " +
			"RegistryDown:false}",
		"15s Step runtimeDown {for: 10s, condition: NetworkReady}",
		"15s runtime: {Down:true RuntimeNotReady:false NetworkNotReady:true RegistryDown:false}",
		"20s stop kubelet: true",
		"25s Step runtimeDown over", "25s runtime: {Down:true RuntimeNotReady:false NetworkNotReady:false " +
			"RegistryDown:false}",
		"30s Step runtimeDown over", "30s runtime: {Down:false RuntimeNotReady:false NetworkNotReady:false " +
			"RegistryDown:false}", "30s start kubelet",
		"40s Step runtimeDown {condition: RuntimeReady}",
		"40s runtime: {Down:false RuntimeNotReady:true NetworkNotReady:false RegistryDown:false}",
		"50s stop kubelet: true", "53s start kubelet",
	}
	if got := w.log[3:]; !slices.Equal(got, want) {
		t.Errorf("calls are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDriveMoments checks that the rules that wait for a moment hear of its first match, at its
// time.
func TestDriveMoments(t *testing.T) {
	text := webYAML + "---\napiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {duration: " +
		"1m, pods: [{name: web, containers: [{name: app, behavior: [" +
		"{since: {record: {kind: ContainerExited}}, exit: 1}, {since: {pod: web, record: {kind: ContainerStarted}, " +
		"instance: 1}, exit: 1}]}]}]}\n"
	all, err := scenarios.LoadBytes("s.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &fakeWorld{}
	Start(all[0].Plan("v1.37", nil), w)
	for i, at := range []time.Duration{10 * time.Second, 20 * time.Second} {
		w.At(virtual.At(at), func() {
			w.record(trace.Record{Kind: trace.ContainerStarted, Pod: "default/web", Container: "app", Instance: i})
			w.record(trace.Record{Kind: trace.ContainerStarted, Pod: "default/other", Container: "app", Instance: 1})
			w.record(trace.Record{Kind: trace.ContainerExited, Pod: "default/web", Container: "app", Instance: i})
		})
	}
	w.run()
	if got, want := w.log[1:], []string{"10s moment 0", "20s moment 1"}; !slices.Equal(got, want) {
		t.Errorf("calls are %q, want %q", got, want)
	}
}

func TestUnreachedSteps(t *testing.T) {
	s := driven(t, `[{since: {becomes: {ready: true}}, delete: {pod: a}}, {since: {record: {kind: PodRemoved}}, `+
		`after: 5s, delete: {pod: a}}]`)
	w := &fakeWorld{}
	driver := Start(s.Plan("v1.37", nil), w)
	w.At(virtual.At(30*time.Second), func() { w.record(trace.Record{Kind: trace.PodRemoved, Pod: "default/a"}) })
	w.run()
	missed := driver.Unreached()
	if len(missed) != 2 || missed[0].Due != virtual.At(value.OpenMaxTime) ||
		missed[1].Due != virtual.At(35*time.Second) {
		t.Errorf("unreached: %v; want both steps, because one moment never occurs and no pod is left after the other",
			missed)
	}
}

// TestDraws checks that draws depend only on the seed.
func TestDraws(t *testing.T) {
	s := driven(t, `[{at: 10s..20s, delete: {pod: a}}]`)
	seen := map[string]bool{}
	for _, p := range s.Plans() {
		first, second := drive(p), drive(s.Plan(p.Version, p.Seed))
		if first != second {
			t.Errorf("seed %d: the first run is\n%s\nand the second\n%s", *p.Seed, first, second)
		}
		seen[first] = true
	}
	if len(seen) != 3 {
		t.Errorf("three seeds give %d runs", len(seen))
	}
}

func drive(p *plan.Plan) string {
	w := &fakeWorld{}
	Start(p, w)
	w.run()
	return strings.Join(w.log, "\n")
}

// TestReplicasShareNoPod checks that a change to one pod does not affect the others.
func TestReplicasShareNoPod(t *testing.T) {
	s := driven(t, "[]")
	pods := s.Plan("v1.37", nil).Pods()
	pods[1].Pod.Spec.Containers[0].Image = "changed"
	for i, p := range append(s.Plan("v1.37", nil).Pods(), pods[2]) {
		if p.Pod.Spec.Containers[0].Image != "x" {
			t.Errorf("pod %d changed together with another pod", i)
		}
	}
}

// TestDriveManifests checks that steps write and remove manifests of static pods, and act on mirror
// pods only while there are some.
func TestDriveManifests(t *testing.T) {
	text := webYAML + "---\napiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {duration: " +
		"1m, pods: [{name: web, static: true, at: 5s}], steps: [" +
		"{at: 1s, setManifest: {}}, {at: 10s, setManifest: {spec: {containers: [{name: app, image: b}]}}}, {at: 11s, " +
		"delete: {}}, {at: 12s, kill: {}}, " +
		"{at: 20s, removeManifest: {}}, {at: 21s, removeManifest: {}}, {at: 22s, kill: {}}, {at: 30s, setManifest: " +
		"{}}]}\n"
	all, err := scenarios.LoadBytes("s.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &fakeWorld{}
	driver := Start(all[0].Plan("v1.37", nil), w)
	w.run()
	changed := "{spec: {containers: [{name: app, image: b}]}}"
	first, second := string(all[0].Plan("v1.37", nil).Pods()[0].Pod.UID), ""
	for _, line := range w.log {
		if _, uid, ok := strings.Cut(line, "kill "); ok {
			second, _, _ = strings.Cut(uid, " ")
		}
	}
	if first == second {
		t.Error("a changed manifest has the same UID")
	}
	want := []string{
		"5s Step setManifest ", "5s manifest of default/web-node, image w, program true",
		"10s Step setManifest " + changed, "10s manifest of default/web-node, image b, program true",
		"12s kill " + second + " app, OOMKilled, remove false",
		"20s Step removeManifest ", "20s no manifest of default/web-node",
		"30s Step setManifest {}", "30s manifest of default/web-node, image b, program true",
	}
	if got := strings.Join(w.log, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("calls are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	var missed []string
	for _, u := range driver.Unreached() {
		missed = append(missed, u.Step.Path)
	}
	if want := []string{"spec.steps[0]", "spec.steps[2]", "spec.steps[5]", "spec.steps[6]"}; !slices.Equal(missed,
		want) {
		t.Errorf("unreached: %v, want %v", missed, want)
	}
}
