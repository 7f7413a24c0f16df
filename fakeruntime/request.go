package fakeruntime

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maxStalls is the number of successive windows in which a request can stall. After that it hangs.
const maxStalls = 1000

// request is the state of a request to the program in a container.
type request struct {
	from             requester
	agent            *container // that answers in place of the container of the call; nil: none
	answer           *Answer
	timesOut         bool // the timeout expires before the answer
	handshakeExpired bool // the handshake timeout expires before the answer
	stalls           int
}

// beginRequest starts a request: the program chooses its answer.
func (r *Runtime) beginRequest(op *Op) {
	if op.Call.Method == HTTPBody {
		r.beginBody(op)
		return
	}
	if !r.findProgram(op) {
		return
	}
	op.event.op, op.request.from = op, requesterOf(&op.Call)
	if !op.Call.Method.IsNetwork() {
		op.fault = r.faultOf(op)
	}
	if !op.Call.Retry && !op.Call.Followed && !op.hasNoEffect() {
		op.countRun()
		r.signalByHook(op)
	}
	holder := op.holder()
	holder.requests = append(holder.requests, op)
	r.ask(op)
}

// signalByHook schedules the stop signal that a preStop hook sends to its program.
func (r *Runtime) signalByHook(op *Op) {
	if c := op.container; op.request.from == byPreStop && c != nil && c.config.program.PreStopSignal != nil {
		c.signalAt, c.hook = later(r.now, *c.config.program.PreStopSignal), op.Call.Cause
		r.scheduleEnd(c)
	}
}

// countRun counts a run of a probe or hook in the program that answers, and in the agent before it.
func (op *Op) countRun() {
	if op.container != nil {
		op.container.instance.histories[op.request.from].runs++
	}
	if agent := op.request.agent; agent != nil {
		agent.instance.histories[forwarded].runs++
	}
}

// holder returns the container that has the connection or the command of a request.
func (op *Op) holder() *container { return cmp.Or(op.request.agent, op.container) }

// beginBody waits for the end of a body. A program that has ended since its header has closed the
// connection.
func (r *Runtime) beginBody(op *Op) {
	c, answer := op.Call.Ref.container, op.Call.Answer
	op.container, op.pod, op.event.op, op.Accepted = c, c.pod, op, true
	op.request.from, op.request.answer = requesterOf(&op.Call), answer
	if c.State != Running {
		op.Reply = HungUp
		r.finish(op, nil)
		return
	}
	end, deadline := never, op.deadline()
	if !answer.BodyOpen {
		end = later(r.now, c.config.scope.draw(r.now, delayHTTPBody, op.request.from, *answer.BodyEnd))
	}
	op.request.timesOut = deadline <= end
	op.End = min(end, deadline)
	c.requests = append(c.requests, op)
	r.queue.schedule(&op.event, op.End, answers)
}

// findProgram finds the program that answers: for a command, in the container of the call; for a
// connection, in the container that runs under the IP of the pod. If there is none, it ends the
// request and reports false.
func (r *Runtime) findProgram(op *Op) bool {
	if !op.Call.Method.IsNetwork() {
		return r.findExecTarget(op)
	}
	op.pod = r.pods[op.Call.PodUID]
	listens := false
	if op.pod != nil {
		asked := op.pod.container(op.Call.Name)
		op.container = asked.running
		listens = op.container != nil
		if agent, forwards := asked.program.AnsweredBy[cmp.Or(string(op.Call.Probe), op.Call.Hook)]; forwards &&
			op.Call.Method == HTTPGet {
			op.request.agent = op.pod.container(agent.Container).running
			listens = op.request.agent != nil
			if !listens && op.container != nil && r.recordRules {
				r.recordRule(op.container, agent.Rule, op.Call.Probe, op.Call.Hook)
			}
		}
	}
	if !listens {
		op.Reply, op.Unanswered = Refused, true
		r.finish(op, nil)
	}
	return listens
}

// ask delivers the request to the program, and again each time when the window of a stall closes.
func (r *Runtime) ask(op *Op) {
	q, c := &op.request, cmp.Or(op.container, op.request.agent)
	answer, w := r.answerTo(op)
	q.answer = answer
	end := never
	switch answer.Word {
	case Hangs:
	case Stalls:
		if q.stalls++; q.stalls <= maxStalls {
			end = w.close
		}
	default:
		end = later(r.now, c.config.scope.answerDelay(r.now, op, answer)+c.config.program.sleep(op, answer))
	}
	if q.frozen() {
		op.FrozenUntil = end
	}
	handshake, deadline := op.handshake(), op.deadline()
	q.timesOut = deadline <= end && deadline <= handshake
	q.handshakeExpired = !q.timesOut && handshake <= end
	op.Accepted = op.Accepted || answer.Word != Refuses && answer.TransportError == ""
	op.End = min(end, deadline, handshake)
	r.queue.schedule(&op.event, op.End, answers)
}

