//go:build linux

package player

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// sendRequests sends a stream of requests to an address until the process is killed.
func sendRequests(e traffic.Entry, address string, now func() virtual.Time, log io.Writer) {
	s := sender{Entry: e, now: now, losses: map[string]*losses{},
		dial:  func() (net.Conn, error) { return net.DialTimeout("tcp", address, patience) },
		write: func(r trace.Record) { log.Write(append(trace.AppendJSON(nil, &r), '\n')) }}
	s.send(nil)
}

// sender sends a stream of requests, and writes in the form of a trace what becomes of them.
type sender struct {
	traffic.Entry
	dial  func() (net.Conn, error)
	now   func() virtual.Time
	write func(trace.Record)

	mu       sync.Mutex
	answered bool
	losses   map[string]*losses // by reason
}

// losses are requests that are lost soon after each other: when they were sent, and when the first
// and the last one failed.
type losses struct {
	from, to    virtual.Time
	first, last virtual.Time
	count       int
}

// Losses that are at most quiet apart are one loss, of which each part of longest is written.
const (
	quiet   = 200 * time.Millisecond
	longest = time.Second
)

// send sends requests until stop is closed, and returns when the last one has ended. Clients with a
// connection of their own take turns; without connections, each request opens one.
func (s *sender) send(stop <-chan struct{}) {
	clients := make([]client, max(1, s.Connections.Count))
	tick := time.NewTicker(time.Duration(float64(time.Second) / s.Rate))
	defer tick.Stop()
	var requests sync.WaitGroup
	for n := 0; ; n++ {
		select {
		case <-stop:
			requests.Wait()
			s.tell(virtual.Max)
			return
		case <-tick.C:
		}
		began := s.now()
		s.tell(began)
		requests.Go(func() {
			pod, err := clients[n%len(clients)].get(s.dial, s.takes(n), s.Connections.Count > 0)
			s.note(began, pod, err)
		})
	}
}

// takes returns how long a request takes. The durations of successive requests are spread evenly.
func (s *sender) takes(n int) time.Duration {
	_, part := math.Modf(float64(n) * math.Phi)
	return s.Least + time.Duration(part*float64(s.Most-s.Least))
}

// note counts a request that ended. The first answer shows that there is a target.
func (s *sender) note(began virtual.Time, pod string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		if !s.answered {
			s.answered = true
			s.write(trace.Record{T: began, Kind: trace.RoutesChanged, Reason: s.Router,
				Object: &trace.Object{Name: "Service " + s.Service,
					Endpoints: []trace.Endpoint{{Pod: pod, Ready: true, Serving: true}}}})
		}
		return
	}
	now, reason := s.now(), reasonOf(err)
	l := s.losses[reason]
	if l == nil {
		l = &losses{from: began, first: now}
		s.losses[reason] = l
	}
	l.from, l.to, l.last = min(l.from, began), max(l.to, began), now
	l.count++
}

// reasonOf returns the reason of a loss, as far as a client can tell.
func reasonOf(err error) string {
	switch failed, is := err.(*net.OpError); {
	case !is || failed.Op != "dial":
		return traffic.InFlight
	case failed.Timeout():
		return traffic.Exited // nothing answers at the address of a pod that is gone
	}
	return traffic.Refused
}

// tell writes the losses that are over or long.
func (s *sender) tell(now virtual.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, reason := range slices.Sorted(maps.Keys(s.losses)) {
		l := s.losses[reason]
		if now.Sub(l.last) < quiet && now.Sub(l.first) < longest {
			continue
		}
		delete(s.losses, reason)
		end := l.to.Add(time.Duration(float64(time.Second) / s.Rate))
		of := trace.Object{Name: "Service " + s.Service}
		of.Loss = &trace.Loss{Router: s.Router, Rate: s.Rate, One: 1, Of: 1}
		s.write(trace.Record{T: l.from, Kind: trace.LossStarted, Reason: reason, Object: &of})
		of.Loss.Lost = float64(l.count)
		s.write(trace.Record{T: end, Kind: trace.LossEnded, Reason: reason, Took: end.Sub(l.from), Object: &of})
	}
}

// A client keeps a connection. It tries no request again: net/http would do so if the server has
// closed a connection, and would wait for another connection while one is not accepted.
type client struct {
	mu   sync.Mutex
	kept net.Conn
}

// patience is how long a connection may take, and an answer beyond the time of the request.
const patience = time.Second

// get sends a request, and returns the name of the pod that answers.
func (c *client) get(dial func() (net.Conn, error), takes time.Duration, keep bool) (pod string, err error) {
	c.mu.Lock()
	conn := c.kept
	c.kept = nil
	c.mu.Unlock()
	if conn == nil || closed(conn) {
		if conn, err = dial(); err != nil {
			return "", err
		}
	}
	if pod, err = exchange(conn, takes); err == nil && keep {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.kept == nil {
			c.kept = conn
			return pod, nil
		}
	}
	conn.Close()
	return pod, err
}

// exchange sends a request over a connection, and reads the answer.
func exchange(conn net.Conn, takes time.Duration) (pod string, err error) {
	if err := conn.SetDeadline(time.Now().Add(takes + 2*patience)); err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: service\r\n%s: %s\r\n\r\n", headerTakes, takes)
	if err != nil {
		return "", err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.Header.Get(headerPod), err
}

// closed reports whether the other side has closed a connection without a request, and then closes
// it too.
func closed(conn net.Conn) bool {
	if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return true
	}
	_, err := conn.Read(make([]byte, 1))
	if timeout, is := err.(net.Error); is && timeout.Timeout() {
		return false
	}
	conn.Close()
	return true
}
