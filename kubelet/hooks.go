package kubelet

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/sim"
)

// Lifecycle hooks, as the runtime is told of them.
const (
	postStart = "postStart"
	preStop   = "preStop"
)

// postStartHookError is the reason of a container that waits because its hook has failed
// (pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
const postStartHookError = "PostStartHookError"

// hookRun is a run of a hook in a container.
type hookRun struct {
	pod         *v1.Pod
	container   *v1.Container
	containerID string
	hook        string
	handler     *v1.LifecycleHandler
}

// runHook runs a hook to its end, however long that takes: it has no timeout of its own, and the end of its
// container ends a command or a request, but no sleep. It returns why the hook failed, nothing if it did not. The
// kubelet knows no TCP sockets in hooks, which the API takes: those fail at once (Run in
// pkg/kubelet/lifecycle/handlers.go at v1.37.0).
func (k *Kubelet) runHook(p *sim.Proc, h hookRun) string {
	switch {
	case h.handler.Exec != nil:
		return k.runExecHook(p, h)
	case h.handler.HTTPGet != nil:
		if err := k.runHTTPHook(p, h); err != nil {
			return fmt.Sprintf("HTTP lifecycle hook (%s) for Container %q in Pod %q failed - error: %v",
				h.handler.HTTPGet.Path, h.container.Name, formatPod(h.pod), err)
		}
		return ""
	case h.handler.Sleep != nil:
		p.Sleep(afterSeconds(p.Now(), h.handler.Sleep.Seconds).Sub(p.Now()))
		return ""
	}
	return fmt.Sprintf("Cannot run handler: invalid handler: %v", h.handler)
}

// runExecHook runs the command of a hook.
func (k *Kubelet) runExecHook(p *sim.Proc, h hookRun) string {
	op := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.ExecSync, ContainerID: h.containerID, Hook: h.hook, Command: h.handler.Exec.Command,
	})
	err := op.Err
	if err == nil && op.ExitCode != 0 {
		err = fmt.Errorf("command exited with %d", op.ExitCode)
	}
	output := op.Output
	k.runtime.Release(op)
	if err == nil {
		return ""
	}
	return fmt.Sprintf("Exec lifecycle hook (%v) for Container %q in Pod %q failed - error: %v, message: %q",
		h.handler.Exec.Command, h.container.Name, formatPod(h.pod), err, output)
}

// runPostStart runs the hook of a container that has just been started, if it has one. One that fails has the
// container killed; then the reason is returned.
func (k *Kubelet) runPostStart(p *sim.Proc, u podUpdate, c *v1.Container, id string) *startReason {
	if c.Lifecycle == nil || c.Lifecycle.PostStart == nil {
		return nil
	}
	message := k.runHook(p, hookRun{u.pod, c, id, postStart, c.Lifecycle.PostStart})
	if message == "" {
		return nil
	}
	step := k.event(u.pod, c.Name, v1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed", k.runtime.Step(id))
	k.killContainer(p, u.pod, containerKill{
		container: fakeruntime.Container{ID: id, Name: c.Name}, reason: killPostStart, message: string(killPostStart), cause: cmp.Or(step, u.cause),
	}, nil, nil)
	return &startReason{postStartHookError, message, step}
}

// runPreStop runs the hook of a container that is about to be stopped, if it has one and there is time for it,
// and returns the whole seconds that it took. When the grace period is over it is waited for no longer, but
// goes on (executePreStopHook in kuberuntime_container.go at v1.37.0).
func (k *Kubelet) runPreStop(p *sim.Proc, pod *v1.Pod, kill containerKill, grace int64) int64 {
	c := podutil.Find(pod, kill.container.Name)
	if c == nil || c.Lifecycle == nil || c.Lifecycle.PreStop == nil || grace <= 0 {
		return 0
	}
	start, waiting := p.Now(), true
	k.sim.Go("preStop hook of "+podName(pod)+"/"+c.Name, func(hook *sim.Proc) {
		if k.runHook(hook, hookRun{pod, c, kill.container.ID, preStop, c.Lifecycle.PreStop}) != "" {
			k.ContainerEvent(pod, c.Name, v1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed", kill.cause)
		}
		if waiting {
			p.Interrupt()
		}
	})
	p.WakeAt(afterSeconds(start, grace))
	p.Park()
	waiting = false
	return int64(p.Now().Sub(start) / time.Second)
}
