package kubelet

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/prober"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// crashLoopBackOff is the reason of a container that waits for its back-off to end.
const crashLoopBackOff = "CrashLoopBackOff"

// startOrBackOff starts a container, unless its back-off says to wait, and reports whether it did. The back-off counts from the end of
// the newest instance that the sync began with, by the wall clock; one that was still running then does not count, and
// leaves no trace in the back-off (doBackOff in kuberuntime_manager.go at v1.37.0). Another image has a back-off
// of its own (GetBackoffKey in helpers.go).
func (k *Kubelet) startOrBackOff(p *sim.Proc, u podUpdate, c *v1.Container, s *podStatus, sandboxID string, did *syncResult) bool {
	key := startKey{u.pod.UID, c.Name}
	u.cause = k.causeOfStart(u, c, s)
	if exited := newestExited(s, c.Name); exited != nil {
		item, finished := string(u.pod.UID)+"/"+c.Name+"/"+c.Image, k.wall(exited.FinishedAt)
		if k.backOff.isInBackOffSince(item, finished, k.now()) {
			delay := k.backOff.get(item)
			step := k.event(u.pod, c.Name, v1.EventTypeWarning, "BackOff",
				fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.Name, formatPod(u.pod)), u.cause)
			k.note(trace.Record{Kind: trace.BackOff, Cause: step, Pod: podName(u.pod), Container: c.Name, Instance: exited.Instance, Took: delay})
			k.reasons[key] = startReason{crashLoopBackOff, backOffMessage(u.pod, c, delay), step}
			did.err = true
			if expires := exited.FinishedAt.Add(delay); did.expires == nil || expires < *did.expires {
				did.expires = &expires
			}
			return false
		}
		k.backOff.next(item, finished, k.now(), k.sim.Now())
	}
	if failed := k.startContainer(p, u, c, s, sandboxID); failed != nil {
		k.reasons[key], did.err = *failed, true
		return false
	}
	delete(k.reasons, key)
	return true
}

func newestExited(s *podStatus, name string) *fakeruntime.Container {
	for i := range s.containers {
		if s.containers[i].Name == name && s.containers[i].State == fakeruntime.Exited {
			return &s.containers[i]
		}
	}
	return nil
}

// startContainer gets the image, creates the container and starts it, or returns why it could not
// (pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) startContainer(p *sim.Proc, u podUpdate, c *v1.Container, s *podStatus, sandboxID string) *startReason {
	if failed := k.ensureImage(p, u, c); failed != nil {
		k.failedToStart(u, c, failed.reason)
		return failed
	}
	attempt := k.runtime.NextAttempt(string(u.pod.UID), c.Name)
	if before := s.find(c.Name); before != nil {
		attempt = before.Attempt + 1
	}
	fails := func(reason string, err error) *startReason {
		k.failedToStart(u, c, fakeruntime.Description(err))
		return &startReason{reason, fakeruntime.Description(err), 0}
	}
	// The image's user is looked up for the container's configuration.
	if err := k.do(p, fakeruntime.Call{Method: fakeruntime.ImageStatus, PodUID: string(u.pod.UID), Image: c.Image}); err != nil {
		return fails("CreateContainerConfigError", err)
	}
	_, stopSignal := podutil.StopSignal(c)
	op := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.CreateContainer, SandboxID: sandboxID, PodUID: string(u.pod.UID), Name: c.Name, Image: c.Image, Attempt: attempt,
		StopSignal: stopSignal,
	})
	if op.Err != nil {
		return fails("CreateContainerError", op.Err)
	}
	id, created, started := op.ID, "Created container: "+c.Name, "Started container "+c.Name
	if k.profile.ShortContainerEvents {
		created, started = "Container created", "Container started"
	}
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Created", created, u.cause)
	if err := k.do(p, fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: id, Cause: u.cause}); err != nil {
		// Events of one container name it in place of its ID, so that they are alike (recordContainerEvent).
		k.failedToStart(u, c, strings.ReplaceAll(fakeruntime.Description(err), id, c.Name))
		return &startReason{"RunContainerError", fakeruntime.Description(err), 0}
	}
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Started", started, u.cause)
	return k.runPostStart(p, u, c, id)
}

// failedToStart leaves an event about a container that could not be started.
func (k *Kubelet) failedToStart(u podUpdate, c *v1.Container, why string) {
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeWarning, "Failed", "Error: "+why, u.cause)
}

// RunInContainer runs the command of an exec probe.
func (k *Kubelet) RunInContainer(p *sim.Proc, c prober.Command) prober.Output {
	if k.profile.TerminationCancelsProbes && k.workers.canceled(c.PodUID) {
		return prober.Output{Err: fakeruntime.ErrCanceled}
	}
	ref, _ := (*c.Memo).(fakeruntime.Ref)
	op := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.ExecSync, ContainerID: c.ContainerID[len(containerIDPrefix):], Ref: ref,
		Probe: c.Probe, Command: c.Args, Timeout: c.Timeout, Retry: c.Retry,
	})
	*c.Memo = op.Ref()
	out := prober.Output{Text: op.Output, ExitCode: op.ExitCode, TimedOut: op.TimedOut, Err: op.Err}
	k.runtime.Release(op)
	return out
}
