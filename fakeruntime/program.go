package fakeruntime

import (
	"net/http"
	"time"
)

// Range is a range of integers with both ends included. The zero value holds every integer.
type Range struct {
	Min, Max int
	Set      bool // false: everything
}

// Contains reports whether n is in the range.
func (r Range) Contains(n int) bool { return !r.Set || r.Min <= n && n <= r.Max }

// Draw is a duration that is drawn evenly from a range with both ends included; without a seed it is
// the middle. A single value has Min equal to Max.
type Draw struct{ Min, Max time.Duration }

// Exactly returns the draw that always gives d.
func Exactly(d time.Duration) Draw { return Draw{d, d} }

// Clock says what the window of a rule counts from.
type Clock int

const (
	AfterStart   Clock = iota // the start of each instance: StartContainer has returned
	AtScenario                // t=0 of the scenario
	AfterSigterm              // the stop signal to the instance
)

// Program is the script of what runs in a container: a list of rules of which later ones win.
// The zero value runs for ever and answers every probe with success.
type Program struct {
	Rules []Rule
	// Init is set for a regular init container, which exits with 0 one second after its start unless
	// a rule says otherwise.
	Init bool
}

// Rule says who does what when. Who: Replica and Instance. When: from From on Clock, for For (nil: for
// good), again every Every (nil: once), with a chance. What: answers to probes and hooks, or an exit.
type Rule struct {
	Replica  Range
	Instance Range

	Clock  Clock
	From   Draw
	For    *Draw
	Every  *Draw
	Chance *float64 // 0 to 1; nil: always. Without a seed a rule with a chance never applies.

	Liveness, Readiness, Startup *Series
	Probes                       *Series // each probe of the container without a series of its own here
	PostStart, PreStop           *Series

	Exit *Exit
}

// Exit is the end of a program by itself.
type Exit struct {
	Code  int32
	Never bool // with AfterSigterm: waits for SIGKILL
}

// Series answers attempt by attempt. The last item goes on for ever, or the list starts over.
type Series struct {
	Items  []Item
	Repeat bool
}

// Item is an answer that is given Count times; the Count of a last item without Repeat has no end.
type Item struct {
	Answer Answer
	Count  int
}

// Word is what a program does with a request.
type Word string

const (
	Answers Word = "answers" // Code, Status, Body, after Latency
	Refuses Word = "down"    // nothing listens: not for exec
	Hangs   Word = "hang"    // never answers
	Stalls  Word = "stall"   // frozen until the window of the rule closes, then answers as at that time
	Breaks  Word = "error"   // the probe itself breaks: a runtime error for exec, a body that breaks off for HTTP
)

// Answer is what a program does with one request.
type Answer struct {
	Word          Word
	Code          int32  // of Answers: the exit code for exec, the status code for HTTP
	Status        string // of Answers: what a gRPC health check returns, a serving status or the name of a code
	Body          string // what a command writes, or the body of an HTTP response
	Latency       *Draw  // nil: the container's usual delay
	IgnoreTimeout bool   // exec: the runtime does not end the process at the timeout

	Location       string  // HTTP: the header, for a redirect
	Then           *Answer // HTTP: to the request that follows the redirect on the same host, or a failure; nil: a plain 200
	TransportError string  // HTTP, gRPC: the connection fails with this text instead
	// Handler makes the response to an HTTP request, in place of Code, Body, Location and Then. It is called
	// when the answer is given, has no time of its own and must not wait. What it responds must follow from
	// the request and from what it was asked before, or runs do not repeat.
	Handler http.Handler
}

// HTTPToHTTPS is in the error of a client that means HTTPS and is answered in plain HTTP (net/http/transport.go of Go
// 1.26). The kubelet's lifecycle hooks then ask once more, in plain HTTP; that request has the answer Then.
const HTTPToHTTPS = "server gave HTTP response to HTTPS client"

// Delays are the latencies of the runtime and API calls and the usual times to answer. A nil field
// has the default of DefaultDelays, or the value of the next wider scope.
type Delays struct {
	RunPodSandbox, StopPodSandbox, RemovePodSandbox, PodSandboxStatus, ListPodSandbox *Draw
	CreateContainer, StartContainer, StopContainer, RemoveContainer                   *Draw
	ListContainers, ContainerStatus                                                   *Draw
	ImageStatus, ImagePull, VolumeMount                                               *Draw
	APIGet, APIPatch, APIDelete                                                       *Draw
	Exec, HTTPGet, TCPSocket, GRPC                                                    *Draw
}

// Pod is what the runtime must know of a pod before its first call: who it is and what its containers do.
type Pod struct {
	UID       string
	Namespace string
	Name      string
	Workload  string // whose replica it is; all replicas share the events of rules AtScenario. Empty: Name
	Replica   int
	// HostNetwork: the pod has the node's IP, and the runtime none for it.
	HostNetwork bool
	Delays      Delays
	// Containers by name; one that is missing has the zero Program.
	Containers map[string]ContainerConfig
}

// ContainerConfig is the program of a container and the delays that are its own.
type ContainerConfig struct {
	Program Program
	Delays  Delays
}
