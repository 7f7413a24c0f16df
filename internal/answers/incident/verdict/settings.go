package verdict

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/kube/profile"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// The precision of the times of a status, and the time within which a kubelet kills a container
// without any grace period (minimumGracePeriodInSeconds in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
const (
	truncated    = time.Second
	minimumGrace = 2 * time.Second
)

// window is when a probe can kill an instance, counted from its start. Greatest is bounds.Never if
// the probe can succeed first.
type window struct {
	Span
	end time.Duration // the end of the grace period after it, or bounds.Never
}

// window returns the window of the kills of an instance by a probe, or nil if the facts do not show
// the settings. The instance has the number 0 for the first start, or -1 if it is unknown: then all
// cases count.
func (e *evidence) window(of trace.Probe, instance int) *window {
	p := e.probe(of)
	if p == nil || min(p.InitialDelaySeconds, p.TimeoutSeconds, p.PeriodSeconds, p.FailureThreshold) < 0 {
		return nil
	}
	kill := bounds.Range{Least: bounds.Never}
	for _, node := range []string{"fast", "slow"} {
		delays, _ := fakeruntime.DelaySet(node)
		b, err := bounds.Of(bounds.Settings{Pod: e.podWith(of), Container: "app", Profile: profile.Newest(),
			Delays: delays})
		if err != nil {
			return nil
		}
		for _, which := range b.StartCases() {
			if first := which == bounds.FirstInstance || which == bounds.YoungKubelet; instance < 0 ||
				first == (instance == 0) {
				kill = kill.Or(b.Start(which))
			}
		}
	}
	least := max(kill.Least-truncated, 0)
	switch {
	case kill.Least == bounds.Never:
		return nil
	// which has to succeed before
	case kill.Greatest == bounds.Never, of == trace.Liveness && e.probe(trace.Startup) != nil:
		return &window{Span{least, bounds.Never}, bounds.Never}
	}
	latest := kill.Greatest + time.Duration(p.TimeoutSeconds)*time.Second + truncated
	grace := time.Duration(*cmp.Or(p.TerminationGracePeriodSeconds,
		e.object.Spec.TerminationGracePeriodSeconds)) * time.Second
	return &window{Span{least, latest}, latest + max(grace, minimumGrace) + truncated}
}

// podWith returns a pod with some probes of the container. Other containers do not count: they only
// make starts later.
func (e *evidence) podWith(probes ...trace.Probe) *v1.Pod {
	c := v1.Container{Name: "app", Image: "image"}
	for _, of := range probes {
		p := e.probe(of).DeepCopy()
		if p != nil && p.HTTPGet != nil && p.HTTPGet.Port.StrVal != "" { // a text can lack its number
			p.HTTPGet.Port = intstr.FromInt32(8080)
		}
		prober.SetProbe(&c, of, p)
	}
	return &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "pod"},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{c},
			TerminationGracePeriodSeconds: e.object.Spec.TerminationGracePeriodSeconds}}
}

// instance returns the number of the instance that ended, or -1 if it is unknown.
func (e *evidence) instance() int {
	switch {
	case e.end == nil || e.end.Count < 0:
		return -1
	case e.end.Previous:
		return max(e.end.Count-1, 0)
	}
	return e.end.Count
}

// excludes reports whether an instance ended before a probe could kill it.
func (w *window) excludes(life *Span) bool { return life.Greatest+truncated < w.Least }

// earliest returns the earliest kill of any instance by any probe, or bounds.Never if no settings
// of one are known.
func (e *evidence) earliest() time.Duration {
	least := bounds.Never
	for _, of := range killers {
		if w := e.window(of, -1); w != nil {
			least = min(least, w.Least)
		}
	}
	return least
}

// settings names those that decide when a probe kills.
func settings(p *v1.Probe) string {
	return fmt.Sprintf(" (delay %ds, period %ds, threshold %d)", p.InitialDelaySeconds, p.PeriodSeconds,
		p.FailureThreshold)
}

// closest has the findings of check that can have to do with failures of a class, the closest
// first.
var closest = map[Class][]check.FindingID{
	Refused: {check.ShortRestart, check.NoStartupProbe},
	Timeout: {check.LongTimeout, check.NoTimeToRecover}, NoAnswer: {check.LongTimeout, check.NoTimeToRecover},
	NoRPC: {check.LongTimeout, check.NoTimeToRecover},
}

// finding names the finding of check that is closest to the verdict, if there is one. It needs the
// settings of the probe.
func (w *writer) finding() string {
	if w.e.probe(w.r.probe) == nil || closest[w.v.Class] == nil {
		return ""
	}
	data, err := manifests.Marshal(w.e.podWith(trace.ProbeTypes...))
	if err != nil {
		return ""
	}
	checker, err := check.New([]input.File{{Name: "pod.yaml", Data: data}}, check.Options{IgnoreAnnotations: true})
	if err != nil || len(checker.Report().Workloads) == 0 {
		return ""
	}
	for _, id := range closest[w.v.Class] {
		for _, f := range checker.Report().Workloads[0].Containers[0].Findings {
			if f.ID == id && (id == check.ShortRestart || strings.Contains(f.Field, string(w.r.probe)+"Probe")) {
				w.v.Finding = string(id)
				first, _, _ := strings.Cut(f.Message, ". ")
				return "check: " + strings.TrimSuffix(first, ".") + " (" + w.v.Finding + ")."
			}
		}
	}
	return ""
}
