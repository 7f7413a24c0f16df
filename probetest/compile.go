package probetest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/program"
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
	if err == nil {
		n.noteHidden(w.GetName(), pods[0].Program, b)
	}
	return pods, err
}

// noteHidden adds a note for each rule that never applies, because a later rule always wins.
func (n *Node) noteHidden(object string, compiled fakeruntime.Pod, b Behavior) {
	for _, container := range slices.Sorted(maps.Keys(b)) {
		rules := b[container]
		for i := range rules {
			if by := program.HiddenBy(compiled.Containers[container].Program.Rules, i); by >= 0 {
				n.log.note(fmt.Sprintf("%s/%s: the rule %s never applies: the later rule %s wins whenever it could",
					object, container, rules[i], rules[by]))
			}
		}
	}
}
