package why

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// chain follows causes from a record back to the root. A step or a rule that waited for something
// is no root: the chain goes on with the record that it waited for.
func (r *Run) chain(rec *trace.Record) []Link {
	var chain []Link
	waited := false
	for effect := (*trace.Record)(nil); rec != nil; {
		next := r.cause(rec)
		root, step := r.root(rec, next), r.step(rec)
		text := r.clause(rec, effect, next)
		if text == "" && effect == nil && (waited || rec.Kind == trace.StatusPatched) {
			text = r.momentClause(rec)
		}
		if text != "" {
			if step.Says != "" {
				text += " (" + step.Says + ")"
			}
			chain = append(chain, Link{T: rec.T, Step: rec.Step, Kind: rec.Kind, Text: text, Root: root})
			effect = rec
		}
		if root != "" {
			next = r.record(step.Since)
			if root == Program {
				chain, next = r.withRule(chain, rec)
			}
			if next == nil || next.Step >= chain[len(chain)-1].Step {
				break
			}
			chain[len(chain)-1].Root, effect, waited = "", nil, true
		}
		rec = next
	}
	if waited && chain[len(chain)-1].Root == "" {
		chain[len(chain)-1].Root = Step
	}
	return chain
}

// momentClause describes a record that a step or rule waited for and that no other clause
// describes.
func (r *Run) momentClause(rec *trace.Record) string {
	switch name := printable.Text(trace.PodName(rec.Pod)); {
	case rec.Kind == trace.StatusPatched:
		return fmt.Sprintf("the status of %s changed at %s", name, r.at(rec.T))
	case rec.Kind == trace.PodScheduled:
		return fmt.Sprintf("%s was bound to the node at %s", name, r.at(rec.T))
	case rec.Kind == trace.PodRemoved:
		return fmt.Sprintf("%s was removed at %s", name, r.at(rec.T))
	case rec.Kind == trace.ContainerExited:
		return fmt.Sprintf("%s/%s exited with code %d at %s", name, printable.Text(rec.Container), rec.ExitCode,
			r.at(rec.T))
	case rec.Container != "":
		return fmt.Sprintf("%s/%s had the record %s at %s", name, printable.Text(rec.Container), rec.Kind, r.at(rec.T))
	}
	return fmt.Sprintf("there was the record %s at %s", rec.Kind, r.at(rec.T))
}

// root returns the kind of root that a record with this cause is, or "" if the chain goes on.
func (r *Run) root(rec, cause *trace.Record) Root {
	switch {
	case rec.Kind == trace.ProbeExecuted && r.endsChain(rec), rec.Kind == trace.ContainerExited &&
		exitsOnItsOwn(cause) && !r.isInitSuccess(rec):
		return Program
	case rec.Kind == trace.PodAdded:
		return PodAdded
	case rec.Kind == trace.PodDeleteRequested:
		return Deletion
	case rec.Kind == trace.Step:
		return Step
	case rec.Kind == trace.KubeletStopped:
		return Kubelet
	}
	return ""
}

// isInitSuccess reports whether an exit is the success of an init container, which lets the next
// container start.
func (r *Run) isInitSuccess(exit *trace.Record) bool {
	pod := r.pods[exit.Pod]
	return exit.ExitCode == 0 && pod != nil && slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool {
		return c.Name == exit.Container && !podutil.IsRestartableInitContainer(&c)
	})
}

// exitsOnItsOwn reports whether a program exits without being stopped, given the cause of the exit.
func exitsOnItsOwn(cause *trace.Record) bool {
	return cause == nil || cause.Kind == trace.ContainerStarted
}

// endsChain reports whether a probe result is the root of its chain: a failure, or a success after
// failures, is due to the program. A success without earlier failures is due to the reason why the
// kubelet probed.
func (r *Run) endsChain(rec *trace.Record) bool {
	return !succeeded(rec) || len(r.failuresBefore(rec)) > 0
}
