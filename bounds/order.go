package bounds

import (
	"errors"
	"slices"
	"strings"

	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// order is the order of events at one instant, where a bound depends on it. The zero value is the canonical order.
type order string

const (
	// lateStatus stores a status that shows a container for the first time only after the readiness probe, which the same sync triggers, has
	// looked for it. The trigger is then wasted, and the probe waits for its next tick (UpdatePodStatus in
	// pkg/kubelet/prober/prober_manager.go at v1.37.0).
	lateStatus order = "late status"
	// apartEvents syncs the pod between the two events of a relist that finds the container and its sandbox. The second event leads to another sync
	// (podWorkerLoop in pkg/kubelet/pod_workers.go at v1.37.0).
	apartEvents order = "events apart"
	// livenessFirst and livenessLast handle a tick of a liveness probe before, or after, everything else at its instant, above all a tick of
	// the startup probe. After a kill, the liveness probe waits for the startup probe only from the next tick of that one on
	// (pkg/kubelet/prober/worker.go at v1.37.0).
	livenessFirst order = "liveness first"
	livenessLast  order = "liveness last"
	// lateSync begins a sync after everything else at its instant, so that the sync is for all of it.
	lateSync order = "late sync"
)

// Order says which order of events at one instant the case needs. It is empty for the usual order. On a real node, such events are
// microseconds apart, and another order is rare.
func (c Case) Order() string {
	return map[order]string{
		lateStatus:    "the status is stored after the readiness probe has looked for it",
		apartEvents:   "the pod is synced between two events of a relist",
		livenessFirst: "the liveness probe runs before everything else at its tick",
		livenessLast:  "the liveness probe runs after everything else at its tick",
		lateSync:      "a sync begins after all probes at its tick",
	}[c.order]
}

// Choose, Next and Fraction make a Case the chooser of a run, which is canonical but for the jitters and the order.
func (c *Case) Choose(choice choose.Choice, n int) int {
	if point, ok := yields[c.order]; ok && choice.Kind == choose.Preemption && strings.HasPrefix(choice.Key, point) {
		return 2 // everything else at this instant goes first
	}
	return 0
}

// yields has the points at which a process lets everything else go first, for orders that consist in this.
var yields = map[order]string{lateStatus: "readiness triggered, status not stored ", apartEvents: "pod cache refreshed, event not sent "}

func (c *Case) Next(list []choose.Choice) int {
	process, first := "liveness worker ", c.order == livenessFirst
	switch c.order {
	case lateSync:
		process = "pod worker "
	case livenessFirst, livenessLast:
	default:
		return 0
	}
	return max(0, slices.IndexFunc(list, func(one choose.Choice) bool { return strings.Contains(one.Key, process) == first }))
}

func (c *Case) Fraction(choice choose.Choice) float64 {
	if c.jitterSeed != nil {
		return choose.Seeded(*c.jitterSeed).Fraction(choice)
	}
	if worker, start := startJitter.Drawer(choice); start {
		probe, _, _ := strings.Cut(worker, " ")
		if own, ok := c.sleeps[trace.Probe(probe)]; ok {
			return own
		}
		return c.StartJitter
	}
	if _, sync := syncJitter.Drawer(choice); sync {
		return c.SyncJitter
	}
	return 0.5
}

// orderSeeds is the number of seeds among which ordered looks for an order.
const orderSeeds = 500

// ordered returns the case with a seed in place of its order, because a scenario file has a seed only. The seed leads to the same value.
func (s *Subject) ordered(c Case) (Case, error) {
	if c.order == "" {
		return c, nil
	}
	want, err := c.question.measure(s, c)
	if err != nil {
		return c, err
	}
	c.order = ""
	for seed := range int64(orderSeeds) {
		c.Seed = &seed
		one, err := c.question.measure(s, c)
		if err != nil {
			return c, err
		}
		if (one.bound.Least - want.bound.Least).Abs() < 10*margin {
			return c, nil
		}
	}
	return c, errors.New("no seed leads to the order of events that the bound needs")
}
