package bounds_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

func probe(period, threshold int32) *v1.Probe {
	return &v1.Probe{PeriodSeconds: period, FailureThreshold: threshold, TimeoutSeconds: 1,
		ProbeHandler: v1.ProbeHandler{
			HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)},
		}}
}

// web has a startup probe every 5 s with 12 failures, a liveness probe every 10 s with 3, and a
// readiness probe every 5 s.
func web() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "app:1", StartupProbe: probe(5, 12), LivenessProbe: probe(10, 3),
		ReadinessProbe: probe(5, 1),
	}}}}
}

// of returns the container of a pod.
func of(t *testing.T, pod *v1.Pod, delays fakeruntime.Delays) *bounds.Container {
	t.Helper()
	admitted, err := check.Admit(pod, profile.Newest())
	if err != nil {
		t.Fatal(err)
	}
	c, err := admitted.Bounds("app", delays)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// slow nodes create a sandbox in 0.1 to 6 s.
var slow = fakeruntime.Delays{RunPodSandbox: &fakeruntime.Draw{Min: 100 * time.Millisecond, Max: 6 * time.Second}}

func TestBounds(t *testing.T) {
	c := of(t, web(), slow)
	for name, test := range map[string]struct {
		got  bounds.Range
		want string
	}{
		"the first start":                    {c.Start(bounds.FirstInstance), "55.0084s to 1m0.0138s"},
		"the first start on a young kubelet": {c.Start(bounds.YoungKubelet), "55.0084s to 1m0.0138s"},
		// the least after a back-off
		"the start after a liveness kill":        {c.Start(bounds.AfterLivenessKill), "55.0084s to 1m5.0202s"},
		"the start after a startup kill":         {c.Start(bounds.AfterStartupKill), "55.0084s to 1m0.0202s"},
		"the start after a crash":                {c.Start(bounds.AfterCrash), "55.0084s to 1m0.0202s"},
		"the start after a crash while starting": {c.Start(bounds.AfterCrashWhileStarting), "8.4ms to 1m0.0202s"},
		"a hang":                                 {c.Survives(bounds.Hang), "20s to 30s"},
		"a stall":                                {c.Survives(bounds.Stall), "20.991s to 30.991s"},
		"slow answers":                           {c.Survives(bounds.Slow), "20s to 30s"},
		"slow answers with a TCP probe":          {tcp(c).Survives(bounds.Slow), "never"},
		"from slow answers to not ready":         {c.UntilUnready(bounds.Slow), "1.0132s to 6.0186s"},
		"answers to the liveness probe":          {c.Tolerates(trace.Liveness), "1s to 1s"},
		"answers to a TCP probe":                 {tcp(c).Tolerates(trace.Liveness), "never"},
		"ready without a probe that asks": {c.With(nil, probe(5, 3), nil).ReadyUnasked(),
			"21.6ms to 40.2ms"},
		"a stall without a change of readiness":      {c.StaysReady(bounds.Stall), "991ms to 5.991s"},
		"from a hang to the stop signal":             {c.UntilStopped(bounds.Hang), "21.007s to 32.0232s"},
		"from down to not ready":                     {c.UntilUnready(bounds.Refuse), "22.2ms to 5.0276s"},
		"from up to ready":                           {bounds.Range{Greatest: c.UntilReady(false)}, "0s to 6.0581s"},
		"errors":                                     {c.Survives(bounds.Fail), "20s to 30s"},
		"errors of a probe with a long timeout":      {timeout(c, 15).Survives(bounds.Fail), "20s to 30s"},
		"a hang with a long timeout":                 {timeout(c, 15).Survives(bounds.Hang), "30s to 40s"},
		"errors with a TCP probe, which accepts":     {tcp(c).Survives(bounds.Fail), "never"},
		"refusals with a TCP probe":                  {tcp(c).Survives(bounds.Refuse), "20s to 30s"},
		"a stall with a TCP probe, which accepts it": {tcp(c).Survives(bounds.Stall), "never"},
		"a hang with a TCP probe, which times out":   {tcp(c).Survives(bounds.Hang), "20s to 30s"},
		"a start that takes over six hours " +
			"to stop": {c.With(probe(10, 5000), probe(2, 3), nil).Start(bounds.FirstInstance), "never"},
		"a stall beside it": {c.With(probe(10, 5000), probe(2, 3), nil).
			Survives(bounds.Stall), "4.991s to 6.991s"},
		"a start with a probe that has one failure": {c.With(probe(10, 1), nil, nil).Start(bounds.FirstInstance),
			"3.9095s to 9.8095s"},
		"ready with a startup probe with one " +
			"failure": {bounds.Range{Greatest: c.With(probe(10, 1), nil, probe(5, 1)).UntilReady(false)},
			"0s to 11.0581s"},
	} {
		got := test.got.Least.Round(time.Microsecond).String() + " to " + test.got.Greatest.Round(time.Microsecond).
			String()
		if test.got.Least == bounds.Never {
			got = "never"
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// tcp returns the container with a TCP liveness probe.
func tcp(c *bounds.Container) *bounds.Container {
	p := c.Probe(trace.Liveness).DeepCopy()
	p.ProbeHandler = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}
	return c.With(c.Probe(trace.Startup), p, c.Probe(trace.Readiness))
}

// timeout returns the container with another timeout of its liveness probe.
func timeout(c *bounds.Container, seconds int32) *bounds.Container {
	p := c.Probe(trace.Liveness).DeepCopy()
	p.TimeoutSeconds = seconds
	return c.With(c.Probe(trace.Startup), p, c.Probe(trace.Readiness))
}

func TestErrors(t *testing.T) {
	long := web()
	long.Spec.Containers[0].LivenessProbe.PeriodSeconds = 1 << 30
	mutable := profile.Newest()
	mutable.MutableContainerProbes = true
	for want, s := range map[string]bounds.Settings{
		`the pods of web have no container "ap"`: {Pod: web(),
			Container: "ap"},
		"container app: periodSeconds of the liveness probe is 1073741824; bounds need at most 3600": {Pod: long,
			Container: "app"},
		"bounds do not know the feature gate MutableContainerProbes": {Pod: web(),
			Container: "app", Profile: mutable},
	} {
		if _, err := bounds.Of(s); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}
