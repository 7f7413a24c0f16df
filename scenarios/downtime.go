package scenarios

import (
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// How long the kubelet does not run unless a step says so: while it is started again, and while the node is.
const (
	restartDowntime = 3 * time.Second
	rebootDowntime  = time.Minute
)

func (*RestartKubelet) target() string { return "" }

func (*RestartKubelet) name() string { return "restartKubelet" }

func (r *RestartKubelet) check(_ *checker, n *strict.Node) { checkFor(r.Downtime, n.Field("downtime")) }

func (r *RestartKubelet) do(d *Driver, i int) bool {
	return d.stopKubelet(r.Downtime, restartDowntime, i, func(time.Duration) {})
}

func (*RebootNode) target() string { return "" }

func (*RebootNode) name() string { return "rebootNode" }

func (r *RebootNode) check(_ *checker, n *strict.Node) { checkFor(r.Downtime, n.Field("downtime")) }

func (r *RebootNode) do(d *Driver, i int) bool {
	return d.stopKubelet(r.Downtime, rebootDowntime, i, func(back time.Duration) {
		d.world.PowerOff(back, d.note(r, ""))
	})
}

// stopKubelet stops the kubelet, has more happen that is told when it will be back, and has it started again then. It
// does nothing while the kubelet is down.
func (d *Driver) stopKubelet(downtime *value.Draw, usual time.Duration, i int, more func(back time.Duration)) bool {
	if !d.world.StopKubelet() {
		return false
	}
	back := d.now + usual
	if downtime != nil {
		back = d.now + draw(*downtime, d.plan.Seed, "step for", i)
	}
	more(back)
	d.world.At(back, d.startKubelet)
	return true
}
