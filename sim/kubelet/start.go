package kubelet

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"

	"probesim.dev/fakeruntime"
	"probesim.dev/prober"
	"probesim.dev/sim"
	"probesim.dev/sim/kubeletconfig"
	"probesim.dev/sim/profile"
	"probesim.dev/sim/trace"
)

// crashLoopBackOff is the reason of a container that waits for its back-off to end.
const crashLoopBackOff = "CrashLoopBackOff"

// maxImagePullRequests is how many pulls wait for the one that is under way
// (pkg/kubelet/images/puller.go at v1.37.0).
const maxImagePullRequests = 10

// newBackOff returns the crash-loop back-off. Its clock is set before each use: nothing waits on it. A maximum in the
// configuration bounds the first delay too (newCrashLoopBackOff in pkg/kubelet/kubelet.go at v1.37.0).
func newBackOff(p profile.Profile, config kubeletconfig.Config, c *clocktesting.FakeClock) *flowcontrol.Backoff {
	longest := p.CrashLoopBackOffMax
	if p.CrashLoopBackOffMaxInConfig {
		longest = cmp.Or(config.MaxContainerRestartPeriod, longest)
	}
	b := flowcontrol.NewFakeBackOff(min(p.CrashLoopBackOffInitial, longest), longest, c)
	b.HasExpiredFunc = func(event, lastUpdate time.Time, _ time.Duration) bool {
		return event.Sub(lastUpdate) > p.CrashLoopBackOffReset
	}
	return b
}

// startOrBackOff starts a container, unless its back-off says to wait, and reports whether it did. The back-off counts from the end of
// the newest instance that the sync began with; one that was still running then does not count, and
// leaves no trace in the back-off (doBackOff in kuberuntime_manager.go at v1.37.0). Another image has a back-off
// of its own (GetBackoffKey in helpers.go).
func (k *Kubelet) startOrBackOff(p *sim.Proc, u podUpdate, c *v1.Container, s *podStatus, sandboxID string, did *syncResult) bool {
	key := startKey{u.pod.UID, c.Name}
	if exited := newestExited(s, c.Name); exited != nil {
		k.backOffClock.SetTime(k.now())
		item, finished := string(u.pod.UID)+"/"+c.Name+"/"+c.Image, k.wall(exited.FinishedAt)
		if k.backOff.IsInBackOffSince(item, finished) {
			delay := k.backOff.Get(item)
			k.ContainerEvent(u.pod, c.Name, v1.EventTypeWarning, "BackOff",
				fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.Name, formatPod(u.pod)), u.cause)
			k.note(trace.Record{Kind: trace.BackOff, Cause: u.cause, Pod: podName(u.pod), Container: c.Name, Took: delay})
			k.reasons[key] = startReason{crashLoopBackOff, backOffMessage(u.pod, c, delay)}
			did.err = true
			if expires := exited.FinishedAt + delay; did.expires == nil || expires < *did.expires {
				did.expires = &expires
			}
			return false
		}
		k.backOff.Next(item, finished)
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

// startContainer gets the image, creates the container and starts it
// (pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) startContainer(p *sim.Proc, u podUpdate, c *v1.Container, s *podStatus, sandboxID string) *startReason {
	k.ensureImage(p, u, c)
	attempt := k.runtime.NextAttempt(string(u.pod.UID), c.Name)
	if before := s.find(c.Name); before != nil {
		attempt = before.Attempt + 1
	}
	// The image's user is looked up for the container's configuration.
	k.do(p, fakeruntime.Call{Method: fakeruntime.ImageStatus, PodUID: string(u.pod.UID), Image: c.Image})
	id := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.CreateContainer, SandboxID: sandboxID, PodUID: string(u.pod.UID), Name: c.Name, Image: c.Image, Attempt: attempt,
	}).ID
	created, started := "Created container: "+c.Name, "Started container "+c.Name
	if k.profile.ShortContainerEvents {
		created, started = "Container created", "Container started"
	}
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Created", created, u.cause)
	k.do(p, fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: id, Cause: u.cause})
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Started", started, u.cause)
	return k.runPostStart(p, u, c, id)
}

// pullRequest asks the image puller for an image.
type pullRequest struct {
	podUID string
	image  string
	proc   *sim.Proc
	took   time.Duration
}

// ensureImage pulls the image if the policy asks for it or the node does not have it
// (pkg/kubelet/images/image_manager.go at v1.37.0).
func (k *Kubelet) ensureImage(p *sim.Proc, u podUpdate, c *v1.Container) {
	if c.ImagePullPolicy != v1.PullAlways {
		if op := k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ImageStatus, PodUID: string(u.pod.UID), Image: c.Image}); op.ID != "" {
			present := fmt.Sprintf("Container image %q already present on machine", c.Image)
			if k.profile.ImageAccessInPulledEvent {
				present += " and can be accessed by the pod"
			}
			k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Pulled", present, u.cause)
			return
		}
	}
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", c.Image), u.cause)
	start := p.Now()
	r := &pullRequest{podUID: string(u.pod.UID), image: c.Image, proc: p}
	k.puller.Send(p, r)
	p.Park()
	waited := (p.Now() - start).Truncate(time.Millisecond)
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Pulled",
		fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.",
			c.Image, r.took.Truncate(time.Millisecond), waited, fakeruntime.ImageSize), u.cause)
}

// pullImages pulls one image after the other, for all pods of the node, and looks up the size of each.
func (k *Kubelet) pullImages(p *sim.Proc) {
	for {
		r := k.puller.Recv(p)
		start := p.Now()
		k.do(p, fakeruntime.Call{Method: fakeruntime.PullImage, PodUID: r.podUID, Image: r.image})
		k.do(p, fakeruntime.Call{Method: fakeruntime.ImageStatus, Image: r.image})
		r.took = p.Now() - start
		r.proc.Wake()
	}
}

// RunInContainer runs the command of an exec probe.
func (k *Kubelet) RunInContainer(p *sim.Proc, c prober.Command) prober.Output {
	if k.profile.TerminationCancelsProbes && k.workers.canceled(c.PodUID) {
		return prober.Output{Err: fakeruntime.ErrCanceled}
	}
	op := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.ExecSync, ContainerID: c.ContainerID[len(containerIDPrefix):],
		Probe: c.Probe, Command: c.Args, Timeout: c.Timeout, Retry: c.Retry,
	})
	out := prober.Output{Text: op.Output, ExitCode: op.ExitCode, TimedOut: op.TimedOut, Err: op.Err}
	k.runtime.Release(op)
	return out
}
