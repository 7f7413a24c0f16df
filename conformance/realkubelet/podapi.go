package realkubelet

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"probesim.dev/apiserver"
	"probesim.dev/apiserver/admission"
	"probesim.dev/apiserver/store"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// podAPI is the pods API of the API server, over client-go's fake clientset. Callers wait for the latency
// before they call it; changes themselves take no time.
type podAPI struct {
	driver   *driver
	recorder *recorder
	fake     *fake.Clientset
	profile  profile.Profile // profile of the kubelet's release

	mu     sync.Mutex
	names  map[types.NamespacedName]int     // number of mirror pods created
	pods   map[types.NamespacedName]*v1.Pod // stored pods; replaced, never changed
	source *podSource                       // source of the running kubelet; nil if no kubelet runs

	manifests *manifests
}

func newPodAPI(d *driver, r *recorder, p profile.Profile, node *v1.Node) *podAPI {
	return &podAPI{
		driver: d, recorder: r, profile: p,
		fake: fake.NewSimpleClientset(node), //nolint:staticcheck // managed fields are of no use here
		pods: map[types.NamespacedName]*v1.Pod{}, names: map[types.NamespacedName]int{}, manifests: newManifests(),
	}
}

// client returns the clientset for a kubelet, in which calls about pods take time.
func (a *podAPI) client(c *connection) kubernetes.Interface { return client{a.fake, a, c} }

// add creates a pod that is bound to the node, and sends it to the runtime and the kubelet.
func (a *podAPI) add(pod *v1.Pod, program fakeruntime.Pod) error {
	pod = a.admitted(pod)
	program.UID, program.Namespace, program.Name = string(pod.UID), pod.Namespace, pod.Name
	a.driver.change(func(r *fakeruntime.Runtime, _ virtual.Time) { r.AddPod(program) })
	if err := a.fake.Tracker().Add(pod); err != nil {
		return err
	}
	a.recorder.add(trace.Record{Kind: trace.PodAdded, Pod: pod.Namespace + "/" + pod.Name})
	a.set(pod)
	return nil
}

// admitted returns the pod as the API server stores it after creation and binding
// (pkg/registry/core/pod/strategy.go, PrepareForCreate).
func (a *podAPI) admitted(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	admission.DropDisabled(a.profile, &pod.Spec)
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	if pod.UID == "" {
		pod.UID = types.UID("uid-" + pod.Namespace + "-" + pod.Name)
	}
	pod.CreationTimestamp = metav1.NewTime(a.driver.apiNow())
	pod.Generation = 1
	pod.Spec.NodeName = nodeName
	pod.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: qos.GetPodQOS(pod)}
	provideReferences(pod)
	return serialized(pod)
}

// serialized returns the pod after a round trip through JSON, which truncates times to seconds.
func serialized(pod *v1.Pod) *v1.Pod {
	data, err := json.Marshal(pod)
	if err != nil {
		panic(err) // API types can always be marshaled
	}
	stored := &v1.Pod{}
	if err := json.Unmarshal(data, stored); err != nil {
		panic(err)
	}
	return stored
}

// requestDeletion deletes a pod for a user, like the API server.
func (a *podAPI) requestDeletion(key types.NamespacedName, gracePeriodSeconds *int64) error {
	pod := a.get(key)
	if pod == nil {
		return nil
	}
	a.recorder.add(trace.Record{Kind: trace.PodDeleteRequested, Pod: key.String()})
	return a.delete(pod, key, gracePeriodSeconds)
}

// deleteNow deletes a pod without a grace period. The kubelet calls it when the pod has ended, and for mirror pods.
func (a *podAPI) deleteNow(key types.NamespacedName, only *metav1.Preconditions) error {
	pod := a.get(key)
	switch {
	case pod == nil:
		return apierrors.NewNotFound(v1.Resource("pods"), key.Name)
	case only != nil && only.UID != nil && *only.UID != pod.UID:
		return apierrors.NewConflict(v1.Resource("pods"), key.Name, errors.New("the UID differs"))
	}
	return a.delete(pod, key, new(int64))
}

