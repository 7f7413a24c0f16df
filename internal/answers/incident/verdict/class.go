package verdict

import (
	"regexp"
	"strings"
)

// Class is what the output of a failed probe says. It decides the advice. The values are stable.
type Class string

// The classes.
const (
	WrongPath    Class = "404"
	Credentials  Class = "credentials" // 401 and 403
	BadRequest   Class = "badRequest"  // 400, 405 and other codes below 500
	ServerError  Class = "5xx"
	Refused      Class = "refused"
	Timeout      Class = "timeout" // connected, and no answer in time
	Dial         Class = "dial"    // no connection in time, or no route
	TLS          Class = "tls"     // http and https are mixed up, or a certificate
	Host         Class = "host"    // no such host
	NoCommand    Class = "command" // not in the image, or cannot be entered
	Service      Class = "service" // gRPC: unknown service, or no health service
	NotServing   Class = "notServing"
	Output       Class = "output" // of a command that failed
	Empty        Class = "empty"  // a command failed without an output
	Reset        Class = "reset"  // EOF, reset: a crash or another protocol
	Ending       Class = "ending" // the container was ending: a result
	OtherFailure Class = "other"
)

// classes has the words of each class. The first that fits counts: a line of a client names its
// address and its deadline, too. The words are those of net/http, of gRPC, of the probers in
// pkg/probe of v1.37.0, and of the container runtimes.
var classes = []struct {
	words *regexp.Regexp
	class Class
}{
	{regexp.MustCompile(`^$`), Empty},
	{regexp.MustCompile(`(?i)(container|task|process)\S* (\S+ )?(is )?not running|no running task|cannot exec in a ` +
		"(stopped|deleted)|stopped container|container (not created|is in container_exited)|container not found|no " +
		"such container|is not running"), Ending},
	{regexp.MustCompile(`(?i)executable file not found|exec(utable)? format error|no such file or directory: unknown` +
		`|unable to start container process|oci runtime exec failed|stat \S+: no such file`), NoCommand},
	{regexp.MustCompile(`(?i)unknown service|service\S* not found|does not implement the grpc health|Unimplemented`),
		Service},
	{regexp.MustCompile(`NOT_SERVING|service unhealthy`), NotServing},
	{regexp.MustCompile(`statuscode: 404`), WrongPath},
	{regexp.MustCompile(`statuscode: 40[13]`), Credentials},
	{regexp.MustCompile(`(?i)server gave HTTP response to HTTPS|HTTP request to an HTTPS|malformed HTTP|tls: |x509: ` +
		`|http2: frame|first record does not look like`), TLS},
	{regexp.MustCompile(`statuscode: 5\d\d`), ServerError},
	{regexp.MustCompile(`statuscode: \d`), BadRequest},
	{regexp.MustCompile(`(?i)no such host|server misbehaving|Temporary failure in name resolution`), Host},
	{regexp.MustCompile(`(?i)refused`), Refused},
	{regexp.MustCompile(`(?i)no route to host|network is unreachable|waiting for connection|dial \S+ \S+: (connect: ` +
		`)?(i/o timeout|connection timed out|operation timed out)|failed to connect service .*within`), Dial},
	{regexp.MustCompile(`(?i)reset by peer|\bEOF\b|broken pipe|connection closed|unexpected end`), Reset},
	{regexp.MustCompile(`(?i)timed? ?out|deadline ?exceeded|Client\.Timeout|i/o timeout|net/http: req`), Timeout},
	{regexp.MustCompile(`^(Get|dial) |rpc error`), OtherFailure},
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
