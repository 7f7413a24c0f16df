package probetest

import (
	"errors"
	"fmt"
	"testing"

	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var errNoObject = errors.New("the object is nil: use one that AddDeployment, AddService or a ScenarioRun returned")

// object is a Deployment or a Service of a run.
type object struct {
	t               testing.TB
	node            *Node // nil if the run is complete
	log             *log
	kind            string // Deployment
	namespace, name string
}

// String returns the kind and the name, such as "Deployment web".
func (o *object) String() string {
	if o == nil || o.log == nil {
		return "<no object>"
	}
	return o.kind + " " + trace.PodName(o.key())
}

// GomegaString returns the kind and the name. Gomega prints it in messages in place of the fields.
func (o *object) GomegaString() string { return o.String() }

func (o *object) key() string { return o.namespace + "/" + o.name }

// examine returns an error if every assertion about the object would be vacuous.
func (o *object) examine() error {
	if o == nil || o.log == nil {
		return errNoObject
	}
	if n := o.node; n != nil {
		n.reached()
		if len(n.due) > 0 && !n.running.Load() {
			return fmt.Errorf("%s has not happened yet%s", n.due[0].what, n.more())
		}
	}
	if o.log.end == 0 {
		return errors.New("no virtual time has passed yet" + o.node.more())
	}
	return nil
}

// do calls f at the current virtual time.
func (o *object) do(method string, f func(*Node) error) {
	if o == nil || o.log == nil {
		panic("probetest: " + method + ": the object belongs to no node: use one that AddDeployment or AddService " +
			"returned")
	}
	o.t.Helper()
	n := o.node
	if n == nil {
		o.t.Fatalf("%s: the run of the %s is complete: RunScenario runs a scenario to its end. Add a step to the "+
			"scenario, or use NewNode.", method, o)
		return
	}
	what := method + " of the " + o.String()
	n.later(what, func() error { return f(n) })
}

// later calls f at the current virtual time, when Advance is called next. An error ends the run.
func (n *Node) later(what string, f func() error) {
	n.t.Helper()
	n.at(n.now(), what, func(*node.Node) {
		if err := f(); err != nil {
			n.fail("%s at %s: %s", what, trace.FormatTime(virtual.At(n.now())), err)
		}
	})
}
