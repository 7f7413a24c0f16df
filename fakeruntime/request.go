package fakeruntime

import (
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// mostStalls is after how many windows a request that is stalled again and again never gets an answer.
const mostStalls = 1000

// answerDelay is the usual time to answer of what asks the program in a container.
func (m Method) answerDelay() DelayKind {
	switch m {
	case HTTPGet:
		return DelayHTTPGet
	case TCPSocket:
		return DelayTCPSocket
	case GRPC:
		return DelayGRPC
	}
	return DelayExec
}

// asksProgram reports whether a program answers and not the runtime.
func (m Method) asksProgram() bool { return m == ExecSync || m.isNetwork() }

// isNetwork reports whether it is a request over the network, which does not pass the runtime.
func (m Method) isNetwork() bool { return m == HTTPGet || m == TCPSocket || m == GRPC }

// request is what the program in a container is to answer.
type request struct {
	who      asker
	answer   *Answer
	timesOut bool // the timeout comes before what the answer says
	silent   bool // that of the handshake does
	stalls   int
}

// beginRequest has the program choose its answer.
func (r *Runtime) beginRequest(op *Op) {
	if !r.reach(op) {
		return
	}
	c := op.container
	op.event.op, op.request.who = op, askerOf(&op.Call)
	if !op.Call.Retry && !op.Call.Followed {
		c.instance.askers[op.request.who].runs++
	}
	c.requests = append(c.requests, op)
	r.ask(op)
}

// reach finds the program: for a command in the container that is named, for a connection in the one that
// runs now under the pod's IP. It ends the request if there is none.
func (r *Runtime) reach(op *Op) bool {
	if !op.Call.Method.isNetwork() {
		return r.reachExec(op)
	}
	op.pod = r.pods[op.Call.PodUID]
	if op.pod != nil {
		op.container = op.pod.container(op.Call.Name).running
	}
	if op.container == nil {
		op.Reply, op.Silent = Refused, true
		r.finish(op, nil)
	}
	return op.container != nil
}

// ask puts the request to the program, at first or when the window of a stall has closed.
func (r *Runtime) ask(op *Op) {
	q, c := &op.request, op.container
	answer, w := c.instance.answerTo(op, r.now)
	q.answer = answer
	end := never
	switch answer.Word {
	case Hangs:
	case Stalls:
		if q.stalls++; q.stalls <= mostStalls {
			end = w.close
		}
	default:
		end = later(r.now, c.config.scope.answerDelay(r.now, op, answer))
	}
	if q.frozen() {
		op.FrozenUntil = end
	}
	handshake, deadline := op.handshake(), op.deadline()
	q.timesOut = deadline <= end && deadline <= handshake
	q.silent = !q.timesOut && handshake <= end
	op.Accepted = op.Accepted || answer.Word != Refuses && answer.TransportError == ""
	op.End = min(end, deadline, handshake)
	r.queue.schedule(&op.event, op.End, answers)
}

// answerTo chooses the answer to a request that arrives at t.
func (in *instance) answerTo(op *Op, t virtual.Time) (*Answer, window) {
	if op.Call.Followed {
		return in.follow(op.request.who), window{}
	}
	return in.answer(op.request.who, t)
}

// deadline is when the call ends without an answer.
func (op *Op) deadline() virtual.Time {
	if op.Call.Timeout <= 0 {
		return never
	}
	deadline := later(op.Start, op.Call.Timeout)
	if op.request.answer.IgnoreTimeout && op.Call.Method == ExecSync {
		return later(deadline, clientDeadline)
	}
	return deadline
}

// frozen reports whether the program has been frozen from the beginning of the request on: one that hangs, or stalls
// again, where a window closes does not go on in between.
func (q *request) frozen() bool { return q.answer.Word == Hangs || q.answer.Word == Stalls }

// handshake is when the caller is tired of a program that says nothing.
func (op *Op) handshake() virtual.Time {
	if op.Call.Handshake <= 0 || !op.request.frozen() {
		return never
	}
	return later(op.Start, op.Call.Handshake)
}

// continueRequest does what was due: a timeout, the end of a stall, an answer.
func (r *Runtime) continueRequest(op *Op) {
	q, c := &op.request, op.container
	var err error
	op.Silent = !op.Accepted || q.frozen()
	switch {
	case q.timesOut:
		op.TimedOut = true
		if op.handshake() == op.deadline() {
			op.Reply = NoHandshake
		}
	case q.silent:
		op.Reply = NoHandshake
	case q.answer.Word == Stalls:
		r.ask(op)
		return
	default:
		c.instance.askers[q.who].last = q.answer
	}
	if op.Call.Method == ExecSync {
		err = op.answerExec()
	} else if !op.TimedOut && !q.silent {
		op.answerConnection()
	}
	c.requests = without(c.requests, op)
	r.finish(op, err)
}

// answerConnection says what an answer means over the network. What was accepted while the program was frozen is not
// refused any more: the connection ends.
func (op *Op) answerConnection() {
	op.Answer, op.Reply, op.Silent = op.request.answer, Answered, false
	refused := op.Answer.Word == Refuses
	switch {
	case op.Accepted && (refused || op.Answer.TransportError != ""):
		op.Reply = HungUp
	case refused:
		op.Reply, op.Silent = Refused, true
	}
}

// lose is the end of the process that was to answer.
func (op *Op) lose() {
	op.Silent = !op.Accepted || op.request.frozen()
	switch {
	case op.Call.Method == ExecSync:
		op.ExitCode = codeSIGKILL
	case op.Call.Method == TCPSocket || !op.Accepted:
		op.Reply = Refused
	default:
		op.Reply = HungUp
	}
}

// GivenUp reports whether the caller of a request over the network has ended it, as its time was over, and nothing that
// came from the program. Commands are ended by the runtime.
func (op *Op) GivenUp() bool {
	return op.Call.Method.isNetwork() && (op.TimedOut || op.Reply == NoHandshake)
}

// containerID returns the ID of the container that a request went to.
func (op *Op) containerID() string {
	if op.container != nil {
		return op.container.ID
	}
	return op.Call.ContainerID
}

// answerDelay draws how long the program takes to answer.
func (s *scope) answerDelay(now virtual.Time, op *Op, a *Answer) time.Duration {
	kind := op.Call.Method.answerDelay()
	d := s.usual(kind)
	if a.Latency != nil {
		d = *a.Latency
	}
	return s.draw(now, kind, op.request.who, d)
}

func askerOf(c *Call) asker {
	switch {
	case c.Probe == trace.Liveness:
		return byLiveness
	case c.Probe == trace.Readiness:
		return byReadiness
	case c.Probe == trace.Startup:
		return byStartup
	case c.Hook == "postStart":
		return byPostStart
	case c.Hook == "preStop":
		return byPreStop
	}
	return byNobody
}
