package bounds

import (
	"errors"
	"math"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// UntilRecovered returns the time from a hang of a healthy container until its next instance is up and ready. The program ignores the
// stop signal while it hangs, and its next instance takes a while to start. Before this instance is up, the kubelet can show it as
// ready for a moment. The time is Never if a probe stops the instance, or the instance never becomes ready.
func (s *Subject) UntilRecovered(n Nodes, start time.Duration) (Bound, error) {
	rules := []Rule{{Instance: 0, Clock: fakeruntime.AfterSigterm, NeverExits: true}}
	if start > 0 {
		rules = append(rules, Rule{Instance: 1, For: start, Misfortune: Refuse})
	}
	return s.phasesOf(n, func(c Case) (sample, error) {
		c.Rules = append([]Rule{{Instance: 0, Clock: fakeruntime.AtScenario, From: c.Event, Misfortune: Hang}}, rules...)
		c.Instance = 1
		started, stoppedAgain := s.started(1), s.started(2)
		var up, readySince virtual.Time // zero: not yet
		h, err := s.record(&c, s.recorder(""), c.Event+s.shutdown(math.MaxInt64)+start+s.healthyWithin(), func(r *trace.Record) bool {
			switch {
			case started(r):
				up = r.T.Add(start)
			case up > 0 && s.ready(r):
				readySince = r.T
			case up > 0 && s.unready(r):
				readySince = 0
			}
			return readySince > 0 && r.T >= up || stoppedAgain(r)
		})
		if errors.Is(err, errNothing) || err == nil && stoppedAgain(h.outcome()) {
			return sample{bound: at(Never, c)}, nil
		}
		if err != nil {
			return sample{}, err
		}
		return sample{bound: at(max(up, readySince).Sub(virtual.At(c.Event)), c)}, nil
	})
}

// phasesOf returns the bound of a function of the time at which a misfortune begins, over its phases against the liveness probe.
func (s *Subject) phasesOf(n Nodes, f measure) (Bound, error) {
	c := s.center(n)
	moments, err := s.requests(c, trace.Liveness, nil)
	if err != nil {
		return Bound{}, err
	}
	all, err := between(moments, c, f)
	return all.bound, err
}

// Course is what happens to a container after one event, in the middle of the nodes.
type Course struct {
	Stopped time.Duration // from the event to the stop signal
	Killed  time.Duration // from the event to SIGKILL, if the program ignores the stop signal
}

// Deleted returns the course of a healthy container after the deletion of its pod.
func (s *Subject) Deleted(n Nodes) (Course, error) {
	c := s.center(n)
	c.Rules = []Rule{{Instance: AnyInstance, Clock: fakeruntime.AfterSigterm, NeverExits: true}}
	up, err := s.up(c)
	if err != nil {
		return Course{}, err
	}
	h, err := s.run(&c, s.started(0))
	if err != nil {
		return Course{}, err
	}
	deletion := h.outcome().T.Add(up + time.Second)
	s.before = func(n *node.Node) {
		n.At(deletion, func() { n.DeletePod(s.pod.Namespace, s.pod.Name, nil) })
	}
	defer func() { s.before = nil }()
	exited := func(r *trace.Record) bool { return r.Kind == trace.ContainerExited && r.Container == s.Container }
	h, err = s.record(&c, s.recorder(""), s.longestRun()+s.shutdown(math.MaxInt64), exited)
	if err != nil {
		return Course{}, err
	}
	return Course{Stopped: h.first(s.stopped(0)).T.Sub(deletion), Killed: h.outcome().T.Sub(deletion)}, nil
}

// AtKubeletRestart returns for how long a healthy container is not ready in some time after the kubelet has stopped and started again
// three seconds later, in the middle of the nodes. It is 0 if the container stays ready, or if its pod was not ready before, so that no Service sends
// it requests.
func (s *Subject) AtKubeletRestart(n Nodes, at, within time.Duration) (time.Duration, error) {
	stop, end := virtual.At(at), virtual.At(at+within)
	s.before = func(n *node.Node) {
		n.At(stop, func() { n.StopKubelet() })
		n.At(stop.Add(3*time.Second), n.StartKubelet)
	}
	defer func() { s.before = nil }()
	c := s.center(n)
	var since virtual.Time // of a time that is not over
	var unready time.Duration
	var podReady bool // before the restart
	err := s.watch(&c, at+within, func(r *trace.Record) bool {
		switch {
		case r.T < stop:
			if r.Kind == trace.StatusPatched && r.Status != nil {
				podReady = r.Status.Ready
			}
		case since == 0 && s.unready(r):
			since = r.T
		case since > 0 && s.ready(r):
			unready, since = unready+r.T.Sub(since), 0
		}
		return false
	})
	if since > 0 {
		unready += end.Sub(since)
	}
	if !podReady {
		unready = 0
	}
	if errors.Is(err, errNothing) {
		err = nil
	}
	return unready, err
}

// Restarts returns the times at which the instances of a container start that never comes up, within a time after the first
// start, in the middle of the nodes.
func (s *Subject) Restarts(n Nodes, within time.Duration) ([]time.Duration, error) {
	c := s.center(n)
	ends := s.ends()
	ends.Instance = AnyInstance
	c.Rules = []Rule{{Instance: AnyInstance, Misfortune: Refuse}, ends}
	var starts []time.Duration
	var first virtual.Time
	err := s.watch(&c, within, func(r *trace.Record) bool {
		if r.Kind == trace.ContainerStarted && r.Container == s.Container {
			if r.Instance == 0 {
				first = r.T
			}
			starts = append(starts, r.T.Sub(first))
		}
		return false
	})
	if errors.Is(err, errNothing) {
		err = nil
	}
	return starts, err
}
