package realkubelet

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/conformance/realcontrollers"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller/deployment"
	"probesim.dev/kube/kubeletconfig"
	simulator "probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// controlPlane is the real controllers beside the kubelet. All their calls reach the API server on
// the goroutine of the driver, one at a time.
type controlPlane struct {
	*realcontrollers.Server
	programs map[string]func(*v1.Pod) fakeruntime.Pod // by key of the Deployment; protected by the lock of the server
	cancel   func()
}

// startControlPlane starts the controllers. They run until close.
func startControlPlane(o *simulator.ControlPlane, size kubeletconfig.Allocatable, a *podAPI, turns *turnLog) error {
	d := a.driver
	c := &controlPlane{programs: map[string]func(*v1.Pod) fakeruntime.Pod{}}
	c.Server = realcontrollers.NewServer(realcontrollers.Cluster{
		Profile: a.profile, Lock: &a.mu, Store: a.store, Pods: controlledPods{a}, Delays: o.Latencies(latencies{d}),
		Wall: d.apiNow, Now: d.now, At: d.at, Ended: d.ended,
		Record: func(r trace.Record) { d.recorder.add(r) }, Turn: turns.add, LoadBalancers: o.LoadBalancers, Size: size,
	})
	if len(o.Traffic) > 0 {
		d.recorder.fold(traffic.New(o.Traffic...))
	}
	a.control = c
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	return c.Start(ctx)
}

// latencies draws the latencies of the control plane, as the simulator does.
type latencies struct{ *driver }

func (l latencies) Draw(key string, of fakeruntime.Draw) (latency time.Duration) {
	l.change(func(r *fakeruntime.Runtime, now virtual.Time) { latency = r.Draw(now, key, of) })
	return latency
}

func (l latencies) Latency(key string, of fakeruntime.Latency) (latency time.Duration, seeded bool) {
	l.change(func(r *fakeruntime.Runtime, now virtual.Time) { latency, seeded = r.Latency(now, key, of) })
	return latency, seeded
}

// controlledPods are the calls about pods that controllers and the scheduler make.
type controlledPods struct{ *podAPI }

// CreatePod gives the runtime the program that the pod's Deployment has.
func (p controlledPods) CreatePod(pod *v1.Pod) error {
	stored := p.admitted(pod)
	c, err := p.create(stored, true, p.control.programOf(stored))
	if err != nil {
		return err
	}
	p.driver.recorder.add(realcontrollers.PodAdded(stored))
	p.publish(c)
	return nil
}

func (p controlledPods) BindPod(old, pod *v1.Pod) { p.must(p.changed(p.store.PutPod(old, pod))) }

func (p controlledPods) DeletePod(pod *v1.Pod, gracePeriodSeconds *int64) {
	p.must(p.delete(pod, gracePeriodSeconds))
}

// must fails the run if the clientset does not have a pod that the store has.
func (p controlledPods) must(err error) {
	if err != nil {
		panic(err)
	}
}

// programOf returns the program of a new pod.
func (c *controlPlane) programOf(pod *v1.Pod) fakeruntime.Pod {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return fakeruntime.Pod{}
	}
	rs := c.Store.Get(store.ReplicaSets, pod.Namespace+"/"+owner.Name)
	if rs == nil {
		return fakeruntime.Pod{}
	}
	if owner = metav1.GetControllerOfNoCopy(rs); owner == nil || c.programs[pod.Namespace+"/"+owner.Name] == nil {
		return fakeruntime.Pod{}
	}
	return c.programs[pod.Namespace+"/"+owner.Name](pod.DeepCopy())
}

func (w *world) AddWorkload(d *appsv1.Deployment, program func(*v1.Pod) fakeruntime.Pod) error {
	return w.control("add Deployment "+d.Name, func(c *controlPlane) error {
		admitted, err := admission.AdmitDeployment(c.Profile, d)
		if err != nil {
			return err
		}
		c.programs[store.Key(admitted)] = program
		_, err = c.Create(store.Deployments, admitted)
		return err
	})
}

func (w *world) PatchWorkload(namespace, name string, patch []byte) error {
	return w.changeWorkload(namespace, name, string(patch),
		func(c *controlPlane, d *appsv1.Deployment) (*appsv1.Deployment, error) {
			return admission.PatchDeployment(c.Profile, d, patch)
		})
}

func (w *world) UndoWorkload(namespace, name string, revision int64) error {
	return w.changeWorkload(namespace, name, fmt.Sprintf("undo %d", revision),
		func(c *controlPlane, d *appsv1.Deployment) (*appsv1.Deployment, error) {
			return deployment.Undone(d, c.Store.List(store.ReplicaSets), revision)
		})
}

// changeWorkload replaces a Deployment, and records the step.
func (w *world) changeWorkload(namespace, name, what string,
	change func(*controlPlane, *appsv1.Deployment) (*appsv1.Deployment, error)) error {
	return w.control("roll out "+name, func(c *controlPlane) error {
		o, err := c.Store.Find(store.Deployments, namespace, name)
		if err != nil {
			return err
		}
		changed, err := change(c, o.(*appsv1.Deployment))
		if err != nil {
			return err
		}
		w.Record(trace.Record{Kind: trace.Step, Reason: trace.RolloutStep,
			Message: namespace + "/" + name + ": " + what})
		return c.Update(store.Deployments, changed)
	})
}

func (w *world) AddService(s *v1.Service) error {
	return w.control("add Service "+s.Name, func(c *controlPlane) error {
		admitted, err := admission.AdmitService(s)
		if err == nil {
			_, err = c.Create(store.Services, admitted)
		}
		return err
	})
}

func (w *world) OccurIn(podUID, container string, moment int) {
	w.driver.change(func(r *fakeruntime.Runtime, now virtual.Time) { r.OccurIn(now, podUID, container, moment) })
}

// control calls f with the lock of the API server, and keeps the first error, as for a node without
// a control plane.
func (w *world) control(what string, f func(*controlPlane) error) error {
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	err := simulator.ErrNoControlPlane
	if w.api.control != nil {
		err = f(w.api.control)
	}
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("at %v: %s: %w", w.driver.now(), what, err)
	}
	return err
}