func (a *podAPI) delete(pod *v1.Pod, key types.NamespacedName, gracePeriodSeconds *int64) error {
	after, gone := store.AfterDelete(pod, gracePeriodSeconds, a.driver.apiNow())
	switch {
	case gone:
		return a.remove(key)
	case after == pod:
		return nil
	}
	return a.update(after)
}

// change stores what admission makes of a pod, like the API server.
func (a *podAPI) change(key types.NamespacedName, admit func(*v1.Pod) (*v1.Pod, error)) error {
	pod := a.get(key)
	if pod == nil {
		return nil
	}
	after, err := admit(pod)
	switch {
	case err != nil:
		return err
	case store.Gone(after):
		return a.remove(key)
	}
	return a.update(after)
}

// addEphemeralContainer adds an ephemeral container to a pod, like the API server.
func (a *podAPI) addEphemeralContainer(key types.NamespacedName, c v1.EphemeralContainer, program fakeruntime.ContainerConfig) error {
	return a.change(key, func(pod *v1.Pod) (*v1.Pod, error) {
		after, err := admission.AddEphemeralContainer(pod, c)
		if err != nil {
			return nil, err
		}
		a.driver.change(func(r *fakeruntime.Runtime, _ virtual.Time) { r.AddContainer(string(pod.UID), c.Name, program) })
		provideVariables((*v1.Container)(&after.Spec.EphemeralContainers[len(pod.Spec.EphemeralContainers)].EphemeralContainerCommon))
		return after, nil
	})
}

// update replaces the pod with the same name.
func (a *podAPI) update(pod *v1.Pod) error {
	pod = serialized(pod)
	if err := a.fake.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), pod, pod.Namespace); err != nil {
		return err
	}
	a.set(pod)
	return nil
}

// remove removes a pod from the API.
func (a *podAPI) remove(key types.NamespacedName) error {
	if err := a.fake.CoreV1().Pods(key.Namespace).Delete(context.Background(), key.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	a.mu.Lock()
	delete(a.pods, key)
	a.mu.Unlock()
	a.recorder.add(trace.Record{Kind: trace.PodRemoved, Pod: key.String()})
	a.notify()
	return nil
}

// statusPatched stores the result of a status patch.
func (a *podAPI) statusPatched(pod *v1.Pod) {
	a.recorder.add(trace.Record{Kind: trace.StatusPatched, Pod: pod.Namespace + "/" + pod.Name, Status: a.observed(pod)})
	a.set(pod.DeepCopy())
}

// observed returns the status of a pod for the trace.
func (a *podAPI) observed(pod *v1.Pod) *trace.PodStatus {
	if !a.recorder.wantsDetails() {
		return apiserver.Observed(pod)
	}
	return apiserver.ObservedInDetail(pod, a.driver.epoch)
}

func (a *podAPI) get(key types.NamespacedName) *v1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pods[key]
}

func (a *podAPI) set(pod *v1.Pod) {
	a.mu.Lock()
	a.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
	a.mu.Unlock()
	a.notify()
}

// notify sends all pods to the kubelet, like the kubelet's watch after a change.
func (a *podAPI) notify() {
	a.mu.Lock()
	defer a.mu.Unlock()
	source, pods := a.source, a.list()
	if source != nil && !a.driver.apiDown.Load() {
		a.driver.at(a.driver.now(), func() { source.send(pods) })
	}
}

// list returns all pods by name. The caller holds the lock.
func (a *podAPI) list() []*v1.Pod {
	pods := make([]*v1.Pod, 0, len(a.pods))
	for _, pod := range a.pods {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return pods
}

// watch returns the source of pods for a kubelet that starts. The source has the existing pods unless the API
// server is down. The source of the previous kubelet receives no more pods.
func (a *podAPI) watch(staticPods bool) *podSource {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.source = newPodSource()
	if staticPods {
		a.source.files = newPodSource()
		a.source.files.send(a.manifests.list())
	}
	if !a.driver.apiDown.Load() {
		a.source.send(a.list())
	}
	return a.source
}

// unwatch stops sending pods to the kubelet.
func (a *podAPI) unwatch() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.source = nil
}
