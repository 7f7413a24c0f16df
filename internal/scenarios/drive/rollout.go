package drive

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// ControlPlane is the part of a World that only scenarios with a control plane use.
type ControlPlane interface {
	// AddWorkload creates a Deployment through the API. It calls program for each pod that the
	// controllers create.
	AddWorkload(d *appsv1.Deployment, program func(*v1.Pod) fakeruntime.Pod) error
	// PatchWorkload applies a strategic merge patch to a Deployment through the API, and records
	// it.
	PatchWorkload(namespace, name string, patch []byte) error
	// UndoWorkload sets the template of a Deployment to that of a revision, or of the one before if
	// it is 0, and records it.
	UndoWorkload(namespace, name string, revision int64) error
	// OccurIn is Occur for the instance that runs in a container of a pod.
	OccurIn(podUID, container string, moment int)
	// AddService creates a Service through the API.
	AddService(*v1.Service) error
}

// rollout is the state of a Deployment of the scenario.
type rollout struct {
	*plan.Workload
	current map[string]fakeruntime.ContainerConfig         // the programs of the next new ReplicaSet
	sets    map[int]map[string]fakeruntime.ContainerConfig // those of the ReplicaSets that exist, by number
}

// startControlled schedules the creation of the Services and Deployments.
func (d *Driver) startControlled() {
	if d.plan.Scenario.Spec.ControlPlane == nil {
		return
	}
	for _, s := range d.plan.Scenario.Services {
		d.world.At(0, func() { d.check(d.world.AddService(s.Object)) })
	}
	for _, w := range d.plan.Deployments() {
		r := &rollout{w.Workload, w.Containers, map[int]map[string]fakeruntime.ContainerConfig{}}
		d.rolled = append(d.rolled, r)
		d.world.At(w.At, func() {
			d.created[w.Workload] = true
			d.check(d.world.AddWorkload(r.Controlled.Deployment,
				func(pod *v1.Pod) fakeruntime.Pod { return d.podCreated(r, pod) }))
		})
	}
}

// podCreated returns the program of a pod that a controller has created.
func (d *Driver) podCreated(r *rollout, pod *v1.Pod) fakeruntime.Pod {
	key := pod.Namespace + "/" + pod.Name
	program := r.Program(pod, r.sets[r.SetOf(pod.Name)])
	d.made = append(d.made, pod)
	d.pods[key] = &plan.PlannedPod{Workload: r.Manifest.Name, At: d.now, Pod: pod, Program: program,
		Ephemeral: r.Containers}
	return program
}

// Created returns the pods that controllers have created, in order, each as it was then.
func (d *Driver) Created() []*v1.Pod { return d.made }

// replicaSetChanged gives a new ReplicaSet the programs that its Deployment has now. An undo goes
// back to an old ReplicaSet, with its programs.
func (d *Driver) replicaSetChanged(record *trace.Record) {
	for _, r := range d.rolled {
		if set := r.ReplicaSet(record.Object.Name); set > 0 && r.sets[set] == nil {
			r.sets[set] = r.current
		}
	}
}

// rollOut changes a Deployment.
func (d *Driver) rollOut(step *format.Step) bool {
	a := step.Rollout
	if a.Undo != nil {
		return d.changeWorkload(a.Workload, func(namespace, name string) error {
			return d.world.UndoWorkload(namespace, name, *a.Undo)
		})
	}
	for _, r := range d.rolled {
		if containers, has := r.Controlled.Containers[step]; has {
			r.current = containers
		}
	}
	return d.patchWorkload(a.Workload, a.JSON(wallTime(d.now)))
}

func (d *Driver) patchWorkload(name string, patch []byte) bool {
	return d.changeWorkload(name, func(namespace, name string) error {
		return d.world.PatchWorkload(namespace, name, patch)
	})
}

// changeWorkload changes a Deployment, unless it is not created yet.
func (d *Driver) changeWorkload(workload string, change func(namespace, name string) error) bool {
	w := d.plan.Scenario.Deployment(workload)
	return d.created[w] && d.check(change(w.Pod.Namespace, w.Manifest.Name))
}

// wallTime is the time of the API server at a time of the run, which begins at the first second of
// the year 2000.
func wallTime(t virtual.Time) string {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(t.Offset()).Format(time.RFC3339)
}
