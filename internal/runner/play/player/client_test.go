//go:build linux

package player

import (
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// pipes is a listener and the way to it, inside a bubble. Without a listener, connections are
// refused.
type pipes struct{ open chan net.Conn }

func (p *pipes) listen() (net.Listener, error) {
	p.open = make(chan net.Conn)
	return &listener{pipes: p, accepts: p.open}, nil
}

type listener struct {
	*pipes
	accepts chan net.Conn
	once    sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	if conn, ok := <-l.accepts; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.accepts)
		l.open = nil
	})
	return nil
}

func (*listener) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() (net.Conn, error) {
	if p.open == nil {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	client, server := net.Pipe()
	p.open <- server
	return client, nil
}

// TestRequests checks what clients tell of a program that listens from 1 s on, has an outage from 2
// s to 2.5 s, and closes its listener after a stop signal at 4 s.
func TestRequests(t *testing.T) {
	for _, test := range []struct {
		name        string
		connections traffic.Connections
		lost        float64
		losses      [][2]time.Duration // from and to
	}{
		{"new connections", traffic.Connections{}, 10 + 5 + 10,
			[][2]time.Duration{{100e6, 1.1e9}, {2e9, 2.5e9}, {4e9, 5e9}}},
		{"kept connections", traffic.Connections{Count: 2}, 10 + 10, nil},
		{"connections kept until exit", traffic.Connections{Count: 2, UntilExit: true}, 10, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, p := time.Now(), &pipes{}
			s := &service{listenOn: p.listen, untilExit: test.connections.UntilExit}
			s.server.Handler = handler
			var records []trace.Record
			c := &sender{losses: map[string]*losses{},
				Entry: traffic.Entry{Service: "default/web", Rate: 10, Least: 10e6, Most: 30e6,
					Connections: test.connections}, dial: p.dial,
				now:   func() virtual.Time { return virtual.At(time.Since(began)) },
				write: func(r trace.Record) { records = append(records, r) }}
			stop, done := make(chan struct{}), make(chan struct{})
			go func() { c.send(stop); close(done) }()
			set := func(after time.Duration, listens bool) {
				time.Sleep(after)
				s.listens = listens
				if err := s.update(); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
			set(time.Second+time.Millisecond, true)
			set(time.Second-2*time.Millisecond, false)
			set(500*time.Millisecond, true)
			time.Sleep(1500 * time.Millisecond)
			s.stops = true
			set(0, false)
			time.Sleep(time.Second)
			close(stop)
			<-done
			s.server.Close()
			var losses [][2]time.Duration
			routes, lost := 0, 0.0
			for _, r := range records {
				switch r.Kind {
				case trace.RoutesChanged:
					routes++
				case trace.LossEnded:
					lost += r.Object.Loss.Lost
					losses = append(losses, [2]time.Duration{r.T.Add(-r.Took).Offset(), r.T.Offset()})
				}
			}
			if lost != test.lost || routes != 1 || test.losses != nil && !slices.Equal(losses, test.losses) {
				t.Errorf("%s: %v lost, %d routes, losses %s", test.name, lost, routes, losses)
			}
		})
	}
}
