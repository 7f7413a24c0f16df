package fakeruntime

import (
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Kill describes a kill of a container from outside, such as by the OOM killer.
type Kill struct {
	PodUID    string
	Container string
	Reason    string // reason in the status of the container, such as OOMKilled
	Sigterm   bool   // send SIGTERM instead of SIGKILL; Reason and Remove have no effect
	Remove    bool   // also remove the container from the runtime, even if it has already ended
}

// Kill ends the newest container of a name with SIGKILL at time now, or sends it SIGTERM. With
// Remove, it also removes the container. It reports false if the container does not exist, or has
// ended and Remove is not set. Events that are due until now happen first, as in Submit.
func (r *Runtime) Kill(now virtual.Time, k Kill) bool {
	r.run(now)
	c := r.newest(k.PodUID, k.Container)
	if k.Sigterm {
		return r.terminate(c, 0)
	}
	if c == nil || c.State != Running && !k.Remove {
		return false
	}
	step := r.recordKill(c, k.Reason, 0)
	if c.State == Running {
		c.stopping, c.killReason = step, k.Reason
		r.kill(c, step)
	}
	if k.Remove {
		c.config.step = max(c.config.step, step)
		r.forget(c)
		r.markChanged(c.pod)
	}
	return true
}

// terminate sends SIGTERM to a running container, from outside or by its hook. Its program reacts
// as to a stop signal, but the runtime does not know of it: no grace period ends with SIGKILL, and
// nothing waits for the exit.
func (r *Runtime) terminate(c *container, cause int64) bool {
	if c == nil || c.State != Running {
		return false
	}
	step := r.recordKill(c, "SIGTERM", cause)
	if !c.instance.signaled {
		if c.stopping == 0 {
			c.stopping = step
		}
		c.onSignal = c.instance.signal(r.now, sigTERM)
		c.scheduleListener(r.now)
		c.exit = c.exit.earlier(c.onSignal)
		r.scheduleEnd(c)
	}
	return true
}

func (r *Runtime) recordKill(c *container, reason string, cause int64) (step int64) {
	rec := c.newRecord(r.now, trace.Step, cause)
	rec.Reason, rec.Message = "kill", reason
	return r.record(rec)
}

// newest returns the last created container of a name, or nil.
func (r *Runtime) newest(podUID, name string) *container {
	if p := r.pods[podUID]; p != nil {
		for _, c := range slices.Backward(p.views.containers) {
			if c.Name == name {
				return c
			}
		}
	}
	return nil
}

// NextAttempt returns the attempt after the highest one whose logs are on disk, or 0. Logs outlive
// a container that the runtime lost, but not one that the kubelet removed with its logs
// (calcRestartCountByLogDir in pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (r *Runtime) NextAttempt(podUID, container string) int {
	if c := r.config(podUID, container); c != nil && len(c.logs) > 0 {
		return slices.Max(c.logs) + 1
	}
	return 0
}
