package realkubelet

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/trace"
)

// client is the kubelet's clientset. Calls about pods wait for their latency before they reach the
// fake clientset, which holds a lock while it works.
type client struct {
	kubernetes.Interface
	api  *podAPI
	conn *connection
}

// IsWatchListSemanticsUnSupported reports that the fake clientset does not support watch-list.
// Without it no informer syncs (client-go util/watchlist/watch_list.go). client-go v0.34 does not
// call this method.
func (c client) IsWatchListSemanticsUnSupported() bool {
	of, ok := c.Interface.(interface{ IsWatchListSemanticsUnSupported() bool })
	return ok && of.IsWatchListSemanticsUnSupported()
}

func (c client) CoreV1() corev1.CoreV1Interface { return coreV1{c.Interface.CoreV1(), c} }

type coreV1 struct {
	corev1.CoreV1Interface
	client client
}

func (c coreV1) Pods(namespace string) corev1.PodInterface {
	return pods{c.CoreV1Interface.Pods(namespace), c.client.api, c.client.conn, namespace}
}

// pods is the pods API with latency. The kubelet uses these methods: Create and Delete for mirror
// pods, and all but Create in the status manager.
type pods struct {
	corev1.PodInterface
	api       *podAPI
	conn      *connection
	namespace string
}

func (p pods) Get(ctx context.Context, name string, o metav1.GetOptions) (*v1.Pod, error) {
	p.conn.turn("status batch", p.key(name))
	return withLatency(p, p.delaysOf(name), fakeruntime.DelayAPIGet, fakeruntime.APIGet, name,
		func() (*v1.Pod, error) { return p.PodInterface.Get(ctx, name, o) })
}

func (p pods) Patch(ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions,
	sub ...string) (*v1.Pod, error) {
	return withLatency(p, p.delaysOf(name), fakeruntime.DelayAPIPatch, fakeruntime.APIPatch, name, func() (*v1.Pod, error) {
		pod, err := p.PodInterface.Patch(ctx, name, t, data, o, sub...)
		if err == nil {
			p.api.statusPatched(pod)
		}
		return pod, err
	})
}

// Create creates a mirror pod. It takes the latency of a patch.
func (p pods) Create(_ context.Context, mirror *v1.Pod, _ metav1.CreateOptions) (*v1.Pod, error) {
	pod, err := withLatency(p, podutil.DelaysOf(mirror), fakeruntime.DelayAPIPatch, fakeruntime.APICreate, mirror.Name,
		func() (*v1.Pod, error) { return p.api.createMirror(mirror) })
	if pod == nil {
		pod = &v1.Pod{} // as client-go does; the kubelet reads it together with an error
	}
	return pod, err
}

func (p pods) Delete(_ context.Context, name string, o metav1.DeleteOptions) error {
	p.conn.turn("orphaned mirror pods", p.key(name))
	_, err := withLatency(p, p.delaysOf(name), fakeruntime.DelayAPIDelete, fakeruntime.APIDelete, name,
		func() (*v1.Pod, error) { return nil, p.api.deleteNow(p.key(name), o.Preconditions) })
	return err
}

func (p pods) key(name string) string { return p.namespace + "/" + name }

// delaysOf returns whose delays the calls about a pod have.
func (p pods) delaysOf(name string) string {
	if pod := p.api.get(p.key(name)); pod != nil {
		return podutil.DelaysOf(pod)
	}
	return ""
}

// withLatency makes a call after its latency if the API server is reachable, and records the call.
// The delays are those of a pod.
func withLatency(p pods, uid string, kind fakeruntime.DelayKind, call fakeruntime.Method, name string,
	do func() (*v1.Pod, error)) (*v1.Pod, error) {
	if !p.conn.isCut() {
		p.conn.turns.call(string(call))
	}
	fault := p.conn.fault(call, p.key(name))
	took, err := p.conn.sleep(kind, uid)
	if err == errRunEnded {
		return nil, err
	}
	p.conn.turn("call to the API server", "end")
	var pod *v1.Pod
	reached := err == nil
	if reached && (fault == nil || fault.Done) {
		pod, err = do()
	}
	if reached && fault != nil {
		p.conn.failed(fault, p.key(name))
		pod, err = nil, fault.Err()
	}
	rec := trace.Record{Kind: trace.CRICall, Pod: p.key(name), Reason: string(call), Took: took}
	if err != nil {
		rec.Message = err.Error()
	}
	p.conn.recorder.add(rec)
	return pod, err
}
