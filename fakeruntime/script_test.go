package fakeruntime

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestScripts runs the scripts in testdata/scripts. The commands:
//
//	new [seed=N] [KIND=DRAW...]        a new runtime; KIND is a delay of the scenario file
//	pod NAME [replica=N] [workload=W]  adds a pod; the input has a line for each rule or delay:
//	                                     CONTAINER: WHEN... WHAT...    CONTAINER: KIND=DRAW    CONTAINER: answeredBy=PROBE/AGENT
//	up POD CONTAINER... at=T           RunPodSandbox, then CreateContainer and StartContainer of each
//	submit METHOD at=T FIELD=VALUE...  one call; container=POD/NAME means the newest container of that name
//	probe POD/NAME PROBE at=T [n=N every=D] [timeout=D] [by=HTTPGet|TCPSocket|GRPC [followed] [handshake=D]]
//	                                   N successive probe runs; only their results are shown
//	occur N at=T                       the moment N occurs, which since=N and until=N of rules name
//	cancel POD at=T                    cancels the probes of the pod
//	advance to=T                       advances the time
//	next                               shows the result of Next
//	kill POD/NAME at=T [reason=R] [remove] [sigterm]
//	disconnect at=T                    ends all calls
//	poweroff at=T back=T               ends everything; the runtime restarts at back
//	delays KIND=DRAW...                sets delays that replace all others from now on
//
// The output shows all events in order: records with a mark, and ends of calls with their number.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{t: t}
		s.reset(Options{})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.run(d)
		})
	})
}

type script struct {
	t       *testing.T
	rt      *Runtime
	out     strings.Builder
	calls   int
	quiet   bool
	newest  map[string]string // container ID by pod/name
	attempt map[string]int
	sandbox map[string]string
}

func (s *script) reset(o Options) {
	*s = script{t: s.t, newest: map[string]string{}, attempt: map[string]int{}, sandbox: map[string]string{}}
	o.Record = s.record
	s.rt = New(o)
}

func (s *script) run(d *datadriven.TestData) string {
	s.out.Reset()
	switch d.Cmd {
	case "new":
		s.reset(optionsOf(s.t, d))
	case "pod":
		s.pod(d)
	case "up":
		s.up(d)
	case "submit":
		s.submit(instantArg(d, "at"), callOf(s, d))
	case "probe":
		s.probe(d)
	case "occur":
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		must(s.t, err)
		s.rt.Occur(instantArg(d, "at"), n)
	case "cancel":
		s.rt.CancelProbes(instantArg(d, "at"), d.CmdArgs[0].Key)
	case "advance":
		s.advance(instantArg(d, "to"))
	case "kill":
		s.kill(d)
	case "disconnect":
		s.rt.Disconnect(instantArg(d, "at"))
	case "poweroff":
		s.rt.PowerOff(instantArg(d, "at"), instantArg(d, "back"), 0)
	case "health":
		s.rt.SetHealth(instantArg(d, "at"), Health{
			Down: d.HasArg("down"), RuntimeNotReady: d.HasArg(RuntimeReady), NetworkNotReady: d.HasArg(NetworkReady),
			RegistryDown: d.HasArg("registry"),
		})
	case "delays":
		s.rt.SetDelays(optionsOf(s.t, d).Delays)
	case "next":
		if at, ok := s.rt.Next(); ok {
			return fmt.Sprintln(at)
		}
		return "never\n"
	default:
		d.Fatalf(s.t, "unknown command %q", d.Cmd)
	}
	return s.out.String()
}

func (s *script) record(r trace.Record) int64 {
	fmt.Fprintf(&s.out, "%v ! %s %s#%d", r.T, r.Kind, r.Container, r.Instance)
	switch r.Kind {
	case trace.ContainerStopping:
		fmt.Fprintf(&s.out, " grace=%d %s", r.GraceSeconds, r.Reason)
	case trace.ContainerExited:
		fmt.Fprintf(&s.out, " code=%d", r.ExitCode)
	case trace.ListenerChanged:
		fmt.Fprintf(&s.out, " %s", r.Reason)
	}
	s.out.WriteByte('\n')
	return 1
}

func (s *script) up(d *datadriven.TestData) {
	at, pod := instantArg(d, "at"), d.CmdArgs[0].Key
	if s.sandbox[pod] == "" {
		op := s.wait(at, Call{Method: RunPodSandbox, PodUID: pod})
		s.sandbox[pod], at = op.ID, op.End
	}
	for _, arg := range d.CmdArgs[1:] {
		if arg.Key == "at" {
			continue
		}
		name := pod + "/" + arg.Key
		op := s.wait(at, Call{Method: CreateContainer, SandboxID: s.sandbox[pod], Name: arg.Key,
			Attempt: s.attempt[name]})
		s.attempt[name]++
		s.newest[name] = op.ID
		at = s.wait(op.End, Call{Method: StartContainer, ContainerID: op.ID}).End
	}
}

