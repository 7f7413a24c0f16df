package format

import (
	"probesim.dev/internal/strict"
)

// Limits of a scenario. Durations are limited by value.MaxDuration, delays by an hour.
const (
	MaxPods  = 10_000  // per scenario
	MaxSeeds = 100_000 // per scenario

	MaxEntries = 1000 // in spec.pods, steps and expect, and in behavior and answers of a container
)

// Fits reports whether a list is within the limit of entries.
func Fits(n *strict.Node) bool {
	if len(n.Items) <= MaxEntries {
		return true
	}
	n.Errorf("has more than %d entries", MaxEntries)
	return false
}
