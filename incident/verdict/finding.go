package verdict

import (
	"slices"
	"strings"

	"probesim.dev/check"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/trace"
)

// closest has the findings of check that can have to do with failures of a class, the closest first.
var closest = map[Class][]check.FindingID{
	Refused: {check.ShortRestart, check.NoStartupProbe},
	Timeout: {check.LongTimeout, check.NoTimeToRecover},
}

// finding returns the finding of check that is closest to the verdict, or nil. It needs the settings of the probe.
func (w *writer) finding() (best *check.Finding) {
	if w.e.probe(w.r.probe) == nil || closest[w.v.Class] == nil {
		return nil
	}
	data, err := manifests.Marshal(w.e.podWith(trace.ProbeTypes...))
	if err != nil {
		return nil
	}
	checker, err := check.New([]check.File{{Name: "pod.yaml", Data: data}}, check.Options{IgnoreAnnotations: true})
	if err != nil {
		return nil
	}
	rank := func(f *check.Finding) int { return slices.Index(closest[w.v.Class], f.ID) }
	for _, workload := range checker.Report().Workloads {
		for _, c := range workload.Containers {
			for i := range c.Findings {
				f := &c.Findings[i]
				about := strings.Contains(f.Field, string(w.r.probe)+"Probe") || f.ID == check.ShortRestart
				if about && rank(f) >= 0 && (best == nil || rank(f) < rank(best)) {
					best = f
				}
			}
		}
	}
	return best
}
