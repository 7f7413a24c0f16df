package kubelet

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// criClient is the kubelet's client of the runtime and of its image service. It sets the deadline
// of each call, changes some errors, and reconnects after an outage of the runtime
// (k8s.io/cri-client v0.37.2).
type criClient struct {
	Runtime
	now             func() virtual.Time
	timeout         time.Duration
	runtime, images channel
}

// defaultRequestTimeout is the default of runtimeRequestTimeout
// (pkg/kubelet/apis/config/v1beta1/defaults.go at v1.37.0).
const defaultRequestTimeout = 2 * time.Minute

func newCRIClient(o *Options) *criClient {
	return &criClient{
		Runtime: o.Runtime, now: o.Sim.Now, timeout: cmp.Or(o.Config.RuntimeRequestTimeout, defaultRequestTimeout),
	}
}

// Call makes a call. Network requests pass through.
func (c *criClient) Call(p *sim.Proc, call fakeruntime.Call) *fakeruntime.Op {
	if call.Method.IsNetwork() {
		return c.Runtime.Call(p, call)
	}
	call.Deadline = c.deadline(&call)
	call.Unconnected = !c.channel(call.Method).connect(c.Runtime, c.now())
	op := c.Runtime.Call(p, call)
	op.Err = clientError(op)
	if op.FaultStep != 0 {
		p.SetCause(op.FaultStep)
	}
	return op
}

// deadline returns the time after which the client gives up a call; 0: never (pkg/remote_runtime.go
// and pkg/remote_image.go of k8s.io/cri-client v0.37.2).
func (c *criClient) deadline(call *fakeruntime.Call) time.Duration {
	switch call.Method {
	case fakeruntime.RunPodSandbox:
		return 2 * c.timeout
	case fakeruntime.StopContainer:
		return c.timeout + time.Duration(call.GraceSeconds)*time.Second
	case fakeruntime.ExecSync:
		if call.Timeout == 0 {
			return 0
		}
		return c.timeout + call.Timeout
	case fakeruntime.PullImage:
		return 0
	}
	return c.timeout
}

// clientError returns the error that the client makes of the error of a call (execSyncV1 and
// pullImageV1 in k8s.io/cri-client v0.37.2).
func clientError(op *fakeruntime.Op) error {
	switch {
	case op.Err == nil:
	case op.Call.Method == fakeruntime.ExecSync && op.TimedOut:
		command := strings.Join(op.Call.Command, " ")
		return fmt.Errorf("command timed out: %q timed out after %s", command, op.Call.Timeout)
	case op.Call.Method == fakeruntime.PullImage && fakeruntime.IsUnknown(op.Err):
		return errors.New(fakeruntime.Description(op.Err))
	}
	return op.Err
}

// Answer returns the answer of a status call that ends now.
func (c *criClient) Answer(call fakeruntime.Call) *fakeruntime.Op {
	call.Unconnected = !c.channel(call.Method).connect(c.Runtime, c.now())
	return c.Runtime.Answer(call)
}

// Healthy reports whether a status call would now return no false condition.
func (c *criClient) Healthy() bool {
	return c.runtime.connected(c.Runtime, c.now()) && c.Runtime.Healthy()
}

// ListsEnd returns the time at which list calls end if they begin at a time; see Runtime.ListsEnds.
func (c *criClient) ListsEnd(at virtual.Time, calls ...fakeruntime.Method) virtual.Time {
	var ends [4]virtual.Time
	all := c.ListsEnds(ends[:0], at, calls...)
	return all[len(all)-1]
}

// ListsEnds is Runtime.ListsEnds, with calls that fail at their deadline.
func (c *criClient) ListsEnds(ends []virtual.Time, at virtual.Time, calls ...fakeruntime.Method) []virtual.Time {
	if !c.channel(calls[0]).connected(c.Runtime, c.now()) {
		return append(ends, virtual.Max)
	}
	first := len(ends)
	ends = c.Runtime.ListsEnds(ends, at, calls...)
	for i := first; i < len(ends); i++ {
		if ends[i].Sub(at) > c.timeout {
			return append(ends[:i], virtual.Max)
		}
		at = ends[i]
	}
	return ends
}

// channel returns the gRPC channel of a call: each service has its own.
func (c *criClient) channel(m fakeruntime.Method) *channel {
	switch m {
	case fakeruntime.ImageStatus, fakeruntime.PullImage, fakeruntime.ListImages:
		return &c.images
	}
	return &c.runtime
}

// channel is a gRPC channel to the runtime. The end of its connection makes it idle: the next call
// connects it. If that fails, it tries again after a back-off, and calls fail in the meantime
// (balancer/pickfirst and clientconn.go in google.golang.org/grpc v1.82.1). The zero value is idle.
type channel struct {
	up       bool
	since    virtual.Time // of the connection
	failures int          // since the channel was idle
	retry    virtual.Time // time of the next attempt, after failures
}

// The back-off between two attempts to connect (pkg/remote_runtime.go in k8s.io/cri-client
// v0.37.2). Its jitter of 20% has the middle value here.
const (
	leastReconnect  = 100 * time.Millisecond
	mostReconnect   = 3 * time.Second
	reconnectGrowth = 1.6 // backoff/backoff.go in google.golang.org/grpc v1.82.1
)

// connect reports whether a call at a time has a connection. It connects an idle channel.
func (c *channel) connect(r Runtime, now virtual.Time) bool {
	if !c.connected(r, now) && c.failures == 0 {
		c.attempt(now, r.Down())
	}
	return c.up
}

// connected reports whether the channel has a connection at a time, after the attempts until then.
func (c *channel) connected(r Runtime, now virtual.Time) bool {
	for c.failures > 0 && c.retry <= now {
		c.attempt(c.retry, r.DownAt(c.retry))
	}
	c.up = c.up && r.LastOutage() < c.since
	return c.up
}

// attempt tries to connect.
func (c *channel) attempt(at virtual.Time, down bool) {
	if !down {
		*c = channel{up: true, since: at}
		return
	}
	delay := min(float64(leastReconnect)*math.Pow(reconnectGrowth, float64(c.failures)), float64(mostReconnect))
	c.up, c.failures, c.retry = false, c.failures+1, at.Add(time.Duration(delay))
}
