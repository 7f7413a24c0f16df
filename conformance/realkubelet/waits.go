package realkubelet

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/emptydir"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// waits records what the kubelet waits for: its lifecycle hooks, and the volumes of pods. It wraps
// the parts of the kubelet that do the work.
type waits struct{ conn *connection }

// watch wraps the parts of a kubelet that does not run yet.
func (w *waits) watch(k *kubelet.Kubelet) {
	kubelet := reflect.ValueOf(k).Elem()
	runner := field(field(kubelet, "containerRuntime").Elem().Elem(), "runner")
	runner.Set(reflect.ValueOf(hookRunner{runner.Interface().(kubecontainer.HandlerRunner), w}))
	volumes := field(kubelet, "volumeManager")
	volumes.Set(reflect.ValueOf(volumeWaits{volumes.Interface().(volumemanager.VolumeManager), w}))
}

// noNetwork begins the error of an httpGet hook in the network of the node (runHTTPHandler in
// pkg/kubelet/lifecycle/handlers.go). A status of the pod with addresses in memory follows, which
// no two runs share, so the records leave it out.
const noNetwork = "failed to find networking container: "

// hookRunner wraps the kubelet's runner of hooks.
type hookRunner struct {
	kubecontainer.HandlerRunner // the real one
	*waits
}

func (h hookRunner) Run(ctx context.Context, id kubecontainer.ContainerID, pod *v1.Pod, c *v1.Container,
	handler *v1.LifecycleHandler) (string, error) {
	h.conn.blockIfCut()
	rec := trace.Record{
		Kind: trace.HookStarted, Pod: pod.Namespace + "/" + pod.Name, Container: c.Name,
		Instance: h.conn.instance(id.ID), Reason: "preStop",
	}
	if c.Lifecycle != nil && handler == c.Lifecycle.PostStart {
		rec.Reason = "postStart"
	}
	h.conn.recorder.add(rec)
	start := h.conn.now()
	message, err := h.HandlerRunner.Run(ctx, id, pod, c, handler)
	h.conn.blockIfCut()
	rec.Kind, rec.Result, rec.Took = trace.HookEnded, resultOf(err), h.conn.now().Sub(start)
	if err != nil {
		rec.Message = untagged(message)
		if before, _, found := strings.Cut(rec.Message, noNetwork); found {
			rec.Message = before + strings.TrimSuffix(noNetwork, ": ")
		}
	}
	h.conn.recorder.add(rec)
	return message, err
}

// volumeWaits wraps the kubelet's volume manager.
type volumeWaits struct {
	volumemanager.VolumeManager // the real one
	*waits
}

func (v volumeWaits) WaitForAttachAndMount(ctx context.Context, pod *v1.Pod) error {
	return v.record(pod, "mount", func() error { return v.VolumeManager.WaitForAttachAndMount(ctx, pod) })
}

func (v volumeWaits) WaitForUnmount(ctx context.Context, pod *v1.Pod) error {
	return v.record(pod, "unmount", func() error { return v.VolumeManager.WaitForUnmount(ctx, pod) })
}

// record records a wait that takes any time.
func (v volumeWaits) record(pod *v1.Pod, reason string, wait func() error) error {
	start := v.conn.now()
	err := wait()
	v.conn.blockIfCut()
	if took := v.conn.now().Sub(start); took > 0 {
		v.conn.recorder.add(trace.Record{
			Kind: trace.VolumeWaitEnded, Pod: pod.Namespace + "/" + pod.Name, Reason: reason, Result: resultOf(err),
			Took: took,
		})
	}
	return err
}

// resultOf returns the result of an action that ends with an error or nil.
func resultOf(err error) trace.Result {
	if err != nil {
		return trace.Failure
	}
	return trace.Success
}

// volumePlugins returns the plugin for emptyDir, whose mounts take the delay of their pod.
func volumePlugins(c *connection) []volume.VolumePlugin {
	plugins := emptydir.ProbeVolumePlugins()
	for i, p := range plugins {
		plugins[i] = &slowPlugin{VolumePlugin: p, conn: c, drawn: map[types.UID]time.Duration{}}
	}
	return plugins
}

// slowPlugin is a plugin whose mounts are delayed. All volumes of a pod have the same delay, which
// is drawn once for each kubelet.
type slowPlugin struct {
	volume.VolumePlugin
	conn  *connection
	mu    sync.Mutex
	drawn map[types.UID]time.Duration
}

func (p *slowPlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	m, err := p.VolumePlugin.NewMounter(spec, pod)
	return slowMounter{m, p.delayOf(pod.UID), p.conn}, err
}

func (p *slowPlugin) delayOf(uid types.UID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.drawn[uid]
	if !ok {
		d = p.conn.mountDelay(string(uid))
		p.drawn[uid] = d
	}
	return d
}

type slowMounter struct {
	volume.Mounter
	delay time.Duration
	conn  *connection
}

func (m slowMounter) SetUp(args volume.MounterArgs) error {
	if m.delay > 0 {
		time.Sleep(m.delay)
		m.conn.blockIfCut()
	}
	return m.Mounter.SetUp(args)
}

// mountDelay returns how long the volumes of a pod take to mount, in addition to the time of an
// emptyDir.
func (c *connection) mountDelay(podUID string) (delay time.Duration) {
	c.change(func(r *fakeruntime.Runtime, _ virtual.Time) { delay = r.MountDelay(podUID) })
	return delay
}
