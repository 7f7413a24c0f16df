package scenarios

import (
	"strconv"
	"strings"
)

// PodKeys returns the pods, as namespace/name, that a name in the scenario means: a pod, all pods of a
// workload, or with an empty name all pods there are. They are in the order of the scenario.
func (s *Scenario) PodKeys(name string) []string {
	var keys []string
	for _, w := range s.workloads {
		first, count := w.named(name)
		for replica := first; replica < first+count; replica++ {
			keys = append(keys, w.key(replica))
		}
	}
	return keys
}

// podCount returns how many pods a name means.
func (s *Scenario) podCount(name string) int {
	total := 0
	for _, w := range s.workloads {
		_, count := w.named(name)
		total += count
	}
	return total
}

// named returns the replicas of the workload that a name means: the first, and how many.
func (w *workload) named(name string) (first, count int) {
	own := w.manifest.name
	if name == "" || name == own {
		return 0, w.replicas
	}
	number, ok := strings.CutPrefix(name, strings.TrimSuffix(w.manifest.podName(0), "0"))
	replica, err := strconv.Atoi(number)
	if !ok || err != nil || replica < 0 || replica >= w.replicas || name != w.manifest.podName(replica) {
		return 0, 0
	}
	return replica, 1
}

// podNames are the names of the workloads, and of their first pods.
func (s *Scenario) podNames() []string {
	var names []string
	for _, w := range s.workloads {
		names = append(names, w.manifest.name)
		if w.manifest.kind.template != "" {
			for replica := range min(w.replicas, 10) {
				names = append(names, w.manifest.podName(replica))
			}
		}
	}
	return names
}
