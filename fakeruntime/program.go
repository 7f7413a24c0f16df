package fakeruntime

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"
)

// Range is a range of integers, both ends included. The zero value contains every integer.
type Range struct {
	Min, Max int
	Set      bool // false: the range contains every integer
}

// Contains reports whether n is in the range.
func (r Range) Contains(n int) bool { return !r.Set || r.Min <= n && n <= r.Max }

// Draw is a random duration, uniform over a range with both ends included. Without a seed it is the
// middle of the range. A fixed duration has Min equal to Max.
type Draw struct{ Min, Max time.Duration }

// Exactly returns the Draw that always yields d.
func Exactly(d time.Duration) Draw { return Draw{d, d} }

// Clock is the moment from which the window of a rule counts.
type Clock int

const (
	AfterStart   Clock = iota // the start of each instance: StartContainer has returned
	AtScenario                // t=0 of the scenario
	AfterSigterm              // the stop signal to the instance
	AtMoment                  // the first moment with the number Moment; see Runtime.Occur
)

// Program is the script of the program in a container: a list of rules. The last rule that applies
// wins. The zero value runs forever and answers every probe with success.
type Program struct {
	Rules []Rule
	// Init marks a regular init container. Without a rule for its exit, it exits with code 0 one
	// second after its start.
	Init bool
	// PostStartSleep and PreStopSleep are the times for which the commands of the hooks sleep, in
	// addition to the delay of commands. They count for answers without a Latency.
	PostStartSleep, PreStopSleep time.Duration
	// PreStopSignal is how long after its begin the preStop hook sends SIGTERM to the program. Nil:
	// it does not.
	PreStopSignal *time.Duration
	// AskNode lists the probes and hooks that ask the node, because of their host: liveness,
	// readiness, startup, postStart or preStop. Without a rule that answers them, nothing listens
	// there and the node refuses them.
	AskNode []string
	// AnsweredBy has the probes and hooks over plain HTTP that another container of the pod
	// answers, such as a mesh agent, by name: liveness, readiness, startup, postStart or preStop.
	AnsweredBy map[string]Agent
}

// Agent is a container that answers requests in place of another. While it does not run, nothing
// listens. While it runs, an answer of its rules for Probes that is no success counts. Otherwise it
// asks the program, and passes on the answer: status 500 if nothing listens there or the connection
// fails, and no body.
type Agent struct {
	Container string
	Rule      int // number of the rule of the program that names the agent, from 1
}

// Rule is one statement about a program. Replica and Instance select the instances it applies to.
// Its window opens From after Clock, stays open for For (nil: until the end), and opens again every
// Every (nil: once). Until closes it for good: at the first moment of the run or, with the clocks
// AtScenario and AtMoment, at the first one since the clock. Inside the window, the rule applies to
// a request with a Chance. It gives answers to probes and hooks, or ends the program.
type Rule struct {
	Replica  Range
	Instance Range

	Clock  Clock
	Moment int // of AtMoment
	From   Draw
	For    *Draw
	Every  *Draw
	Until  *int     // number of a moment; nil: none
	Chance *float64 // 0 to 1; nil: always. Without a seed, a rule with a chance never applies.

	Liveness, Readiness, Startup *Series
	// for each probe that has no series in this rule, and for requests that an Agent gets
	Probes             *Series
	PostStart, PreStop *Series

	Exit *Exit
	// Refuse closes the listener of the program when the window opens: new connections are refused,
	// and requests in progress go on. It needs the Clock AfterSigterm. Only requests of package
	// trace/traffic notice it; probes have answers of their own.
	Refuse bool
	// Listens opens or closes the listener inside the window; nil: the rule says nothing about it.
	// Without a rule it is open. It does not depend on Chance, and cannot open a listener that a
	// rule with Refuse has closed.
	Listens *bool
}

// Exit is the end of a program by itself. A rule without For and Until ends it when the window
// opens. With the clocks AtScenario and AtMoment, such a rule ends only the instance that runs at
// that instant, while a rule with For or Until ends each instance that runs inside the window: when
// the window opens, or at the start of the instance. With AfterStart, Until decides whether an
// instance exits when its window opens.
type Exit struct {
	Code  int32
	Never bool // with AfterSigterm: the program ignores the stop signal until SIGKILL
}

// Series is a list of answers to successive probe runs. The last item applies forever, or the list
// repeats.
type Series struct {
	Items  []Item
	Repeat bool
}

