package realcontrollers

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	discoveryv1 "k8s.io/api/discovery/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
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

	"probesim.dev/apiserver"
	"probesim.dev/apiserver/admission"
	"probesim.dev/apiserver/store"
	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/controller"
	"probesim.dev/explore"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// Run runs a scenario on the real controllers of the release. The turns are the calls of the controllers in their order.
func Run(t *testing.T, s Scenario, p profile.Profile) (records []trace.Record, turns []explore.Turn, err error) {
	klog.SetLogger(logr.Discard())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the log of turns is the order of execution while one goroutine runs at a time
	handlers := utilruntime.ErrorHandlers
	// The default handlers sleep if the last error was less than a millisecond ago, even in another bubble.
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(*testing.T) { records, turns, err = run(s, p) })
	return records, turns, err
}

// run runs a scenario in the present bubble.
func run(s Scenario, p profile.Profile) ([]trace.Record, []explore.Turn, error) {
	api := newServer(&s, p, time.Now().Add(startUp))
	failures{api}.handleErrors()
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.New(failures{api})))
	if err := startControllers(ctx, api); err != nil {
		cancel()
		return nil, nil, err
	}
	time.Sleep(startUp)
	err := api.begin(s)
	for _, step := range s.Steps {
		time.Sleep(time.Until(api.zero.Add(step.At)))
		if err == nil {
			err = api.step(&s, step)
		}
	}
	time.Sleep(time.Until(api.zero.Add(s.Duration)))
	api.mu.Lock()
	records, turns := slices.Clone(api.trace.Records()), api.turns.List()
	api.mu.Unlock()
	cancel()
	time.Sleep(time.Hour) // goroutines notice it
	return records, turns, err
}

