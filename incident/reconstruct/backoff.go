package reconstruct

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
)

// backoffs returns configurations of a kubelet with shorter back-offs, if containers restarted sooner than the back-offs of the default
// configuration allow: with the feature gate, which begins with a second, or with a maximum. It reports whether nothing else explains the
// recording: the kubelet reported a back-off, and the container started soon after.
func (s *search) backoffs() (list []string, certain bool) {
	m := s.model
	var longest []time.Duration
	for _, list := range [][]v1.Container{m.object.Spec.InitContainers, m.object.Spec.Containers} {
		for i := range list {
			if pause, fast, reported := m.fastRestarts(&list[i]); fast {
				longest, certain = append(longest, pause), certain || reported
			}
		}
	}
	if len(longest) == 0 {
		return nil, false
	}
	list = []string{"featureGates: {ReduceDefaultCrashLoopBackOffDecay: true}"}
	pause, gate := slices.Min(longest), ""
	if p, ok := profile.Named(m.version); ok && !p.KubeletCrashLoopBackOffMax {
		gate = "featureGates: {KubeletCrashLoopBackOffMax: true}, "
	}
	for _, less := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second} {
		if at := (pause - less).Truncate(time.Second); at >= time.Second && at <= 5*time.Minute {
			list = append(list, fmt.Sprintf("%scrashLoopBackOff: {maxContainerRestartPeriod: %s}", gate, value.Format(at)))
		}
	}
	return list, certain
}

// fastRestarts reports whether a container restarted sooner than the default back-offs allow, and returns the mean time that its
// back-offs can have taken. It also reports whether this is so for a back-off that the kubelet reported: containers that probes kill often
// restart without one.
func (m *model) fastRestarts(c *v1.Container) (pause time.Duration, fast, reported bool) {
	starts := m.recordedStarts(c)
	for _, f := range m.pod.Facts { // the next start after an end whose time is known
		if f.Container != c.Name || f.Kind != incident.Terminated || !f.Last.Known() || m.numberOf(f) < 1 {
			continue
		}
		for _, next := range starts {
			took := next.at.End().Sub(f.Last.At)
			if next.number == m.numberOf(f)+1 && !m.forgot(f.Last.At, next.at.End()) && took < min(10*time.Second<<min(m.numberOf(f)-1, 10), 5*time.Minute)-2*time.Second {
				pause, fast = max(took, 0), true
			}
		}
	}
	for _, f := range m.pod.Facts { // the next start after the first back-off, which the kubelet reports when the second instance has ended
		if !crashBackOff(f) || f.Container != c.Name || !f.When.Known() || f.AtLeast {
			continue
		}
		for _, next := range starts {
			took := next.at.End().Sub(f.When.At)
			if next.number == 2 && took > 0 && !m.forgot(f.When.At, next.at.End()) && took < 10*time.Second-2*detection {
				pause, fast, reported = took+detection/2, true, true
			}
		}
	}
	for i := 1; i < len(starts); i++ {
		from, to := starts[i-1], starts[i]
		if to.number < 2 || to.number == from.number || m.forgot(from.at.At, to.at.End()) {
			continue
		}
		var needs time.Duration
		n := 0
		for number := max(from.number+1, 2); number <= to.number; number++ { // the first restart has no back-off
			needs += min(10*time.Second<<min(number-2, 10), 5*time.Minute)
			n++
		}
		took := to.at.End().Sub(from.at.At)
		if took < needs-2*time.Second && n > 0 {
			life := time.Duration(0)
			for _, f := range m.pod.Facts {
				if f.Container == c.Name && f.Kind == incident.Terminated && f.When.Known() && f.Last.Known() {
					life = f.Last.At.Sub(f.When.At)
				}
			}
			pause, fast = took/time.Duration(n)-life, true
		}
	}
	return max(pause, time.Second), fast, reported
}

// forgot reports whether the kubelet restarted between two times, as its events tell. A kubelet that starts has forgotten the back-offs.
func (m *model) forgot(from, to time.Time) bool {
	after, before := m.forgotten()
	return !after.IsZero() && from.Before(before) && to.After(after)
}

// retryDoubt returns by how much a moment of a container, or of the pod, can differ from a run because of the random delays of the kubelet. A pod in crash-loop
// back-off is synced again after a delay that a random part lengthens by up to a half: that of the back-off, or before v1.35 10s, until the
// back-off is over (completeWork in pkg/kubelet/pod_workers.go, v1.37.0 and v1.34.4).
func (m *model) retryDoubt(container string, at time.Time) time.Duration {
	if container == "" {
		var most time.Duration
		for _, c := range m.containers() {
			most = max(most, m.retryDoubt(c.Name, at))
		}
		return most
	}
	c := m.spec(container)
	if c == nil || !slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool { return f.Container == container && backsOff(f) }) {
		return 0
	}
	number := m.restarts(container)
	for _, start := range m.recordedStarts(c) {
		if start.at.At.After(at) {
			number = start.number - 1
			break
		}
	}
	p, _ := profile.Named(m.version)
	var sum time.Duration
	pause := 10 * time.Second
	for range number - 1 { // the first restart has no back-off
		if p.RequeueAtBackOffExpiry {
			sum += pause / 2
		} else {
			sum += 15 * time.Second
		}
		pause = min(2*pause, 5*time.Minute)
	}
	return sum
}

// backsOff reports whether a fact tells of a crash-loop back-off.
func backsOff(f *incident.Fact) bool {
	return crashBackOff(f) || f.Kind == incident.Waiting && f.Reason == "CrashLoopBackOff"
}
