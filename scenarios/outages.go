package scenarios

import (
	"probesim.dev/scenarios/strict"
	"probesim.dev/scenarios/value"
	"probesim.dev/sim/trace"
)

// APIDown cuts the kubelet off from the API server. Other steps still reach it.
type APIDown struct {
	For *value.Draw `json:"for,omitempty"` // nil: for good

	text string // as written
}

func (*APIDown) target() string { return "" }

func (*APIDown) name() string { return "apiDown" }

func (a *APIDown) check(_ *checker, n *strict.Node) {
	a.text = n.Text()
	checkFor(a.For, n.Field("for"))
}

func (a *APIDown) do(d *Driver, i int) bool {
	d.outage(a, a.text, a.For, i, d.world.SetAPIDown)
	return true
}

// outage has something be down for a while, which it is as long as one such step has not ended. down is told of the
// first and the last.
func (d *Driver) outage(a action, text string, span *value.Draw, i int, down func(bool)) {
	d.during(span, i, func() {
		d.note(a, text)
		if d.outages[a.name()]++; d.outages[a.name()] == 1 {
			down(true)
		}
	}, func() {
		d.note(a, trace.StepOver)
		if d.outages[a.name()]--; d.outages[a.name()] == 0 {
			down(false)
		}
	})
}
