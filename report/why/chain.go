package why

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// chain follows causes from a record back to the root.
func (r *Run) chain(rec *trace.Record) []Link {
	var chain []Link
	for effect := (*trace.Record)(nil); rec != nil; {
		next := r.cause(rec)
		root := r.root(rec, next)
		if text := r.clause(rec, effect, next); text != "" {
			chain = append(chain, Link{T: rec.T, Step: rec.Step, Kind: rec.Kind, Text: text, Root: root})
			effect = rec
		}
		if root == Program {
			chain = r.withRule(chain, rec)
		}
		if root != "" {
			break
		}
		rec = next
	}
	return chain
}

// root returns the kind of root that a record with this cause is, or "" if the chain goes on.
func (r *Run) root(rec, cause *trace.Record) Root {
	switch {
	case rec.Kind == trace.ProbeExecuted && r.endsChain(rec), rec.Kind == trace.ContainerExited && exitsOnItsOwn(cause) && !r.isInitSuccess(rec):
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

// isInitSuccess reports whether an exit is the success of an init container, which lets the next container start.
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

// endsChain reports whether a probe result is the root of its chain: a failure, or a success after failures, is due to the
// program. A success without earlier failures is due to the reason why the kubelet probed.
func (r *Run) endsChain(rec *trace.Record) bool {
	return !succeeded(rec) || len(r.failuresBefore(rec)) > 0
}
