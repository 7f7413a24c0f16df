package realkubelet

import (
	"context"
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/config"

	"probesim.dev/conformance/kubeletapi"
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
	return s.find(func(pod *v1.Pod) bool { return pod.Namespace+"/"+pod.Name == name })
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
