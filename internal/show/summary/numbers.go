package summary

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Never is the time to Ready of a pod or container that is not Ready at any time of the run. It is
// longer than any other time.
const Never = time.Duration(math.MaxInt64)

// Numbers are the measures of a pod or a container in one run. Times are virtual. Ready is the
// condition of a pod, or the field ready of a container, in the status that the API server has.
type Numbers struct {
	// Restarts is the number of starts after the first. For a pod, it is the sum over all its
	// containers.
	Restarts int
	// ToReady is the time from the addition of the pod to the first status patch with Ready, or
	// Never.
	ToReady time.Duration
	// Unready is the total time without Ready after the first Ready, and Outage is the longest
	// uninterrupted part of it. Both end when the deletion of the pod is requested, when the pod
	// succeeds or is removed, or when the run ends.
	Unready, Outage time.Duration
	// Object has the numbers of a Deployment or a Service, which has no others. Nil for a pod and a
	// container.
	Object *Object
}

// Object has the numbers of a Deployment or a Service. A number that it does not have is nil.
type Object struct {
	Took   *int64 // nanoseconds of the last change until it is complete, or Never
	Fewest *int64 // Ready pods after it was complete first
	Lost   *int64 // requests that are lost; a part of one counts as one
}

// Kind is a kind of number.
type Kind struct {
	Key, Label string // as in JSON, and for people
	IsTime     bool   // in nanoseconds; otherwise a count
}

// Kinds are all kinds of numbers.
var Kinds = []Kind{
	{"restarts", "restarts", false}, {"timeToReady", "time to Ready", true}, {"notReady", "not Ready afterwards", true},
	{"longestOutage", "longest outage", true}, {"rolloutTook", "rollout took", true},
	{"fewestReady", "fewest Ready", false}, {"lostRequests", "lost requests", false},
}

// Text formats a number for people.
func (k Kind) Text(v int64) string {
	if k.IsTime {
		return Span(time.Duration(v))
	}
	return fmt.Sprint(v)
}

// Span formats a time for people, in the notation of all times of a trace.
func Span(d time.Duration) string {
	if d == Never {
		return "never"
	}
	return trace.FormatTime(virtual.At(d))
}

// Values returns the number of each of Kinds, or nil if there is none. Only a pod that became Ready
// has times without Ready.
func (n *Numbers) Values() []*int64 {
	if o := n.Object; o != nil {
		return []*int64{nil, nil, nil, nil, o.Took, o.Fewest, o.Lost}
	}
	list := []*int64{new(int64(n.Restarts)), new(int64(n.ToReady)), new(int64(n.Unready)), new(int64(n.Outage)),
		nil, nil, nil}
	if n.ToReady == Never {
		list[2], list[3] = nil, nil
	}
	return list
}

// Pod has the numbers of a pod, or of an object such as "Deployment default/web", and of its
// containers.
type Pod struct {
	Name string // namespace/name of a pod
	Numbers
	Containers []Container // in the order of the status, init containers first
}

// Container has the numbers of a container.
type Container struct {
	Name string
	Numbers
}

// Measure returns the numbers of each pod of a run that ends at end, in the order of their first
// records.
func Measure(records []trace.Record, end virtual.Time) []Pod {
	m := measuring{byName: map[string]*podClock{}}
	for i := range records {
		if r := &records[i]; r.Pod != "" {
			m.add(r)
		}
	}
	pods := make([]Pod, len(m.pods))
	for i, p := range m.pods {
		pods[i] = p.numbers(end)
	}
	return append(pods, objects(records, end)...)
}

// objects returns the numbers of Deployments and Services.
func objects(records []trace.Record, end virtual.Time) []Pod {
	var list []Pod
	for _, n := range trace.NumbersOfObjects(records, end) {
		o := &Object{}
		switch {
		case n.IsService():
			o.Lost = new(int64(math.Ceil(n.Lost - 1e-6)))
		case !n.Complete:
			o.Took = new(int64(Never))
		default:
			o.Took = new(int64(n.Took))
		}
		if n.Fewest >= 0 {
			o.Fewest = new(int64(n.Fewest))
		}
		list = append(list, Pod{Name: n.Name, Numbers: Numbers{Object: o}})
	}
	return list
}

// measuring reads the records of a run.
type measuring struct {
	pods   []*podClock
	byName map[string]*podClock
}

// podClock follows a pod and its containers.
type podClock struct {
	name  string
	added virtual.Time
	ended virtual.Time // no time counts as an outage from then on; virtual.Max if none
	clock
	containers []*containerClock
}

