package bounds

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// window is the width of the planted windows.
const window = 10 * time.Millisecond

// The search finds a value that only cases within 10 ms have, because it goes to the cases in which the times of the start meet a tick or a
// relist. A search that splits the dimension in the same way, but does not know these times, finds none of the windows.
func TestPlantedWindows(t *testing.T) {
	old, _ := profile.Named("v1.34.4")
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "app:1", StartupProbe: &v1.Probe{
		PeriodSeconds: 7, FailureThreshold: 3, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}},
	}}}}}
	s, err := NewSubject(pod, "app", old)
	if err != nil {
		t.Fatal(err)
	}
	list := fakeruntime.Exactly(window / 2)
	n := Nodes{Delays: fakeruntime.Delays{ListPodSandbox: &list, ListContainers: &list, RunPodSandbox: &fakeruntime.Draw{Min: time.Second, Max: 9 * time.Second}}}
	// found returns whether a search finds the planted value in a dimension of a case.
	found := func(in func(landmarks) bool, search func(Case, measure) (Bound, error), c Case) bool {
		b, err := search(c, func(c Case) (sample, error) {
			l, err := s.landmarks(c)
			value := time.Second
			if in(l) {
				value += time.Second
			}
			return sample{bound: at(value, c), signature: 1}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.Greatest > b.Least
	}
	for _, plant := range []struct {
		name   string
		in     func(landmarks) bool
		dim    func(*Case) dim
		search func(Case, measure) (Bound, error)
	}{
		{
			"just before a tick", func(l landmarks) bool {
				return modulo(l.ticks[trace.Startup].Sub(l.syncs[len(l.syncs)-1]), s.period(trace.Startup)) < window
			},
			func(c *Case) dim { return n.begins(s, c, false) },
			func(c Case, f measure) (Bound, error) {
				first, _ := f(c)
				return s.overTicks(c, n.begins(s, &c, false), f, first.bound)
			},
		},
		{
			"during the lists of a relist", func(l landmarks) bool { return l.duringLists(l.start) },
			uptimes,
			func(c Case, f measure) (Bound, error) {
				return s.overRelists(c, uptimes(&c), []mark{landmarks.startTime}, f, tolerance)
			},
		},
	} {
		for i := range 10 {
			c := s.center(n)
			c.question = &asked{limit: true}
			c.Rules = []Rule{{Instance: AnyInstance, Misfortune: Refuse}}
			c.Uptime += time.Duration(i) * 97 * time.Millisecond
			if !found(plant.in, plant.search, c) {
				t.Errorf("the window %s is not found with an uptime of %v", plant.name, c.Uptime)
			}
			coarse := func(c Case, f measure) (Bound, error) {
				d := plant.dim(&c)
				return parts(c, d, []time.Duration{d.from, d.from + (d.to-d.from)/2, d.to}, f, none(c), tolerance)
			}
			if found(plant.in, coarse, c) {
				t.Errorf("the window %s is found with an uptime of %v without the times of the start", plant.name, c.Uptime)
			}
		}
	}
}

// duringLists reports whether a time is between the begin and the end of the lists of a relist.
func (l landmarks) duringLists(t virtual.Time) bool {
	for i, r := range l.relists {
		if r.method != "ListPodSandbox" || r.end || r.pod != "" {
			continue
		}
		for _, end := range l.relists[i:] {
			if end.method == "ListContainers" && end.end && end.pod == "" {
				if r.at <= t && t < end.at {
					return true
				}
				break
			}
		}
	}
	return false
}
