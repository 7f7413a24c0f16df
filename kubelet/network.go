package kubelet

import (
	"probesim.dev/fakeruntime"
	"probesim.dev/prober"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// methods maps probe protocols to methods of the runtime.
var methods = map[prober.Protocol]fakeruntime.Method{
	prober.HTTPGet: fakeruntime.HTTPGet, prober.TCPSocket: fakeruntime.TCPSocket, prober.GRPC: fakeruntime.GRPC,
}

// Connect sends a request over the network for a probe or a hook.
func (k *Kubelet) Connect(p *sim.Proc, c prober.Connection) prober.Reply {
	deadline := p.Now().Add(c.Timeout)
	call := fakeruntime.Call{
		Method: methods[c.Protocol], PodUID: string(c.PodUID), Name: c.Container, Cause: p.Cause(),
		Probe: c.Probe, Hook: c.Hook, Timeout: c.Timeout, Retry: c.Retry, Followed: c.Followed, Handshake: c.Handshake,
	}
	if body, pending := c.Rest.(pendingBody); pending {
		call.Method, call.Ref, call.Answer = fakeruntime.HTTPBody, body.ref, body.answer
	}
	op := k.runtime.Call(p, call)
	reply := prober.Reply{
		TimedOut: op.TimedOut, Refused: op.Reply == fakeruntime.Refused, HungUp: op.Reply == fakeruntime.HungUp,
		HandshakeTimeout: op.Reply == fakeruntime.NoHandshake, Unanswered: op.Unanswered,
	}
	switch {
	case op.Reply == fakeruntime.Answered && c.Rest == nil:
		fillReply(&reply, op, c)
	case reply.HungUp && op.Answer != nil:
		reply.TransportError = op.Answer.TransportError
	case k.timesOutFirst(p, &reply, c, deadline):
		reply.TimedOut, reply.HungUp, reply.Refused = true, false, false
	}
	k.runtime.Release(op)
	return reply
}

// timesOutFirst reports whether a request times out whose program exits at the instant of the
// timeout. The client can notice either first (setRequestCancel in net/http/client.go of Go 1.26).
func (k *Kubelet) timesOutFirst(p *sim.Proc, reply *prober.Reply, c prober.Connection, deadline virtual.Time) bool {
	lost := reply.HungUp || reply.Refused
	return lost && c.Timeout > 0 && p.Now() == deadline && k.sim.Race("timeout or exit: "+p.Name(), 2) == 1
}

// pendingBody is the body of an answer that has not ended.
type pendingBody struct {
	ref    fakeruntime.Ref
	answer *fakeruntime.Answer
}

// fillReply moves the answer of a call into a reply.
func fillReply(reply *prober.Reply, op *fakeruntime.Op, c prober.Connection) {
	a := op.Answer
	if reply.TransportError = a.TransportError; reply.TransportError != "" {
		return
	}
	req := c.Request
	if req == nil {
		reply.Status, reply.Body = a.Health()
		return
	}
	if a.Handler != nil {
		var err error
		if req, err = fakeruntime.Received(req, fakeruntime.Client{Hook: c.Hook != "", HTTP2: c.HTTP2}); err != nil {
			reply.TransportError = err.Error()
			return
		}
	}
	r := a.Respond(req)
	reply.HungUp = r.HangsUp
	reply.Code, reply.Location, reply.Body, reply.BodyTruncated = r.Code, r.Location, r.Body, r.BreaksOff
	if r.BodyPending {
		reply.Rest = pendingBody{op.Ref(), a}
	}
}
