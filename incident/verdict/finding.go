package verdict

import (
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

// finding names the finding of check that is closest to the verdict, if there is one. It needs the settings of the probe.
func (w *writer) finding() string {
	if w.e.probe(w.r.probe) == nil || closest[w.v.Class] == nil {
		return ""
	}
	data, err := manifests.Marshal(w.e.podWith(trace.ProbeTypes...))
	if err != nil {
		return ""
	}
	checker, err := check.New([]check.File{{Name: "pod.yaml", Data: data}}, check.Options{IgnoreAnnotations: true})
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
