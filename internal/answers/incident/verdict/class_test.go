package verdict

import (
	"regexp"
	"testing"
)

// TestClassify checks the class of each output that a probe can have, in the words of the programs
// that write them.
func TestClassify(t *testing.T) {
	for output, want := range map[string]Class{
		"HTTP probe failed with " +
			"statuscode: 404": WrongPath,
		"HTTP probe failed with " +
			"statuscode: 403": Credentials,
		"HTTP probe failed with " +
			"statuscode: 400": BadRequest,
		"HTTP probe failed with " +
			"statuscode: 503": ServerError,
		`Get "http://10.0.0.1:80/": dial tcp 10.0.0.1:80: connect: connection refused`:  Refused,
		`Get http://10.0.0.1:80/: dial tcp 10.0.0.1:80: getsockopt: connection refused`: Refused,
		"curl: (7) Failed to connect to localhost port 8080: Connection " +
			"refused": Refused,
		`Get "http://10.0.0.1:80/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`: NoAnswer,
		`Get http://10.0.0.1:80/: net/http: request canceled (Client.Timeout exceeded while awaiting headers)`:  Timeout,
		"Get http://10.0.0.1:80/: net/http: request canceled while waiting for connection (Client.Timeout exceeded " +
			"while awaiting headers)": Dial,
		`dial tcp 10.0.0.1:80: i/o timeout`:                                                     Dial,
		`dial tcp 10.0.0.1:80: connect: no route to host`:                                       Dial,
		`command timed out: "check" timed out after 1s`:                                         Timeout,
		`command "check" timed out`:                                                             Timeout,
		`rpc error: code = DeadlineExceeded desc = context deadline exceeded`:                   NoAnswer,
		`timeout: failed to connect service "10.0.0.1:80" within 1s: context deadline exceeded`: NoGRPC,
		`timeout: health rpc did not complete within 1s`:                                        Timeout,
		`Get "https://10.0.0.1:80/": net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)`: NoHandshake,
		"curl: (28) Connection timed out after 5001 milliseconds":                                                                              NoHandshake,
		"curl: (28) Failed to connect to 10.0.0.1 port 80 after 1001 ms: Timeout was reached":                                                  Dial,
		"curl: (28) Operation timed out after 1001 milliseconds with 0 bytes received":                                                         Timeout,
		"curl: (6) Could not resolve host: db":                                                                                                 Host,
		"curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Couldn't connect to server":                                              NoConnection,
		"curl: (22) The requested URL returned error: 404":                                                                                     WrongPath,
		"curl: (35) OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number":                                                         TLS,
		"curl: (35) OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to 127.0.0.1:80":                                                      Reset,
		"curl: (52) Empty reply from server":                                                                                                   Reset,
		"curl: (56) Recv failure: Connection reset by peer":                                                                                    Reset,
		"curl: (60) SSL certificate problem: self-signed certificate":                                                                          TLS,
		"curl: (1) Received HTTP/0.9 when not allowed":                                                                                         OtherProtocol,
		"Connecting to 127.0.0.1:80... failed: Connection timed out.":                                                                          Dial,
		"Read error (Connection timed out) in headers.":                                                                                        Timeout,
		"http://127.0.0.1:80/healthz:\n2026-11-29 08:03:10 ERROR 503: Service Unavailable.":                                                    ServerError,
		"wget: can't connect to remote host (127.0.0.1): Connection refused":                                                                   Refused,
		"wget: server returned error: HTTP/1.1 404 Not Found":                                                                                  WrongPath,
		"wget: download timed out":                                                                                                             NoAnswer,
		"wget: bad address 'db'":                                                                                                               Host,
		"nc: connect to 127.0.0.1 port 80 (tcp) timed out: Operation now in progress":                                                          Dial,
		"nc: connect to 127.0.0.1 port 80 (tcp) failed: Connection refused":                                                                    Refused,
		`Get "http://10.0.0.1:80/": malformed HTTP status code "mail"`:                                                                         OtherProtocol,
		"timed out waiting for the database":                                                                                                   Output,
		`Get "https://10.0.0.1:80/": http: server gave HTTP response to HTTPS client`:                                                          TLS,
		`Get "https://10.0.0.1:80/": x509: certificate signed by unknown authority`:                                                            TLS,
		`Get "http://db:80/": dial tcp: lookup db on 10.0.0.10:53: no such host`:                                                               Host,
		`service unhealthy (responded with "NOT_SERVING")`:                                                                                     NotServing,
		`error: health rpc failed: rpc error: code = Unimplemented desc = unknown service grpc.health.v1.Health`:                               Service,
		`Get "http://10.0.0.1:80/": EOF`:                                                                                                       Reset,
		`read tcp 10.0.0.2:4->10.0.0.1:80: read: connection reset by peer`:                                                                     Reset,
		`cannot exec in a stopped container`:                                                                                                   Ending,
		`container 569bdd1b is not running`:                                                                                                    Ending,

		"ls: cannot access '/tmp/healthy': No such file or directory": NoFile,
		"": Empty,
		`OCI runtime exec failed: exec failed: unable to start container process: exec: "curl": ` +
			`executable file not found in $PATH: unknown`: NoCommand,
	} {
		if got := classify(output); got != want {
			t.Errorf("classify(%q) = %s, want %s", output, got, want)
		}
	}
}

// TestWordsClaimNoMore checks that the words about the failures of a class claim no connection and
// no answer that its messages do not prove.
func TestWordsClaimNoMore(t *testing.T) {
	claims := []struct {
		words *regexp.Regexp
		needs func(Known) bool
	}{
		{regexp.MustCompile(`server (?:answers|does not have)|do not agree`), func(k Known) bool { return k.Answer == Yes }},
		{regexp.MustCompile(`connection came about\{port\}, and|got a connection|closed the connection|took the`),
			func(k Known) bool { return k.Connection == Yes }},
		{regexp.MustCompile(`No connection came about\{port\}: the|got no connection\{port\}: the packets got no answer\.`),
			func(k Known) bool { return k.Connection == No }},
		{regexp.MustCompile(`^No answer came|in time\.$`), func(k Known) bool { return k.Answer == No }},
	}
	for class := range known {
		for _, of := range []string{"", " of tool"} {
			text := phrases["failure "+string(class)+of].sentence
			if text == "" && of == "" {
				t.Errorf("no words for the class %s", class)
			}
			for _, claim := range claims {
				if claim.words.MatchString(text) && !claim.needs(known[class]) {
					t.Errorf("the words for %s%s say %q, but its messages prove %v", class, of, text, known[class])
				}
			}
		}
	}
}
