package realcontrollers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/internal/world/controller/deployment"
	"probesim.dev/internal/world/controller/endpointslice"
	"probesim.dev/internal/world/controller/replicaset"
	"probesim.dev/internal/world/router"
	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// epoch is the wall time at which both engines start: a whole second. t=0 is startUp later.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// startUp is the age of the controllers at t=0.
const startUp = 10 * time.Second

// Simulate runs a scenario on the simulator's controllers until a virtual time, with the choices of
// a chooser or the canonical ones. It passes clock a function that returns the time, unless clock
// is nil.
func Simulate(s Scenario, p profile.Profile, c choose.Chooser, clock func(now func() virtual.Time),
	until virtual.Time) ([]trace.Record, error) {
	w := newSimulated(p, c)
	defer w.sim.Close()
	if clock != nil {
		clock(w.sim.Now)
	}
	var failed error
	try := func(err error) {
		if err != nil && failed == nil {
			failed = err
		}
	}
	create := func(kind store.Kind, o store.Object, err error) {
		if err == nil {
			_, err = w.api.CreateObject(kind, o)
		}
		try(err)
	}
	w.sim.At(0, "scenario", func() {
		for _, d := range s.deployments() {
			admitted, err := admission.AdmitDeployment(p, d)
			create(store.Deployments, admitted, err)
		}
		for _, o := range s.Services {
			admitted, err := admission.AdmitService(o)
			create(store.Services, admitted, err)
		}
	})
	for _, step := range s.Steps {
		w.sim.At(virtual.At(step.At), "scenario", func() {
			if step.Delete != "" {
				_ = w.api.DeleteControlledPod("default", step.Delete) // an error if there is no such pod
				return
			}
			changed, err := s.stepped(p, step, w.api.Objects(store.Deployments), w.api.Objects(store.ReplicaSets))
			if err == nil {
				_, err = w.api.UpdateObject(store.Deployments, changed)
				try(err)
			}
		})
	}
	if err := w.sim.RunUntil(until); err != nil {
		return nil, err
	}
	return w.trace.Records(), failed
}

// stepped returns a Deployment after a step, or an error if the API server or kubectl refuses the
// step; it then changes nothing.
func (s *Scenario) stepped(p profile.Profile, step Step, deployments, sets []store.Object) (*appsv1.Deployment, error) {
	name := cmp.Or(step.Of, s.Deployment.Name)
	i := slices.IndexFunc(deployments, func(o store.Object) bool { return o.GetName() == name })
	if i < 0 {
		return nil, fmt.Errorf("no Deployment %s", name)
	}
	d := deployments[i].(*appsv1.Deployment)
	if step.Patch == "" {
		return deployment.Undone(d, sets, 0)
	}
	return admission.PatchDeployment(p, d, []byte(step.Patch))
}

// simulated is the simulator's controllers with a stand-in for the kubelet.
type simulated struct {
	sim   *sim.Sim
	api   *apiserver.Server
	trace *trace.Recorder
	now   func() time.Time
}

func newSimulated(p profile.Profile, c choose.Chooser) *simulated {
	w := &simulated{sim: sim.New(sim.Options{Start: virtual.At(-startUp), Chooser: c}),
		trace: &trace.Recorder{Also: []trace.Kind{trace.SyncFailed}}}
	w.now = func() time.Time { return epoch.Add(startUp + w.sim.Now().Offset()) }
	w.api = apiserver.New(apiserver.Options{Sim: w.sim, Trace: w.trace, Profile: p, Now: w.now, Delays: &noDelays{}})
	env := &controller.Env{Sim: w.sim, API: w.api, Trace: w.trace, Profile: p, Now: w.now,
		Delays: controller.StandardDelays{}}
	w.sim.Go("kubelet", func(p *sim.Proc) { p.Serve(sim.On(w.api.Watch(), w.podChanged)) })
	manager := controller.NewInformers(env, "kube-controller-manager")
	deployment.Start(env, manager)
	replicaset.Start(env, manager)
	endpointslice.Start(env, manager)
	controller.StartScheduler(env, controller.NewInformers(env, "kube-scheduler"))
	router.StartKubeProxy(env)
	return w
}

// podChanged starts a new pod, and stops a deleted one.
func (w *simulated) podChanged(_ *sim.Proc, e apiserver.WatchEvent) {
	switch {
	case e.Type == apiserver.Added:
		w.sim.Go("start "+e.Pod.Name, func(p *sim.Proc) {
			for n := 0; ; n++ {
				c, ok := programOf(e.Pod).condition(n)
				if !ok {
					return
				}
				p.Sleep(c.after)
				p.Turn("start")
				pod := w.api.Pod(e.Pod.Namespace, e.Pod.Name)
				if pod == nil || pod.DeletionTimestamp != nil {
					return
				}
				status := c.status(pod, w.now())
				w.api.PatchStatus(p, pod.Namespace, pod.Name, &pod.Status, &status)
			}
		})
	case e.Type == apiserver.Modified && e.Pod.DeletionTimestamp != nil:
		w.sim.Go("stop "+e.Pod.Name, func(p *sim.Proc) {
			p.Sleep(programOf(e.Pod).stop)
			p.Turn("stop")
			w.api.DeletePod(p, e.Pod.Namespace, e.Pod.Name)
		})
	}
}

// noDelays are the latencies of the stand-in's calls.
type noDelays struct{ fakeruntime.Runtime }

func (*noDelays) APIGet(*v1.Pod) time.Duration    { return 0 }
func (*noDelays) APIPatch(*v1.Pod) time.Duration  { return 0 }
func (*noDelays) APIDelete(*v1.Pod) time.Duration { return 0 }
