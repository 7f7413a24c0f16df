package node

import (
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// CopyAtRestart returns a copy of a node for a run that stops the kubelet first of all at an
// instant. It lets a search begin many runs with restarts where they part from the run without one.
// All that goes on after the end of a kubelet is data, which can be copied: the pods of the API
// server, the containers and programs of the runtime, the disk, the trace, the time. The processes
// of the kubelet cannot be copied, and the copy does not have them.
//
// The node must have run until just before the instant. The copy stands at the instant. Its kubelet
// counts as running if the kubelet of the node runs; call StopKubelet before RunUntil. The calls
// that At has scheduled are not in the copy: call At for each of them that the node has not made
// yet, in the same order, before any other call of At. Observers do not observe the copy either.
// The trace of the copy is the recorder, whose earlier records are gone.
//
// CopyAtRestart returns false if such a run must begin at its beginning: if it has a seed or a
// chooser, if one of its programs has an http.Handler, whose state cannot be copied, if the node
// has a control plane, if its trace is not in memory, or if something that was scheduled before the
// first RunUntil takes place at the instant, since it comes before the end of the kubelet.
func (n *Node) CopyAtRestart(at virtual.Time, recorder *trace.Recorder) (*Node, bool) {
	defer n.end(n.mustBegin(change))
	if !n.sim.Canonical() || n.handlers || n.control != nil || n.trace.Sink != nil || n.sim.Now() != at-1 ||
		n.sim.OlderAt(at, n.began) {
		return nil, false
	}
	n.trace.CopyTo(recorder)
	c := &Node{
		sim: n.sim.Copy(at), trace: recorder, options: n.options, stopped: n.stopped, noted: n.noted,
		handlerTimeout: n.handlerTimeout,
		memory:         n.memory, began: n.began, again: n.calls,
	}
	c.limitMemory()
	c.runtime = n.runtime.copy(c.sim, c.trace.Add)
	c.api = n.api.Copy(c.forAPI())
	c.options.Disk = n.options.Disk.Copy()
	c.connect()
	if n.group != nil {
		c.group = &sim.Group{}
	}
	return c, true
}
