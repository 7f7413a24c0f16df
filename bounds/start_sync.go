package bounds

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
)

// One sync starts the containers of a pod one after the other, in the order of the spec, and runs the postStart hook of each. A later sync shows
// what has started to the probes (SyncPod in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).

// rest returns how long the sync that starts an instance goes on: for the hook of the container, and on a first start for the containers
// that follow.
func (s *Subject) rest(n Nodes, first bool) fakeruntime.Draw {
	d := s.postStart(n, s.container(), first)
	if first {
		d = plus(d, s.startsOf(n, s.startsAfter()))
	}
	return d
}

// endsWithHook reports whether the sync that starts an instance ends with a postStart hook.
func (s *Subject) endsWithHook(first bool) bool {
	last := *s.container()
	if after := s.startsAfter(); first && len(after) > 0 {
		last = after[len(after)-1]
	}
	return last.Lifecycle != nil && last.Lifecycle.PostStart != nil
}

// startsOf returns how long the kubelet takes to start some containers and to run their hooks.
func (s *Subject) startsOf(n Nodes, list []v1.Container) fakeruntime.Draw {
	var d fakeruntime.Draw
	for i := range list {
		d = plus(d, n.sum(append([]delay{imageStatus, imageStatus}, startDelays(&list[i])...)...))
		d = plus(d, s.postStart(n, &list[i], true))
	}
	return d
}

// postStart returns how long the postStart hook of a container takes, or 0 if it has none.
func (s *Subject) postStart(n Nodes, c *v1.Container, first bool) fakeruntime.Draw {
	if c.Lifecycle == nil {
		return fakeruntime.Draw{}
	}
	return s.takes(n, c.Lifecycle.PostStart, s.program.Containers[c.Name].Program.PostStartSleep, s.known(c, first))
}

// preStop returns how long the preStop hook of a container takes, or 0 if it has none. The grace period includes the hook.
func (s *Subject) preStop(n Nodes, c *v1.Container) fakeruntime.Draw {
	if c.Lifecycle == nil {
		return fakeruntime.Draw{}
	}
	d, grace := s.takes(n, c.Lifecycle.PreStop, s.program.Containers[c.Name].Program.PreStopSleep, s.known(c, false)), s.shutdown(horizon)
	return fakeruntime.Draw{Min: min(d.Min, grace), Max: min(d.Max, grace)}
}

// takes returns how long a hook takes whose command sleeps for some time, while the runtime knows a number of instances. Before an HTTP request
// without a host, the kubelet asks the runtime for the address of the pod (runHTTPHandler in pkg/kubelet/lifecycle/handlers.go at v1.37.0).
func (s *Subject) takes(n Nodes, hook *v1.LifecycleHandler, sleep time.Duration, known int) fakeruntime.Draw {
	switch {
	case hook == nil:
		return fakeruntime.Draw{}
	case hook.Sleep != nil:
		return fakeruntime.Exactly(time.Duration(hook.Sleep.Seconds) * time.Second)
	}
	d := n.sum(hookDelays(hook)...)
	if asksForAddress(hook) {
		d.Max += time.Duration(known-1) * n.most(containerStatus)
	}
	return plus(d, fakeruntime.Exactly(sleep))
}

// known returns the greatest number of instances that the runtime has of the containers of the pod when a container has started. Beside the instances
// that run, it keeps one dead instance of each container (MaxPerPodContainerCount in cmd/kubelet/app/options/options.go at v1.37.0).
func (s *Subject) known(c *v1.Container, first bool) int {
	all := len(s.pod.Spec.InitContainers) + len(s.pod.Spec.Containers)
	if !first {
		return 2 * all
	}
	if i := slices.IndexFunc(s.pod.Spec.Containers, func(one v1.Container) bool { return one.Name == c.Name }); i >= 0 {
		return len(s.pod.Spec.InitContainers) + i + 1
	}
	return all
}

// asksForAddress reports whether the kubelet asks the runtime for the address of the pod before it runs a hook.
func asksForAddress(h *v1.LifecycleHandler) bool { return h.HTTPGet != nil && h.HTTPGet.Host == "" }

// hookDelays returns the delays of a hook.
func hookDelays(h *v1.LifecycleHandler) []delay {
	var list []delay
	if asksForAddress(h) {
		list = append(list, looks...)
	}
	if h.Exec != nil || h.HTTPGet != nil {
		list = append(list, answerDelay(&v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: h.Exec, HTTPGet: h.HTTPGet}}))
	}
	return list
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
func (s *Subject) starts() []delay { return startDelays(s.container()) }

// firstStart returns the delays until the container starts for the first time. Those that also come after the start, in the same sync, are the last.
func (s *Subject) firstStart() []delay {
	list := []delay{runPodSandbox}
	if s.follows() && s.place() >= 0 {
		list = append(list, delaysOf(s.pod.Spec.InitContainers)...)
	}
	list = distinct(append(append(list, delaysOf(s.startsBefore())...), s.starts()...))
	only := slices.DeleteFunc(slices.Clone(list), s.comesAfter)
	return append(only, slices.DeleteFunc(list, func(of delay) bool { return !s.comesAfter(of) })...)
}

// comesAfter reports whether a delay is one of the sync of the first start after the start.
func (s *Subject) comesAfter(of delay) bool { return slices.ContainsFunc(s.delaysAfter(true), of.same) }

// delaysAfter returns the delays of the sync that starts an instance after the start.
func (s *Subject) delaysAfter(first bool) []delay {
	list := postStartDelays(s.container())
	if first {
		list = append(list, delaysOf(s.startsAfter())...)
	}
	return distinct(list)
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

// postStartDelays and preStopDelays return the delays of a hook of a container.
func postStartDelays(c *v1.Container) []delay {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	return hookDelays(c.Lifecycle.PostStart)
}

func preStopDelays(c *v1.Container) []delay {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return nil
	}
	return hookDelays(c.Lifecycle.PreStop)
}

// distinct returns a list with each delay once.
func distinct(list []delay) []delay {
	var all []delay
	for _, of := range list {
		if !slices.ContainsFunc(all, of.same) {
			all = append(all, of)
		}
	}
	return all
}

// same reports whether two delays are the same.
func (of delay) same(other delay) bool {
	var d fakeruntime.Delays
	return of(&d) == other(&d)
}

// plus returns the range of the sum of two times.
func plus(a, b fakeruntime.Draw) fakeruntime.Draw {
	return fakeruntime.Draw{Min: a.Min + b.Min, Max: a.Max + b.Max}
}
