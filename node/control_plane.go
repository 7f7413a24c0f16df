package node

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/internal/world/controller/deployment"
	"probesim.dev/internal/world/controller/endpointslice"
	"probesim.dev/internal/world/controller/replicaset"
	"probesim.dev/internal/world/router"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// ErrNoControlPlane is the error of a method that needs Options.ControlPlane.
var ErrNoControlPlane = errors.New("the node has no control plane: set Options.ControlPlane")

// ControlPlane configures the controllers beside a node: the Deployment, ReplicaSet and
// EndpointSlice controllers, a scheduler that binds each pod to the node, and kube-proxy. The zero
// value has the default delays.
type ControlPlane struct {
	// Delays are the latencies, such as those of fakeruntime.ControlDelaySet. Nil: fixed ones,
	// about 10 ms, 7 ms, 4 ms and 100 ms, which are distinct for each kind of object and call.
	// Without Options.Seed, they are in proportion to these too.
	Delays *fakeruntime.ControlDelays
	// Watch, Call, Schedule and Sync, unless nil, replace latencies of Delays.
	Watch, Call, Schedule, Sync *fakeruntime.Draw
	// LoadBalancers are routers besides kube-proxy.
	LoadBalancers []router.LoadBalancer
	// Traffic are streams of requests to Services. The trace then has records of the requests that
	// are lost.
	Traffic []traffic.Entry
}

// controlPlane is the control plane of a node.
type controlPlane struct {
	env       *controller.Env
	workloads map[string]*workload // by key of the Deployment
	requests  *traffic.Fold
}

// workload is what the user has added: how the programs of its pods behave.
type workload struct {
	program func(*v1.Pod) fakeruntime.Pod
	use     *use
}

// startControlPlane starts the controllers. They run from the start of the kubelet on.
func (n *Node) startControlPlane(o *ControlPlane) {
	wall := n.options.Wall
	env := &controller.Env{
		Sim: n.sim, API: n.api, Trace: n.trace, Profile: n.options.Profile,
		Now:    func() time.Time { return wall(virtual.Wall(n.sim.Now())) },
		Delays: o.Latencies(drawsNow{n.runtime}),
		Size:   n.options.Config.Allocatable,
	}
	n.control = &controlPlane{env: env, workloads: map[string]*workload{}, requests: traffic.New(o.Traffic...)}
	manager := controller.NewInformers(env, "kube-controller-manager")
	deployment.Start(env, manager)
	replicaset.Start(env, manager)
	endpointslice.Start(env, manager)
	controller.StartScheduler(env, controller.NewInformers(env, "kube-scheduler"))
	router.StartKubeProxy(env)
	for _, of := range o.LoadBalancers {
		router.StartLoadBalancer(env, of)
	}
	n.trace.Observe(func(r *trace.Record) {
		for _, lost := range n.control.requests.Observe(r) {
			n.trace.Add(lost)
		}
	})
}

// AddWorkload creates a Deployment through the API now; its controllers create ReplicaSets web-1,
// web-2 and so on, with pods web-1-0, web-1-1 and so on. The API server sets the defaults in a
// copy. The function says how the containers of each new pod behave, as in AddPod; nil means that
// they run forever and answer all probes with success. It must not call the node.
//
// AddWorkload returns ErrNoControlPlane, an Invalid error that lists all invalid and unsupported
// fields, or an AlreadyExists error if the API has a Deployment of that name.
func (n *Node) AddWorkload(d *appsv1.Deployment, program func(*v1.Pod) fakeruntime.Pod) error {
	return n.changeControlled(func(u *use) error {
		if d == nil {
			return errors.New("AddWorkload: the Deployment is nil")
		}
		admitted, err := admission.AdmitDeployment(n.options.Profile, d)
		if err != nil {
			return err
		}
		if program == nil {
			program = func(*v1.Pod) fakeruntime.Pod { return fakeruntime.Pod{} }
		}
		if _, err := n.api.CreateObject(store.Deployments, admitted); err != nil {
			return err
		}
		n.control.workloads[store.Key(admitted)] = &workload{program,
			&use{kind: listener, name: "the function of AddWorkload", callers: u.callers}}
		return nil
	})
}

