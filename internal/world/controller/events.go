package controller

import (
	"fmt"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Events sends the events of a controller to the API server, one after the other
// (tools/record/event.go of client-go v0.37.0). Equal events are not combined.
type Events struct {
	env   *Env
	name  string
	queue *sim.Chan[trace.Record]
}

// NewEvents returns the sender of the events of a controller.
func NewEvents(env *Env, controller string) *Events {
	e := &Events{env: env, name: controller, queue: sim.NewChan[trace.Record](env.Sim, controller+" events", 1<<10)}
	env.Sim.Go(controller+" events", func(p *sim.Proc) { p.Serve(sim.On(e.queue, e.send)) })
	return e
}

// Add sends an event about an object with a name such as "Deployment default/web".
func (e *Events) Add(object, eventType, reason, format string, a ...any) {
	e.queue.TrySend(trace.Record{
		Kind: trace.Event, Type: eventType, Reason: reason, Message: fmt.Sprintf(format, a...),
		Object: &trace.Object{Name: object},
	})
}

// send writes the event when its call reaches the API server.
func (e *Events) send(p *sim.Proc, r trace.Record) {
	p.Sleep(e.env.Delays.Call(e.name, "POST", store.Kind("events"), r.Object.Name))
	r.T, r.Cause = p.Now(), p.Cause()
	e.env.Trace.Add(r)
}
