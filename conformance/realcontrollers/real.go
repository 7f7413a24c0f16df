package realcontrollers

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
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
	"probesim.dev/explore"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// Run runs a scenario on the real controllers of the release. The turns are the calls of the controllers in their order.
func Run(t *testing.T, s Scenario, p profile.Profile) (records []trace.Record, turns []explore.Turn, err error) {
	klog.SetLogger(logr.Discard())
	handlers := utilruntime.ErrorHandlers
	// The default handlers sleep if the last error was less than a millisecond ago, even in another bubble.
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(*testing.T) { records, turns, err = run(s, p) })
	return records, turns, err
}

// run runs a scenario in the present bubble.
func run(s Scenario, p profile.Profile) ([]trace.Record, []explore.Turn, error) {
	api := newServer(p, time.Now().Add(startUp))
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
			err = api.step(step)
		}
	}
	time.Sleep(time.Until(api.zero.Add(s.Duration)))
	api.mu.Lock()
	records, turns := slices.Clone(api.trace.Records()), slices.Clone(api.turns)
	api.mu.Unlock()
	cancel()
	time.Sleep(time.Hour) // goroutines notice it
	return records, turns, err
}

// begin creates the Deployment and the Service.
func (s *server) begin(scenario Scenario) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := admission.AdmitDeployment(s.profile, scenario.Deployment)
	if err != nil {
		return err
	}
	if _, err := s.create(store.Deployments, d); err != nil || scenario.Service == nil {
		return err
	}
	service, err := admission.AdmitService(scenario.Service)
	if err == nil {
		_, err = s.create(store.Services, service)
	}
	return err
}

// step takes a step of the scenario.
func (s *server) step(step Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, refused := stepped(s.profile, step, s.store.List(store.Deployments), s.store.List(store.ReplicaSets))
	if refused != nil {
		return nil
	}
	_, err := s.changed(s.store.Update(store.Deployments, d))
	return err
}

// startControllers starts the controllers with a client each, and kube-proxy's limiter.
func startControllers(ctx context.Context, api *server) error {
	client, err := kubernetes.NewForConfigAndClient(
		&rest.Config{Host: "http://api", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, &http.Client{Transport: api})
	if err != nil {
		return err
	}
	f := informers.NewSharedInformerFactory(client, 0)
	pods, services, slices := f.Core().V1().Pods(), f.Core().V1().Services(), f.Discovery().V1().EndpointSlices()
	deployments, err := deployment.NewDeploymentController(ctx, f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), pods, client)
	if err != nil {
		return err
	}
	sets := replicaset.NewReplicaSetController(ctx, f.Apps().V1().ReplicaSets(), pods, client, replicaset.BurstReplicas)
	endpoints := endpointslice.NewController(ctx, pods, services, f.Core().V1().Nodes(), slices, 100, client, 0)
	startProxy(ctx, api, client)
	f.Start(ctx.Done())
	go deployments.Run(ctx, 5)
	go sets.Run(ctx, 5)
	go endpoints.Run(ctx, 5)
	return nil
}

// startProxy starts kube-proxy's limiter over a cache of its own. A sync takes its latency, and records the targets if they have changed.
func startProxy(ctx context.Context, api *server, client kubernetes.Interface) {
	f := informers.NewSharedInformerFactory(client, 0)
	lister, informer := f.Discovery().V1().EndpointSlices().Lister(), f.Discovery().V1().EndpointSlices().Informer()
	targets := map[string][]trace.Endpoint{}
	sync := func() error {
		list, _ := lister.List(labels.Everything())
		wanted := map[string][]trace.Endpoint{}
		for _, s := range list {
			service := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
			wanted[service] = append(wanted[service], apiserver.EndpointsOf(s)...)
		}
		time.Sleep(delays.Sync("kube-proxy"))
		api.mu.Lock()
		defer api.mu.Unlock()
		for service, endpoints := range wanted {
			if now := targetsOf(endpoints); !slices.Equal(now, targets[service]) {
				targets[service] = now
				api.record(trace.Record{Kind: trace.RoutesChanged, Reason: "kube-proxy", Object: &trace.Object{Name: "Service " + service, Endpoints: now}})
			}
		}
		return nil
	}
	runner := release.NewProxyRunner(sync, time.Second, 30*time.Second, time.Hour)
	informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { runner.Run() }, UpdateFunc: func(any, any) { runner.Run() }, DeleteFunc: func(any) { runner.Run() },
	})
	go runner.Loop(ctx.Done())
	f.Start(ctx.Done())
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
