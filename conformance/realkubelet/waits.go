package realkubelet

import (
	"context"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/volumemanager"

	"probesim.dev/trace"
)

// waits records what the kubelet waits for: its lifecycle hooks, and the volumes of pods. It wraps
// the parts of the kubelet that do the work.
type waits struct {
	conn     *connection
	recorder *recorder
}

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
		Instance: h.conn.instance(id.ID), Reason: preStop,
	}
	if c.Lifecycle != nil && handler == c.Lifecycle.PostStart {
		rec.Reason = postStart
	}
	h.recorder.add(rec)
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
	h.recorder.add(rec)
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
		v.recorder.add(trace.Record{
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
