package verdict

import "testing"

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
		`Get "http://10.0.0.1:80/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`: Timeout,
		`Get http://10.0.0.1:80/: net/http: request canceled (Client.Timeout exceeded while awaiting headers)`:  Timeout,
		"Get http://10.0.0.1:80/: net/http: request canceled while waiting for connection (Client.Timeout exceeded " +
			"while awaiting headers)": Dial,
		`dial tcp 10.0.0.1:80: i/o timeout`:                                                                      Dial,
		`dial tcp 10.0.0.1:80: connect: no route to host`:                                                        Dial,
		`command timed out: "check" timed out after 1s`:                                                          Timeout,
		`command "check" timed out`:                                                                              Timeout,
		`rpc error: code = DeadlineExceeded desc = context deadline exceeded`:                                    Timeout,
		`timeout: failed to connect service "10.0.0.1:80" within 1s: context deadline exceeded`:                  Dial,
		`Get "https://10.0.0.1:80/": http: server gave HTTP response to HTTPS client`:                            TLS,
		`Get "https://10.0.0.1:80/": x509: certificate signed by unknown authority`:                              TLS,
		`Get "http://db:80/": dial tcp: lookup db on 10.0.0.10:53: no such host`:                                 Host,
		`service unhealthy (responded with "NOT_SERVING")`:                                                       NotServing,
		`error: health rpc failed: rpc error: code = Unimplemented desc = unknown service grpc.health.v1.Health`: Service,
		`Get "http://10.0.0.1:80/": EOF`:                                                                         Reset,
		`read tcp 10.0.0.2:4->10.0.0.1:80: read: connection reset by peer`:                                       Reset,
		`cannot exec in a stopped container`:                                                                     Ending,
		`container 569bdd1b is not running`:                                                                      Ending,

		"ls: cannot access '/tmp/healthy': No such file or directory": Output,
		"": Empty,
		`OCI runtime exec failed: exec failed: unable to start container process: exec: "curl": ` +
			`executable file not found in $PATH: unknown`: NoCommand,
	} {
		if got := classify(output); got != want {
			t.Errorf("classify(%q) = %s, want %s", output, got, want)
		}
	}
}
