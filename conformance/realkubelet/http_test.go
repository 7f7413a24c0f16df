package realkubelet

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	httpprobe "k8s.io/kubernetes/pkg/probe/http"
)

// TestTimeoutMessages checks that, outside a bubble, the timeout of an http request has the suffix
// that restoreTimeout adds. The timeout of an https request has either the message of the context's
// timer or the message of the client's timer. The server never answers.
func TestTimeoutMessages(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for scheme, want := range map[string][]string{
		"http": {errDeadline + clientTimeout},
		"https": {
			errDeadline, errDeadline + clientTimeout,
			"net/http: request canceled while waiting for connection" + clientTimeout,
		},
	} {
		req, err := httpprobe.NewProbeRequest(&url.URL{Scheme: scheme, Host: l.Addr().String()}, http.Header{})
		if err != nil {
			t.Fatal(err)
		}
		_, message, err := httpprobe.New(false).Probe(req, time.Millisecond)
		known := false
		for _, w := range want {
			known = known || strings.HasSuffix(message, `": `+w)
		}
		if err != nil || !known {
			t.Errorf("%s: %q, %v; want one of %q", scheme, message, err, want)
		}
	}
}
