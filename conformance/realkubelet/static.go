package realkubelet

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// manifests stands for the directory of static pods, which the kubelet would watch with inotify:
// real input that stops the virtual clock. Its pods go to the channel of the kubelet's file source,
// at the instant of the change.
type manifests struct {
	mu      sync.Mutex
	pods    map[types.NamespacedName]*v1.Pod
	written map[types.UID]*v1.Pod // all pods that ever were in the directory
}

func newManifests() *manifests {
	return &manifests{pods: map[types.NamespacedName]*v1.Pod{}, written: map[types.UID]*v1.Pod{}}
}

// list returns the static pods in the random order of a map, as the kubelet's own source does.
func (m *manifests) list() []*v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.pods))
}

// set writes a manifest, or removes it if pod is nil.
func (m *manifests) set(key types.NamespacedName, pod *v1.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pods, key)
	if pod != nil {
		if same := m.written[pod.UID]; same != nil {
			pod = same
		}
		m.pods[key], m.written[pod.UID] = pod, pod
	}
}

func (w *world) SetManifest(pod *v1.Pod, program fakeruntime.Pod) error {
	pod = pod.DeepCopy()
	admission.DropDisabled(w.api.profile, &pod.Spec)
	program.UID, program.Namespace, program.Name = string(pod.UID), pod.Namespace, pod.Name
	w.driver.change(func(r *fakeruntime.Runtime, _ virtual.Time) { r.AddPod(program) })
	w.changeManifest(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod)
	return nil
}

func (w *world) RemoveManifest(namespace, name string) error {
	w.changeManifest(types.NamespacedName{Namespace: namespace, Name: name}, nil)
	return nil
}

func (w *world) changeManifest(key types.NamespacedName, pod *v1.Pod) {
	w.api.manifests.set(key, pod)
	w.api.mu.Lock()
	defer w.api.mu.Unlock()
	if source := w.api.source; source != nil {
		pods := w.api.manifests.list()
		w.driver.at(w.driver.now(), func() {
			for _, pod := range pods {
				w.node.turns.add("static pods", pod.Namespace+"/"+pod.Name)
			}
			source.files.send(pods)
		})
	}
}

// createMirror stores the mirror pod that the kubelet has made from its copy of a static pod. The
// copy has tags, so the stored pod comes from the manifest.
func (a *podAPI) createMirror(mirror *v1.Pod) (*v1.Pod, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := store.Key(mirror)
	if a.store.Pod(key) != nil {
		return nil, apierrors.NewAlreadyExists(v1.Resource("pods"), mirror.Name)
	}
	a.manifests.mu.Lock()
	static := a.manifests.written[types.UID(podutil.DelaysOf(mirror))]
	a.manifests.mu.Unlock()
	pod := admission.Mirror(static, a.store.Mirrors(key))
	pod.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: qos.GetPodQOS(pod)}
	pod = serialized(pod)
	c := a.store.AddMirror(pod, a.driver.apiNow())
	a.recorder.add(trace.Record{Kind: trace.PodAdded, Pod: key})
	return pod, a.changed(c)
}
