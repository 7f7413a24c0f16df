package bounds_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
)

func probe(period, threshold int32) *v1.Probe {
	return &v1.Probe{PeriodSeconds: period, FailureThreshold: threshold, TimeoutSeconds: 1, ProbeHandler: v1.ProbeHandler{
		HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)},
	}}
}

// subject returns the subject for a container with some probes, or nil for none.
func subject(t *testing.T, version string, startup, liveness, readiness *v1.Probe) *bounds.Subject {
	t.Helper()
	p, ok := profile.Named(version)
	if !ok {
		t.Fatal(version)
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "app:1", StartupProbe: startup, LivenessProbe: liveness, ReadinessProbe: readiness,
	}}}}
	s, err := bounds.NewSubject(pod, "app", p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rounded formats a bound to the millisecond.
func rounded(b bounds.Bound) string {
	return b.Least.Round(time.Millisecond).String() + " to " + b.Greatest.Round(time.Millisecond).String()
}

// web has a startup probe every 5 s with 12 failures, a liveness probe every 10 s with 3, and a readiness probe every 5 s.
func web() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "app:1", StartupProbe: probe(5, 12), LivenessProbe: probe(10, 3), ReadinessProbe: probe(5, 1),
	}}}}
}

// nodes create a sandbox in 0.1 to 6 s.
var nodes = bounds.Nodes{Delays: fakeruntime.Delays{RunPodSandbox: &fakeruntime.Draw{Min: 100 * time.Millisecond, Max: 6 * time.Second}}}

func TestBounds(t *testing.T) {
	s, err := bounds.NewSubject(web(), "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	start := func(c bounds.StartCase) func() (bounds.Bound, error) {
		return func() (bounds.Bound, error) { return s.Start(nodes, c) }
	}
	of := func(ask func(bounds.Nodes, bounds.Misfortune) (bounds.Bound, error), m bounds.Misfortune) func() (bounds.Bound, error) {
		return func() (bounds.Bound, error) { return ask(nodes, m) }
	}
	for _, test := range []struct {
		name string
		ask  func() (bounds.Bound, error)
		want string
	}{
		{"the first start", start(bounds.FirstInstance), "55.0084s to 1m0.0138s"},
		{"the first start on a young kubelet", start(bounds.YoungKubelet), "55.0084s to 1m0.0138s"},
		{"the start after a liveness kill", start(bounds.AfterLivenessKill), "55.0084s to 1m5.0202s"}, // the least after a back-off
		{"the start after a startup kill", start(bounds.AfterStartupKill), "55.0084s to 1m0.0202s"},
		{"the start after a crash", start(bounds.AfterCrash), "55.0084s to 1m0.0202s"},
		{"the start after a crash while starting", start(bounds.AfterCrashWhileStarting), "8.4ms to 1m0.0202s"},
		{"a hang", of(s.Survives, bounds.Hang), "20s to 30s"},
		{"a stall", of(s.Survives, bounds.Stall), "20.991s to 30.991s"},
		{"a stall without a change of readiness", of(s.StaysReady, bounds.Stall), "991ms to 5.991s"},
		{"from a hang to the stop signal", of(s.UntilStopped, bounds.Hang), "21.007s to 32.0232s"},
		{"from down to not ready", of(s.UntilUnready, bounds.Refuse), "22.2ms to 5.0276s"},
		{"from up to ready", func() (bounds.Bound, error) { return s.UntilReady(nodes, false) }, "31.2ms to 5.0408s"},
	} {
		b, err := test.ask()
		got := b.Least.Round(time.Microsecond).String() + " to " + b.Greatest.Round(time.Microsecond).String()
		if err != nil || got != test.want {
			t.Errorf("%s: %s, want %s; error %v", test.name, got, test.want, err)
		}
	}
}