// PatchWorkload applies a strategic merge patch in JSON to a Deployment through the API now: a
// changed template starts a rollout. It returns ErrNoControlPlane, a NotFound error if the API does
// not have the Deployment, a BadRequest error if the patch is unreadable, and an Invalid error.
func (n *Node) PatchWorkload(namespace, name string, patch []byte) error {
	return n.rollOut(namespace, name, string(patch), func(d *appsv1.Deployment) (*appsv1.Deployment, error) {
		return admission.PatchDeployment(n.options.Profile, d, patch)
	})
}

// rollOut updates a Deployment in the API, with a record that describes the change.
func (n *Node) rollOut(namespace, name, message string,
	change func(*appsv1.Deployment) (*appsv1.Deployment, error)) error {
	return n.changeControlled(func(*use) error {
		o, err := n.api.FindObject(store.Deployments, namespace, name)
		if err != nil {
			return err
		}
		changed, err := change(o.(*appsv1.Deployment))
		if err != nil {
			return err
		}
		step := n.step(trace.Record{Reason: trace.RolloutStep, Message: namespace + "/" + name + ": " + message})
		n.sim.WithCause(step, func() { _, err = n.api.UpdateObject(store.Deployments, changed) })
		return err
	})
}

// UndoWorkload sets the template of a Deployment to that of the ReplicaSet with a revision, as
// kubectl rollout undo does. Revision 0 is the one before the present one. It returns the errors of
// PatchWorkload, and an error if there is no such ReplicaSet or the Deployment is paused.
func (n *Node) UndoWorkload(namespace, name string, revision int64) error {
	return n.rollOut(namespace, name, fmt.Sprintf("undo %d", revision),
		func(d *appsv1.Deployment) (*appsv1.Deployment, error) {
			return deployment.Undone(d, n.api.Objects(store.ReplicaSets), revision)
		})
}

// AddService creates a Service through the API now. Its router sends requests to the pods that its
// selector matches. AddService returns ErrNoControlPlane, an Invalid error, or an AlreadyExists
// error if the API has a Service of that name.
func (n *Node) AddService(s *v1.Service) error {
	return n.changeControlled(func(*use) error {
		if s == nil {
			return errors.New("AddService: the Service is nil")
		}
		admitted, err := admission.AdmitService(s)
		if err != nil {
			return err
		}
		_, err = n.api.CreateObject(store.Services, admitted)
		return err
	})
}

// SendRequests sends a stream of requests to a Service from now on, as ControlPlane.Traffic does
// from the start. It returns ErrNoControlPlane, and an error if a router has targets for the
// Service already.
func (n *Node) SendRequests(e traffic.Entry) error {
	return n.changeControlled(func(*use) error { return n.control.requests.Add(e) })
}

// EndRequests records, at the end of a run, the requests of the streams that have never had a
// target.
func (n *Node) EndRequests() {
	if n.control == nil {
		return
	}
	for _, lost := range n.control.requests.Unserved(n.Now()) {
		n.trace.Add(lost)
	}
}

// changeControlled is change for a node with a control plane.
func (n *Node) changeControlled(f func(u *use) error) error {
	return n.change(func() error {
		if n.control == nil {
			return ErrNoControlPlane
		}
		u := &use{}
		u.locate()
		return f(u)
	})
}

// podCreated adds the program of a pod that a controller has created.
func (n *Node) podCreated(pod *v1.Pod) {
	program := fakeruntime.Pod{}
	if w := n.control.workloadOf(pod); w != nil {
		n.call(w.use, func() { program = w.program(pod.DeepCopy()) })
	}
	if err := n.checkProgram(pod, program); err != nil {
		n.sim.Fail(fmt.Errorf("node: AddWorkload: pod %s/%s: %w", pod.Namespace, pod.Name, err))
		return
	}
	n.addProgram(pod, program)
}

