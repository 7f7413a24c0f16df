package fakeruntime

import (
	"fmt"
	"strconv"

	"probesim.dev/sim/virtual"
)

// sandbox is a pod sandbox.
type sandbox struct {
	Sandbox
	pod     *pod
	created virtual.Time // virtual time
	removed bool
}

func (r *Runtime) runPodSandbox(op *Op) error {
	p := op.pod
	if p == nil {
		return fmt.Errorf("the container runtime does not know pod %q: AddPod must come first", op.Call.PodUID)
	}
	s := &sandbox{pod: p, created: r.now, Sandbox: Sandbox{
		ID: op.ID, PodUID: p.UID, Namespace: p.Namespace, PodName: p.Name,
		Attempt: op.Call.Attempt, Ready: true, CreatedAt: r.Wall(r.now), IP: p.ip,
	}}
	r.sandboxes[s.ID] = s
	r.all.sandboxes = append(r.all.sandboxes, s)
	p.views.sandboxes = append(p.views.sandboxes, s)
	r.markChanged(p)
	op.sandbox = s
	return nil
}

// stopPodSandbox kills the running containers of a sandbox. As in containerd, a sandbox that does
// not exist is no error.
func (r *Runtime) stopPodSandbox(op *Op) error {
	if s := op.sandbox; s != nil && s.Ready {
		r.killAll(s, op.Call.Cause)
		s.Ready, s.IP = false, ""
		r.markChanged(s.pod)
	}
	return nil
}

// removePodSandbox removes a sandbox and all its containers.
func (r *Runtime) removePodSandbox(op *Op) error {
	s := op.sandbox
	if s == nil {
		return nil
	}
	r.killAll(s, op.Call.Cause)
	for _, c := range s.containers() {
		r.forget(c)
	}
	s.removed = true
	delete(r.sandboxes, s.ID)
	delete(s.pod.names, s.pod.name(s.Attempt))
	r.all.sandboxes = without(r.all.sandboxes, s)
	s.pod.views.sandboxes = without(s.pod.views.sandboxes, s)
	r.markChanged(s.pod)
	return nil
}

func (r *Runtime) killAll(s *sandbox, cause int64) {
	for _, c := range s.containers() {
		r.kill(c, cause)
	}
}

// containers returns the containers of a sandbox in the order of their creation.
func (s *sandbox) containers() []*container {
	var in []*container
	for _, c := range s.pod.views.containers {
		if c.sandbox == s {
			in = append(in, c)
		}
	}
	return in
}

// name returns the name of a sandbox in the runtime, which is also the suffix of the names of its
// containers.
func (p *pod) name(attempt int) string {
	return p.Name + "_" + p.Namespace + "_" + p.UID + "_" + strconv.Itoa(attempt)
}
