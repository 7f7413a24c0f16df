package realcontrollers

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
)

// controllerManager is the component of the controllers, which share its caches.
const controllerManager = "kube-controller-manager"

// Start starts the controllers, the scheduler and the routers. They run until ctx is done. It
// replaces the handlers of errors of the process.
func (s *Server) Start(ctx context.Context) error {
	failures{s}.handleErrors()
	ctx = klog.NewContext(ctx, logr.New(failures{s}))
	client, err := s.client(controllerManager)
	if err != nil {
		return err
	}
	turns, f := s.turns, informers.NewSharedInformerFactory(client, noResync)
	deploymentsOf := func(queue string) appsinformers.DeploymentInformer {
		return deploymentInformer{f.Apps().V1().Deployments(), turns, queue}
	}
	setsOf := func(queue string) appsinformers.ReplicaSetInformer {
		return replicaSetInformer{f.Apps().V1().ReplicaSets(), turns, queue}
	}
	podsOf := func(queue string) coreinformers.PodInformer { return podInformer{f.Core().V1().Pods(), turns, queue} }
	for kind, i := range map[store.Kind]cache.SharedIndexInformer{
		store.Deployments: f.Apps().V1().Deployments().Informer(),
		store.ReplicaSets: f.Apps().V1().ReplicaSets().Informer(),
		store.Pods:        f.Core().V1().Pods().Informer(), store.Services: f.Core().V1().Services().Informer(),
		store.EndpointSlices: f.Discovery().V1().EndpointSlices().Informer(),
	} {
		turns.watch(i, watchName(controllerManager, kind))
	}
	deployments, err := deployment.NewDeploymentController(ctx, deploymentsOf("deployment"), setsOf("deployment"),
		podsOf("deployment"), client)
	if err != nil {
		return err
	}
	sets := replicaset.NewReplicaSetController(ctx, setsOf("replicaset"), podsOf("replicaset"), client,
		replicaset.BurstReplicas)
	endpoints := endpointslice.NewController(ctx, podsOf("endpointslice"),
		serviceInformer{f.Core().V1().Services(), turns}, f.Core().V1().Nodes(),
		sliceInformer{f.Discovery().V1().EndpointSlices(), turns}, 100, client, 0)
	if err := s.startProxy(ctx); err != nil {
		return err
	}
	s.locked(func() {
		s.startScheduler()
		for _, b := range s.LoadBalancers {
			s.startLoadBalancer(b)
		}
	})
	f.Start(ctx.Done())
	go deployments.Run(ctx, controller.Workers)
	go sets.Run(ctx, controller.Workers)
	go endpoints.Run(ctx, controller.Workers)
	return nil
}

// noResync is the period of resyncs: none comes. Without a period, reflectors before v1.34 wait for
// a channel from outside the bubble, whose time then stands still.
const noResync = 10000 * time.Hour

// client returns the client of a component.
func (s *Server) client(component string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfigAndClient(
		&rest.Config{Host: "http://api", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}},
		&http.Client{Transport: transport{s, component}})
}
