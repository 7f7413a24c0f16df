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
func (w *writer) finding() *check.Finding {
	if w.e.probe(w.r.probe) == nil || closest[w.v.Class] == nil {
		return nil
	}
	data, err := manifests.Marshal(w.e.podWith(trace.ProbeTypes...))
	if err != nil {
		return nil
	}
	checker, err := check.New([]check.File{{Name: "pod.yaml", Data: data}}, check.Options{IgnoreAnnotations: true})
	if err != nil || len(checker.Report().Workloads) == 0 {
		return nil
	}
	findings := checker.Report().Workloads[0].Containers[0].Findings
	for _, id := range closest[w.v.Class] {
		i := slices.IndexFunc(findings, func(f check.Finding) bool {
			return f.ID == id && (id == check.ShortRestart || strings.Contains(f.Field, string(w.r.probe)+"Probe"))
		})
		if i >= 0 {
			return &findings[i]
		}
	}
	return nil
}
