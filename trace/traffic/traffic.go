// Package traffic computes from the records of a run which requests to a Service are lost, and why.
// It reads only records, so it works on traces of the simulator, of the real kubelet and of files.
//
// Requests are a fluid: a router sends the same part of them, or of the connections that clients
// keep, to each of its targets, without queues and retries. A request is lost if it goes to a pod
// that does not accept it, if there is no target, or if the program exits while it has the request.
// Numbers are exact: only reports round.
package traffic

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Entry is a stream of requests to a Service. It begins when the router has its first target, or
// with the first change of a Deployment: what is not up then is missed. If neither comes until the
// end of the run, nothing has ever served, and all requests since the creation of the Service are
// lost.
type Entry struct {
	Service string  // namespace/name
	Router  string  // the Reason of the router's RoutesChanged records
	Rate    float64 // requests a second
	// Least and Most bound how long a request takes; all durations between are equally likely.
	Least, Most time.Duration
	// Container is the container of the pods that serves the requests. Empty: a pod serves while
	// any of its containers runs.
	Container string
	// Connections are those that clients keep open. The zero value: each request opens its own.
	Connections Connections
}

// The reasons of losses.
const (
	Refused      = "refused"      // the program has closed its listener after a stop signal
	Exited       = "exited"       // no container runs any more
	NotListening = "notListening" // no container runs yet, or its program does not listen
	NoEndpoints  = "noEndpoints"  // the router has no target
	InFlight     = "inFlight"     // the program had the requests when it ended
)

// Fold follows a trace. Create it with New.
type Fold struct {
	entries []*stream
	pods    map[string]*pod // by namespace/name
	routed  map[string]bool // Services that have had targets, as in Object.Name
}

// New returns a Fold for streams of requests.
func New(entries ...Entry) *Fold {
	f := &Fold{pods: map[string]*pod{}, routed: map[string]bool{}}
	for _, e := range entries {
		f.add(e)
	}
	return f
}

func (f *Fold) add(e Entry) {
	f.entries = append(f.entries, &stream{Entry: e, targets: map[string]*target{}, dropped: map[string]*target{}})
}

// Add adds a stream of requests. It returns an error if the Service has targets already, since the
// Fold does not know them.
func (f *Fold) Add(e Entry) error {
	if f.routed["Service "+e.Service] {
		return fmt.Errorf("the Service %s has targets already: add its requests before it has", e.Service)
	}
	f.add(e)
	return nil
}

// Observe takes the next record of a trace, and returns the records of the losses that end or begin
// with it, without steps.
func (f *Fold) Observe(r *trace.Record) []trace.Record {
	switch r.Kind {
	case trace.EndpointsWritten, trace.RoutesChanged:
		return f.objectChanged(r)
	case trace.ContainerStarted, trace.ContainerExited, trace.ListenerChanged:
		return f.containerChanged(r)
	case trace.ContainerStopping, trace.Step:
		if c := f.container(r); c != nil {
			c.stopping = true
		}
		if r.Kind == trace.Step && r.Reason == trace.RolloutStep {
			return f.each(func(s *stream) { s.begins(f, r) })
		}
	}
	return nil
}

// objectChanged follows the endpoints of a Service, and the targets of its router.
func (f *Fold) objectChanged(r *trace.Record) []trace.Record {
	if r.Object == nil {
		return nil
	}
	routes := r.Kind == trace.RoutesChanged
	f.routed[r.Object.Name] = f.routed[r.Object.Name] || routes
	return f.each(func(s *stream) {
		switch {
		case "Service "+s.Service != r.Object.Name:
		case !routes && s.waits == nil:
			s.waits = noTarget(r.T, r.Step)
		case routes && s.Router == r.Reason:
			s.route(f, r)
		}
	})
}

// each returns the records that a change of all streams adds.
func (f *Fold) each(change func(*stream)) (list []trace.Record) {
	for _, s := range f.entries {
		change(s)
		list, s.records = append(list, s.records...), nil
	}
	return list
}

// End ends the losses in progress at the end of a run.
func (f *Fold) End(t virtual.Time) []trace.Record {
	return append(f.each(func(s *stream) { s.stop(t, 0) }), f.Unserved(t)...)
}

// Unserved returns the losses at the end of a run of the streams that have never had a target. They
// have an end only, which says how long they took.
func (f *Fold) Unserved(t virtual.Time) []trace.Record {
	return f.each(func(s *stream) { s.unserved(t) })
}

// Sent returns the number of requests of all streams that were sent until a time.
func (f *Fold) Sent(t virtual.Time) (sum float64) {
	for _, s := range f.entries {
		switch {
		case s.began:
			sum += s.Rate * t.Sub(s.since).Seconds()
		case s.waits != nil:
			sum += s.Rate * t.Sub(s.waits.from).Seconds()
		}
	}
	return sum
}

// container returns the running container of a record, or nil.
func (f *Fold) container(r *trace.Record) *container {
	if p := f.pods[r.Pod]; p != nil {
		return p.containers[r.Container]
	}
	return nil
}

// containerChanged updates the pod of a record, and the streams that send requests to it.
func (f *Fold) containerChanged(r *trace.Record) []trace.Record {
	p := f.pods[r.Pod]
	if p == nil {
		p = &pod{containers: map[string]*container{}}
		f.pods[r.Pod] = p
	}
	c := p.containers[r.Container]
	if c == nil {
		c = &container{}
		p.containers[r.Container] = c
	}
	var list []trace.Record
	if r.Kind == trace.ContainerExited {
		list = f.each(func(s *stream) { s.exited(r) })
	}
	switch r.Kind {
	case trace.ContainerStarted:
		*c = container{started: true, running: true}
	case trace.ContainerExited:
		c.running = false
	case trace.ListenerChanged:
		switch {
		case r.Reason != "closed":
			c.closed = ""
		case c.stopping:
			c.closed = Refused
		default:
			c.closed = NotListening
		}
	}
	p.step = r.Step
	return append(list, f.each(func(s *stream) { s.update(f, r) })...)
}

// pod is what is known of a pod.
type pod struct {
	containers map[string]*container
	step       int64 // of the last record that changed it
}

type container struct {
	started, running bool
	stopping         bool   // it got a stop signal
	closed           string // the reason of losses because its listener is closed; empty: it is open
}

// refusal returns why a pod does not accept requests, or "" if it does.
func (p *pod) refusal(name string) string {
	if p == nil {
		return NotListening
	}
	if name != "" {
		return p.containers[name].refusal()
	}
	reason := NotListening
	for _, key := range slices.Sorted(maps.Keys(p.containers)) {
		switch of := p.containers[key].refusal(); {
		case of == "":
			return ""
		case of != NotListening && reason != Refused:
			reason = of
		}
	}
	return reason
}

// refusal returns why a container does not accept requests, or "" if it does.
func (c *container) refusal() string {
	switch {
	case c == nil || !c.started:
		return NotListening
	case !c.running:
		return Exited
	}
	return c.closed
}
