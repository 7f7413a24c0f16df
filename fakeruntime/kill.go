package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Kill is the end of a container that comes from outside: neither its program nor the kubelet asked for it.
type Kill struct {
	PodUID    string
	Container string
	Reason    string // as the status of the container gives it, such as OOMKilled
	Remove    bool   // the container is gone from the runtime too, also one that has ended
}

// Kill ends a running container with SIGKILL at time now, or only removes the newest of its name if it has
// ended and is to be removed. It reports whether there was anything to do it to. What is due up to now
// happens first, as in Submit.
func (r *Runtime) Kill(now virtual.Time, k Kill) bool {
	r.run(now)
	c := r.newest(k.PodUID, k.Container)
	if c == nil || c.State != Running && !k.Remove {
		return false
	}
	rec := c.say(r.now, trace.Step, 0)
	rec.Reason, rec.Message = "kill", k.Reason
	step := r.record(rec)
	if c.State == Running {
		c.stopping, c.killReason = step, k.Reason
		r.kill(c, step)
	}
	if k.Remove {
		c.config.step = max(c.config.step, step)
		r.forget(c)
		r.change(c.pod)
	}
	return true
}

// newest returns the container of that name that was created last, or nil.
func (r *Runtime) newest(podUID, name string) *container {
	p := r.pods[podUID]
	if p == nil {
		return nil
	}
	var found *container
	for _, c := range p.views.containers {
		if c.Name == name {
			found = c
		}
	}
	return found
}

// NextAttempt returns the attempt that follows those of a container whose logs are there: also of one that was lost,
// but of none that the kubelet has removed with its logs (calcRestartCountByLogDir in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (r *Runtime) NextAttempt(podUID, container string) int {
	p := r.pods[podUID]
	if p == nil || p.containers[container] == nil || len(p.containers[container].logs) == 0 {
		return 0
	}
	return slices.Max(p.containers[container].logs) + 1
}