// begin creates the Deployments and the Services.
func (s *server) begin(scenario Scenario) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range scenario.deployments() {
		admitted, err := admission.AdmitDeployment(s.profile, d)
		if err == nil {
			_, err = s.create(store.Deployments, admitted)
		}
		if err != nil {
			return err
		}
	}
	for _, o := range scenario.services() {
		admitted, err := admission.AdmitService(o)
		if err == nil {
			_, err = s.create(store.Services, admitted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step takes a step of the scenario.
func (s *server) step(scenario *Scenario, step Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if step.Delete != "" {
		_ = s.delete(store.Pods, "default", step.Delete) // an error if there is no such pod
		return nil
	}
	d, refused := scenario.stepped(s.profile, step, s.store.List(store.Deployments), s.store.List(store.ReplicaSets))
	if refused != nil {
		return nil
	}
	_, err := s.changed(s.store.Update(store.Deployments, d))
	return err
}

// startControllers starts the controllers of a controller manager over its caches, and kube-proxy's limiter.
func startControllers(ctx context.Context, api *server) error {
	client, err := newClient(api, controllerManager)
	if err != nil {
		return err
	}
	turns, f := api.turns, informers.NewSharedInformerFactory(client, noResync)
	deploymentsOf := func(queue string) appsinformers.DeploymentInformer {
		return deploymentInformer{f.Apps().V1().Deployments(), turns, queue}
	}
	setsOf := func(queue string) appsinformers.ReplicaSetInformer {
		return replicaSetInformer{f.Apps().V1().ReplicaSets(), turns, queue}
	}
	podsOf := func(queue string) coreinformers.PodInformer { return podInformer{f.Core().V1().Pods(), turns, queue} }
	for kind, i := range map[store.Kind]cache.SharedIndexInformer{
		store.Deployments: f.Apps().V1().Deployments().Informer(), store.ReplicaSets: f.Apps().V1().ReplicaSets().Informer(),
		store.Pods: f.Core().V1().Pods().Informer(), store.Services: f.Core().V1().Services().Informer(),
		store.EndpointSlices: f.Discovery().V1().EndpointSlices().Informer(),
	} {
		turns.watch(i, watchName(controllerManager, kind))
	}
	deployments, err := deployment.NewDeploymentController(ctx, deploymentsOf("deployment"), setsOf("deployment"), podsOf("deployment"), client)
	if err != nil {
		return err
	}
	sets := replicaset.NewReplicaSetController(ctx, setsOf("replicaset"), podsOf("replicaset"), client, replicaset.BurstReplicas)
	endpoints := endpointslice.NewController(ctx, podsOf("endpointslice"), serviceInformer{f.Core().V1().Services(), turns}, f.Core().V1().Nodes(),
		sliceInformer{f.Discovery().V1().EndpointSlices(), turns}, 100, client, 0)
	if err := startProxy(ctx, api); err != nil {
		return err
	}
	f.Start(ctx.Done())
	go deployments.Run(ctx, controller.Workers)
	go sets.Run(ctx, controller.Workers)
	go endpoints.Run(ctx, controller.Workers)
	return nil
}

// noResync is the period of resyncs: none comes. Without a period, reflectors before v1.34 wait for a channel from outside the bubble, whose time
// then stands still.
const noResync = 10000 * time.Hour

// The components with a client each.
const (
	controllerManager = "kube-controller-manager"
	kubeProxy         = "kube-proxy"
)

func watchName(component string, kind store.Kind) string {
	return component + " watch of " + string(kind)
}

func newClient(api *server, component string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfigAndClient(&rest.Config{
		Host: "http://api", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}, &http.Client{Transport: connection{api, component}})
}

// startProxy starts kube-proxy's limiter. As in kube-proxy, a handler keeps the slices for the next sync. A sync takes its latency, and records
// the targets if they have changed.
func startProxy(ctx context.Context, api *server) error {
	client, err := newClient(api, kubeProxy)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	slicesOf, targets := map[string]*discoveryv1.EndpointSlice{}, map[string][]trace.Endpoint{}
	write := func() error {
		wanted := map[string][]trace.Endpoint{}
		api.turns.Add(kubeProxy, controller.TurnSync)
		mu.Lock()
		for _, key := range slices.Sorted(maps.Keys(slicesOf)) {
			s := slicesOf[key]
			service := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
			wanted[service] = append(wanted[service], apiserver.EndpointsOf(s)...)
		}
		mu.Unlock()
		time.Sleep(api.delays.Sync(kubeProxy))
		api.mu.Lock()
		defer api.mu.Unlock()
		for service, endpoints := range wanted {
			slices.SortFunc(endpoints, func(a, b trace.Endpoint) int { return cmp.Compare(a.Pod, b.Pod) })
			if now := targetsOf(endpoints); !slices.Equal(now, targets[service]) {
				targets[service] = now
				api.record(trace.Record{Kind: trace.RoutesChanged, Reason: kubeProxy, Object: &trace.Object{Name: "Service " + service, Endpoints: now}})
			}
		}
		return nil
	}
	runner := release.NewProxyRunner(write, time.Second, 30*time.Second, time.Hour)
	f := informers.NewSharedInformerFactory(client, noResync)
	changed := func(o any, keep bool) {
		s := o.(*discoveryv1.EndpointSlice)
		api.turns.Add(watchName(kubeProxy, store.EndpointSlices), controller.TurnEvent)
		mu.Lock()
		if slicesOf[s.Name] = s; !keep {
			delete(slicesOf, s.Name)
		}
		mu.Unlock()
		runner.Run()
	}
	_, err = f.Discovery().V1().EndpointSlices().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { changed(o, true) }, UpdateFunc: func(_, o any) { changed(o, true) }, DeleteFunc: func(o any) { changed(o, false) },
	})
	go runner.Loop(ctx.Done())
	f.Start(ctx.Done())
	return err
}

// targetsOf returns the ready endpoints, or those that serve and terminate if there are none (CategorizeEndpoints in pkg/proxy/topology.go).
func targetsOf(endpoints []trace.Endpoint) []trace.Endpoint {
	var ready, serving []trace.Endpoint
	for _, e := range endpoints {
		if e.Ready {
			ready = append(ready, e)
		} else if e.Serving && e.Terminating {
			serving = append(serving, e)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return serving
}
