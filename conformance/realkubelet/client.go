package realkubelet

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/trace"
)

// client is the kubelet's clientset. Calls about pods take their latency before they reach the fake one,
// which holds a lock while it works.
type client struct {
	kubernetes.Interface
	api *podAPI
}

// IsWatchListSemanticsUnSupported passes on that the fake clientset has no watch-list; without it no
// informer would ever sync (client-go util/watchlist/watch_list.go). That of v0.34 does not ask.
func (c client) IsWatchListSemanticsUnSupported() bool {
	of, ok := c.Interface.(interface{ IsWatchListSemanticsUnSupported() bool })
	return ok && of.IsWatchListSemanticsUnSupported()
}

func (c client) CoreV1() corev1.CoreV1Interface { return coreV1{c.Interface.CoreV1(), c.api} }

type coreV1 struct {
	corev1.CoreV1Interface
	api *podAPI
}

func (c coreV1) Pods(namespace string) corev1.PodInterface {
	return pods{c.CoreV1Interface.Pods(namespace), c.api, namespace}
}

// pods is the API of pods with latency. The kubelet's status manager uses these three calls.
type pods struct {
	corev1.PodInterface
	api       *podAPI
	namespace string
}

func (p pods) Get(ctx context.Context, name string, o metav1.GetOptions) (*v1.Pod, error) {
	done := p.wait(fakeruntime.DelayAPIGet, "APIGet", name)
	pod, err := p.PodInterface.Get(ctx, name, o)
	done(err)
	return pod, err
}

func (p pods) Patch(ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*v1.Pod, error) {
	done := p.wait(fakeruntime.DelayAPIPatch, "APIPatch", name)
	pod, err := p.PodInterface.Patch(ctx, name, t, data, o, sub...)
	if err == nil {
		p.api.patched(pod)
	}
	done(err)
	return pod, err
}

func (p pods) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	done := p.wait(fakeruntime.DelayAPIDelete, "APIDelete", name)
	err := p.api.removed(types.NamespacedName{Namespace: p.namespace, Name: name})
	done(err)
	return err
}

// wait waits for the latency of a call. What it returns records the call.
func (p pods) wait(kind fakeruntime.DelayKind, call, name string) (done func(error)) {
	key := types.NamespacedName{Namespace: p.namespace, Name: name}
	var uid types.UID
	if pod := p.api.get(key); pod != nil {
		uid = pod.UID
	}
	took := p.api.driver.sleep(kind, string(uid))
	return func(err error) {
		rec := trace.Record{Kind: trace.CRICall, Pod: key.String(), Reason: call, Took: took}
		if err != nil {
			rec.Message = err.Error()
		}
		p.api.recorder.add(rec)
	}
}