// Item is an answer for Count successive runs. The last item of a series without Repeat has no
// limit.
type Item struct {
	Answer Answer
	Count  int
}

// Word is the reaction of a program to a request.
type Word string

const (
	Answers Word = "answers" // Code, Status, Body, after Latency
	Refuses Word = "down"    // nothing listens; not for exec
	Hangs   Word = "hang"    // never answers
	Stalls  Word = "stall"   // frozen until the window of the rule closes; then the rules of that time answer
	Breaks  Word = "error"   // the probe itself fails: a runtime error for exec, an incomplete body for HTTP
)

// Answer is the reaction of a program to one request.
type Answer struct {
	Word          Word
	Code          int32  // of Answers: the exit code for exec, the status code for HTTP
	Status        string // of Answers: the result of a gRPC health check: a serving status or the name of a code
	Body          string // output of a command, or body of an HTTP response
	Latency       *Draw  // nil: the delay of the container
	IgnoreTimeout bool   // exec: the runtime does not kill the process at the timeout

	Location       string  // HTTP: the header, for a redirect
	Then           *Answer // HTTP: answer to the request that follows a redirect or a TransportError; nil: status 200
	TransportError string  // HTTP, gRPC: the connection fails with this error in place of a response
	// BodyEnd is the time from the header, with which Body comes, to the end of an HTTP response;
	// nil: they come together. With BodyOpen the response never ends. Codes without a body (below
	// 200, 204 and 304) ignore both.
	BodyEnd  *Draw
	BodyOpen bool
	// Handler responds to an HTTP request, in place of Code, Body, Location and Then. The driver
	// calls it at the time of the answer. It must return without waiting. Its response must depend
	// only on the request and on earlier requests; otherwise runs are not repeatable.
	Handler http.Handler
}

// HTTPToHTTPS is part of the error of an HTTPS client that gets a response in plain HTTP
// (net/http/transport.go of Go 1.26). The kubelet's lifecycle hooks then repeat the request in
// plain HTTP, which gets the answer Then.
const HTTPToHTTPS = "server gave HTTP response to HTTPS client"

// Pod describes a pod to the runtime before the first call about it: its identity and the programs
// of its containers.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	// the workload of the pod, whose replicas share the random values of AtScenario and AtMoment
	// rules; empty: Name
	Workload string
	Replica  int
	// HostNetwork gives the pod the IP of the node. The runtime then reports no IP.
	HostNetwork bool
	Delays      Delays
	// Containers by name. A container that is missing has the zero Program.
	Containers map[string]ContainerConfig
}

// ContainerConfig is the program of a container and its delays.
type ContainerConfig struct {
	Program Program
	Delays  Delays
}

// Validate returns an error that lists all delays that are negative or have an empty range, or nil.
func (d Delays) Validate() error {
	v := &validator{}
	v.delays("", d)
	return errors.Join(v.errs...)
}

// Validate returns an error that lists all invalid fields of the program, or nil.
func (p Pod) Validate() error {
	v := &validator{}
	if p.Replica < 0 {
		v.errorf("program.Replica", "is %d: it must not be negative", p.Replica)
	}
	v.delays("program.Delays.", p.Delays)
	for _, name := range slices.Sorted(maps.Keys(p.Containers)) {
		c, path := p.Containers[name], fmt.Sprintf("program.Containers[%q].", name)
		v.delays(path+"Delays.", c.Delays)
		if signal := c.Program.PreStopSignal; c.Program.PostStartSleep < 0 || c.Program.PreStopSleep < 0 ||
			signal != nil && *signal < 0 {
			v.errorf(path+"Program", "has a negative PostStartSleep, PreStopSleep or PreStopSignal")
		}
		for _, asks := range slices.Sorted(maps.Keys(c.Program.AnsweredBy)) {
			if agent := c.Program.AnsweredBy[asks].Container; agent == "" || agent == name {
				v.errorf(fmt.Sprintf("%sProgram.AnsweredBy[%q]", path, asks), "is %q: name another container", agent)
			}
		}
		for i := range c.Program.Rules {
			v.rule(fmt.Sprintf("%sProgram.Rules[%d].", path, i), &c.Program.Rules[i])
		}
	}
	return errors.Join(v.errs...)
}

// validator collects the errors of a program. A path ends with a period unless it is a whole field.
type validator struct {
	errs []error
	seen map[*Answer]bool // answers of Then; they can form a cycle
}

