package realcontrollers

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/controller"
)

// Scenario is a Deployment, its Service, and what users do.
type Scenario struct {
	Deployment *appsv1.Deployment
	Service    *v1.Service // nil: none
	Steps      []Step
	Duration   time.Duration
}

// Step is a strategic merge patch of the Deployment, or an undo if there is none.
type Step struct {
	At    time.Duration
	Patch string
}

// delays are the latencies of both engines.
var delays controller.StandardDelays

// program is how a pod of the stand-in behaves. Its image says so: in app:start-20s-stop-1s the pod is Ready 20 s after it is bound, and ends 1 s
// after the request to delete it. A pod of app:start-never-stop-1s is never Ready.
type program struct {
	start time.Duration // negative: never Ready
	stop  time.Duration
}

// programOf returns the program of a pod. The pods of a ReplicaSet start apart from each other, so that they do not tie.
func programOf(pod *v1.Pod) program {
	words := strings.Split(pod.Spec.Containers[0].Image, "-")
	p := program{start: -1}
	if start, err := time.ParseDuration(words[1]); err == nil {
		p.start = start + time.Duration(ordinal(pod.Name))*1337*time.Millisecond
	}
	p.stop, _ = time.ParseDuration(words[3])
	p.stop += time.Duration(ordinal(pod.Name)) * 213 * time.Microsecond
	return p
}

// ordinal returns the number at the end of a name.
func ordinal(name string) int {
	n := 0
	for _, c := range name[strings.LastIndex(name, "-")+1:] {
		n = 10*n + int(c-'0')
	}
	return n
}

// startedStatus returns the status of a pod that has started.
func startedStatus(pod *v1.Pod, now time.Time) v1.PodStatus {
	ready := v1.ConditionTrue
	if programOf(pod).start < 0 {
		ready = v1.ConditionFalse
	}
	ip := "10.0.0." + pod.Name[strings.LastIndex(pod.Name, "-")+1:]
	return v1.PodStatus{
		Phase: v1.PodRunning, PodIP: ip, PodIPs: []v1.PodIP{{IP: ip}},
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second))}},
	}
}

// startOf returns how long after it is bound a pod has the status of startedStatus.
func (p program) startOf() time.Duration {
	if p.start < 0 {
		return time.Second
	}
	return p.start
}
