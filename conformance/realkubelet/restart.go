package realkubelet

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/mount-utils"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/proof/search"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// node is the state that outlives a restart of the kubelet, and the running kubelet. The driver
// calls its methods one at a time, except start.
type node struct {
	driver  *driver
	api     *podAPI
	root    string
	mounter mount.Interface
	configs *configs
	turns   *turnLog
	config  kubeletconfig.Config

	mu      sync.Mutex
	ctx     context.Context // context of all kubelets
	cancel  func()          // cancels the context of the current kubelet
	conn    *connection     // connection of the current kubelet
	workers []*workers      // pod workers of all kubelets
	kubelet *runningKubelet // nil if no kubelet runs
	err     error           // first error

	seed    int64
	started virtual.Time   // start time of the current kubelet
	first   *firstRuns     // first runs of the current kubelet's probe workers
	drawn   []search.Start // draws of earlier kubelets
}

// start starts the first kubelet.
func (n *node) start(ctx context.Context) error {
	n.ctx, n.started = ctx, n.driver.now()
	n.launch()
	return n.err
}

// launch starts a kubelet with the files and the containers that the previous one left behind.
func (n *node) launch() {
	n.conn = newConnection(n.driver, n.turns)
	pods := n.api.watch(n.config.StaticPodPath != "")
	first := &firstRuns{now: n.driver.now, turns: n.turns, pods: pods, runs: map[string]*workerRun{}}
	probes := &probeRuns{recorder: n.driver.recorder, first: first, runs: map[probeKey]*probeRun{}}
	network := &network{driver: n.conn, probes: probes, first: first}
	events := &eventRecorder{driver: n.conn, network: network, pods: pods}
	goroutines := &workers{conn: n.conn}
	n.mu.Lock()
	n.workers, n.first = append(n.workers, goroutines), first
	n.mu.Unlock()
	runtime := &criServer{n.conn, n.configs, goroutines, events.kills.get}
	ctx, cancel := context.WithCancel(n.ctx)
	n.cancel = cancel
	ctx = kubeletapi.WithLogger(ctx, logr.New(triggerLog{conn: n.conn, workers: first}))
	k, err := startKubelet(ctx, environment{n, n.conn, runtime, events, network, goroutines})
	if n.kubelet = k; err != nil && n.err == nil {
		n.err = fmt.Errorf("at %v: start the kubelet: %w", n.driver.now(), err)
	}
}

// stop stops the kubelet. It returns false if no kubelet runs.
func (n *node) stop() bool {
	if n.kubelet == nil {
		return false
	}
	n.driver.recorder.add(trace.Record{Kind: trace.KubeletStopped})
	n.conn.close()
	n.cancel() // its timers must not write the files that the next kubelet reads
	n.api.unwatch()
	n.kubelet = nil
	return true
}

// powerOff turns the node off after the kubelet has stopped. Files stay, and mounts are lost.
func (n *node) powerOff(back virtual.Time, cause int64) {
	n.driver.change(func(r *fakeruntime.Runtime, now virtual.Time) { r.PowerOff(now, back, cause) })
	n.mounter = mount.NewFakeMounter(nil)
}

// restart starts a kubelet after stop.
func (n *node) restart() {
	n.driver.recorder.add(trace.Record{Kind: trace.KubeletStarted})
	n.drawn = n.starts()
	n.seed, n.started = n.seed+1, n.driver.now()
	go n.launch()
	n.driver.at(n.driver.now(), n.seedStart) // as in run: after the kubelet's informers have drawn their timeouts
}

// calledByStopped reports whether the current goroutine is a pod worker of a stopped kubelet.
func (n *node) calledByStopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.workers, (*workers).stopped)
}

func (n *node) seedStart() { seedStart(n.seed) }

// starts returns the draws of all kubelets; see Result.
func (n *node) starts() []search.Start {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append(n.drawn, search.Start{T: n.started, Fractions: startDraws(n.seed), Runs: n.first.all()})
}

// runningKubelet is a kubelet that has been started.
type runningKubelet struct {
	*kubelet.Kubelet
	// receives the shutdown of the node; nil if the kubelet does not handle shutdowns, or after the
	// shutdown
	shutdowns chan<- bool
}

// Grace period and message of a hard eviction under memory pressure
// (pkg/kubelet/eviction/eviction_manager.go and helpers.go).
const (
	evictionGrace   = 1
	evictionMessage = "The node was low on resource: memory. "
)

// eviction returns a function that evicts the pod, or nil if the eviction manager would not choose
// the pod.
func (k *runningKubelet) eviction(uid types.UID) func() {
	active := k.GetActivePods()
	i := slices.IndexFunc(active, func(p *v1.Pod) bool { return p.UID == uid })
	if i < 0 || kubelettypes.IsCriticalPod(active[i]) {
		return nil
	}
	pod := active[i]
	manager := field(reflect.ValueOf(k.Kubelet).Elem(), "evictionManager").Elem().UnsafePointer()
	return func() {
		kubeletapi.EvictPod(manager, pod, evictionGrace, evictionMessage, &v1.PodCondition{
			Type: v1.DisruptionTarget, ObservedGeneration: pod.Generation, Status: v1.ConditionTrue,
			Reason: v1.PodReasonTerminationByKubelet, Message: evictionMessage,
		})
	}
}
