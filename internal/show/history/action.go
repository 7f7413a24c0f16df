package history

import (
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Action is something that the kubelet does and waits for: a lifecycle hook, the pull of an image,
// or a wait for volumes.
type Action struct {
	What     string // postStart, preStop, pull, mount or unmount
	Instance int    // of the container
	From, To virtual.Time
	Start    *trace.Record // nil for a wait, which has only the record of its end
	End      *trace.Record // nil if the action does not end during the run; To is then Forever
}

// Failed reports whether the action ended with an error.
func (a *Action) Failed() bool { return a.End != nil && a.End.Result == trace.Failure }

// Lasts reports whether one of the actions of a run that ends at end takes a second or longer.
func Lasts(actions []Action, end virtual.Time) bool {
	for i := range actions {
		if min(actions[i].To, end).Sub(actions[i].From) >= time.Second {
			return true
		}
	}
	return false
}

// Until returns the end of the action in a run that ends at end.
func (a *Action) Until(end virtual.Time) virtual.Time { return max(a.From, min(a.To, end)) }

// Record returns the last record of the action.
func (a *Action) Record() *trace.Record {
	if a.End != nil {
		return a.End
	}
	return a.Start
}

// addAction adds the beginning or the end of an action to a list.
func addAction(list []Action, r *trace.Record, what string) []Action {
	switch r.Kind {
	case trace.HookStarted, trace.ImagePullStarted:
		return append(list, Action{What: what, Instance: r.Instance, From: r.T, To: Forever, Start: r})
	}
	for i := len(list) - 1; i >= 0; i-- {
		if a := &list[i]; a.End == nil && a.What == what && a.Instance == r.Instance && a.From == r.T.Add(-r.Took) {
			a.To, a.End = r.T, r
			return list
		}
	}
	return append(list, Action{What: what, Instance: r.Instance, From: r.T.Add(-r.Took), To: r.T, End: r})
}
