package realkubelet

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"slices"
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

// TestWordsOfHosts: the resolver of package net, when a name server knows no name, says what the one that stands for it
// says, but for the name server; and localhost is the node itself however it is written.
func TestWordsOfHosts(t *testing.T) {
	dialer := net.Dialer{Timeout: time.Minute, Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go denyNames(server)
		return client, nil
	}}}
	server := regexp.MustCompile(` on [^ ]+:53`)
	for _, addr := range []string{"shop.example.com:80", "shop.example.com.:80", "Nowhere:80", "127.1:80", "a b:80", "localhost.:80", "[localhost:80]:80"} {
		_, got := dialer.Dial("tcp", addr)
		_, want := resolve(addr)
		if got == nil || server.ReplaceAllString(got.Error(), "") != want.Error() {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
	for _, name := range []string{"localhost", "Localhost", "LOCALHOST"} {
		ips, err := dialer.Resolver.LookupNetIP(t.Context(), "ip4", name)
		if ours, unknown := resolve(name + ":80"); err != nil || unknown != nil || !slices.Contains(ips, ours.AddrPort().Addr()) {
			t.Errorf("%s: %v, %v; ours is %v, %v", name, ips, err, ours, unknown)
		}
	}
}

// denyNames is a name server on a stream (RFC 1035, 4.2.2) that says of each name that there is none.
func denyNames(conn net.Conn) {
	defer conn.Close()
	for {
		length := make([]byte, 2)
		if _, err := io.ReadFull(conn, length); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(length))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		query[2], query[3] = query[2]|0x80, 0x80|3 // a response, from a server that recurses: NXDOMAIN
		if _, err := conn.Write(append(length, query...)); err != nil {
			return
		}
	}
}
