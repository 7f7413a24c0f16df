package bounds

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
)

// One sync starts the containers of a pod one after the other, in the order of the spec, and runs the postStart hook of each. A later sync shows
// what has started to the probes (SyncPod in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).

// rest returns how long the sync that starts an instance goes on: for the hook of the container, and on a first start for the containers
// that follow.
func (s *Subject) rest(n Nodes, first bool) fakeruntime.Draw {
	d := s.postStart(n, podutil.Find(s.pod, s.Container))
	if first {
		d = plus(d, s.startsOf(n, s.startsAfter()))
	}
	return d
}

// startsOf returns how long the kubelet takes to start some containers and to run their hooks.
func (s *Subject) startsOf(n Nodes, list []v1.Container) fakeruntime.Draw {
	var d fakeruntime.Draw
	for i := range list {
		d = plus(d, n.sum(append([]delay{imageStatus, imageStatus}, startDelays(&list[i])...)...))
		d = plus(d, s.postStart(n, &list[i]))
	}
	return d
}

// postStart returns how long the postStart hook of a container takes, or 0 if it has none.
func (s *Subject) postStart(n Nodes, c *v1.Container) fakeruntime.Draw {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return fakeruntime.Draw{}
	}
	if sleep := c.Lifecycle.PostStart.Sleep; sleep != nil {
		return fakeruntime.Exactly(time.Duration(sleep.Seconds) * time.Second)
	}
	d := n.sum(hookDelays(c.Lifecycle.PostStart)...)
	return plus(d, fakeruntime.Exactly(s.program.Containers[c.Name].Program.PostStartSleep))
}

// hookDelays returns the delays of a hook.
func hookDelays(h *v1.LifecycleHandler) []delay {
	switch {
	case h.Exec != nil:
		return []delay{answerDelay(&v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: h.Exec}})}
	case h.HTTPGet != nil:
		return []delay{answerDelay(&v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: h.HTTPGet}})}
	}
	return nil
}

// startDelays returns the delays of each start of a container.
func startDelays(c *v1.Container) []delay {
	list := []delay{createContainer, startContainer}
	if c.ImagePullPolicy == v1.PullAlways {
		list = append(list, imagePull)
	}
	return list
}

// starts returns the delays of each start of the container.
func (s *Subject) starts() []delay { return startDelays(podutil.Find(s.pod, s.Container)) }

// firstStart returns the delays of the sync of the first start until the container starts.
func (s *Subject) firstStart() []delay {
	return distinct(append(append([]delay{runPodSandbox}, delaysOf(s.startsBefore())...), s.starts()...))
}

// startsBefore and startsAfter return the containers that the sync of the first start starts before and after the container. An init container starts alone.
func (s *Subject) startsBefore() []v1.Container { return s.pod.Spec.Containers[:max(s.place(), 0)] }
func (s *Subject) startsAfter() []v1.Container {
	if s.place() < 0 {
		return nil
	}
	return s.pod.Spec.Containers[s.place()+1:]
}

// place returns the index of the container among those that are no init containers, or -1.
func (s *Subject) place() int {
	return slices.IndexFunc(s.pod.Spec.Containers, func(c v1.Container) bool { return c.Name == s.Container })
}

// follows reports whether init containers start in syncs before the one that starts the container.
func (s *Subject) follows() bool {
	return len(s.pod.Spec.InitContainers) > 0 && s.pod.Spec.InitContainers[0].Name != s.Container
}

// delaysOf returns the delays of the starts of some containers and of their hooks, each once.
func delaysOf(list []v1.Container) []delay {
	var all []delay
	for i := range list {
		all = append(all, startDelays(&list[i])...)
		all = append(all, postStartDelays(&list[i])...)
	}
	return distinct(all)
}

// postStartDelays returns the delays of the postStart hook of a container.
func postStartDelays(c *v1.Container) []delay {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	return hookDelays(c.Lifecycle.PostStart)
}

// distinct returns a list with each delay once.
func distinct(list []delay) []delay {
	var d fakeruntime.Delays
	var all []delay
	for _, of := range list {
		if !slices.ContainsFunc(all, func(one delay) bool { return one(&d) == of(&d) }) {
			all = append(all, of)
		}
	}
	return all
}

// plus returns the range of the sum of two times.
func plus(a, b fakeruntime.Draw) fakeruntime.Draw {
	return fakeruntime.Draw{Min: a.Min + b.Min, Max: a.Max + b.Max}
}
