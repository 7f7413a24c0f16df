package tune

import (
	"fmt"
	"math"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
)

// Grace is a change of the grace period of a pod: all programs exit by themselves when the pod is
// deleted.
type Grace struct {
	Field  string `json:"field"` // of the pod
	Before int64  `json:"before"`
	After  int64  `json:"after"`
	// Container is the one of those without enough time that takes the longest, Stop how long it
	// takes after SIGTERM, and Left the time that it has between SIGTERM and SIGKILL.
	Container string        `json:"container"`
	Stop      value.Seconds `json:"stop"`
	Left      value.Seconds `json:"left"`
}

// graceField is the field of a pod, and of the liveness probe.
const graceField = "terminationGracePeriodSeconds"

func (g *Grace) String() string {
	return fmt.Sprintf("%s: %d -> %d", graceField, g.Before, g.After)
}

// Why says for people what the change is good for.
func (g *Grace) Why() string {
	return fmt.Sprintf("%s takes up to %s to exit after SIGTERM: SIGKILL comes after %s.", g.Container,
		check.FormatUp(g.Stop), check.FormatDown(g.Left))
}

// grace returns the grace period with which all programs of a pod exit by themselves, in all
// versions, or nil if they do already.
func (t *Tuner) grace(w *manifests.Workload, terms *check.Terms) (*Grace, error) {
	g := &Grace{Field: "spec." + graceField}
	pod := w.Pod.DeepCopy()
	for range 3 { // a greater one can let the stop signal of a sidecar come later
		need := int64(0)
		for _, p := range t.options.Profiles {
			admitted, err := check.Admit(pod, p)
			if err != nil {
				return nil, err
			}
			now := *admitted.Pod.Spec.TerminationGracePeriodSeconds
			if g.After == 0 {
				g.Before, g.After = now, now
			}
			for c := range podutil.Containers(&admitted.Pod.Spec) {
				stop := terms.Stop(c.Name)
				if stop == nil {
					continue
				}
				d := admitted.Deleted(c.Name, t.options.Nodes, terms)
				left := d.SIGKILL - d.SIGTERM
				if least := math.Ceil((time.Duration(d.SIGTERM) + more(stop.Max, t.Margin)).Seconds()); left <
					value.Seconds(stop.Max+check.StopMargin) {
					if need = max(need, int64(least)); value.Seconds(stop.Max) > g.Stop {
						g.Container, g.Stop = c.Name, value.Seconds(stop.Max)
					}
				}
				if c.Name == g.Container {
					g.Left = left
				}
			}
		}
		switch {
		case need == 0 && g.After == g.Before:
			return nil, nil
		case need == 0:
			return g, nil
		}
		g.After = need
		pod.Spec.TerminationGracePeriodSeconds = &need
	}
	return nil, fmt.Errorf("no %s was found with which the programs exit in time", graceField)
}

// more returns how long a program needs to stop, with a margin.
func more(d time.Duration, margin float64) time.Duration {
	return d + max(time.Duration(float64(d)*margin), check.StopMargin)
}
