package realkubelet

import (
	"context"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/utils/ptr"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// podSource is a source of the kubelet's pods, in place of its watch of the API server or of its
// directory of manifests.
type podSource struct {
	files  *podSource // the source of static pods beside that of the API server; nil if there is none
	mu     sync.Mutex
	queue  [][]*v1.Pod
	filled chan struct{}
	tagged map[types.UID]taggedPod
}

// taggedPod is a pod as the API stores it, and the tagged copy for the kubelet.
type taggedPod struct{ stored, given *v1.Pod }

// newPodSource returns a source. The source is ready when the first set of pods is sent, even if
// the set is empty.
func newPodSource() *podSource {
	return &podSource{filled: make(chan struct{}, 1), tagged: map[types.UID]taggedPod{}}
}

// send queues the whole set of pods. It does not block.
func (s *podSource) send(pods []*v1.Pod) {
	s.mu.Lock()
	s.queue = append(s.queue, pods)
	s.mu.Unlock()
	select {
	case s.filled <- struct{}{}:
	default:
	}
}

// byUID returns the pod that the kubelet received last, or nil.
func (s *podSource) byUID(uid types.UID) *v1.Pod {
	return s.find(func(pod *v1.Pod) bool { return pod.UID == uid })
}

// byName returns the pod with this namespace/name that the kubelet received last, or nil. It
// prefers a static pod to its mirror pod.
func (s *podSource) byName(name string) *v1.Pod {
	return s.find(func(pod *v1.Pod) bool { return store.Key(pod) == name })
}

func (s *podSource) find(matches func(*v1.Pod) bool) *v1.Pod {
	if s.files != nil {
		if static := s.files.find(matches); static != nil {
			return static
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tagged {
		if matches(t.stored) {
			return t.stored
		}
	}
	return nil
}

// run sends every set to a kubelet, as the source of a name, until ctx is done.
func (s *podSource) run(ctx context.Context, c *config.PodConfig, name string) {
	updates := reflect.ValueOf(c.Channel(ctx, name))
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.filled:
		}
		for pods, ok := s.next(); ok; pods, ok = s.next() {
			updates.Send(kubeletapi.PodUpdate(updates.Type().Elem(), pods))
		}
	}
}

// next returns the next set of pods. Because the kubelet writes to its pods, an unchanged pod is
// the same object as before and a changed pod is a new object, as in a watch.
func (s *podSource) next() ([]*v1.Pod, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, false
	}
	pods := s.queue[0]
	s.queue = s.queue[1:]
	given, kept := make([]*v1.Pod, len(pods)), make(map[types.UID]taggedPod, len(pods))
	for i, pod := range pods {
		t := s.tagged[pod.UID]
		if t.stored != pod {
			t = taggedPod{pod, tagged(pod)}
		}
		given[i], kept[pod.UID] = t.given, t
	}
	s.tagged = kept
	return given, true
}

// manifests stands for the directory of static pods, which the kubelet would watch with inotify:
// real input that stops the virtual clock. Its pods go to the channel of the kubelet's file source,
// at the instant of the change.
type manifests struct {
	mu      sync.Mutex
	pods    map[string]*v1.Pod
	written map[types.UID]*v1.Pod // all pods that ever were in the directory
}

func newManifests() *manifests {
	return &manifests{pods: map[string]*v1.Pod{}, written: map[types.UID]*v1.Pod{}}
}

// list returns the static pods in the random order of a map, as the kubelet's own source does.
func (m *manifests) list() []*v1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.pods))
}

// set writes a manifest, or removes it if pod is nil.
func (m *manifests) set(key string, pod *v1.Pod) {
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
	w.changeManifest(store.Key(pod), pod)
	return nil
}

func (w *world) RemoveManifest(namespace, name string) error {
	w.changeManifest(namespace+"/"+name, nil)
	return nil
}

func (w *world) changeManifest(key string, pod *v1.Pod) {
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
	a.driver.recorder.add(trace.Record{Kind: trace.PodAdded, Pod: key})
	return pod, a.changed(c)
}

// The runtime cannot see which probe or hook runs a command. Each command of a probe or hook in the
// kubelet's copy of a pod therefore starts with an extra word, a tag, which the runtime removes.
// HTTP requests have the tag in an extra header; the host of a TCP probe and the service of a gRPC
// probe start with it.
const (
	tagPrefix = "probesim:"
	tagEnd    = "|"
	tagHeader = "Probesim-Requester"
)

// tagged returns a copy of the pod with a tag in each probe and hook. The copy has no termination
// message files, because the kubelet draws their names from the random source that seedStart seeds.
// No program writes termination messages here.
func tagged(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	for c := range podutil.Containers(&pod.Spec) {
		tagContainer(pod, c)
	}
	for i := range pod.Spec.EphemeralContainers {
		pod.Spec.EphemeralContainers[i].TerminationMessagePath = "" // ephemeral containers have no probes and no hooks
	}
	return pod
}

func tagContainer(pod *v1.Pod, c *v1.Container) {
	c.TerminationMessagePath = ""
	for _, asks := range podutil.Requests(c) {
		tag := requester{asks.Key, pod.UID, store.Key(pod), c.Name}.String()
		switch {
		case asks.Exec != nil:
			asks.Exec.Command = append([]string{tagPrefix + asks.Key}, asks.Exec.Command...)
		case asks.HTTPGet != nil:
			asks.HTTPGet.HTTPHeaders = append(asks.HTTPGet.HTTPHeaders, v1.HTTPHeader{Name: tagHeader, Value: tag})
		case asks.TCPSocket != nil:
			asks.TCPSocket.Host = tag + tagEnd + asks.TCPSocket.Host
		case asks.GRPC != nil:
			asks.GRPC.Service = new(tag + tagEnd + ptr.Deref(asks.GRPC.Service, ""))
		}
	}
}

// splitTag removes the tag from a command, and returns the probe or hook that runs the command.
func splitTag(command []string) (whose string, rest []string) {
	if len(command) > 0 && strings.HasPrefix(command[0], tagPrefix) {
		return strings.TrimPrefix(command[0], tagPrefix), command[1:]
	}
	return "", command
}

// untagged removes the tag from a command in a message.
func untagged(message string) string {
	return tag.ReplaceAllString(message, "")
}

var tag = regexp.MustCompile(tagPrefix + `\w+ `)