// answerTo returns the answer to a request that arrives now, and the window of the rule that gives
// it.
func (r *Runtime) answerTo(op *Op) (*Answer, window) {
	switch {
	case op.hasNoEffect():
		return &broken, window{}
	case op.request.agent != nil:
		return r.forward(op)
	}
	in := &op.container.instance
	if op.Call.Followed {
		return in.follow(op.request.from), window{}
	}
	answer, w, rule := in.answer(op.request.from, r.now)
	if rule == 0 && slices.Contains(op.container.config.program.AskNode, cmp.Or(string(op.Call.Probe), op.Call.Hook)) {
		answer = &refused
	}
	if r.recordRules {
		r.recordRule(op.container, rule, op.Call.Probe, op.Call.Hook)
	}
	return answer, w
}

// recordRule records which rule decides the answer to a probe or hook, or the exit of a program.
func (r *Runtime) recordRule(c *container, rule int, probe trace.Probe, reason string) {
	rec := c.newRecord(r.now, trace.Behavior, c.Step)
	rec.Probe, rec.Reason = probe, reason
	if rule > 0 {
		rec.Message = strconv.Itoa(rule)
	}
	r.record(rec)
}

// deadline returns the time at which the call ends without an answer.
func (op *Op) deadline() virtual.Time {
	limit := op.Call.Timeout
	if op.Call.Method == ExecSync && op.request.answer.IgnoreTimeout {
		limit = op.Call.Deadline
	}
	if limit <= 0 {
		return never
	}
	return later(op.Start, limit)
}

// frozen reports whether the program has been frozen since the beginning of the request. A program
// that hangs or stalls again when the window of a stall closes does not resume in between.
func (q *request) frozen() bool { return q.answer.Word == Hangs || q.answer.Word == Stalls }

// handshake returns the time at which the handshake timeout expires against a frozen server.
func (op *Op) handshake() virtual.Time {
	if op.Call.Handshake <= 0 || !op.request.frozen() {
		return never
	}
	return later(op.Start, op.Call.Handshake)
}

// continueRequest handles the event of a request: a timeout, the end of a stall, or an answer.
func (r *Runtime) continueRequest(op *Op) {
	q, c := &op.request, op.holder()
	var err error
	op.Unanswered = !op.Accepted || q.frozen()
	switch {
	case q.timesOut:
		op.TimedOut = true
		if op.handshake() == op.deadline() {
			op.Reply = NoHandshake
		}
	case q.handshakeExpired:
		op.Reply = NoHandshake
	case q.answer.Word == Stalls:
		r.ask(op)
		return
	case op.container != nil && !op.hasNoEffect():
		op.container.instance.histories[q.from].last = q.answer
	}
	if op.Call.Method == ExecSync {
		err = op.answerExec()
	} else if !op.TimedOut && !q.handshakeExpired {
		op.answerConnection()
	}
	c.requests = without(c.requests, op)
	r.finish(op, err)
}

// answerConnection sets the result of a network request from its answer. A connection that the
// kernel accepted for a frozen program can no longer be refused; it closes.
func (op *Op) answerConnection() {
	op.Answer, op.Reply, op.Unanswered = op.request.answer, Answered, false
	refused := op.Answer.Word == Refuses
	switch {
	case op.Accepted && (refused || op.Answer.TransportError != ""):
		op.Reply = HungUp
	case refused:
		op.Reply, op.Unanswered = Refused, true
	}
}

// onProcessExit sets the result of a request whose process ends before it answers.
func (op *Op) onProcessExit() {
	op.Unanswered = !op.Accepted || op.request.frozen()
	switch {
	case op.Call.Method == ExecSync:
		op.ExitCode = codeSIGKILL
	case op.Call.Method == TCPSocket || !op.Accepted:
		op.Reply = Refused
	default:
		op.Reply = HungUp
	}
}

// GivenUp reports whether a network request ended because its caller gave up after a timeout. It is
// false for commands, which the runtime ends.
func (op *Op) GivenUp() bool {
	return op.Call.Method.IsNetwork() && (op.TimedOut || op.Reply == NoHandshake)
}

// containerID returns the ID of the container that received the request.
func (op *Op) containerID() string {
	if op.container != nil {
		return op.container.ID
	}
	return op.Call.ContainerID
}

