package history

import (
	"strings"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Workload is the history of a Deployment.
type Workload struct {
	Name        string // namespace/name
	Ready       []Level
	Desired     []Level
	ReplicaSets []*ReplicaSet // by number
}

// ReplicaSet is the history of a ReplicaSet of a Deployment.
type ReplicaSet struct {
	Name  string // namespace/name
	Ready []Level
}

// Service is the history of a Service.
type Service struct {
	Name      string  // namespace/name
	Endpoints []Level // that are ready
	Routers   []*Router
}

// Router is what a router does for a Service.
type Router struct {
	Name    string
	Targets []Level
	Losses  []Loss
}

// Level is a number from a time on, until the next one.
type Level struct {
	At     virtual.Time
	Value  int
	Record *trace.Record
}

// Loss is a time in which requests are lost. From and To are equal if all are lost at one instant.
type Loss struct {
	From, To virtual.Time
	Pod      string  // empty if there is no target
	Rate     float64 // that are lost, a second
	Lost     float64
	Record   *trace.Record
}

// Lost returns the number of requests that a router loses.
func (r *Router) Lost() float64 {
	sum := 0.0
	for i := range r.Losses {
		sum += r.Losses[i].Lost
	}
	return sum
}

// addObject adds a record about an object other than a pod.
func (h *History) addObject(r *trace.Record) {
	kind, name, _ := strings.Cut(r.Object.Name, " ")
	switch {
	case r.Kind == trace.WorkloadChanged && kind == "Deployment":
		w := h.workload(name)
		w.Ready, w.Desired = addLevel(w.Ready, r, int(r.Object.Workload.Ready)),
			addLevel(w.Desired, r, int(r.Object.Workload.Desired))
	case r.Kind == trace.WorkloadChanged && kind == "ReplicaSet":
		s := h.replicaSet(name)
		s.Ready = addLevel(s.Ready, r, int(r.Object.Workload.Ready))
		h.changed(r.T, r.Object.Name) // its first record
	case r.Kind == trace.EndpointsWritten:
		s := h.service(name)
		s.Endpoints = addLevel(s.Endpoints, r, ready(r.Object.Endpoints))
	case r.Kind == trace.RoutesChanged:
		router := h.service(name).router(r.Reason)
		router.Targets = addLevel(router.Targets, r, len(r.Object.Endpoints))
	case r.Kind == trace.LossStarted || r.Kind == trace.LossEnded:
		h.service(name).router(r.Object.Loss.Router)
		h.changed(r.T, "")
	}
}

func ready(list []trace.Endpoint) int {
	n := 0
	for _, e := range list {
		if e.Ready {
			n++
		}
	}
	return n
}

// addLevel adds a value, unless it is the last one. A value of the same instant replaces the one
// before.
func addLevel(list []Level, r *trace.Record, value int) []Level {
	n := len(list)
	if n > 0 && list[n-1].At == r.T {
		list, n = list[:n-1], n-1
	}
	if n > 0 && list[n-1].Value == value {
		return list
	}
	return append(list, Level{r.T, value, r})
}

// addLosses adds the losses of the run.
func (h *History) addLosses(records []trace.Record) {
	for _, l := range trace.Losses(records, h.End) {
		first := &records[l.First]
		_, name, _ := strings.Cut(first.Object.Name, " ")
		r := h.service(name).router(first.Object.Loss.Router)
		r.Losses = append(r.Losses, Loss{From: l.From, To: l.To, Pod: first.Pod, Rate: l.Rate, Lost: l.Lost,
			Record: first})
	}
}

// named returns the element of a list with a name. If there is none, it appends a new one.
func named[T any](list *[]*T, name string, of func(*T) *string) *T {
	for _, x := range *list {
		if *of(x) == name {
			return x
		}
	}
	x := new(T)
	*of(x) = name
	*list = append(*list, x)
	return x
}

func (h *History) workload(name string) *Workload {
	return named(&h.Workloads, name, func(w *Workload) *string { return &w.Name })
}

// replicaSet returns a ReplicaSet. Its name is that of its Deployment and a number.
func (h *History) replicaSet(name string) *ReplicaSet {
	w := h.workload(name[:max(strings.LastIndexByte(name, '-'), 0)])
	return named(&w.ReplicaSets, name, func(s *ReplicaSet) *string { return &s.Name })
}

func (h *History) service(name string) *Service {
	return named(&h.Services, name, func(s *Service) *string { return &s.Name })
}

func (s *Service) router(name string) *Router {
	return named(&s.Routers, name, func(r *Router) *string { return &r.Name })
}
