package kubelet

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/sim"
)

// Reason and messages of what is removed so that all containers of a pod start anew, and of the condition that they
// are about to (pkg/kubelet/kubelet_pods.go and status/generate.go at v1.37.0).
const (
	restartingAllContainers = "RestartingAllContainers"
	removedForRestart       = "The container is removed because RestartAllContainers in place"
	restartAllStarted       = "RestartAllContainersStarted"
	restartAllMessage       = "container exited with restart policy rule"
	killedForRestart        = "killing" // what the event of it says
)

// restartsAll reports whether all containers of a pod are to start anew, by the status before and what the runtime says.
func restartsAll(pod *v1.Pod, s *podStatus, old *v1.PodStatus) bool {
	return podutil.ShouldAllContainersRestart(pod, old, func(name string) (int32, bool) {
		c := s.find(name)
		if c == nil || c.State != fakeruntime.Exited {
			return 0, false
		}
		return c.ExitCode, true
	})
}

// restartCondition is the condition that all containers are about to start anew: from the end of one that asks for it until
// none of them is left in the runtime (GenerateAllContainersRestartingCondition in pkg/kubelet/status/generate.go at
// v1.37.0).
func restartCondition(pod *v1.Pod, s *podStatus, old *v1.PodStatus, phase v1.PodPhase) v1.PodCondition {
	c := v1.PodCondition{Type: podutil.AllContainersRestarting, Status: v1.ConditionFalse}
	left := func(rc fakeruntime.Container) bool { return podutil.Find(pod, rc.Name) != nil }
	switch {
	case phase == v1.PodSucceeded:
		c.Reason = "PodCompleted"
	case phase == v1.PodFailed:
		c.Reason = "PodFailed"
	case restartsAll(pod, s, old) && slices.ContainsFunc(s.containers, left):
		c.Status, c.Reason, c.Message = v1.ConditionTrue, restartAllStarted, restartAllMessage
	}
	return c
}

// removedContainer is the status of a container that has been removed so that all of them start anew, made from the one
// that a lost container would have (convertToAPIContainerStatuses in kubelet_pods.go at v1.37.0).
func removedContainer(c v1.ContainerStatus, old *v1.ContainerStatus) v1.ContainerStatus {
	c.State = v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: restartingAllContainers, Message: removedForRestart}}
	c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{
		Reason: restartingAllContainers, Message: removedForRestart, ExitCode: lostContainerCode,
	}
	c.RestartCount = old.RestartCount + 1
	return c
}

// restartable reports whether a container is to be started again after this end.
func restartable(pod *v1.Pod, c *v1.Container, end *v1.ContainerStateTerminated) bool {
	return podutil.ContainerShouldRestart(c, &pod.Spec, end.ExitCode) || end.Reason == restartingAllContainers
}

// containersToReset returns what the runtime has of the containers of a pod, in the order in which it is removed: regular
// containers and then init containers, and after both those that have ended in a way for which a rule has all start anew
// (getContainersToReset in pkg/kubelet/kuberuntime/kuberuntime_manager.go at v1.37.0).
func containersToReset(pod *v1.Pod, s *podStatus) []fakeruntime.Container {
	var victims, sources []fakeruntime.Container
	for _, list := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			for _, rc := range s.containers {
				switch {
				case rc.Name != list[i].Name:
				case rc.State == fakeruntime.Exited && podutil.RestartsAllContainers(&list[i], rc.ExitCode):
					sources = append(sources, rc)
				default:
					victims = append(victims, rc)
				}
			}
		}
	}
	return append(victims, sources...)
}

// resetContainers kills what runs without a preStop hook and in the shortest time, and removes all, but not their logs. It
// reports whether it could (SyncPod in kuberuntime_manager.go at v1.37.0).
func (k *Kubelet) resetContainers(p *sim.Proc, u podUpdate, containers []fakeruntime.Container) bool {
	for _, c := range containers {
		if c.State != fakeruntime.Exited {
			kill := containerKill{container: c, reason: killRestartAll, message: killedForRestart, cause: u.cause}
			if k.killContainer(p, u.pod, kill, new(int64(0)), nil) != nil {
				return false
			}
		}
		if k.do(p, fakeruntime.Call{Method: fakeruntime.RemoveContainer, ContainerID: c.ID, KeepLogs: true}) != nil {
			return false
		}
	}
	return true
}
