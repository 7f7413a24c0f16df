package probetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/trace"
)

// subject is a pod, or a container of it, that a matcher looks at.
type subject struct {
	pod       *Pod
	container string // empty: the pod, with all its containers
}

// subjectOf returns what is asserted about. It refuses what would make an assertion vacuous.
func subjectOf(actual any) (*subject, error) {
	s := &subject{}
	switch a := actual.(type) {
	case *Pod:
		s.pod = a
	case *Container:
		if a != nil {
			s.pod, s.container = a.Pod, a.Name
		}
	default:
		return nil, fmt.Errorf("expects a *probetest.Pod or a *probetest.Container, not a %T", actual)
	}
	switch {
	case s.pod == nil:
		return nil, errors.New("there is no such pod: it is nil")
	case isContainer(actual) && !slices.Contains(s.pod.containers(), s.container):
		return nil, fmt.Errorf("the pod %s has no container %q; there are: %s", s.pod, s.container, strings.Join(s.pod.containers(), ", "))
	case s.pod.log.end == 0:
		return nil, errors.New("no virtual time has passed yet: call Advance before")
	case len(s.pod.indexes()) == 0:
		return nil, fmt.Errorf("the pod %s has not been added in the time that has passed", s.pod)
	}
	return s, nil
}

func isContainer(actual any) bool {
	_, ok := actual.(*Container)
	return ok
}

// one has a pod stand for its only container, and refuses one with several.
func (s *subject) one() error {
	if s.container != "" {
		return nil
	}
	names := s.pod.containers()
	if len(names) > 1 {
		return fmt.Errorf("say which container of the pod %s: %s", s.pod, strings.Join(names, ", "))
	}
	s.container = names[0]
	return nil
}

// indexes returns the records of the pod in the log: from its addition to that of the next of its name, as containers may
// outlive their pod in the API.
func (p *Pod) indexes() []int {
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

func (s *subject) record(i int) *trace.Record { return &s.pod.log.records[i] }

// records returns the records of the subject that are meant, each at its time.
func (s *subject) records(meant func(*trace.Record) bool) []happening {
	var list []happening
	for _, i := range s.pod.indexes() {
		if r := s.record(i); s.about(r) && meant(r) {
			list = append(list, happening{r.T, i})
		}
	}
	return list
}

// about reports whether a record is about the subject.
func (s *subject) about(r *trace.Record) bool { return s.container == "" || r.Container == s.container }

func (s *subject) String() string {
	if s.container == "" {
		return s.pod.String()
	}
	return s.pod.Container(s.container).String()
}
