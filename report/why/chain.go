package why

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// chain goes from a record back to what the world or a program did.
func (r *Run) chain(rec *trace.Record) []Link {
	var chain []Link
	for effect := (*trace.Record)(nil); rec != nil; {
		next := r.cause(rec)
		root := r.root(rec, next)
		if text := r.tell(rec, effect, next); text != "" {
			chain = append(chain, Link{T: rec.T, Step: rec.Step, Kind: rec.Kind, Text: text, Root: root})
			effect = rec
		}
		if root != "" {
			break
		}
		rec = next
	}
	return chain
}

// root says what begins with a record that has this cause, if something does.
func (r *Run) root(rec, cause *trace.Record) Root {
	switch {
	case rec.Kind == trace.ProbeExecuted && r.answersAnew(rec), rec.Kind == trace.ContainerExited && exitsByItself(cause) && !r.isStepOfInit(rec):
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

// isStepOfInit reports whether an exit is the success of an init container: it leads on to what comes next.
func (r *Run) isStepOfInit(exit *trace.Record) bool {
	pod := r.pods[exit.Pod]
	return exit.ExitCode == 0 && pod != nil && slices.ContainsFunc(pod.Spec.InitContainers, func(c v1.Container) bool {
		return c.Name == exit.Container && !isSidecar(&c)
	})
}

// exitsByItself reports whether an exit that has this cause is the program's own doing.
func exitsByItself(cause *trace.Record) bool {
	return cause == nil || cause.Kind == trace.ContainerStarted
}

// answersAnew reports whether a probe run came to what it did because the program began to answer so. A probe that succeeds
// whenever it is made succeeds because it is made.
func (r *Run) answersAnew(rec *trace.Record) bool {
	return !succeeded(rec) || len(r.failuresBefore(rec)) > 0
}