func (v *validator) errorf(path, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s "+format, append([]any{path}, args...)...))
}

func (v *validator) delays(path string, d Delays) {
	for i, draw := range d.fields() {
		if draw != nil {
			v.draw(path+reflect.TypeFor[Delays]().Field(i).Name, draw)
		}
	}
}

func (v *validator) draw(path string, d *Draw) {
	switch {
	case d == nil:
	case d.Min < 0:
		v.errorf(path, "is from %s to %s: it must not be negative", d.Min, d.Max)
	case d.Max < d.Min:
		v.errorf(path, "is from %s to %s: the range is empty", d.Min, d.Max)
	}
}

func (v *validator) integers(path string, r Range) {
	if r.Set && r.Max < r.Min {
		v.errorf(path, "is from %d to %d: the range is empty", r.Min, r.Max)
	}
}

func (v *validator) rule(path string, r *Rule) {
	v.integers(path+"Replica", r.Replica)
	v.integers(path+"Instance", r.Instance)
	if r.Clock < AfterStart || r.Clock > AtMoment {
		v.errorf(path+"Clock", "is %d: use AfterStart, AtScenario, AfterSigterm or AtMoment", r.Clock)
	}
	v.draw(path+"From", &r.From)
	v.draw(path+"For", r.For)
	v.draw(path+"Every", r.Every)
	if r.Every != nil && r.Every.Max == 0 {
		v.errorf(path+"Every", "is 0s: it must be positive")
	}
	if c := r.Chance; c != nil && !(0 <= *c && *c <= 1) { // NaN too
		v.errorf(path+"Chance", "is %v: it must be from 0 to 1", *c)
	}
	v.series(path+"Liveness", r.Liveness)
	v.series(path+"Readiness", r.Readiness)
	v.series(path+"Startup", r.Startup)
	v.series(path+"Probes", r.Probes)
	v.series(path+"PostStart", r.PostStart)
	v.series(path+"PreStop", r.PreStop)
	if x := r.Exit; x != nil && (x.Code < 0 || x.Code > 255) {
		v.errorf(path+"Exit.Code", "is %d: it must be from 0 to 255", x.Code)
	}
	if x := r.Exit; x != nil && x.Never && r.Clock != AfterSigterm {
		v.errorf(path+"Exit.Never", "needs the Clock AfterSigterm")
	}
	if r.Listens != nil && r.Chance != nil {
		v.errorf(path+"Listens", "cannot be used with Chance: a chance is of requests")
	}
	if r.Refuse && r.Clock != AfterSigterm {
		v.errorf(path+"Refuse", "needs the Clock AfterSigterm")
	}
}

func (v *validator) series(path string, s *Series) {
	if s == nil {
		return
	}
	if len(s.Items) == 0 {
		v.errorf(path+".Items", "is empty: leave out the series, or give an answer")
	}
	for i := range s.Items {
		item := fmt.Sprintf("%s.Items[%d]", path, i)
		if n := s.Items[i].Count; n < 0 {
			v.errorf(item+".Count", "is %d: it must not be negative", n)
		}
		v.answer(item+".Answer", &s.Items[i].Answer)
	}
}

var words = []Word{Answers, Refuses, Hangs, Stalls, Breaks}

func (v *validator) answer(path string, a *Answer) {
	if !slices.Contains(words, a.Word) {
		v.errorf(path+".Word", "is %q: use Answers, Refuses, Hangs, Stalls or Breaks", a.Word)
	}
	if a.Code < 0 || a.Code > 999 {
		v.errorf(path+".Code", "is %d: it must be from 0 to 999", a.Code)
	}
	v.draw(path+".Latency", a.Latency)
	if a.Handler != nil && a.Word != Answers {
		v.errorf(path+".Handler", "has no effect: it needs the Word Answers")
	}
	if IsNilFunc(a.Handler) {
		v.errorf(path+".Handler", "is a nil %T", a.Handler)
	}
	if then := a.Then; then != nil && !v.seen[then] {
		if v.seen == nil {
			v.seen = map[*Answer]bool{}
		}
		v.seen[then] = true
		v.answer(path+".Then", then)
	}
}

// IsNilFunc reports whether a handler is a nil function, such as http.HandlerFunc(nil).
func IsNilFunc(h http.Handler) bool {
	value := reflect.ValueOf(h)
	return value.Kind() == reflect.Func && value.IsNil()
}
