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

// TestTCPMessages checks that tcpProber has the same results and messages as the real prober
// outside a bubble.
func TestTCPMessages(t *testing.T) {
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
				t.Errorf("%s, %s: %s %q %v, want %s %q", host, test.name, result, message, err, test.result,
					test.message)
			}
		}
	}
}

// TestResolverMessages checks that resolve returns the same errors as the resolver of package net
// with a name server that knows no names, except the address of the name server, and that localhost
// resolves to the node in any spelling.
func TestResolverMessages(t *testing.T) {
	dialer := net.Dialer{Timeout: time.Minute,
		Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go denyNames(server)
			return client, nil
		}}}
	server := regexp.MustCompile(` on [^ ]+:53`)
	for _, addr := range []string{"shop.example.com:80", "shop.example.com.:80", "Nowhere:80", "127.1:80", "a b:80",
		"localhost.:80", "[localhost:80]:80"} {
		_, got := dialer.Dial("tcp", addr)
		_, want := resolve(addr)
		if got == nil || server.ReplaceAllString(got.Error(), "") != want.Error() {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
	for _, name := range []string{"localhost", "Localhost", "LOCALHOST"} {
		ips, err := dialer.Resolver.LookupNetIP(t.Context(), "ip4", name)
		if ours, unknown := resolve(name + ":80"); err != nil || unknown != nil ||
			!slices.Contains(ips, ours.AddrPort().Addr()) {
			t.Errorf("%s: %v, %v; ours is %v, %v", name, ips, err, ours, unknown)
		}
	}
}

// denyNames is a name server on a stream (RFC 1035, 4.2.2) that answers each query with NXDOMAIN.
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
		query[2], query[3] = query[2]|0x80, 0x80|3 // set the flags of a recursive response and NXDOMAIN
		if _, err := conn.Write(append(length, query...)); err != nil {
			return
		}
	}
}
