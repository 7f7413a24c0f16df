package measure

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// clock is what the kubelet adds to a start before a pod is Ready: the time from the moment at
// which the program is up.
type clock struct {
	atOnce time.Duration // at most, from the start, if the program is up then
	// at most, from the moment at which the program is up, if it comes up after the first run of
	// the probe that waits for it
	later time.Duration
	// unasked is the longest time from the start until the pod is Ready if no probe waits for the
	// program.
	unasked time.Duration
	// look is the longest time until the probes have looked at a new instance.
	look time.Duration
	// A first start of up to limit is not stopped, and one of over never always is; bounds.Never:
	// no probe stops it.
	limit, never time.Duration
}

// clockOf returns the clock of a container, over all versions and nodes that the options leave
// open.
func (o *Options) clockOf(pod *v1.Pod, container string) (clock, error) {
	k := clock{limit: bounds.Never}
	pod, err := plain(pod)
	if err != nil {
		return clock{}, err
	}
	c := podutil.Find(pod, container)
	for _, of := range []*v1.Probe{c.StartupProbe, c.ReadinessProbe} {
		if of != nil {
			k.look = max(k.look, time.Duration(of.PeriodSeconds+of.TimeoutSeconds+1)*time.Second)
		}
	}
	for _, p := range o.profiles() {
		b, err := bounds.Of(bounds.Settings{Pod: pod, Container: container, Profile: p, Delays: o.Delays})
		if err != nil {
			return clock{}, err
		}
		k.atOnce = max(k.atOnce, b.UntilReady(true))
		k.later = max(k.later, b.UntilReady(false))
		k.unasked = max(k.unasked, b.ReadyUnasked().Greatest)
		for _, which := range b.StartCases() {
			may := b.Start(which)
			if k.never = max(k.never, may.Greatest); which == bounds.FirstInstance || which == bounds.YoungKubelet {
				k.limit = min(k.limit, may.Least)
			}
		}
	}
	if k.never == 0 {
		k.never = bounds.Never
	}
	return k, nil
}

// plain returns a pod with what decides when its containers become ready: their probes, with the
// defaults of the API server. Live pods have fields that need a whole cluster.
func plain(pod *v1.Pod) (*v1.Pod, error) {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}, Spec: v1.PodSpec{
		RestartPolicy: pod.Spec.RestartPolicy, TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds}}
	copied := func(list []v1.Container) (out []v1.Container) {
		for i := range list {
			c := v1.Container{Name: list[i].Name, Image: "image", RestartPolicy: list[i].RestartPolicy,
				Ports: list[i].Ports}
			for _, of := range trace.ProbeTypes {
				prober.SetProbe(&c, of, prober.ProbeOf(&list[i], of).DeepCopy())
			}
			out = append(out, c)
		}
		return out
	}
	p.Spec.InitContainers, p.Spec.Containers = copied(pod.Spec.InitContainers), copied(pod.Spec.Containers)
	admission.Default(p)
	for c := range podutil.Containers(&p.Spec) {
		for _, of := range trace.ProbeTypes {
			probe := prober.ProbeOf(c, of)
			switch {
			case probe == nil:
			case min(probe.InitialDelaySeconds, probe.TimeoutSeconds, probe.PeriodSeconds, probe.SuccessThreshold,
				probe.FailureThreshold) < 0:
				return nil, fmt.Errorf("a setting of the %s probe of %s is negative", of, c.Name)
			case probe.HTTPGet != nil && probe.HTTPGet.Port.StrVal != "": // a text can lack its number
				probe.HTTPGet.Port = intstr.FromInt32(8080)
			}
		}
	}
	return p, nil
}

// took returns how long a start took that a pod shows as Ready, from both times in whole seconds.
// least is false if something else than the container can have made the pod Ready later.
func (k clock) took(at, ready incident.Moment, least bool) bounds.Range {
	since := between(at, ready)
	took := bounds.Range{Greatest: min(since.Greatest, k.never)} // a longer start would have been stopped
	if least && since.Least > k.atOnce {
		took.Least = max(since.Least-k.later, 0)
	}
	return took
}
