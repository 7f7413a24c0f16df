package drive

import (
	"maps"
	"slices"

	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
)

// Branch returns a driver for a copy of the world of d at a time, such as node.Node.CopyAtRestart.
// It goes on with the plan p, which is the plan of d with one more step, and executes this step at
// once. It copies what changes during a run: which pods exist, which delays and outages are in
// effect, and what waits for its time or its moment.
func (d *Driver) Branch(w World, t virtual.Time, p *plan.Plan) *Driver {
	c := &Driver{
		plan: p, world: w, pods: make(map[string]*plan.PlannedPod, len(d.pods)), seen: slices.Clone(d.seen),
		rolled: d.rolled, leases: d.leases, created: maps.Clone(d.created), present: maps.Clone(d.present),
		ending: maps.Clone(d.ending), written: maps.Clone(d.written),
		delays: slices.Clone(d.delays), outages: maps.Clone(d.outages), stopped: d.stopped,
		steps: append(slices.Clone(d.steps), stepState{due: t}), err: d.err,
	}
	for key, pod := range d.pods {
		c.pods[key] = new(*pod) // setManifest changes it
	}
	for _, s := range d.waiting {
		c.waiting = append(c.waiting, &waiting{s.each, s.watcher.Copy(), s.then})
	}
	w.Observe(c.observe)
	for _, call := range d.pending {
		c.later(call.t, call.do)
	}
	last := len(p.Scenario.Spec.Steps) - 1
	c.do(t, last, p.Scenario.Spec.Steps[last])
	return c
}
