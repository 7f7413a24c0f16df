package fakeruntime

import (
	"cmp"
	"net/http"
)

// badGateway is the answer of an agent that gets none.
var badGateway = Answer{Word: Answers, Code: http.StatusInternalServerError}

// forward returns the answer of an agent: its own if it is no success, or the one that it gets from
// the program behind it. A mesh agent passes on the status code only (pilotAgent.handleAppProbe in
// pilot/cmd/pilot-agent/status/server.go of Istio 1.27).
func (r *Runtime) forward(op *Op) (*Answer, window) {
	agent, c := op.request.agent, op.container
	own, w, rule := agent.instance.answer(forwarded, r.now)
	asked := op.pod.container(op.Call.Name).program.AnsweredBy[cmp.Or(string(op.Call.Probe), op.Call.Hook)]
	if !own.succeeds() {
		if r.recordRules && c != nil {
			r.recordRule(agent, rule, op.Call.Probe, op.Call.Hook)
			r.recordRule(c, asked.Rule, op.Call.Probe, op.Call.Hook)
		}
		if own.Word == Answers {
			own = own.passedOn()
		}
		return own, w
	}
	if c == nil {
		return &badGateway, window{}
	}
	if op.Call.Followed {
		return c.instance.follow(op.request.from), window{}
	}
	answer, w, rule := c.instance.answer(op.request.from, r.now)
	if r.recordRules {
		r.recordRule(c, cmp.Or(rule, asked.Rule), op.Call.Probe, op.Call.Hook)
	}
	return answer.passedOn(), w
}

// succeeds reports whether a program answers a request over HTTP with success.
func (a *Answer) succeeds() bool {
	return a.Word == Answers && a.TransportError == "" && a.Code < http.StatusBadRequest
}

// passedOn returns the answer of an agent that gets an answer of a program.
func (a *Answer) passedOn() *Answer {
	switch {
	case a.Word == Refuses || a.TransportError != "":
		return &badGateway
	case a.Word == Hangs || a.Word == Stalls:
		return a
	}
	n := *a
	n.Word, n.Body, n.BodyEnd, n.BodyOpen = Answers, "", nil, false
	return &n
}

// failForwarded makes the agents answer that wait for a program which has ended.
func (c *container) failForwarded(r *Runtime) {
	if len(c.config.program.AnsweredBy) == 0 {
		return
	}
	for _, agent := range c.pod.views.containers {
		var waiting []*Op
		for _, op := range agent.requests {
			if op.request.agent == agent && op.container == c {
				waiting = append(waiting, op)
			}
		}
		for _, op := range waiting {
			r.queue.cancel(&op.event)
			agent.requests = without(agent.requests, op)
			op.request.answer, op.FrozenUntil = &badGateway, 0
			op.answerConnection()
			r.finish(op, nil)
		}
	}
}
