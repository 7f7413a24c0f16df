package realcontrollers

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"probesim.dev/internal/proof/search"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// Run runs a scenario on the real controllers of the release. The turns are the calls of the
// controllers in their order.
func Run(t *testing.T, s Scenario, p profile.Profile) (records []trace.Record, turns []search.Turn, err error) {
	klog.SetLogger(logr.Discard())
	// the log of turns is the order of execution while one goroutine runs at a time
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	handlers := utilruntime.ErrorHandlers
	// The default handlers sleep if the last error was less than a millisecond ago, even in another
	// bubble.
	defer func() { utilruntime.ErrorHandlers = handlers }()
	synctest.Test(t, func(*testing.T) { records, turns, err = run(s, p) })
	return records, turns, err
}

// run runs a scenario in the present bubble.
func run(s Scenario, p profile.Profile) ([]trace.Record, []search.Turn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	api := newStandIn(p, time.Now().Add(startUp), ctx.Done())
	if err := api.Start(ctx); err != nil {
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
	records, turns := slices.Clone(api.trace.Records()), api.turnsList()
	api.mu.Unlock()
	cancel()
	time.Sleep(time.Hour) // goroutines notice it
	return records, turns, err
}

// begin creates the Deployments and the Services.
func (s *standIn) begin(scenario Scenario) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range scenario.deployments() {
		admitted, err := admission.AdmitDeployment(s.Profile, d)
		if err == nil {
			_, err = s.Create(store.Deployments, admitted)
		}
		if err != nil {
			return err
		}
	}
	for _, o := range scenario.Services {
		admitted, err := admission.AdmitService(o)
		if err == nil {
			_, err = s.Create(store.Services, admitted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step takes a step of the scenario.
func (s *standIn) step(scenario *Scenario, step Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if step.Delete != "" {
		_ = s.delete(store.Pods, "default", step.Delete) // an error if there is no such pod
		return nil
	}
	d, refused := scenario.stepped(s.Profile, step, s.Store.List(store.Deployments), s.Store.List(store.ReplicaSets))
	if refused != nil {
		return nil
	}
	return s.Update(store.Deployments, d)
}
