package realkubelet

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/mount-utils"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// node is what stays when the kubelet on it is stopped and started again, and the kubelet that runs on it. Its
// methods are called by the driver, one at a time, but for the first start.
type node struct {
	driver   *driver
	recorder *recorder
	api      *podAPI
	root     string
	mounter  mount.Interface
	configs  *configs
	config   kubeletconfig.Config

	mu      sync.Mutex
	ctx     context.Context // of all kubelets
	conn    *connection     // of the kubelet that runs, or is being started
	workers []*workers      // of all kubelets
	kubelet *runningKubelet // nil if none runs
	err     error           // the first

	seed    int64
	started virtual.Time // when the kubelet was
	first   *firstRuns   // of its probe workers
	drawn   []StartDraws // by the kubelets before this one
}

// start starts the first kubelet.
func (n *node) start(ctx context.Context) error {
	n.ctx, n.started = ctx, n.driver.now()
	n.launch()
	return n.err
}

// launch starts a kubelet on what the one before has left.
func (n *node) launch() {
	n.conn = newConnection(n.driver)
	pods := n.api.watch()
	first := &firstRuns{now: n.driver.now, pods: pods, runs: map[string]*workerRun{}}
	probes := &probeRuns{recorder: n.recorder, first: first, runs: map[probeKey]*probeRun{}}
	network := &network{driver: n.conn, recorder: n.recorder, probes: probes, first: first}
	events := &eventRecorder{
		driver: n.conn, recorder: n.recorder, network: network, pods: pods, kills: map[containerKey]string{}, evicted: map[string]bool{},
	}
	goroutines := &workers{conn: n.conn, pods: map[string]string{}}
	n.mu.Lock()
	n.workers, n.first = append(n.workers, goroutines), first
	n.mu.Unlock()
	runtime := &runtimeService{
		driver: n.conn, configs: n.configs, workers: goroutines, probes: probes, stopReason: events.killReason,
	}
	ctx := release.WithLogger(n.ctx, logr.New(triggerLog{conn: n.conn, recorder: n.recorder, workers: first}))
	k, err := startKubelet(ctx, outside{
		root: n.root, mounter: n.mounter, client: n.api.client(n.conn), runtime: runtime, images: &imageService{runtime: runtime},
		config: n.config, recorder: events, pods: events.pods, network: network, workers: goroutines,
	})
	if n.kubelet = k; err != nil && n.err == nil {
		n.err = fmt.Errorf("at %v: start the kubelet: %w", n.driver.now(), err)
	}
}

// stop stops the kubelet, and reports whether one ran.
func (n *node) stop() bool {
	if n.kubelet == nil {
		return false
	}
	n.recorder.add(trace.Record{Kind: trace.KubeletStopped})
	n.conn.close()
	n.api.unwatch()
	n.kubelet = nil
	return true
}

// powerOff has the node go down, after stop. What is on its disk stays, but nothing is mounted any more.
func (n *node) powerOff(back virtual.Time, cause int64) {
	n.driver.powerOff(back, cause)
	n.mounter = mount.NewFakeMounter(nil)
}

// restart starts a kubelet after stop.
func (n *node) restart() {
	n.recorder.add(trace.Record{Kind: trace.KubeletStarted})
	n.drawn = n.startDraws()
	n.seed, n.started = n.seed+1, n.driver.now()
	go n.launch()
	n.driver.at(n.driver.now(), n.seedStart) // as at first: when its informers have drawn their timeouts
}

// ofStopped reports whether this goroutine is a pod worker of a kubelet that was stopped.
func (n *node) ofStopped() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.workers, (*workers).stopped)
}

func (n *node) seedStart() { seedStart(n.seed) }

// startDraws returns the delays that probe workers drew; see Result.
func (n *node) startDraws() []StartDraws {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append(n.drawn, StartDraws{n.started, startDraws(n.seed), n.first.all()})
}