type containerClock struct {
	name     string
	restarts int
	clock
}

// clock follows one condition.
type clock struct {
	first          virtual.Time // first true; virtual.Max if never
	on             bool
	lost           virtual.Time // when it last became false
	total, longest time.Duration
}

func (m *measuring) add(r *trace.Record) {
	switch r.Kind {
	case trace.PodAdded:
		delete(m.byName, r.Pod) // a pod that was removed before
		m.pod(r)
	case trace.PodDeleteRequested, trace.PodRemoved:
		m.pod(r).end(r.T)
	case trace.ContainerStarted:
		c := m.pod(r).container(r.Container)
		if r.Instance > 0 {
			c.restarts++
		}
	case trace.StatusPatched:
		if r.Status != nil {
			m.pod(r).status(r)
		}
	}
}

func (m *measuring) pod(r *trace.Record) *podClock {
	p := m.byName[r.Pod]
	if p == nil {
		p = &podClock{name: r.Pod, added: r.T, ended: virtual.Max, clock: clock{first: virtual.Max}}
		m.byName[r.Pod] = p
		m.pods = append(m.pods, p)
	}
	return p
}

func (p *podClock) end(at virtual.Time) { p.ended = min(p.ended, at) }

func (p *podClock) container(name string) *containerClock {
	for _, c := range p.containers {
		if c.name == name {
			return c
		}
	}
	c := &containerClock{name: name, clock: clock{first: virtual.Max}}
	p.containers = append(p.containers, c)
	return c
}

func (p *podClock) status(r *trace.Record) {
	if p.ended != virtual.Max {
		return
	}
	for i := range r.Status.Containers {
		c := &r.Status.Containers[i]
		p.container(c.Name).set(r.T, c.Ready)
	}
	if r.Status.Phase == "Succeeded" {
		p.end(r.T)
	}
	p.set(r.T, r.Status.Ready)
}

// set records a value of the condition.
func (c *clock) set(now virtual.Time, on bool) {
	switch {
	case on && c.first == virtual.Max:
		c.first = now
	case on && !c.on:
		c.outage(now)
	case !on && c.on:
		c.lost = now
	}
	c.on = on
}

func (c *clock) outage(to virtual.Time) {
	d := max(0, to.Sub(c.lost))
	c.total += d
	c.longest = max(c.longest, d)
}

func (p *podClock) numbers(end virtual.Time) Pod {
	end = min(end, p.ended)
	pod := Pod{Name: p.name, Numbers: p.clock.numbers(p.added, end), Containers: make([]Container, len(p.containers))}
	for i, c := range p.containers {
		n := c.clock.numbers(p.added, end)
		n.Restarts = c.restarts
		pod.Restarts += c.restarts
		pod.Containers[i] = Container{c.name, n}
	}
	return pod
}

// numbers returns the times of the condition until end.
func (c clock) numbers(added, end virtual.Time) Numbers {
	if c.first == virtual.Max {
		return Numbers{ToReady: Never}
	}
	if !c.on {
		c.outage(end)
	}
	return Numbers{ToReady: c.first.Sub(added), Unready: c.total, Outage: c.longest}
}

// Total returns numbers that stand for a whole run: the sum of the restarts and of the times
// without Ready of all pods, their longest outage, and the longest time to Ready, which is Never if
// some pod did not become Ready.
func Total(pods []Pod) Numbers {
	var all Numbers
	for i := range pods {
		n := &pods[i].Numbers
		if n.Object != nil {
			continue
		}
		all.Restarts += n.Restarts
		all.ToReady = max(all.ToReady, n.ToReady)
		all.Unready += n.Unready
		all.Outage = max(all.Outage, n.Outage)
	}
	return all
}

// Worse compares two runs by their totals: first by restarts, then by a pod that never became
// Ready, then by the time without Ready, the longest outage and the time to Ready. It returns a
// negative number if a is worse, and 0 if they are equal.
func Worse(a, b Numbers) int {
	return cmp.Or(cmp.Compare(b.Restarts, a.Restarts), cmp.Compare(never(b.ToReady), never(a.ToReady)),
		cmp.Compare(b.Unready, a.Unready), cmp.Compare(b.Outage, a.Outage), cmp.Compare(b.ToReady, a.ToReady))
}

func never(d time.Duration) int64 {
	if d == Never {
		return 1
	}
	return 0
}
