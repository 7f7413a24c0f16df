package verdict

import (
	"fmt"
	"slices"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/scenarios/simulate"
)

// addNext adds to the verdicts on kills by probes the command that checks the settings with the
// starts that the recording measures.
func addNext(rec *incident.Recording, list []Verdict) {
	kills := []Cause{LivenessProbe, StartupProbe, Failing}
	can := func(v Verdict) bool { return slices.Contains(kills, v.Cause) && v.Pod.Object != nil }
	if !slices.ContainsFunc(list, can) {
		return
	}
	delays, _ := fakeruntime.DelaySet("typical")
	measured := measure.Of(rec, measure.Options{Delays: delays})
	for i := range list {
		v := &list[i]
		if !can(*v) {
			continue
		}
		for _, w := range measured.Workloads {
			for _, c := range w.Containers {
				of := func(s measure.Start) bool { return s.Pod == v.Pod.Key() }
				if c.Name == v.Container && c.Start != nil && slices.ContainsFunc(c.Starts, of) {
					v.Next = fmt.Sprintf("probesim check %s --start %s=%s", manifestOf(v.Pod), c.Name, c.Start.Whole())
				}
			}
		}
	}
}

// manifestOf returns the file with the settings of a pod, as a word of a command.
func manifestOf(p *incident.Pod) string {
	switch {
	case p.Template != incident.Place{}:
		return simulate.Quote(p.Template.File)
	case !p.Partial && p.Place.File != "stdin":
		return simulate.Quote(p.Place.File)
	}
	return "MANIFEST"
}