// workloadOf returns the workload whose ReplicaSet owns a pod, or nil.
func (c *controlPlane) workloadOf(pod *v1.Pod) *workload {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return nil
	}
	if rs := c.env.API.Object(store.ReplicaSets, pod.Namespace+"/"+owner.Name); rs == nil {
		return nil
	} else if owner = metav1.GetControllerOfNoCopy(rs); owner == nil {
		return nil
	}
	return c.workloads[pod.Namespace+"/"+owner.Name]
}

// Workload returns a Deployment as the API has it, or a NotFound error. Do not change it.
func (n *Node) Workload(namespace, name string) (*appsv1.Deployment, error) {
	defer n.end(n.mustBegin(schedule))
	if o, ok := n.api.Object(store.Deployments, namespace+"/"+name).(*appsv1.Deployment); ok {
		return o, nil
	}
	return nil, apierrors.NewNotFound(appsv1.Resource("deployments"), name)
}

// Draws draws latencies at the current time. The key says what takes them.
type Draws interface {
	Draw(key string, of fakeruntime.Draw) time.Duration
	// Latency returns false without a seed.
	Latency(key string, of fakeruntime.Latency) (time.Duration, bool)
}

// drawsNow are the draws of a node.
type drawsNow struct{ *runtimeDriver }

func (d drawsNow) Draw(key string, of fakeruntime.Draw) time.Duration {
	return d.Runtime.Draw(d.sim.Now(), key, of)
}

func (d drawsNow) Latency(key string, of fakeruntime.Latency) (time.Duration, bool) {
	return d.Runtime.Latency(d.sim.Now(), key, of)
}

// Latencies returns the latencies of the control plane. Those that the control plane does not have
// are the standard ones.
func (o *ControlPlane) Latencies(draws Draws) controller.Delays {
	return controlDelays{of: *o, draws: draws}
}

// controlDelays are the latencies of a control plane.
type controlDelays struct {
	of       ControlPlane
	draws    Draws
	standard controller.StandardDelays
}

// draw returns a latency: that of a range, or that of a set, or else the standard one. Without a
// seed, the latencies of a set are in proportion to the standard ones, which are about those of
// typical: equal ones would make ties that no real cluster has.
func (d controlDelays) draw(own *fakeruntime.Draw, standard time.Duration, key string,
	of func(*fakeruntime.ControlDelays) fakeruntime.Latency) time.Duration {
	switch {
	case own != nil:
		return d.draws.Draw(key, *own)
	case d.of.Delays == nil:
		return standard
	}
	latency := of(d.of.Delays)
	if l, seeded := d.draws.Latency(key, latency); seeded {
		return l
	}
	typical, _ := fakeruntime.ControlDelaySet("typical")
	return standard * latency.Median() / of(&typical).Median()
}

func (d controlDelays) Watch(watch string, c store.Change) time.Duration {
	of := func(c *fakeruntime.ControlDelays) fakeruntime.Latency { return c.Watch }
	return d.draw(d.of.Watch, d.standard.Watch(watch, c), watch+" "+store.Key(c.New), of)
}

func (d controlDelays) Call(caller, method string, kind store.Kind, key string) time.Duration {
	of := func(c *fakeruntime.ControlDelays) fakeruntime.Latency { return c.Call }
	return d.draw(d.of.Call, d.standard.Call(caller, method, kind, key), caller+" "+method+" "+string(kind)+" "+key, of)
}

func (d controlDelays) Schedule(pod string) time.Duration {
	of := func(c *fakeruntime.ControlDelays) fakeruntime.Latency { return c.Schedule }
	return d.draw(d.of.Schedule, d.standard.Schedule(pod), "schedule "+pod, of)
}

func (d controlDelays) Sync(router string) time.Duration {
	of := func(c *fakeruntime.ControlDelays) fakeruntime.Latency { return c.Sync }
	return d.draw(d.of.Sync, d.standard.Sync(router), "sync "+router, of)
}

func (d controlDelays) Draw(key string, least, most time.Duration) time.Duration {
	return d.draws.Draw(key, fakeruntime.Draw{Min: least, Max: most})
}
