package library

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// run is a completed run.
type run struct {
	version   value.Version
	records   []trace.Record
	unreached []drive.Unreached
	results   []expect.Result
}

func (r *run) hash() string { return trace.Hash(r.records) }

// options change a run.
type options struct {
	internal bool // keep internal records
	mutation mutation
}

// simulate runs a plan.
func simulate(t testing.TB, plan *scenarios.Plan, o options) *run {
	t.Helper()
	known, ok := plan.Profile()
	if !ok {
		t.Fatalf("there is no profile of Kubernetes %s", plan.Version)
	}
	delays := plan.Delays
	if o.mutation.quick {
		delays = fakeruntime.Delays{}
	}
	config := plan.Config
	if o.mutation.room {
		config.Allocatable = kubeletconfig.Allocatable{}
	}
	n := node.New(node.Options{
		Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: delays, Config: config,
		ControlPlane: plan.ControlPlane(),
		Trace:        &trace.Recorder{Internal: o.internal, Details: plan.Scenario.NeedsDetails()},
	})
	defer n.Close()
	driver := drive.Start(plan, &mutated{Node: n, mutation: o.mutation, written: map[string]bool{}})
	if err := n.RunUntil(virtual.At(plan.Duration)); err != nil {
		t.Fatal(err)
	}
	version, err := value.ParseVersion(plan.Version)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{version: version, records: n.Trace().Records(), unreached: driver.Unreached()}
	results, err := expect.Check(plan, expect.Run{Records: r.records, Internal: o.internal})
	if err != nil {
		t.Fatal(err)
	}
	r.results = results
	return r
}

// mutation is a change of a scenario. The zero value changes nothing.
type mutation struct {
	name           string
	rule           *fakeruntime.Rule // added to every program as its last rule
	change         func(*v1.Pod)     // applied to every pod unless nil
	withoutExits   bool              // programs do not exit on their own
	withoutSteps   bool              // deletions and changes of manifests do not happen
	withoutDebug   bool              // no ephemeral containers are added
	withoutResizes bool              // resizes do not happen
	withoutRollout bool              // Deployments do not change
	deployment     func(*appsv1.DeploymentSpec)
	alone          bool // the API server goes down before the first manifest
	withoutPatches bool // patches do not happen
	nothingDown    bool // no outages of the API server, the runtime or the node
	steadyClock    bool // the wall clock does not step
	quick          bool // all calls take the usual time
	noFaults       bool // no single call fails
	room           bool // the node has the default resources
}

// mutated is a node with a mutation.
type mutated struct {
	*node.Node
	mutation mutation
	written  map[string]bool // static pods with a manifest
}

func (w *mutated) AddAdmitted(pod *v1.Pod, program fakeruntime.Pod) error {
	pod = pod.DeepCopy()
	return w.Node.AddPod(pod, w.mutate(pod, program))
}

func (w *mutated) ResizePod(namespace, name string, patch []byte) error {
	if w.mutation.withoutResizes {
		return nil
	}
	return w.Node.ResizePod(namespace, name, patch)
}

func (w *mutated) AddEphemeralContainer(namespace, name string, c v1.EphemeralContainer,
	program fakeruntime.ContainerConfig) error {
	if w.mutation.withoutDebug {
		return nil
	}
	return w.Node.AddEphemeralContainer(namespace, name, c, w.mutateProgram(program))
}

func (w *mutated) AddWorkload(d *appsv1.Deployment, program func(*v1.Pod) fakeruntime.Pod) error {
	d = d.DeepCopy()
	if w.mutation.deployment != nil {
		w.mutation.deployment(&d.Spec)
	}
	if w.mutation.change != nil {
		pod := &v1.Pod{Spec: d.Spec.Template.Spec}
		w.mutation.change(pod)
		d.Spec.Template.Spec = pod.Spec
	}
	return w.Node.AddWorkload(d, func(pod *v1.Pod) fakeruntime.Pod { return w.mutate(pod.DeepCopy(), program(pod)) })
}

func (w *mutated) PatchWorkload(namespace, name string, patch []byte) error {
	if w.mutation.withoutRollout {
		return nil
	}
	return w.Node.PatchWorkload(namespace, name, patch)
}

func (w *mutated) UndoWorkload(namespace, name string, revision int64) error {
	if w.mutation.withoutRollout {
		return nil
	}
	return w.Node.UndoWorkload(namespace, name, revision)
}

func (w *mutated) SetManifest(pod *v1.Pod, program fakeruntime.Pod) error {
	if w.mutation.withoutSteps && w.written[pod.Name] {
		return nil
	}
	if w.mutation.alone {
		w.Node.SetAPIDown(true)
	}
	w.written[pod.Name] = true
	return w.Node.SetManifest(pod, w.mutate(pod, program))
}

func (w *mutated) RemoveManifest(namespace, name string) error {
	if w.mutation.withoutSteps {
		return nil
	}
	return w.Node.RemoveManifest(namespace, name)
}

// mutate changes the pod, and returns the changed program.
func (w *mutated) mutate(pod *v1.Pod, program fakeruntime.Pod) fakeruntime.Pod {
	containers := map[string]fakeruntime.ContainerConfig{}
	for _, c := range containersOf(pod) {
		containers[c.Name] = w.mutateProgram(program.Containers[c.Name])
	}
	program.Containers = containers
	if w.mutation.quick {
		program.Delays = fakeruntime.Delays{}
	}
	if w.mutation.change != nil {
		w.mutation.change(pod)
	}
	return program
}

func (w *mutated) mutateProgram(config fakeruntime.ContainerConfig) fakeruntime.ContainerConfig {
	if w.mutation.quick {
		config.Delays = fakeruntime.Delays{}
	}
	if w.mutation.withoutExits {
		config.Program.Rules = slices.DeleteFunc(slices.Clone(config.Program.Rules),
			func(r fakeruntime.Rule) bool { return r.Exit != nil })
	}
	if w.mutation.rule != nil {
		rules := config.Program.Rules
		config.Program.Rules = append(rules[:len(rules):len(rules)], *w.mutation.rule)
	}
	return config
}

func containersOf(pod *v1.Pod) []*v1.Container {
	var all []*v1.Container
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

func (w *mutated) SetAPIDown(down bool) {
	if !w.mutation.nothingDown {
		w.Node.SetAPIDown(down)
	}
}

func (w *mutated) SetDelays(list ...fakeruntime.Delays) {
	if !w.mutation.quick {
		w.Node.SetDelays(list...)
	}
}

func (w *mutated) FailCalls(f fakeruntime.Fault) {
	if !w.mutation.noFaults {
		w.Node.FailCalls(f)
	}
}

func (w *mutated) SetRuntimeHealth(h fakeruntime.Health) {
	if !w.mutation.nothingDown {
		w.Node.SetRuntimeHealth(h)
	}
}

func (w *mutated) StepClock(by time.Duration) {
	if !w.mutation.steadyClock {
		w.Node.StepClock(by)
	}
}

func (w *mutated) ShutDown() bool { return !w.mutation.nothingDown && w.Node.ShutDown() }

func (w *mutated) DeletePod(namespace, name string, gracePeriodSeconds *int64) error {
	if w.mutation.withoutSteps {
		return nil
	}
	return w.Node.DeletePod(namespace, name, gracePeriodSeconds)
}

func (w *mutated) PatchPod(namespace, name string, patch []byte) error {
	if w.mutation.withoutPatches {
		return nil
	}
	return w.Node.PatchPod(namespace, name, patch)
}
