package realkubelet

import (
	"encoding/json"
	"errors"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// podAPI is the pods API of the API server: a store, and client-go's fake clientset for the calls
// of the kubelet. Callers wait for the latency before they call it; changes themselves take no
// time.
type podAPI struct {
	driver  *driver
	fake    *fake.Clientset
	profile profile.Profile // profile of the kubelet's release

	mu      sync.Mutex
	store   *store.Store
	source  *podSource    // source of the running kubelet; nil if no kubelet runs
	control *controlPlane // nil without a control plane

	manifests *manifests
}

func newPodAPI(d *driver, p profile.Profile, node *v1.Node) *podAPI {
	return &podAPI{
		driver: d, profile: p,
		fake:  fake.NewSimpleClientset(node), //nolint:staticcheck // managed fields are of no use here
		store: store.New(), manifests: newManifests(),
	}
}

// client returns the clientset for a kubelet, in which calls about pods take time.
func (a *podAPI) client(c *connection) kubernetes.Interface { return client{a.fake, a, c} }

// add creates a pod that is bound to the node, and sends it to the runtime and the kubelet.
func (a *podAPI) add(pod *v1.Pod, program fakeruntime.Pod) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod = a.admitted(pod)
	pod.Spec.NodeName = nodeName
	c, err := a.create(pod, false, program)
	if err != nil {
		return err
	}
	a.driver.recorder.add(trace.Record{Kind: trace.PodAdded, Pod: store.Key(pod)})
	a.publish(c)
	return nil
}

// create stores a pod, and sends it to the runtime. The caller holds the lock, and publishes the
// change.
func (a *podAPI) create(pod *v1.Pod, generated bool, program fakeruntime.Pod) (store.Change, error) {
	c, err := a.store.AddPod(pod, generated, a.driver.apiNow())
	if err != nil {
		return c, err
	}
	pod.Status.QOSClass = qos.GetPodQOS(pod)
	program.UID, program.Namespace, program.Name = string(pod.UID), pod.Namespace, pod.Name
	a.driver.change(func(r *fakeruntime.Runtime, _ virtual.Time) { r.AddPod(program) })
	return c, a.fake.Tracker().Add(pod)
}

// admitted returns the pod as the API server stores it after creation
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
func (a *podAPI) requestDeletion(key string, gracePeriodSeconds *int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod := a.store.Pod(key)
	if pod == nil {
		return nil
	}
	a.driver.recorder.add(trace.Record{Kind: trace.PodDeleteRequested, Pod: key})
	return a.delete(pod, gracePeriodSeconds)
}

// deleteNow deletes a pod without a grace period. The kubelet calls it when the pod has ended, and
// for mirror pods.
func (a *podAPI) deleteNow(key string, only *metav1.Preconditions) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod := a.store.Pod(key)
	switch {
	case pod == nil:
		return apierrors.NewNotFound(v1.Resource("pods"), trace.PodName(key))
	case only != nil && only.UID != nil && *only.UID != pod.UID:
		return apierrors.NewConflict(v1.Resource("pods"), trace.PodName(key), errors.New("the UID differs"))
	}
	return a.delete(pod, new(int64))
}

// delete applies a request to delete a pod. The caller holds the lock.
func (a *podAPI) delete(pod *v1.Pod, gracePeriodSeconds *int64) error {
	return a.changed(a.store.DeletePod(pod, gracePeriodSeconds, a.driver.apiNow()))
}

