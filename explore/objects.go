package explore

import (
	"fmt"
	"maps"
	"slices"

	"probesim.dev/trace"
)

// objectsOf returns the histories of Deployments and Services. That of a Deployment is whether it
// is complete and why its rollout goes on or not, and the fewest Ready pods after it was complete
// first. That of a Service is why requests are lost, but not how many: each order of events loses
// another number.
func objectsOf(records []trace.Record) []ObjectHistory {
	deployments, lost := map[string]*deploymentHistory{}, map[string]*[]string{}
	for i := range records {
		r := &records[i]
		switch {
		case r.Object == nil:
		case r.Object.Loss != nil:
			reasons := under(lost, r.Object.Name+" by "+r.Object.Loss.Router)
			*reasons = append(*reasons, "lost: "+r.Reason)
		case r.Kind == trace.WorkloadChanged && r.Object.Workload != nil &&
			r.Object.Workload.Condition("Progressing").Reason != "":
			under(deployments, r.Object.Name).follow(r.Object.Workload)
		}
	}
	var list []ObjectHistory
	for _, name := range slices.Sorted(maps.Keys(deployments)) {
		d := deployments[name]
		if d.complete {
			d.events = append(d.events, fmt.Sprintf("fewest Ready: %d", d.fewest))
		}
		list = append(list, ObjectHistory{name, d.events})
	}
	for _, name := range slices.Sorted(maps.Keys(lost)) {
		slices.Sort(*lost[name])
		list = append(list, ObjectHistory{name, slices.Compact(*lost[name])})
	}
	return list
}

type deploymentHistory struct {
	events   []string
	complete bool // has been
	fewest   int32
}

func (d *deploymentHistory) follow(w *trace.Workload) {
	event := "rolling out"
	switch reason := w.Condition("Progressing").Reason; {
	case w.Complete():
		event = "complete"
	case reason == "ProgressDeadlineExceeded" || reason == "DeploymentPaused":
		event = reason
	}
	if n := len(d.events); n == 0 || d.events[n-1] != event {
		d.events = append(d.events, event)
	}
	switch {
	case w.Complete() && !d.complete:
		d.complete, d.fewest = true, w.Ready
	case d.complete:
		d.fewest = min(d.fewest, w.Ready)
	}
}
