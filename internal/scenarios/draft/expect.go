package draft

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// expect returns the observations as expectations, with some tolerance, and suggestions as
// comments.
func (d *draft) expect(s *seen) (lines []string) {
	for _, e := range d.entries {
		if e.why == "" {
			lines = append(lines, d.workloadExpectations(e, s)...)
		}
	}
	stops := func(c *v1.Container) bool { return c.LivenessProbe != nil || c.StartupProbe != nil }
	if !s.stopped && d.any(stops) {
		lines = append(lines, "# No probe stops a container.",
			"- {never: .., record: {kind: ContainerStopping, reason: /Probe/}}")
	}
	return append(lines, d.suggestions(s)...)
}

// any reports whether a container of the workloads has a property. An expectation about probes that
// no container has is invalid.
func (d *draft) any(has func(*v1.Container) bool) bool {
	for _, e := range d.entries {
		if e.why != "" {
			continue
		}
		for c := range podutil.Containers(&e.Pod.Spec) {
			if has(c) {
				return true
			}
		}
	}
	return false
}

func (d *draft) workloadExpectations(e *entry, s *seen) []string {
	name := strict.Quoted(e.Ref)
	w := s.workloads[e.key()]
	if w.hasEnded {
		return []string{
			"# It finishes successfully.",
			fmt.Sprintf("- {pod: %s, within: ..%s, status: {phase: Succeeded}}", name,
				value.Format(d.bound(w.succeeded))),
		}
	}
	if broken := brokenProbes(e.Pod); !w.isReady && broken != "" {
		return []string{
			"# It cannot become Ready before you correct the manifest: " + broken + ".",
			fmt.Sprintf("- {pod: %s, first: ..1m, becomes: {ready: true}}", name),
		}
	}
	if !w.isReady || e.Pod.Spec.RestartPolicy != v1.RestartPolicyAlways {
		return []string{fmt.Sprintf("# %s %s did not become Ready and stay Ready in this run: the timeline of "+
			"'probesim run' shows why.", e.Kind, name)}
	}
	up := value.Format(d.bound(w.ready))
	lines := []string{
		fmt.Sprintf("# It becomes Ready at %s here. Set this to the longest time that you accept.",
			value.Format(w.ready.Round(100*time.Millisecond))),
		fmt.Sprintf("- {pod: %s, first: ..%s, becomes: {ready: true}}", name, up),
	}
	if !w.unready {
		lines = append(lines, "# Then it stays Ready.",
			fmt.Sprintf("- {pod: %s, always: %s.., status: {ready: true}}", name, up))
	}
	return lines
}

// brokenProbes says which ports that probes ask do not exist, or returns an empty string.
func brokenProbes(pod *v1.Pod) string {
	var broken []string
	for c := range podutil.Containers(&pod.Spec) {
		for _, port := range program.UnknownPorts(c) {
			if port.PreventsReady() {
				broken = append(broken, fmt.Sprintf("%s has no port named %s", strict.Quoted(c.Name),
					strict.Quoted(port.Name)))
			}
		}
	}
	return strings.Join(broken, ", ")
}

// suggestions returns expectations, as comments, that need a step or do not suit every workload.
func (d *draft) suggestions(s *seen) []string {
	var lines []string
	if d.any(func(c *v1.Container) bool { return len(podutil.Probes(c)) > 0 }) {
		lines = append(lines, fmt.Sprintf("# - {never: %s.., record: {kind: Event, reason: Unhealthy}}   # No probe "+
			"fails.",
			value.Format(max(d.bound(s.unhealthy), d.settled(s)))))
	}
	server := d.server()
	if server == nil {
		return lines
	}
	name, main := strict.Quoted(server.Ref), strict.Quoted(server.Pod.Spec.Containers[0].Name)
	grace := time.Duration(min(*server.Pod.Spec.TerminationGracePeriodSeconds, 60)) * time.Second
	return append(lines,
		fmt.Sprintf("# - {pod: %s, container: %s, never: .., status: {restartCount: 1..}}", name, main),
		"# For the delete step above:",
		fmt.Sprintf("# - {pod: %s, since: {record: {kind: PodDeleteRequested}}, first: ..%s, record: {kind: "+
			"PodRemoved}}",
			name, value.Format(min(grace+5*time.Second, time.Minute))),
	)
}

// bound returns a time in the run that is some seconds later than t, in multiples of five seconds.
func (d *draft) bound(t time.Duration) time.Duration {
	return min((t + t/10 + 7*time.Second).Truncate(5*time.Second), d.duration)
}
