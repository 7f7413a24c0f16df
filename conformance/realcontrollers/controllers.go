// Package realcontrollers runs the real Deployment, ReplicaSet and EndpointSlice controllers and
// kube-proxy's limiter of a release under virtual time, over the same store of objects as the
// simulator's. A stand-in for the kubelet starts and stops pods, so a difference between the two
// traces is one between the controllers.
package realcontrollers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/internal/world/router"
	"probesim.dev/trace"
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
	apps, core, slices := f.Apps().V1(), f.Core().V1(), f.Discovery().V1().EndpointSlices()
	for kind, i := range map[store.Kind]cache.SharedIndexInformer{
		store.Deployments: apps.Deployments().Informer(), store.ReplicaSets: apps.ReplicaSets().Informer(),
		store.Pods: core.Pods().Informer(), store.Services: core.Services().Informer(),
		store.EndpointSlices: slices.Informer(),
	} {
		turns.watch(i, watchName(controllerManager, kind))
	}
	deploymentsToSync := watched(turns, apps.Deployments(), "deployment", store.Deployments)
	deploymentsToSync.lister = deploymentLister{deploymentsToSync.lister, turns}
	setsToSync := watched(turns, apps.ReplicaSets(), "replicaset", store.ReplicaSets)
	setsToSync.lister = replicaSetLister{setsToSync.lister, turns}
	servicesToSync := watched(turns, core.Services(), "endpointslice", store.Services)
	servicesToSync.lister = serviceLister{servicesToSync.lister, turns}
	// The EndpointSlice controller from v1.35 on only queues a pod in its handler; it is later that
	// the pod's Services are listed and queued: see services.List.
	podsOfSlices := watched(turns, core.Pods(), "endpointslice", store.Pods)
	podsOfSlices.handlers.process = ""

	deployments, err := deployment.NewDeploymentController(ctx, deploymentsToSync,
		watched(turns, apps.ReplicaSets(), "deployment", store.ReplicaSets),
		watched(turns, core.Pods(), "deployment", store.Pods), client)
	if err != nil {
		return err
	}
	sets := replicaset.NewReplicaSetController(ctx, setsToSync,
		watched(turns, core.Pods(), "replicaset", store.Pods), client, replicaset.BurstReplicas)
	endpoints := endpointslice.NewController(ctx, podsOfSlices, servicesToSync, core.Nodes(),
		watched(turns, slices, "endpointslice", store.EndpointSlices), 100, client, 0)
	if err := s.startProxy(ctx, router.Default); err != nil {
		return err
	}
	s.locked(s.startScheduler)
	for _, b := range s.LoadBalancers {
		if err := s.startRouter(ctx, b); err != nil {
			return err
		}
	}
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

// failures records the syncs of the real controllers that fail and are tried again. No call shows
// them, but they decide when the next sync is. The Deployment and EndpointSlice controllers log
// them, and the ReplicaSet controller reports them as errors.
type failures struct{ api *Server }

// failed records that a sync of a key failed.
func (f failures) failed(queue, key string) {
	f.api.locked(func() {
		f.api.Record(trace.Record{Kind: trace.SyncFailed, Reason: queue, Object: &trace.Object{Name: key}})
	})
}

// handleErrors takes the errors that controllers report.
func (f failures) handleErrors() {
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) {
		var key string
		if _, scanErr := fmt.Sscanf(err.Error(), "sync %q failed with", &key); scanErr == nil {
			f.failed("replicaset", key)
			if strings.Contains(err.Error(), "read version: ") { // it has read nothing before it failed
				f.api.turns.Add("replicaset "+key, controller.TurnSync)
			}
		}
	}}
}

// The methods of a logr.LogSink.

func (failures) Init(logr.RuntimeInfo)            {}
func (failures) Enabled(level int) bool           { return level <= 2 }
func (failures) Error(error, string, ...any)      {}
func (f failures) WithValues(...any) logr.LogSink { return f }
func (f failures) WithName(string) logr.LogSink   { return f }
func (f failures) Info(_ int, text string, kv ...any) {
	for i := 0; i+1 < len(kv); i += 2 {
		switch {
		case strings.HasPrefix(text, "Error syncing deployment") && kv[i] == "deployment":
			f.failed("deployment", fmt.Sprint(kv[i+1]))
		case strings.HasPrefix(text, "Error syncing endpoint slices") && kv[i] == "key":
			f.failed("endpointslice", fmt.Sprint(kv[i+1]))
		}
	}
}
