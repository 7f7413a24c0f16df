package controller

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/apiserver/store"
	"probesim.dev/sim"
)

// StartScheduler binds each pod of a controller to the node after a delay. What kube-scheduler looks at is not simulated.
func StartScheduler(env *Env, f *Informers) {
	f.Of(store.Pods).Handle(func(old, o store.Object) {
		pod, ok := o.(*v1.Pod)
		if !ok || old != nil || pod.Spec.NodeName != "" {
			return
		}
		key := store.Key(pod)
		env.Sim.Go("schedule "+key, func(p *sim.Proc) {
			p.Sleep(env.Delays.Schedule(key))
			env.API.Bind(key, admission.NodeName)
		})
	})
}
