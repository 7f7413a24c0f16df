package status_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
)

// server is an API server with one pod, which takes 10 ms for a call.
type server struct{ pod *v1.Pod }

func (s *server) GetPod(p *sim.Proc, _, _ string) (*v1.Pod, bool) {
	p.Sleep(10 * time.Millisecond)
	return s.pod, true
}

func (s *server) PatchStatus(p *sim.Proc, _, name string, _, status *v1.PodStatus) (*v1.Pod, bool) {
	p.Sleep(10 * time.Millisecond)
	s.pod = s.pod.DeepCopy()
	s.pod.Status = *status
	fmt.Println(p.Now(), "the API has", name, status.Phase, status.Conditions[0].Type, status.Conditions[0].Status)
	return s.pod, true
}

func (s *server) DeletePod(*sim.Proc, string, string) bool { return true }

// The pods of the kubelet, all of which come from the API.
func (s *server) GetPodByUID(types.UID) (*v1.Pod, bool)        { return s.pod, true }
func (s *server) GetMirrorPodByPod(*v1.Pod) (*v1.Pod, bool)    { return nil, false }
func (s *server) GetMirrorUID(uid types.UID) (types.UID, bool) { return uid, true }
func (s *server) TranslatePodUID(uid types.UID) types.UID      { return uid }

// A readiness probe succeeds after 5 s. The manager stores the status at once, and the API has it
// two calls later.
func ExampleManager() {
	kernel := sim.New(sim.Options{})
	defer kernel.Close()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}}
	api := &server{pod}
	m := status.NewManager(status.Options{Sim: kernel, API: api, Pods: api,
		Now:                        func() time.Time { return time.Unix(0, 0).Add(kernel.Now().Offset()) },
		CouldHaveRunningContainers: func(types.UID) bool { return true }})
	m.Start()
	kernel.Go("kubelet", func(p *sim.Proc) {
		app := v1.ContainerStatus{Name: "app", ContainerID: "c1", Started: new(true),
			State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
		s := v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{app}}
		status.SetCondition(&s, status.GeneratePodReadyCondition(pod, nil, s.ContainerStatuses, s.Phase))
		m.SetPodStatus(pod, &s)
		p.Sleep(5 * time.Second)
		m.SetContainerReadiness(pod.UID, "c1", true)
		stored, _ := m.GetPodStatus(pod.UID)
		fmt.Println(p.Now(), "stored is", stored.Phase, stored.Conditions[0].Type, stored.Conditions[0].Status)
	})
	if err := kernel.RunUntil(virtual.At(10 * time.Second)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 20ms the API has web Running Ready False
	// 5s stored is Running Ready True
	// 5.02s the API has web Running Ready True
}
