package probetest

import (
	"cmp"
	"fmt"
	"reflect"

	"probesim.dev/internal/printable"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
)

// compile returns the pods that an object creates with the programs in their containers.
func (n *Node) compile(w Workload, b Behavior) ([]plan.PlannedPod, error) {
	pods, err := scenarios.Compile(w, b.text(), scenarios.CompileOptions{Profile: n.profile, Seed: n.options.Seed})
	if _, invalid := err.(scenarios.Errors); invalid {
		kind := reflect.TypeOf(w).Elem().Name()
		return nil, fmt.Errorf("the %s %s cannot be added:\n%w", kind,
			printable.Text(cmp.Or(w.GetName(), w.GetGenerateName())), err)
	}
	return pods, err
}
