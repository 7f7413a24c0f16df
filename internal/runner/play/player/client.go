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
	c := Clients{Entry: e, Dial: Dialer(address), Now: now, Write: func(r trace.Record) {
		log.Write(append(trace.AppendJSON(nil, &r), '\n'))
	}}
	c.Send(nil)
}

// Dialer returns a function that opens a connection to an address.
func Dialer(address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.DialTimeout("tcp", address, patience) }
}

// Clients send a stream of requests, and write in the form of a trace what becomes of
// them.
type Clients struct {
	traffic.Entry
	Dial  func() (net.Conn, error)
	Now   func() virtual.Time
	Write func(trace.Record)

	mu       sync.Mutex
	answered bool
	losses   map[string]*losses // by reason
	// Lost counts the requests that got no answer.
	Lost int
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

// Send sends requests until stop is closed, and returns when the last one has ended. Clients with a
// connection of their own take turns; without connections, each request opens one.
func (c *Clients) Send(stop <-chan struct{}) {
	c.losses = map[string]*losses{}
	clients := make([]client, max(1, c.Connections.Count))
	tick := time.NewTicker(time.Duration(float64(time.Second) / c.Rate))
	defer tick.Stop()
	var requests sync.WaitGroup
	for n := 0; ; n++ {
		select {
		case <-stop:
			requests.Wait()
			c.tell(virtual.Max)
			return
		case <-tick.C:
		}
		began := c.Now()
		c.tell(began)
		requests.Go(func() {
			pod, err := clients[n%len(clients)].get(c.Dial, c.takes(n), c.Connections.Count > 0)
			c.note(began, pod, err)
		})
	}
}

// takes returns how long a request takes. The durations of successive requests are spread evenly.
func (c *Clients) takes(n int) time.Duration {
	_, part := math.Modf(float64(n) * math.Phi)
	return c.Least + time.Duration(part*float64(c.Most-c.Least))
}

// note counts a request that ended. The first answer shows that there is a target.
func (c *Clients) note(began virtual.Time, pod string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		if !c.answered {
			c.answered = true
			c.Write(trace.Record{T: began, Kind: trace.RoutesChanged, Reason: c.Router,
				Object: &trace.Object{Name: "Service " + c.Service,
					Endpoints: []trace.Endpoint{{Pod: pod, Ready: true, Serving: true}}}})
		}
		return
	}
	c.Lost++
	now, reason := c.Now(), reasonOf(err)
	l := c.losses[reason]
	if l == nil {
		l = &losses{from: began, first: now}
		c.losses[reason] = l
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
func (c *Clients) tell(now virtual.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, reason := range slices.Sorted(maps.Keys(c.losses)) {
		l := c.losses[reason]
		if now.Sub(l.last) < quiet && now.Sub(l.first) < longest {
			continue
		}
		delete(c.losses, reason)
		end := l.to.Add(time.Duration(float64(time.Second) / c.Rate))
		of := trace.Object{Name: "Service " + c.Service}
		of.Loss = &trace.Loss{Router: c.Router, Rate: c.Rate, One: 1, Of: 1}
		c.Write(trace.Record{T: l.from, Kind: trace.LossStarted, Reason: reason, Object: &of})
		of.Loss.Lost = float64(l.count)
		c.Write(trace.Record{T: end, Kind: trace.LossEnded, Reason: reason, Took: end.Sub(l.from), Object: &of})
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
