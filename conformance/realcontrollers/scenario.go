package realcontrollers

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/apiserver/store"
	"probesim.dev/controller"
	"probesim.dev/sim/choose"
)

// Scenario is a Deployment, its Service, and what users do.
type Scenario struct {
	Deployment *appsv1.Deployment
	Service    *v1.Service // nil: none
	Steps      []Step
	Duration   time.Duration
	DelaySeed  uint64 // of the latencies of the control plane; 0: the standard ones, with which much happens at one instant
}

// Step is a strategic merge patch of the Deployment, or an undo if there is none.
type Step struct {
	At    time.Duration
	Patch string
}

// delays returns the latencies of the control plane, the same in both engines. now returns the time since t=0.
func (s *Scenario) delays(now func() time.Duration) controller.Delays {
	if s.DelaySeed == 0 {
		return controller.StandardDelays{}
	}
	return drawnDelays{choose.Seeded(s.DelaySeed), now}
}

// drawnDelays draws each latency by what is delayed and when. The ranges are those of RULES about real clusters: a watch event takes 2.5 to 40 ms.
type drawnDelays struct {
	seed choose.Seeded
	now  func() time.Duration
}

func (d drawnDelays) between(least, most time.Duration, what ...any) time.Duration {
	f := d.seed.Fraction(choose.Choice{Kind: choose.Jitter, Key: fmt.Sprint(append(what, d.now())...)})
	return least + time.Duration(f*float64(most-least))
}

func (d drawnDelays) Watch(watch string, c store.Change) time.Duration {
	return d.between(2500*time.Microsecond, 40*time.Millisecond, watch, c.Kind, store.Key(c.New), c.Version)
}

// Call draws the same latency for all creations of an instant: the real controllers do not say in which order they make them.
func (d drawnDelays) Call(_, method string, kind store.Kind, key string) time.Duration {
	if method == http.MethodPost {
		key = ""
	}
	return d.between(time.Millisecond, 30*time.Millisecond, method, kind, key)
}

func (d drawnDelays) Schedule(pod string) time.Duration {
	return d.between(time.Millisecond, 20*time.Millisecond, "schedule", pod)
}

func (d drawnDelays) Sync(router string) time.Duration {
	return d.between(20*time.Millisecond, 400*time.Millisecond, "sync", router)
}

func (d drawnDelays) Draw(key string, least, most time.Duration) time.Duration {
	return d.between(least, most, key)
}

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
