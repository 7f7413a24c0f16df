package realcontrollers

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Scenario is some Deployments, their Services, and what users do.
type Scenario struct {
	Deployment *appsv1.Deployment
	Others     []*appsv1.Deployment // more Deployments
	Services   []*v1.Service
	Steps      []Step
	Duration   time.Duration
}

// deployments returns all Deployments.
func (s *Scenario) deployments() []*appsv1.Deployment {
	return append([]*appsv1.Deployment{s.Deployment}, s.Others...)
}

// Step is a strategic merge patch of a Deployment, or an undo if there is none, or the deletion of
// a pod.
type Step struct {
	At     time.Duration
	Patch  string
	Of     string // the name of the Deployment; empty: that of Scenario.Deployment
	Delete string // the name of the pod; nothing happens if there is none
}

// program is how a pod of the stand-in behaves. Its image says so in words: in
// app:start-20s-stop-1s the pod is Ready 20 s after it is bound, and ends 1 s after the request to
// delete it. With start-never it is never Ready. With boot-2s it runs after 2 s and is not Ready
// yet. With flap-9s it restarts 9 s after it was Ready, and is Ready again 9 s later, for ever.
type program struct {
	start time.Duration // negative: never Ready
	stop  time.Duration
	boot  time.Duration // zero: it is Ready when it runs
	flap  time.Duration // zero: it stays Ready
}

// programOf returns the program of a pod. The pods of a ReplicaSet behave apart from each other, so
// that they do not tie.
func programOf(pod *v1.Pod) program {
	_, text, _ := strings.Cut(pod.Spec.Containers[0].Image, ":")
	words := map[string]time.Duration{}
	for pair := strings.Split(text, "-"); len(pair) > 1; pair = pair[2:] {
		d, err := time.ParseDuration(pair[1])
		if err != nil {
			d = -1
		}
		words[pair[0]] = d
	}
	n := time.Duration(ordinal(pod.Name))
	p := program{start: words["start"], stop: words["stop"] + n*213*time.Microsecond, boot: words["boot"],
		flap: words["flap"]}
	if p.start >= 0 {
		p.start += n * 1337 * time.Millisecond
	}
	if p.flap > 0 {
		p.flap += n * 117 * time.Millisecond
	}
	return p
}

// condition is what the stand-in writes into the status of a pod.
type condition struct {
	after    time.Duration // the one before, or the pod was bound
	ready    bool
	restarts int32
}

// condition returns the nth condition of a pod, and false if the pod keeps the one before.
func (p program) condition(n int) (condition, bool) {
	first := []condition{{after: p.start, ready: true}}
	switch {
	case p.start < 0:
		first = []condition{{after: time.Second}}
	case p.boot > 0 && p.boot < p.start:
		first = []condition{{after: p.boot}, {after: p.start - p.boot, ready: true}}
	}
	if n < len(first) {
		return first[n], true
	}
	n -= len(first)
	return condition{after: p.flap, ready: n%2 == 1, restarts: int32(n/2 + 1)}, p.flap > 0 && p.start >= 0
}

// ordinal returns the number at the end of a name.
func ordinal(name string) int {
	n := 0
	for _, c := range name[strings.LastIndex(name, "-")+1:] {
		n = 10*n + int(c-'0')
	}
	return n
}

// status returns the status of a pod in a condition.
func (c condition) status(pod *v1.Pod, now time.Time) v1.PodStatus {
	ready := v1.ConditionFalse
	if c.ready {
		ready = v1.ConditionTrue
	}
	ip := "10.0.0." + pod.Name[strings.LastIndex(pod.Name, "-")+1:]
	return v1.PodStatus{
		Phase: v1.PodRunning, PodIP: ip, PodIPs: []v1.PodIP{{IP: ip}},
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: ready,
			LastTransitionTime: metav1.NewTime(now.Truncate(time.Second))}},
		ContainerStatuses: []v1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, RestartCount: c.restarts}},
	}
}
