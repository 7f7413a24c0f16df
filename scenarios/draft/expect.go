package draft

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/value"
)

// expect writes what was seen as expectations, with some room, and as comments what somebody may want.
func (d *draft) expect(w *writer, s *seen) {
	var lines []string
	for _, e := range d.entries {
		if e.why == "" {
			lines = append(lines, d.ofWorkload(e, s)...)
		}
	}
	if !s.stopped {
		lines = append(lines, "# No probe has a container stopped.", "- {never: .., record: {kind: ContainerStopping, reason: /Probe/}}")
	}
	lines = append(lines, d.wishes(s)...)
	if holds(lines) {
		w.line("  expect:                     # Each has a matcher and a window.")
	} else {
		w.line("  # expect:                   # Each has a matcher and a window.")
	}
	writeLines(w, "  ", lines)
}

// holds reports whether any of the lines is no comment.
func holds(lines []string) bool {
	for _, l := range lines {
		if l[0] != '#' {
			return true
		}
	}
	return false
}

// ofWorkload are the expectations of one workload.
func (d *draft) ofWorkload(e *entry, s *seen) []string {
	name := quoted(e.Name)
	ended, hasEnded := s.succeeded[e.Name]
	if hasEnded {
		return []string{
			"# It does its work and ends well.",
			fmt.Sprintf("- {pod: %s, within: ..%s, status: {phase: Succeeded}}", name, value.Format(d.bound(ended))),
		}
	}
	ready, isReady := s.ready[e.Name]
	if !isReady || e.Pod.Spec.RestartPolicy != v1.RestartPolicyAlways {
		return []string{fmt.Sprintf("# %s %s did not become Ready for good in this time: the timeline of 'probesim run' shows why.", e.Kind, name)}
	}
	up := value.Format(d.bound(ready))
	lines := []string{
		fmt.Sprintf("# It is Ready at %s here; set this to the time that you can wait for it.", value.Format(ready.Round(100*time.Millisecond))),
		fmt.Sprintf("- {pod: %s, first: ..%s, becomes: {ready: true}}", name, up),
	}
	if !s.unready[e.Name] {
		lines = append(lines, "# Then it stays Ready.", fmt.Sprintf("- {pod: %s, always: %s.., status: {ready: true}}", name, up))
	}
	return lines
}

// wishes are expectations that need a step, or that are not for everybody.
func (d *draft) wishes(s *seen) []string {
	lines := []string{fmt.Sprintf("# - {never: %s.., record: {kind: Event, reason: Unhealthy}}   # No probe fails.", value.Format(max(d.bound(s.unhealthy), d.settled(s))))}
	server := d.server()
	if server == nil {
		return lines
	}
	name, main := quoted(server.Name), quoted(server.Pod.Spec.Containers[0].Name)
	grace := time.Duration(min(*server.Pod.Spec.TerminationGracePeriodSeconds, 60)) * time.Second
	return append(lines,
		fmt.Sprintf("# - {pod: %s, container: %s, never: .., status: {restartCount: 1..}}", name, main),
		"# With the step that deletes it:",
		fmt.Sprintf("# - {pod: %s, since: {record: {kind: PodDeleteRequested}}, first: ..%s, record: {kind: PodRemoved}}",
			name, value.Format(min(grace+5*time.Second, time.Minute))),
	)
}

// bound is a time in the run that is somewhat later than one that was seen, in whole five seconds.
func (d *draft) bound(t time.Duration) time.Duration {
	return min((t + t/10 + 7*time.Second).Truncate(5*time.Second), d.duration)
}