func (s *script) probe(d *datadriven.TestData) {
	at, every := instantArg(d, "at"), timeArg(d, "every", time.Second)
	n := 1
	d.MaybeScanArgs(s.t, "n", &n)
	call := Call{
		Method: ExecSync, ContainerID: s.newest[d.CmdArgs[0].Key], Probe: trace.Probe(d.CmdArgs[1].Key),
		Timeout: timeArg(d, "timeout", time.Second), Command: []string{"check", "it"}, Retry: d.HasArg("retry"),
		Followed: d.HasArg("followed"), Handshake: timeArg(d, "handshake", 0),
	}
	call.Deadline = call.Timeout + 2*time.Minute
	d.MaybeScanArgs(s.t, "by", (*string)(&call.Method))
	call.PodUID, call.Name, _ = strings.Cut(d.CmdArgs[0].Key, "/")
	s.quiet = true
	for range n {
		op := s.wait(at, call)
		fmt.Fprintf(&s.out, "%v %s in %v\n", at, outcome(op), op.End.Sub(op.Start))
		at = at.Add(every)
	}
	s.quiet = false
}

func (s *script) kill(d *datadriven.TestData) {
	pod, name, _ := strings.Cut(d.CmdArgs[0].Key, "/")
	k := Kill{PodUID: pod, Container: name, Reason: "OOMKilled", Remove: d.HasArg("remove"),
		Sigterm: d.HasArg("sigterm")}
	d.MaybeScanArgs(s.t, "reason", &k.Reason)
	if !s.rt.Kill(instantArg(d, "at"), k) {
		s.out.WriteString("nothing to kill\n")
	}
	fmt.Fprintf(&s.out, "the next attempt is %d\n", s.rt.NextAttempt(pod, name))
}

// submit makes a call and shows its number, and its end if Submit completes it.
func (s *script) submit(at virtual.Time, c Call) *Op {
	s.calls++
	op := s.rt.Submit(at, c)
	op.Waiter = s.calls
	if !s.quiet {
		if op.Done {
			s.show(op)
		} else {
			fmt.Fprintf(&s.out, "%v %d %s ...\n", at, s.calls, c.Method)
		}
	}
	return op
}

// wait submits a call and advances until it is done.
func (s *script) wait(at virtual.Time, c Call) *Op {
	op := s.submit(at, c)
	for !op.Done {
		next, ok := s.rt.Next()
		if !ok {
			s.t.Fatalf("%s does not end", c.Method)
		}
		s.advance(next)
	}
	return op
}

func (s *script) advance(to virtual.Time) {
	for _, op := range s.rt.Advance(to) {
		s.show(op)
	}
}

func (s *script) show(op *Op) {
	if !s.quiet {
		fmt.Fprintf(&s.out, "%v %d %s: %s\n", op.End, op.Waiter, op.Call.Method, outcome(op))
	}
}

func outcome(op *Op) string {
	switch {
	case op.Err != nil:
		return op.Err.Error()
	case op.ID != "":
		return op.ID
	case op.Call.Method.IsNetwork():
		return reply(op)
	case op.Call.Method == ExecSync:
		return strings.TrimSpace(fmt.Sprintf("exit %d %s", op.ExitCode, op.Output))
	case op.Sandboxes != nil:
		return sandboxesText(op.Sandboxes)
	case op.Containers != nil:
		return containersText(op.Containers)
	case op.Conditions != nil:
		return fmt.Sprint(op.Conditions)
	}
	return "done"
}

// reply describes the result of a network request.
func reply(op *Op) string {
	text := map[Reply]string{0: "", Answered: "answered", Refused: "refused", HungUp: "hung up",
		NoHandshake: "no handshake"}[op.Reply]
	if op.TimedOut {
		text = "timed out"
	}
	if op.Unanswered {
		text += " silent"
	}
	if a := op.Answer; op.Reply == Answered {
		text += fmt.Sprintf(" %s %d %s%s", a.Word, a.Code, a.Status, a.Location)
	}
	return strings.TrimSpace(text)
}

func sandboxesText(list []Sandbox) string {
	var lines []string
	for _, s := range list {
		lines = append(lines, fmt.Sprintf("%s ready=%v ip=%s", s.ID, s.Ready, s.IP))
	}
	return strings.Join(lines, ", ")
}

func containersText(list []Container) string {
	var lines []string
	for _, c := range list {
		line := c.ID + " " + string(c.State)
		if c.State == Exited {
			line += " " + c.Reason + " " + strconv.Itoa(int(c.ExitCode))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ", ")
}
