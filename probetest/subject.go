package probetest

import (
	"errors"
	"fmt"
	"strings"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// subject is the pod or container that a matcher examines.
type subject struct {
	pod       *Pod
	container string // empty: the pod with all its containers
}

// subjectOf returns the subject of an assertion. It returns an error if every assertion about the
// subject would be vacuous.
func subjectOf(actual any) (*subject, error) {
	s := &subject{}
	ofContainer := false
	switch a := actual.(type) {
	case *Pod:
		s.pod = a
	case Pod:
		s.pod = &a
	case *Container:
		if a != nil {
			s.pod, s.container, ofContainer = a.pod, a.name, true
		}
	case Container:
		s.pod, s.container, ofContainer = a.pod, a.name, true
	default:
		return nil, fmt.Errorf("expected a *probetest.Pod, a *probetest.Container, or a list of them, got a %T", actual)
	}
	if s.pod == nil || s.pod.log == nil {
		return nil, errors.New("the pod is nil: use a pod that AddPod, AddWorkload or RunScenario returned")
	}
	if s.pod.node != nil {
		s.pod.node.reached()
	}
	if ofContainer {
		if err := s.pod.requireContainer(s.container); err != nil {
			return nil, err
		}
	}
	switch {
	case s.pod.log.end == 0:
		return nil, errors.New("no virtual time has passed yet" + s.pod.more())
	case len(s.pod.indexes()) == 0:
		return nil, fmt.Errorf("the pod %s is added later than the time that the run has reached%s", s.pod,
			s.pod.more())
	}
	if n := s.pod.node; n != nil && len(n.due) > 0 && !n.running.Load() {
		return nil, fmt.Errorf("%s has not happened yet%s", n.due[0].what, s.pod.more())
	}
	return s, nil
}

// more says at the end of an error how to run the node further.
func (p *Pod) more() string { return p.node.more() }

// more says how to run the node further. A nil node is that of a complete run.
func (n *Node) more() string {
	switch {
	case n == nil:
		return ": the run is complete"
	case n.sim.Usable() != nil:
		return ", and the node is closed: assert before the test ends"
	}
	return ": call Advance first"
}

// requireOneContainer replaces a pod by its only container. A pod with several containers is an
// error.
func (s *subject) requireOneContainer() error {
	if s.container != "" {
		return nil
	}
	names := s.pod.containers()
	if len(names) > 1 {
		return fmt.Errorf("the pod %s has several containers: assert about one of them with Container: %s", s.pod,
			strings.Join(names, ", "))
	}
	s.container = names[0]
	return nil
}

// indexes returns the indexes of the pod's records in the log. They end where the next pod of the
// same name is added, since containers can outlive their pod in the API.
func (p *Pod) indexes() []int {
	if p == nil || p.log == nil {
		return nil // nil or the zero value
	}
	var list []int
	for i := p.from; i < len(p.log.records); i++ {
		r := &p.log.records[i]
		added := r.Kind == trace.PodAdded
		switch {
		case r.Pod != p.key || !added && list == nil:
		case added && list != nil:
			return list
		default:
			list = append(list, i)
		}
	}
	return list
}

// added returns the virtual time at which the pod was added.
func (s *subject) added() virtual.Time { return s.record(s.pod.indexes()[0]).T }

func (s *subject) record(i int) *trace.Record { return &s.pod.log.records[i] }

// records returns the occurrences of the subject's records that satisfy a predicate.
func (s *subject) records(wanted func(*trace.Record) bool) []occurrence {
	var list []occurrence
	for _, i := range s.pod.indexes() {
		if r := s.record(i); s.about(r) && wanted(r) {
			list = append(list, occurrence{t: r.T, record: i})
		}
	}
	return list
}

func (s *subject) about(r *trace.Record) bool { return s.container == "" || r.Container == s.container }

func (s *subject) String() string {
	if s.container == "" {
		return s.pod.String()
	}
	return s.pod.Container(s.container).String()
}
