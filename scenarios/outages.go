package scenarios

import (
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// APIDown cuts the kubelet off from the API server. Other steps still reach it.
type APIDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: for good

	text string // as written
}

// RuntimeDown has calls to the container runtime fail, or its status say that a condition is false.
type RuntimeDown struct {
	For       *value.Draw `json:"for,omitempty"`       // nil: for good
	Condition string      `json:"condition,omitempty"` // the one that is false; empty: calls fail

	text string // as written
}

func (*APIDown) target() string { return "" }

func (*APIDown) name() string { return "apiDown" }

func (a *APIDown) check(_ *checker, n *strict.Node) {
	a.text = n.Text()
	checkFor(a.For, n.Field("for"))
}

func (a *APIDown) do(d *Driver, i int) bool {
	d.outage(a, a.text, a.For, i, a.name(), func() { d.world.SetAPIDown(d.outages[a.name()] > 0) })
	return true
}

func (*RuntimeDown) target() string { return "" }

func (*RuntimeDown) name() string { return "runtimeDown" }

func (r *RuntimeDown) check(_ *checker, n *strict.Node) {
	r.text = n.Text()
	checkFor(r.For, n.Field("for"))
	condition := n.Field("condition")
	if condition.Written() && !condition.Bad() && r.Condition != fakeruntime.RuntimeReady && r.Condition != fakeruntime.NetworkReady {
		condition.Errorf("%s is not a condition of a runtime: write %s or %s", strict.Quote(r.Condition), fakeruntime.RuntimeReady, fakeruntime.NetworkReady)
	}
}

func (r *RuntimeDown) do(d *Driver, i int) bool {
	d.outage(r, r.text, r.For, i, runtimeOutage+r.Condition, d.setRuntimeHealth)
	return true
}

// runtimeOutage and the name of a condition, none if calls fail, is what is down.
const runtimeOutage = "runtime "

// outage has something be down for a while, which it is as long as one such step has not ended. set is called when
// that changes.
func (d *Driver) outage(a action, text string, span *value.Draw, i int, what string, set func()) {
	d.during(a, text, span, i, func() {
		if d.outages[what]++; d.outages[what] == 1 {
			set()
		}
	}, func() {
		if d.outages[what]--; d.outages[what] == 0 {
			set()
		}
	})
}

// setRuntimeHealth tells the world how the runtime is now, and starts a kubelet that has waited for it.
func (d *Driver) setRuntimeHealth() {
	down := d.outages[runtimeOutage] > 0
	d.world.SetRuntimeHealth(fakeruntime.Health{
		Down:            down,
		RuntimeNotReady: d.outages[runtimeOutage+fakeruntime.RuntimeReady] > 0,
		NetworkNotReady: d.outages[runtimeOutage+fakeruntime.NetworkReady] > 0,
	})
	if d.stopped && !down {
		d.startKubelet()
	}
}

// startKubelet starts the kubelet, which cannot start without its runtime: then as soon as that is back.
func (d *Driver) startKubelet() {
	d.stopped = d.outages[runtimeOutage] > 0
	if !d.stopped {
		d.world.StartKubelet()
	}
}