// answerDelay returns the time that the program takes to answer.
func (s *scope) answerDelay(now virtual.Time, op *Op, a *Answer) time.Duration {
	kind := kinds[op.Call.Method].delay
	d := s.current(kind)
	if a.Latency != nil {
		d = *a.Latency
	}
	return s.draw(now, kind, op.request.from, d)
}

// sleep returns the time for which the command of a hook sleeps before it ends with an answer.
func (p *Program) sleep(op *Op, a *Answer) time.Duration {
	if op.Call.Method != ExecSync || a.Latency != nil || a.Word == Breaks {
		return 0
	}
	switch op.request.from {
	case byPostStart:
		return p.PostStartSleep
	case byPreStop:
		return p.PreStopSleep
	}
	return 0
}

func requesterOf(c *Call) requester {
	if i := slices.Index([]string{"liveness", "readiness", "startup", "postStart", "preStop"},
		cmp.Or(string(c.Probe), c.Hook)); i >= 0 {
		return byLiveness + requester(i)
	}
	return byOther
}

// findExecTarget finds the running container of a command. If there is none, it fails the call and
// reports false.
func (r *Runtime) findExecTarget(op *Op) bool {
	c := op.Call.Ref.container
	if c == nil || c.removed {
		c = r.containers[op.Call.ContainerID]
	}
	if c == nil {
		r.finish(op, errExec("NotFound", "failed to find container %q in store: not found", op.Call.ContainerID))
		return false
	}
	op.container, op.pod = c, c.pod
	if c.State != Running {
		r.finish(op, errExec("Unknown", "container is in %s state", c.criState()))
		return false
	}
	return true
}

// answerExec sets the result of a command, and returns its error.
func (op *Op) answerExec() error {
	answer := op.request.answer
	switch {
	case op.TimedOut:
		return errExec("DeadlineExceeded", "timeout %s exceeded: context deadline exceeded", op.Call.Timeout)
	case answer.Word == Breaks:
		return errExec("Unknown", "failed to start exec: OCI runtime exec failed")
	}
	op.ExitCode, op.Output = answer.Code, answer.Body
	return nil
}

// ErrCanceled is the error of a call that its caller has canceled.
var ErrCanceled = rpcError("Canceled", "context canceled")

// CancelProbes cancels the commands of probes in a pod at time now. The runtime kills the commands,
// and the calls end with ErrCanceled.
func (r *Runtime) CancelProbes(now virtual.Time, podUID string) {
	r.run(now)
	for _, c := range r.all.containers {
		if c.PodUID != podUID {
			continue
		}
		for _, op := range slices.Clone(c.requests) {
			if op.Call.Method == ExecSync && op.Call.Probe != "" {
				r.queue.cancel(&op.event)
				c.requests = without(c.requests, op)
				r.interrupt(op, ErrCanceled)
			}
		}
	}
}

// errExec is an error of ExecSync in the words of containerd.
func errExec(code, format string, args ...any) error {
	return rpcError(code, "failed to exec in container: "+format, args...)
}

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

// Refusal reports whether the program in a container refuses the connections of a probe or hook at
// time now, which rule says so, and until when the rules leave it so, unless it gets a signal. It
// is for drivers with real listeners: it counts as no request. An answer in a list of several, or
// with a chance, counts as none that refuses.
func (r *Runtime) Refusal(now virtual.Time, podUID, container string, probe trace.Probe, hook string) (refuses bool,
	rule int, until virtual.Time) {
	r.run(now)
	c := r.config(podUID, container)
	if c == nil || c.running == nil {
		return true, 0, never
	}
	return c.running.instance.refusal(requesterOf(&Call{Probe: probe, Hook: hook}), r.now)
}

// refusal is Refusal for a running instance.
func (in *instance) refusal(from requester, t virtual.Time) (refuses bool, rule int, until virtual.Time) {
	until = never
	for i := range in.rules {
		r := &in.rules[i]
		if series := r.rule.series(from); series != nil && len(series.Items) > 0 {
			until = min(until, r.next(t))
			if _, open := r.at(t); open && r.rule.Chance == nil {
				rule = r.number
				refuses = len(series.Items) == 1 && series.Items[0].Answer.Word == Refuses
			}
		}
	}
	return refuses, rule, until
}

// Response is the response of a program to an HTTP request.
type Response struct {
	Code      int
	Location  string
	Body      string
	BreaksOff bool // the connection closes before the end of the body
	// BodyPending reports that the response has not ended with Body: a call of HTTPBody waits for
	// its end.
	BodyPending bool
	HangsUp     bool // the connection closes without a response
}

