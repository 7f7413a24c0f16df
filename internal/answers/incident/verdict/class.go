package verdict

import (
	"regexp"
	"strings"
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
	NoFile        Class = "file"          // that the command reads
	Service       Class = "service"       // gRPC: unknown service, or no health service
	NotServing    Class = "notServing"
	Output        Class = "output"     // of a command that failed
	NoPermission  Class = "permission" // of a command: for a file, or to do what it does
	Empty         Class = "empty"      // a command failed without an output
	Reset         Class = "reset"      // EOF, reset: a crash or another protocol
	Ending        Class = "ending"     // the container was ending: a result
	OtherFailure  Class = "other"
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
var overtime = regexp.MustCompile(`(?i)command .*timed out|timeout \d+m?s exceeded`)

// status matches what is before the code of an HTTP answer: in the words of the kubelet, of curl
// -f, and of both kinds of wget.
const status = `(?:statuscode: |returned error: (?:HTTP/\d\S* )?|ERROR )`

// classes has the words of each class. The first that fits counts: a line of a client names its
// address and its deadline, too. The words are those of net/http, of gRPC, of the probers in
// pkg/probe of v1.37.2, of the container runtimes, and of programs that commands call: curl
// (7.88.1), GNU wget (1.21.3), grpc_health_probe (0.4.63), and, from their sources only, the wget
// and nc of BusyBox and OpenBSD. Up to Go 1.14, net/http wrote "request canceled" with, and without
// "while waiting for connection".
var classes = []struct {
	words *regexp.Regexp
	class Class
}{
	{regexp.MustCompile(`^$`), Empty},
	{regexp.MustCompile(`(?i)(container|task|process)\S* (\S+ )?(is )?not running|no running task|cannot exec in a ` +
		"(stopped|deleted)|stopped container|container (not created|is in container_exited)|container not found|no " +
		"such container|is not running|container that has stopped"), Ending},
	{regexp.MustCompile(`(?i)executable file not found|exec(utable)? format error|no such file or directory: unknown` +
		`|unable to start container process|oci runtime exec failed|stat \S+: no such file`), NoCommand},
	{regexp.MustCompile(`(?i)unknown service|service\S* not found|does not implement the grpc health|Unimplemented`),
		Service},
	{regexp.MustCompile(`NOT_SERVING|service unhealthy`), NotServing},
	{regexp.MustCompile(status + `404`), WrongPath},
	{regexp.MustCompile(status + `40[13]|Username/Password Authentication Failed`), Credentials},
	{regexp.MustCompile(`(?i)server gave HTTP response to HTTPS|HTTP request to an HTTPS|\btls: |x509: ` +
		`|first record does not look like|curl: \((?:51|60)\)|HTTP response "\\x1[56]\\x03|wrong version number|unexpected TLS packet|` +
		`certificate of \S+ (?:is not trusted|doesn't)`), TLS},
	{regexp.MustCompile(`(?i)malformed HTTP|http2: frame|HTTP/0\.9 when not allowed`), OtherProtocol},
	{regexp.MustCompile(status + `5\d\d`), ServerError},
	{regexp.MustCompile(status + `[1-4]\d\d`), BadRequest},
	{regexp.MustCompile(`(?i)no such host|server misbehaving|Temporary failure in name resolution|bad address|` +
		`Could not resolve|Name or service not known`), Host},
	{regexp.MustCompile(`(?i)refused`), Refused},
	{regexp.MustCompile(`failed to connect service .*within`), NoGRPC},
	{regexp.MustCompile(`rpc did not complete`), NoRPC},
	{regexp.MustCompile(`https://.*waiting for connection|TLS handshake timeout|\(28\) (?:Connection timed out|SSL)`),
		NoHandshake},
	{regexp.MustCompile(`(?i)no route to host|network is unreachable|waiting for connection|dial \S+ \S+: (connect: ` +
		`)?(i/o timeout|connection timed out|operation timed out)|Failed to connect .*(?:timed out|Timeout was)|` +
		`failed: Connection timed out|\((?:tcp|\?)\) (?:failed|timed out): .*(?:timed out|in progress)`), Dial},
	{regexp.MustCompile(`(?i)connect: connection reset|curl: \(7\)`), NoConnection},
	{regexp.MustCompile(`(?i)reset by peer|\bEOF\b|broken pipe|connection closed|unexpected end|curl: \((?:18|52|56)\)` +
		`|SSL_ERROR_SYSCALL|No data received|non-properly terminated|in the pull function`), Reset},
	{regexp.MustCompile(`net/http: request canceled \(|reading body|Operation timed out after|` +
		`Read error \(Connection timed out|read tcp \S+: i/o timeout|` + overtime.String()), Timeout},
	{regexp.MustCompile(`(?i)Client\.Timeout|net/http: req|^(?:Get .*|rpc error.*|context )?deadline ?exceeded|` +
		`^wget: .*timed out|i/o timeout`), NoAnswer},
	{regexp.MustCompile(`^(Get|dial) |rpc error`), OtherFailure},
	{regexp.MustCompile(`(?i)no such file or directory`), NoFile},
	{regexp.MustCompile(`(?i)permission denied`), NoPermission},
}

// classify returns the class of the output of a failed probe.
func classify(output string) Class {
	output = strings.TrimSpace(output)
	for _, c := range classes {
		if c.words.MatchString(output[:min(len(output), 2000)]) {
			return c.class
		}
	}
	return Output
}
