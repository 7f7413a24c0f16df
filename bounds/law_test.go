package bounds

import (
	"flag"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The same examples are drawn each time; .ci/nightly draws new ones.
var _ = flag.Set("rapid.seed", "1")

// drawProbe draws a probe with any handler and small numbers. Its timeout can exceed its period.
func drawProbe(t *rapid.T, name string) *v1.Probe {
	number := func(field string, lo, hi int32) int32 { return rapid.Int32Range(lo, hi).Draw(t, name+" "+field) }
	p := &v1.Probe{
		PeriodSeconds: number("period", 1, 10), FailureThreshold: number("threshold", 1, 5), TimeoutSeconds: number("timeout", 1, 4),
		InitialDelaySeconds: number("delay", 0, 8),
	}
	switch rapid.SampledFrom([]string{"http", "tcp", "exec"}).Draw(t, name) {
	case "http":
		p.HTTPGet = &v1.HTTPGetAction{Port: intstr.FromInt32(80)}
	case "tcp":
		p.TCPSocket = &v1.TCPSocketAction{Port: intstr.FromInt32(80)}
	case "exec":
		p.Exec = &v1.ExecAction{Command: []string{"check"}}
	}
	return p
}

// drawSubject draws a pod with a liveness and a readiness probe, and often a startup probe.
func drawSubject(t *rapid.T) *Subject {
	c := v1.Container{Name: "app", Image: "app:1", LivenessProbe: drawProbe(t, "liveness"), ReadinessProbe: drawProbe(t, "readiness")}
	if rapid.Bool().Draw(t, "has startup probe") {
		c.StartupProbe = drawProbe(t, "startup")
	}
	version, _ := profile.Named(rapid.SampledFrom(profile.Names()).Draw(t, "version"))
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{c}}}
	s, err := NewSubject(pod, "app", version)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawDuration(t *rapid.T, name string, lo, hi time.Duration) time.Duration {
	return time.Duration(rapid.Int64Range(int64(lo), int64(hi)).Draw(t, name))
}

// lasts runs the subject with a misfortune that ends after a while. It reports whether the outcome follows in the time in which
// the misfortune can have effects.
func (s *Subject) lasts(t *rapid.T, e Environment, q question, event, length time.Duration) bool {
	rule := s.meets(q.misfortune)
	rule.For = &fakeruntime.Draw{Min: length, Max: length}
	t0 := virtual.At(event)
	rule.Clock, rule.From = fakeruntime.AtScenario, fakeruntime.Exactly(event)
	happened := false
	_, err := s.run(e, []fakeruntime.Rule{rule}, func(r *trace.Record) bool {
		happened = happened || r.T >= t0 && q.over(r)
		return happened || r.T > t0.Add(length+2*time.Minute)
	})
	if err != nil {
		t.Fatal(err)
	}
	return happened
}

// A misfortune that lasts up to the limit read from one run has no outcome, and one that is a nanosecond longer has it.
func TestALimitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubject(t)
		e := Nodes{}.environment(drawDuration(t, "sandbox", 0, 10*time.Second))
		e.Uptime = drawDuration(t, "uptime", 0, 30*time.Second)
		m := rapid.SampledFrom([]Misfortune{Hang, Stall, Refuse}).Draw(t, "misfortune")
		q := question{m, trace.Liveness, s.stopped, s.lasting(m)}
		moments, _, err := s.requests(e, q.probe)
		if err != nil {
			t.Skip(err) // killed while starting
		}
		event := drawDuration(t, "event", moments[0], moments[len(moments)-1])
		limit, err := s.answer(e, event, q)
		if err != nil {
			t.Fatal(err)
		}
		longest := limit
		if m == Stall {
			longest-- // at the limit, the answer comes at the timeout, and the timeout wins
		}
		if limit <= 1 {
			t.Skip("the first request decides")
		}
		if s.lasts(t, e, q, event, longest) {
			t.Errorf("%s of %v at %v has the outcome, and the limit is %v", m, longest, event, limit)
		}
		if !s.lasts(t, e, q, event, longest+1) {
			t.Errorf("%s of %v at %v has no outcome, and the limit is %v", m, longest+1, event, limit)
		}
	})
}
