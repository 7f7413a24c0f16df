package realkubelet

import (
	"net"
	"testing"
	"time"

	"k8s.io/kubernetes/pkg/probe"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"
)

// TestWordsOfTCP: outside of the bubble the real prober says what the one that stands for it says.
func TestWordsOfTCP(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::ffff:127.0.0.1"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		addr := net.JoinHostPort(host, l.Addr().String()[len("127.0.0.1:"):])
		for _, test := range []struct {
			name    string
			timeout time.Duration
			result  probe.Result
			message string
		}{
			{"open", time.Minute, probe.Success, ""},
			{"timeout", 1, probe.Failure, dialError(addr, errTimedOut).Error()},
			{"refused", time.Minute, probe.Failure, dialError(addr, errRefused).Error()},
		} {
			if test.name == "refused" {
				l.Close()
			}
			result, message, err := tcpprobe.New().Probe(host, port, test.timeout)
			if result != test.result || message != test.message || err != nil {
				t.Errorf("%s, %s: %s %q %v, want %s %q", host, test.name, result, message, err, test.result, test.message)
			}
		}
	}
}
