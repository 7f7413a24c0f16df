package verdict

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
	"probesim.dev/incident"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// The precision of the times of a status, and the time within which a kubelet kills a container without any grace period
// (minimumGracePeriodInSeconds in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
const (
	truncated    = time.Second
	minimumGrace = 2 * time.Second
)

// window is when a probe can kill an instance, from its start, and when the instance has ended then.
type window struct {
	kill Span // Greatest is bounds.Never if the probe can succeed first
	end  Span
}

// kills returns the window of the kills of an instance by a probe, or nil if the facts do not show the settings. The instance has the
// number 0 for the first start, or -1 if it is unknown: then all cases count.
func (e *evidence) window(of trace.Probe, instance int) *window {
	probe := e.probe(of)
	if probe == nil {
		return nil
	}
	fast, slow := e.bounds(of, "fast"), e.bounds(of, "slow")
	if fast == nil || slow == nil {
		return nil
	}
	var kill bounds.Range
	for i, which := range fast.StartCases() {
		first := which == bounds.FirstInstance || which == bounds.YoungKubelet
		if instance == 0 && !first || instance > 0 && first {
			continue
		}
		r := fast.Start(which).Or(slow.Start(which))
		if i == 0 || kill == (bounds.Range{}) {
			kill = r
		}
		kill = kill.Or(r)
	}
	if kill.Least == bounds.Never || kill == (bounds.Range{}) {
		return nil
	}
	w := &window{kill: Span{max(kill.Least-truncated, 0), kill.Greatest}}
	if of == trace.Liveness && e.probe(trace.Startup) != nil {
		w.kill.Greatest = bounds.Never // the liveness probe begins when the startup probe has succeeded
	}
	if w.kill.Greatest != bounds.Never {
		w.kill.Greatest += time.Duration(probe.TimeoutSeconds)*time.Second + truncated
	}
	w.end = w.kill
	if w.end.Greatest != bounds.Never {
		w.end.Greatest += e.grace(probe) + truncated
	}
	return w
}

// grace returns the time that the container has to end after a kill by a probe.
func (e *evidence) grace(probe *v1.Probe) time.Duration {
	seconds := int64(30)
	if g := e.pod.Object.Spec.TerminationGracePeriodSeconds; g != nil {
		seconds = *g
	}
	if g := probe.TerminationGracePeriodSeconds; g != nil {
		seconds = *g
	}
	return max(time.Duration(min(seconds, bounds.LongestGracePeriod))*time.Second, minimumGrace)
}

// bounds returns the bounds of the container with one probe, or nil if there are none, for nodes with some delays. Other containers
// do not count: they only make starts later.
func (e *evidence) bounds(of trace.Probe, delays string) *bounds.Container {
	set, _ := fakeruntime.DelaySet(delays)
	b, err := bounds.Of(bounds.Settings{Pod: e.podWith(of), Container: "app", Profile: profile.Newest(), Delays: set})
	if err != nil {
		return nil
	}
	return b
}

// podWith returns a pod with the container, as far as some of its probes go.
func (e *evidence) podWith(probes ...trace.Probe) *v1.Pod {
	c := v1.Container{Name: "app", Image: "image"}
	for _, of := range probes {
		if p := e.probe(of); p != nil {
			probe := withDefaults(*p)
			if get := probe.HTTPGet; get != nil && get.Port.StrVal != "" {
				probe.HTTPGet = &v1.HTTPGetAction{Path: get.Path, Scheme: get.Scheme, Port: intstr.FromInt32(8080)}
			}
			incident.SetProbe(&c, of, &probe)
		}
	}
	return &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: v1.PodSpec{
		RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{c}, TerminationGracePeriodSeconds: e.pod.Object.Spec.TerminationGracePeriodSeconds}}
}

// withDefaults sets the defaults of a probe as the API server does (SetDefaults_Probe in pkg/apis/core/v1/defaults.go at v1.37.0). A
// manifest leaves them out; kubectl describe and the API show them.
func withDefaults(p v1.Probe) v1.Probe {
	for _, d := range []struct {
		field *int32
		value int32
	}{{&p.TimeoutSeconds, 1}, {&p.PeriodSeconds, 10}, {&p.SuccessThreshold, 1}, {&p.FailureThreshold, 3}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	p.InitialDelaySeconds = max(p.InitialDelaySeconds, 0)
	return p
}

// instanceOf returns the number of the instance that ended, or -1 if it is unknown.
func instanceOf(end *incident.Fact) int {
	switch {
	case end == nil || end.Count < 0:
		return -1
	case end.Previous:
		return max(end.Count-1, 0)
	}
	return end.Count
}

// excludes reports whether an instance ended before a probe could kill it.
func (w *window) excludes(life *Span) bool { return life.Greatest+truncated < w.kill.Least }

// earliest returns the earliest kill of any instance by any probe, or 0 if no settings of one are known.
func (e *evidence) earliest() (least time.Duration) {
	for _, of := range killers {
		if w := e.window(of, -1); w != nil && (least == 0 || w.kill.Least < least) {
			least = w.kill.Least
		}
	}
	return least
}