// Respond returns the response to a request, which must be a result of Received. It calls the
// Handler of the answer if there is one. A panic of the handler other than http.ErrAbortHandler is
// a bug in the handler and continues to the caller; package probetest guards handlers of tests
// against it.
func (a *Answer) Respond(req *http.Request) Response {
	if a.Handler != nil && a.Word == Answers {
		return serve(a.Handler, req)
	}
	r := Response{Code: int(a.Code), Location: a.Location, Body: a.Body, BreaksOff: a.Word == Breaks}
	if r.Code == 0 {
		r.Code = http.StatusOK
	}
	r.BodyPending = (a.BodyEnd != nil || a.BodyOpen) && HasBody(r.Code)
	return r
}

// HasBody reports whether a response with a status code has a body (RFC 9110, 6.4.1).
func HasBody(code int) bool {
	return code >= 200 && code != http.StatusNoContent && code != http.StatusNotModified
}

// Client is the kind of client that makes a request.
type Client struct {
	Hook  bool // a lifecycle hook; false: a probe
	HTTP2 bool // a probe over HTTP/2 without TLS
}

// Received converts a request of a client to the request that the server receives, with the headers
// that the client's transport adds. The transport of probes does not reuse connections; the
// transport of lifecycle hooks does, and accepts compressed responses (transport.go of Go 1.26).
// The programs of this package close the connection after each response.
func Received(req *http.Request, c Client) (*http.Request, error) {
	out := req.Clone(req.Context())
	switch {
	case c.Hook:
		if out.Header.Get("Accept-Encoding") == "" && out.Header.Get("Range") == "" {
			out.Header.Set("Accept-Encoding", "gzip")
		}
	case !strings.Contains(strings.ToLower(out.Header.Get("Connection")), "close"):
		out.Header.Add("Connection", "close")
	}
	var wire bytes.Buffer
	if err := out.Write(&wire); err != nil {
		return nil, err
	}
	received, err := http.ReadRequest(bufio.NewReader(&wire))
	if err == nil && c.HTTP2 {
		overHTTP2(received, out.Header)
	}
	return received, err
}

// overHTTP2 converts a request that was read as HTTP/1.1 to HTTP/2, which has no headers about the
// connection and transmits the values of other headers unchanged (EncodeHeaders in
// internal/httpcommon of net/http of Go 1.26).
func overHTTP2(req *http.Request, sent http.Header) {
	req.Proto, req.ProtoMajor, req.ProtoMinor, req.Close = "HTTP/2.0", 2, 0, false
	for _, name := range []string{"Connection", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Keep-Alive"} {
		req.Header.Del(name)
	}
	for name, values := range req.Header {
		if len(values) == len(sent[name]) {
			req.Header[name] = sent[name]
		}
	}
}

// serve returns the response of a handler. http.ErrAbortHandler closes the connection, as in a
// server of net/http.
func serve(h http.Handler, req *http.Request) (r Response) {
	w := responseWriter{header: http.Header{}}
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			r = Response{HangsUp: true}
		default:
			panic(p)
		}
	}()
	h.ServeHTTP(&w, req)
	w.Flush()
	return Response{Code: w.code, Location: w.sent.Get("Location"), Body: w.body.String()}
}

// responseWriter collects the response of a handler.
type responseWriter struct {
	header http.Header
	code   int         // the first one that is not informational; 0: none yet
	sent   http.Header // the header at the time of the code, as clients get it
	body   strings.Builder
}

// maxBody is the part of a body that a response keeps. The kubelet reads 10 KiB (maxRespBodyLength
// in pkg/probe/http/http.go at v1.37.0).
const maxBody = 1 << 20

func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader panics for an invalid status code, as net/http does.
func (w *responseWriter) WriteHeader(code int) {
	if code < 100 || code > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", code))
	}
	if w.code == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		w.code, w.sent = code, w.header.Clone()
	}
}

func (w *responseWriter) Write(data []byte) (int, error) {
	w.Flush()
	w.body.Write(data[:min(len(data), maxBody-w.body.Len())])
	return len(data), nil
}

// Flush implements http.Flusher. The client gets the response at once when the handler returns.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// Hijack implements http.Hijacker, as servers of HTTP/1 do. It always fails.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, fmt.Errorf("the simulation has no connection to hijack: %w", http.ErrNotSupported)
}

// Health returns the response to a gRPC health check: the status, SERVING unless the answer sets
// another, and the message that a server of google.golang.org/grpc v1.82.1 sends with an error.
func (a *Answer) Health() (status, message string) {
	switch a.Status {
	case "":
		return "SERVING", ""
	case "UNIMPLEMENTED":
		return a.Status, "unknown service grpc.health.v1.Health"
	case "NOT_FOUND":
		return a.Status, "unknown service"
	}
	return a.Status, ""
}