// change stores what admission makes of a pod, like the API server.
func (a *podAPI) change(key string, admit func(*v1.Pod) (*v1.Pod, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod := a.store.Pod(key)
	if pod == nil {
		return nil
	}
	after, err := admit(pod)
	if err != nil {
		return err
	}
	return a.changed(a.store.PutPod(pod, serialized(after)))
}

// addEphemeralContainer adds an ephemeral container to a pod, like the API server.
func (a *podAPI) addEphemeralContainer(key string, c v1.EphemeralContainer,
	program fakeruntime.ContainerConfig) error {
	return a.change(key, func(pod *v1.Pod) (*v1.Pod, error) {
		after, err := admission.AddEphemeralContainer(pod, c)
		if err != nil {
			return nil, err
		}
		a.driver.change(func(r *fakeruntime.Runtime, _ virtual.Time) {
			r.AddContainer(string(pod.UID), c.Name, program)
		})
		provideVariables((*v1.Container)(
			&after.Spec.EphemeralContainers[len(pod.Spec.EphemeralContainers)].EphemeralContainerCommon))
		return after, nil
	})
}

// changed tells the clientset, the kubelet and the control plane of a change of a pod, if there is
// one. The caller holds the lock.
func (a *podAPI) changed(c store.Change) error {
	pod, _ := c.New.(*v1.Pod)
	var err error
	switch c.Type {
	case store.Added:
		err = a.fake.Tracker().Add(pod)
	case store.Modified:
		err = a.fake.Tracker().Update(podResource, pod, pod.Namespace)
	case store.Deleted:
		err = a.fake.Tracker().Delete(podResource, pod.Namespace, pod.Name)
		a.driver.recorder.add(trace.Record{Kind: trace.PodRemoved, Pod: store.Key(pod)})
	default:
		return nil
	}
	a.publish(c)
	return err
}

var podResource = v1.SchemeGroupVersion.WithResource("pods")

// statusPatched stores the result of a status patch, which the clientset has already.
func (a *podAPI) statusPatched(pod *v1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.driver.recorder.add(trace.Record{Kind: trace.StatusPatched, Pod: store.Key(pod), Status: a.observed(pod)})
	a.publish(a.store.PutPod(a.store.Pod(store.Key(pod)), pod.DeepCopy()))
}

// observed returns the status of a pod for the trace.
func (a *podAPI) observed(pod *v1.Pod) *trace.PodStatus {
	if !a.driver.recorder.wantsDetails() {
		return apiserver.Observed(pod)
	}
	return apiserver.ObservedInDetail(pod, a.driver.epoch)
}

func (a *podAPI) get(key string) *v1.Pod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.store.Pod(key)
}

// publish sends a change to the watches. The kubelet's has the pods that are bound to the node. The
// caller holds the lock.
func (a *podAPI) publish(c store.Change) {
	if c.New.(*v1.Pod).Spec.NodeName != "" {
		a.notify()
	}
	if a.control != nil {
		a.control.Publish(c)
	}
}

// notify sends all pods to the kubelet, like the kubelet's watch after a change. The caller holds
// the lock.
func (a *podAPI) notify() {
	source, pods := a.source, a.list()
	if source != nil && !a.driver.apiDown.Load() {
		a.driver.at(a.driver.now(), func() { source.send(pods) })
	}
}

// list returns all pods that are bound to the node, by name. The caller holds the lock.
func (a *podAPI) list() []*v1.Pod {
	var pods []*v1.Pod
	for _, o := range a.store.List(store.Pods) {
		if pod := o.(*v1.Pod); pod.Spec.NodeName != "" {
			pods = append(pods, pod)
		}
	}
	return pods
}

// watch returns the source of pods for a kubelet that starts. The source has the existing pods
// unless the API server is down. The source of the previous kubelet receives no more pods.
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

// provideReferences replaces the objects that a pod refers to. The API server has only pods and the
// node, and there are no storage drivers. Every volume therefore becomes an emptyDir, whose mount
// takes as long as the simulator assumes for any volume, and the sources of environment variables
// become optional.
func provideReferences(pod *v1.Pod) {
	for i := range pod.Spec.Volumes {
		pod.Spec.Volumes[i].VolumeSource = v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
	}
	for c := range podutil.Containers(&pod.Spec) {
		provideVariables(c)
	}
}

func provideVariables(c *v1.Container) {
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			from.ConfigMapKeyRef.Optional = new(true)
		} else if from != nil && from.SecretKeyRef != nil {
			from.SecretKeyRef.Optional = new(true)
		}
	}
	for i := range c.EnvFrom {
		if from := c.EnvFrom[i].ConfigMapRef; from != nil {
			from.Optional = new(true)
		}
		if from := c.EnvFrom[i].SecretRef; from != nil {
			from.Optional = new(true)
		}
	}
}
