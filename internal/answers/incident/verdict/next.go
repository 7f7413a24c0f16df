package verdict

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/value"
)

// addNext adds to the verdicts on kills by probes the command that checks the settings with the
// starts that the recording measures.
func addNext(rec *incident.Recording, list []Verdict) {
	kills := []Cause{LivenessProbe, StartupProbe, Failing}
	can := func(v Verdict) bool {
		return slices.Contains(kills, v.Cause) && v.Pod.Object != nil && kubernetesName.MatchString(v.Container)
	}
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
					v.NextSays = "Check the settings with the starts that are known."
					v.Next = fmt.Sprintf("probesim check %s --start %s=%s", manifestOf(v.Pod), c.Name, c.Start.Whole())
				}
			}
		}
	}
}

// tuneNext adds the command that finds settings for a program that is well and slow: whose answers
// come after the timeout, or that its probe may have killed before it listened. How slow it is,
// nobody has measured: the settings tell what it exceeds.
func (e *evidence) tuneNext(v *Verdict) {
	p := e.probe(v.Probe)
	if p == nil || !slices.Contains(killers, v.Probe) || !kubernetesName.MatchString(v.Container) {
		return
	}
	answer := time.Duration(p.TimeoutSeconds) * time.Second
	w := e.window(v.Probe, -1)
	switch {
	case v.Class == Timeout || v.Class == NoAnswer:
		v.NextSays = fmt.Sprintf("If it is only slow, find settings for answers that take more than %s, such as:",
			value.Format(answer))
		v.Next = "answer>=" + value.Format(answer+time.Second)
	case v.Class != Refused && v.Class != NoConnection, w == nil, w.Greatest == bounds.Never,
		v.Life != nil && v.Life.Least > w.end: // it can have been up
		return
	default:
		longest := w.Greatest.Truncate(time.Second)
		v.NextSays = fmt.Sprintf("If its log ends in the middle of a start, find settings for one that takes more "+
			"than %s, such as:", value.Format(longest))
		v.Next = "start>=" + value.Format(longest+time.Second)
	}
	v.Next = fmt.Sprintf("probesim tune %s --require %s", manifestOf(v.Pod), simulate.Quote(v.Container+"/"+v.Next))
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
