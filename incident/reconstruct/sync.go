package reconstruct

import (
	"strings"
	"time"

	"probesim.dev/incident"
)

// trySync changes how often the kubelet syncs a pod that does not change. Each sync of a pod in back-off has an event, and each sync runs
// the readiness probes of containers that are not ready, so the numbers and the times of these tell it. Few kubelets have another setting than
// the default, so other explanations come first.
func trySync(s *search, _ *part) []choice {
	if !s.desperate || !s.missesSync() {
		return nil
	}
	var list []choice
	add := func(d time.Duration) {
		if d = d.Round(100 * time.Millisecond); d >= time.Second && d <= longestSync {
			list = append(list, choice{name: "sync", rare: true, resync: &d})
		}
	}
	if now := s.model.resync; now > 0 {
		list = append(list, choice{name: "none", resync: ptr(time.Duration(0))})
		for _, percent := range []time.Duration{2, 5, 10} {
			add(now * (100 - percent) / 100)
			add(now * (100 + percent) / 100)
		}
		return list
	}
	for d := time.Second; d <= longestSync; d = d * 5 / 4 {
		add(d)
	}
	return list
}

// longestSync is the longest syncFrequency to try.
const longestSync = 5 * time.Minute

// missesSync reports whether the best run so far lacks a fact that the syncs of the pod decide.
func (s *search) missesSync() bool {
	for _, c := range s.best.claims {
		f := c.Fact
		if !c.Holds && (f.Kind == incident.Condition || f.Kind == incident.Event && (f.Reason == "BackOff" || strings.HasPrefix(f.Message, "Readiness probe"))) {
			return true
		}
	}
	return false
}
