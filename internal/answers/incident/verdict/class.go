package verdict

import (
	_ "embed"
	"regexp"
	"strings"

	"probesim.dev/internal/answers/incident"
)

// Class is what the output of a failed probe says. It decides the advice. The values are stable.
type Class string

// The classes.
const (
	WrongPath     Class = "404"
	Credentials   Class = "credentials" // 401 and 403
	BadRequest    Class = "badRequest"  // 400, 405 and other codes below 500
	ServerError   Class = "5xx"
	Refused       Class = "refused"
	Timeout       Class = "timeout"       // connected, and no complete answer in time; or a command that took too long
	NoAnswer      Class = "noAnswer"      // in time: the message is silent about the connection
	NoHandshake   Class = "noHandshake"   // no connection in time, or none of TLS on top of it
	NoConnection  Class = "noConnection"  // none that lasts: refused, or closed at once
	NoGRPC        Class = "noGRPC"        // no connection of gRPC in time, for whatever reason
	NoRPC         Class = "noRPC"         // gRPC: no complete answer in time; silent about the connection from 1.38 on
	Dial          Class = "dial"          // no connection in time, or no route
	TLS           Class = "tls"           // http and https are mixed up, or a certificate
	OtherProtocol Class = "otherProtocol" // no HTTP
	Host          Class = "host"          // no such host
	NoCommand     Class = "command"       // not in the image, or cannot be entered
	Service       Class = "service"       // gRPC: unknown service, or no health service
	NotServing    Class = "notServing"
	Output        Class = "output" // of a command that failed
	Empty         Class = "empty"  // a command failed without an output
	Reset         Class = "reset"  // EOF, reset: a crash or another protocol
	Ending        Class = "ending" // the container was ending: a result
)

// Known is what a message proves: whether a connection came about, and whether the server sent
// anything on it. Each is yes, no, or open.
type Known struct{ Connection, Answer Proved }

// Proved is whether a message proves something, or its opposite.
type Proved string

// The values of Proved.
const (
	Yes  Proved = "yes"
	No   Proved = "no"
	Left Proved = "open"
)

// known has what the messages of each class prove. The words of a class say no more. Others prove
// nothing. conformance/v1.37/messages holds it against sockets, with the probers of the kubelet,
// curl, wget and grpc_health_probe.
var known = map[Class]Known{
	WrongPath: {Yes, Yes}, Credentials: {Yes, Yes}, BadRequest: {Yes, Yes}, ServerError: {Yes, Yes},
	Service: {Yes, Yes}, NotServing: {Yes, Yes}, TLS: {Yes, Yes}, OtherProtocol: {Yes, Yes},
	Timeout: {Yes, Left}, Reset: {Yes, Left},
	NoAnswer: {Left, No}, NoHandshake: {Left, No}, NoConnection: {Left, No}, NoGRPC: {Left, Left},
	NoRPC:   {Left, Left},
	Refused: {No, No}, Dial: {No, No}, Host: {No, No},
}

// Proves returns the class of the output of a failed probe, and what such a message proves.
func Proves(output string) (Class, Known) {
	class := classify(output)
	if k, is := known[class]; is && !overtime.MatchString(output) {
		return class, k
	}
	return class, Known{Left, Left}
}

// overtime matches the message about a command that took longer than its timeout.
var overtime = regexp.MustCompile(`(?i)command .*timed out|^"[^"]*" timed out|timeout \d+m?s exceeded`)

// status matches what is before the code of an HTTP answer: in the words of the kubelet, of curl
// -f, and of both kinds of wget.
const status = `(?:statuscode: |returned error: (?:HTTP/\d\S* )?|ERROR )`

//go:embed classes.txt
var classesText string

// classes has the words of each class.
var classes = incident.Patterns(strings.NewReplacer("{status}", status, "{overtime}", overtime.String()).
	Replace(classesText))

// classify returns the class of the output of a failed probe.
func classify(output string) Class {
	output = strings.TrimSpace(output)
	for _, c := range classes {
		if c.Words.MatchString(output[:min(len(output), 2000)]) {
			return Class(c.Name)
		}
	}
	return Output
}