// A pod is deleted when its container has been up for a while, even if it starts late.
func TestDeleted(t *testing.T) {
	pod := web()
	pod.Spec.Containers[0].ReadinessProbe = probe(1, 1)
	pod.Spec.Containers[0].LivenessProbe, pod.Spec.Containers[0].StartupProbe = nil, nil
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	late := fakeruntime.Exactly(20 * time.Second)
	c, err := s.Deleted(bounds.Nodes{Delays: fakeruntime.Delays{RunPodSandbox: &late}})
	if err != nil || c.Stopped > 2*time.Second || (c.Killed-c.Stopped).Round(time.Second) != 30*time.Second {
		t.Errorf("from the deletion to the stop signal %v, to the kill %v; error %v", c.Stopped, c.Killed, err)
	}
}

// A probe that takes longer than LongestLimit to stop a container counts as none, and the others still count.
func TestLongestLimit(t *testing.T) {
	pod := web()
	pod.Spec.Containers[0].LivenessProbe, pod.Spec.Containers[0].StartupProbe = probe(2, 3), probe(10, 5000)
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	start, err := s.Start(bounds.Nodes{}, bounds.FirstInstance)
	if err != nil || start.Least != bounds.Never {
		t.Errorf("the first start can take %v; error %v", start.Least, err)
	}
	stall, err := s.Survives(bounds.Nodes{}, bounds.Stall)
	if err != nil || stall.Greatest > 10*time.Second {
		t.Errorf("the container survives a stall of %v; error %v", stall.Greatest, err)
	}
}

func TestNewSubjectErrors(t *testing.T) {
	if _, err := bounds.NewSubject(web(), "ap", profile.Newest()); err == nil || err.Error() != `the pods of web have no container "ap"` {
		t.Errorf("the error is %v", err)
	}
	pod := web()
	pod.Spec.Containers[0].LivenessProbe.PeriodSeconds = 1 << 30
	if _, err := bounds.NewSubject(pod, "app", profile.Newest()); err == nil || err.Error() != "container app: periodSeconds of the liveness probe is 1073741824; bounds need at most 3600" {
		t.Errorf("the error is %v", err)
	}
	pod.Spec.Containers[0].LivenessProbe = nil
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Survives(nodes, bounds.Hang); err == nil || err.Error() != "container app has no liveness probe" {
		t.Errorf("the error is %v", err)
	}
}

// A search goes on from the case of the best answer so far, which has a misfortune. The healthy run of a phase must not have it:
// the container would be stopped before all phases are found.
func TestPhasesComeFromHealthyRuns(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "app:1", StartupProbe: probe(1, 10), LivenessProbe: probe(2, 2), ReadinessProbe: probe(1, 1),
	}}}}
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	slow := bounds.Nodes{Delays: fakeruntime.Delays{HTTPGet: &fakeruntime.Draw{Min: time.Millisecond, Max: 20 * time.Millisecond}}}
	b, err := s.Survives(slow, bounds.Hang)
	if err != nil || b.Least != 2*time.Second || b.Greatest.Round(time.Microsecond) != 4*time.Second {
		t.Errorf("the container survives a hang of %v to %v, error %v; want 2s to 4s", b.Least, b.Greatest, err)
	}
}

// A startup probe whose first failure stops the container runs once at most while the program is down. The program can still come up for it.
func TestUntilReadyWithOneFailure(t *testing.T) {
	pod := web()
	pod.Spec.Containers[0].StartupProbe = probe(10, 1)
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.UntilReady(nodes, false); err != nil || b.Greatest > 20*time.Second {
		t.Errorf("the container is ready after up to %v, error %v", b.Greatest, err)
	}
}

// A TCP probe does not notice a stall, because the kernel of the node accepts its connection.
func TestStallOfTCP(t *testing.T) {
	pod := web()
	pod.Spec.Containers[0].LivenessProbe.ProbeHandler = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}
	s, err := bounds.NewSubject(pod, "app", profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	stall, err := s.Survives(nodes, bounds.Stall)
	if err != nil || stall.Least != bounds.Never {
		t.Errorf("a stall may last %v, error %v", stall.Least, err)
	}
	hang, err := s.Survives(nodes, bounds.Hang)
	if err != nil || hang.Least != 20*time.Second {
		t.Errorf("a hang may last %v, error %v", hang.Least, err)
	}
}
