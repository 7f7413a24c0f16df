// Package summary computes statistics over many runs of one scenario, for example with a hundred
// seeds.
//
// [Measure] reduces the trace of a run to a few [Numbers] for each pod and container. A [Summary]
// collects the numbers of all runs and returns a [Distribution] of each. It keeps 8 bytes for each
// number, not the traces.
package summary

import "slices"

// Group is a set of pods that a summary treats as one: the replicas of a workload.
type Group struct {
	Name string   `json:"name"` // namespace/name of the workload, or an object such as "Deployment default/web"
	Pods []string `json:"pods"` // namespace/name of each pod
	// Owns reports whether a pod that is not known before the runs belongs to the group. Nil: none
	// does.
	Owns func(pod string) bool `json:"-"`
	// Init lists the init containers that run to completion. A summary counts only their restarts,
	// because they are not meant to stay Ready.
	Init []string `json:"-"`
}

// Summary collects the numbers of runs. Each pod of a group in each run is one value of a
// distribution.
type Summary struct {
	Runs int // number of runs
	Pods []*PodStatistics

	byPod map[string]*PodStatistics
}

// PodStatistics has the distributions of a group of pods.
type PodStatistics struct {
	Group
	Statistics
	Containers []*ContainerStatistics `json:"containers"` // in the order of the pod status
}

// ContainerStatistics has the distributions of a container of a group of pods.
type ContainerStatistics struct {
	Name string `json:"name"`
	Init bool   `json:"-"` // one of Group.Init; only Restarts has values
	Statistics
}

// Statistics has one distribution for each of Kinds.
type Statistics struct {
	Restarts Distribution `json:"restarts,omitzero"`
	ToReady  Distribution `json:"timeToReady,omitzero"`
	Unready  Distribution `json:"notReady,omitzero"`
	Outage   Distribution `json:"longestOutage,omitzero"`
	Took     Distribution `json:"rolloutTook,omitzero"`
	Fewest   Distribution `json:"fewestReady,omitzero"`
	Lost     Distribution `json:"lostRequests,omitzero"`
}

// New returns an empty summary of runs with these pods. Other pods form groups of their own.
func New(groups []Group) *Summary {
	s := &Summary{byPod: map[string]*PodStatistics{}}
	for _, g := range groups {
		p := &PodStatistics{Group: g, Containers: []*ContainerStatistics{}}
		s.Pods = append(s.Pods, p)
		for _, name := range g.Pods {
			s.byPod[name] = p
		}
	}
	return s
}

// Add adds a run with a seed.
func (s *Summary) Add(seed int64, pods []Pod) {
	s.Runs++
	for i := range pods {
		s.group(pods[i].Name).add(seed, &pods[i])
	}
}

func (s *Summary) group(pod string) *PodStatistics {
	p := s.byPod[pod]
	if p != nil {
		return p
	}
	if i := slices.IndexFunc(s.Pods, func(p *PodStatistics) bool { return p.Owns != nil && p.Owns(pod) }); i >= 0 {
		p = s.Pods[i]
	} else {
		p = &PodStatistics{Group: Group{Name: pod}, Containers: []*ContainerStatistics{}}
		s.Pods = append(s.Pods, p)
	}
	p.Pods = append(p.Pods, pod)
	s.byPod[pod] = p
	return p
}

func (p *PodStatistics) add(seed int64, pod *Pod) {
	p.Statistics.add(seed, &pod.Numbers)
	for i := range pod.Containers {
		numbers := &pod.Containers[i]
		c := p.container(numbers.Name)
		if c.Init {
			c.Restarts.Add(seed, int64(numbers.Restarts))
		} else {
			c.Statistics.add(seed, &numbers.Numbers)
		}
	}
}

func (p *PodStatistics) container(name string) *ContainerStatistics {
	for _, c := range p.Containers {
		if c.Name == name {
			return c
		}
	}
	c := &ContainerStatistics{Name: name, Init: slices.Contains(p.Init, name)}
	p.Containers = append(p.Containers, c)
	return c
}

// Distributions returns the distribution of each of Kinds.
func (s *Statistics) Distributions() []*Distribution {
	return []*Distribution{&s.Restarts, &s.ToReady, &s.Unready, &s.Outage, &s.Took, &s.Fewest, &s.Lost}
}

func (s *Statistics) add(seed int64, n *Numbers) {
	all := s.Distributions()
	for i, v := range n.Values() {
		if v != nil {
			all[i].Add(seed, *v)
		}
	}
}

// Equal reports whether all distributions have the same values.
func (s *Statistics) Equal(t *Statistics) bool {
	return slices.EqualFunc(s.Distributions(), t.Distributions(),
		func(a, b *Distribution) bool { return slices.Equal(a.Values(), b.Values()) })
}

// Shown returns the containers of interest: none if there is only one, because its restarts are
// those of the pod, and no init container that runs to completion and did not restart.
func (p *PodStatistics) Shown() []*ContainerStatistics {
	if len(p.Containers) < 2 {
		return nil
	}
	var list []*ContainerStatistics
	for _, c := range p.Containers {
		if !c.Init || c.Restarts.Count() > 0 && c.Restarts.max > 0 {
			list = append(list, c)
		}
	}
	return list
}

// Of returns the statistics of a group of pods, or of a container of it. They are empty if there is
// no such group or container.
func (s *Summary) Of(group, container string) *Statistics {
	for _, p := range s.Pods {
		if p.Name != group {
			continue
		}
		if container == "" {
			return &p.Statistics
		}
		for _, c := range p.Containers {
			if c.Name == container {
				return &c.Statistics
			}
		}
	}
	return &Statistics{}
}
