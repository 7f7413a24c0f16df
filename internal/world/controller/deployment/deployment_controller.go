// Package deployment simulates the Deployment controller: it creates a ReplicaSet for each
// template, and moves replicas from the old ones to the new one. The rules are those of
// pkg/controller/deployment at v1.37.0, in files with its names. Adoption of ReplicaSets, the
// deprecated rollback annotation, and collisions of hashes are not simulated.
package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
)

// retries is how often a Deployment that fails is tried again (maxRetries).
const retries = 15

// kind is the owner in the references of ReplicaSets.
var kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Controller is the Deployment controller.
type Controller struct {
	env         *controller.Env
	client      *controller.Client
	events      *controller.Events
	deployments *controller.Informer
	sets        *controller.Informer
	pods        *controller.Informer
	queue       *controller.Queue
	equal       map[templates]bool            // compared
	gone        *sim.Chan[*appsv1.Deployment] // Deployments of pods that are gone, before v1.37
}

// Start starts the controller in a component.
func Start(env *controller.Env, f *controller.Informers) {
	c := &Controller{
		env: env, client: controller.NewClient(env), events: controller.NewEvents(env, "deployment-controller"),
		deployments: f.Of(store.Deployments), sets: f.Of(store.ReplicaSets), pods: f.Of(store.Pods),
		equal: map[templates]bool{},
	}
	const queue = "deployment"
	c.queue = controller.NewQueue(env, queue, c.syncDeployment)
	c.queue.Retries = retries
	c.deployments.HandleFor(queue, nil, func(old, o store.Object) { c.queue.Add(store.Key(controller.Either(old, o))) })
	c.sets.HandleFor(queue, nil, func(old, o store.Object) { c.enqueueOwner(controller.Either(old, o)) })
	c.pods.HandleFor(queue, nil, c.podChanged)
	if !env.Profile.RecreateSyncsOnEachDeletion {
		const name = "deployment pods"
		c.gone = sim.NewChan[*appsv1.Deployment](env.Sim, name, 1<<12)
		env.Sim.Go(name, func(p *sim.Proc) { p.Serve(sim.On(c.gone, c.podGone)) })
	}
}

// ownerOf returns the Deployment that owns an object, or nil (resolveControllerRef).
func (c *Controller) ownerOf(o store.Object) *appsv1.Deployment {
	owner := metav1.GetControllerOfNoCopy(o)
	if owner == nil || owner.Kind != kind.Kind {
		return nil
	}
	if d, ok := controller.Get[*appsv1.Deployment](c.deployments, o.GetNamespace()+"/"+owner.Name); ok &&
		d.UID == owner.UID {
		return d
	}
	return nil
}

// enqueueOwner queues the owner of a ReplicaSet (addReplicaSet, updateReplicaSet,
// deleteReplicaSet).
func (c *Controller) enqueueOwner(o store.Object) {
	if d := c.ownerOf(o); d != nil {
		c.queue.Add(store.Key(d))
	}
}

// podChanged queues the Deployment of a pod that is gone, if it takes away all pods before it
// creates new ones (deletePod).
func (c *Controller) podChanged(old, o store.Object) {
	if o != nil {
		return
	}
	owner := metav1.GetControllerOfNoCopy(old)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return
	}
	rs, ok := controller.Get[*appsv1.ReplicaSet](c.sets, old.GetNamespace()+"/"+owner.Name)
	if !ok || rs.UID != owner.UID {
		return
	}
	d := c.ownerOf(rs)
	if d == nil || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return
	}
	if c.gone != nil {
		c.gone.TrySend(d)
		return
	}
	c.queue.Add(store.Key(d))
}

// podGone queues a Deployment if it has no pods any more. The handler of the real controller waits
// for the list of ReplicaSets, and so do the next pods (deletePod at v1.36.3).
func (c *Controller) podGone(p *sim.Proc, d *appsv1.Deployment) {
	owners := map[types.UID]bool{}
	for _, o := range c.client.List(p, store.ReplicaSets, d.Namespace) {
		owners[o.GetUID()] = controller.OwnedBy(o, d.UID)
	}
	left := controller.List(c.pods, func(pod *v1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(pod)
		return owner != nil && owners[owner.UID]
	})
	if len(left) == 0 {
		c.queue.Add(store.Key(d))
	}
}

// syncDeployment does the next step of a Deployment. One sync scales in one direction; the watch
// shows its writes and starts the next sync.
func (c *Controller) syncDeployment(p *sim.Proc, key string) error {
	cached, ok := controller.Get[*appsv1.Deployment](c.deployments, key)
	if !ok {
		return nil
	}
	own := *cached // shares its parts, which are replaced and not changed
	d := &own
	sets := controller.List(c.sets, func(rs *appsv1.ReplicaSet) bool { return controller.OwnedBy(rs, d.UID) })
	if err := c.checkPausedConditions(p, d); err != nil {
		return err
	}
	if d.Spec.Paused {
		return c.sync(p, d, sets)
	}
	scaling, err := c.isScalingEvent(p, d, sets)
	switch {
	case err != nil:
		return err
	case scaling:
		return c.sync(p, d, sets)
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return c.rolloutRecreate(p, d, sets)
	}
	return c.rolloutRolling(p, d, sets)
}

// oldPodsExist reports whether a pod of an old ReplicaSet has not ended.
func (c *Controller) oldPodsExist(newRS *appsv1.ReplicaSet, sets []*appsv1.ReplicaSet) bool {
	for _, rs := range sets {
		if newRS != nil && rs.UID == newRS.UID {
			continue
		}
		running := func(pod *v1.Pod) bool { return controller.OwnedBy(pod, rs.UID) && !controller.IsPodTerminal(pod) }
		if len(controller.List(c.pods, running)) > 0 {
			return true
		}
	}
	return false
}

// event adds an event about a Deployment.
func (c *Controller) event(d *appsv1.Deployment, eventType, reason, format string, a ...any) {
	c.events.Add(apiserver.ObjectName(kind.Kind, d), eventType, reason, format, a...)
}

// putStatus writes the status of a Deployment, and with it its annotations. The caller keeps the
// version that it has read: a second write of a sync is a conflict, and the sync is tried again.
func (c *Controller) putStatus(p *sim.Proc, d *appsv1.Deployment) error {
	_, err := controller.UpdateStatus(c.client, p, store.Deployments, d)
	return err
}
