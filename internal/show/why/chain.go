package why

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// chain follows causes from a record back to the root. A step or a rule that waited for something
// is no root: the chain goes on with the record that it waited for.
func (r *Run) chain(rec *trace.Record) []Link {
	chain := []Link{}
	waited := false
	for effect := (*trace.Record)(nil); rec != nil; {
		next := r.cause(rec)
		root, step := r.root(rec, next), r.step(rec)
		text := r.clause(rec, effect, next)
		if text == "" && effect == nil && (waited || rec.Kind == trace.StatusPatched) {
			text = r.stepText(rec, "") + " at " + r.at(rec.T) // what a step or a rule waited for
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

// nameOf returns the name of a pod, or of another object, for people.
func nameOf(key string) string { return printable.Text(trace.PodName(key)) }

// roots are the kinds of the records that are roots whatever their cause.
var roots = map[trace.Kind]Root{trace.PodAdded: PodAdded, trace.PodDeleteRequested: Deletion, trace.Step: Step,
	trace.KubeletStopped: Kubelet}

// root returns the kind of root that a record with this cause is, or "" if the chain goes on. A
// probe result is a root if it is a failure, or a success after failures: the program is the reason
// for it. A success without earlier failures is due to the reason why the kubelet probed.
func (r *Run) root(rec, cause *trace.Record) Root {
	if rec.Kind == trace.ProbeExecuted && (!succeeded(rec) || len(r.failuresBefore(rec)) > 0) ||
		rec.Kind == trace.ContainerExited && exitsOnItsOwn(cause) && !r.isInitSuccess(rec) {
		return Program
	}
	return roots[rec.Kind]
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
