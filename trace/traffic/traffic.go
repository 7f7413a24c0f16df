// Package traffic computes from the records of a run which requests to a Service are lost, and why.
// It reads only records, so it works on traces of the simulator, of the real kubelet and of files.
//
// Requests are a fluid: a router sends the same part of them to each of its targets, without
// queues, retries and connections that stay open. A request is lost if it goes to a pod that does
// not accept it, if there is no target, or if the program exits while it has the request. Numbers
// are exact: only reports round.
package traffic

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Entry is a stream of requests to a Service. It begins when the router has its first target.
type Entry struct {
	Service string  // namespace/name
	Router  string  // the Reason of the router's RoutesChanged records
	Rate    float64 // requests a second
	// Least and Most bound how long a request takes; all durations between are equally likely.
	Least, Most time.Duration
	// Container is the container of the pods that serves the requests. Empty: a pod serves while
	// any of its containers runs.
	Container string
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
	case trace.RoutesChanged:
		if r.Object == nil {
			return nil
		}
		f.routed[r.Object.Name] = true
		var list []trace.Record
		for _, s := range f.entries {
			if "Service "+s.Service == r.Object.Name && s.Router == r.Reason {
				list = append(list, s.route(f, r)...)
			}
		}
		return list
	case trace.ContainerStarted, trace.ContainerExited, trace.ListenerChanged:
		return f.containerChanged(r)
	case trace.ContainerStopping, trace.Step:
		if c := f.container(r); c != nil {
			c.stopping = true
		}
	}
	return nil
}

// End ends the losses in progress at the end of a run.
func (f *Fold) End(t virtual.Time) []trace.Record {
	var list []trace.Record
	for _, s := range f.entries {
		list = append(list, s.stop(t, 0)...)
	}
	return list
}

// Total returns the number of requests that were sent for each entry until a time, and the number
// of those that were lost, without losses in progress.
func (f *Fold) Total(t virtual.Time) (sent, lost []float64) {
	for _, s := range f.entries {
		n := 0.0
		if s.began {
			n = s.Rate * t.Sub(s.since).Seconds()
		}
		sent, lost = append(sent, n), append(lost, s.lost)
	}
	return sent, lost
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
		for _, s := range f.entries {
			list = append(list, s.exited(f, r)...)
		}
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
	for _, s := range f.entries {
		list = append(list, s.update(f, r)...)
	}
	return list
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
