package kubelet

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
)

// initProgress is how far a pod has come with its init containers, found from the last one to the first.
type initProgress struct {
	k       *Kubelet
	pod     *v1.Pod
	actions *podActions
	start   []int // last first

	initialized bool // nothing keeps the regular containers from being started
	begun       bool // a later init container, or a regular one, has been started
}

// computeInitContainerActions decides about the init containers, by what the sandbox in use has of them: which
// of them comes next, and which sidecars are to be killed and started again. It reports whether the regular
// containers are to be looked at: the pod is initialized (function of that name in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (k *Kubelet) computeInitContainerActions(pod *v1.Pod, s *podStatus, actions *podActions) bool {
	if len(pod.Spec.InitContainers) == 0 {
		return true
	}
	seen, ready := s, s.hasRunningRegular(pod)
	if k.profile.InitializedBySandbox {
		seen, ready = &podStatus{containers: s.active()}, s.hasActiveRegular(pod)
	}
	p := &initProgress{k: k, pod: pod, actions: actions, initialized: ready, begun: ready}
	for i := range slices.Backward(pod.Spec.InitContainers) {
		p.look(i, seen.find(pod.Spec.InitContainers[i].Name))
		if actions.killPod {
			return false
		}
	}
	if !p.begun {
		p.start = append(p.start, 0)
	}
	for _, i := range slices.Backward(p.start) {
		actions.startInit = append(actions.startInit, &pod.Spec.InitContainers[i])
	}
	return p.initialized
}

// look decides about one init container; rc is nil if it has not been started in this sandbox, or if it is gone.
func (p *initProgress) look(i int, rc *fakeruntime.Container) {
	sidecar := podutil.IsRestartableInitContainer(&p.pod.Spec.InitContainers[i])
	switch {
	case p.begun && !sidecar:
		return // its work is done
	case rc == nil:
		if p.begun {
			p.start = append(p.start, i)
		}
		return
	case rc.State == fakeruntime.Created, rc.State == fakeruntime.Exited && sidecar:
		p.start = append(p.start, i)
	case sidecar:
		p.lookAtSidecar(i, rc)
	case rc.State == fakeruntime.Running:
	case rc.ExitCode == 0:
		p.succeed(i)
	case shouldBeRestarted(p.pod, &p.pod.Spec.InitContainers[i], rc):
		p.start = append(p.start, i)
	default:
		p.actions.killPod = true
	}
	p.begun = true
}

// succeed has what comes after init container i begin, if that has not begun before.
func (p *initProgress) succeed(i int) {
	switch {
	case i == len(p.pod.Spec.InitContainers)-1:
		p.initialized = true
	case !p.begun:
		p.start = append(p.start, i+1)
	}
}

// lookAtSidecar decides about a running sidecar: its startup probe holds up what comes after it, also a restart for
// another image, and its other probes do not.
func (p *initProgress) lookAtSidecar(i int, rc *fakeruntime.Container) {
	c, id := &p.pod.Spec.InitContainers[i], containerIDPrefix+rc.ID
	if c.StartupProbe != nil {
		r, known := p.k.results.Startup.Get(id)
		if known && r == results.Failure {
			p.restart(i, p.k.killForProbe(rc, initContainer, killStartupProbe))
		}
		if !known || r != results.Success {
			return
		}
	}
	p.succeed(i)
	if rc.Image != c.Image {
		p.restart(i, p.k.killForImage(rc, initContainer))
		return
	}
	if r, known := p.k.results.Liveness.Get(id); c.LivenessProbe != nil && known && r == results.Failure {
		p.restart(i, p.k.killForProbe(rc, initContainer, killLivenessProbe))
	}
}

// initContainer is what events call a sidecar, too.
const initContainer = "Init container"

func (p *initProgress) restart(i int, kill containerKill) {
	p.actions.kill = append(p.actions.kill, kill)
	p.start = append(p.start, i)
}

// removeInitContainers removes all but the newest of the init containers of each name that have ended, or with
// keep 0 all init containers, which have been stopped before (pruneInitContainersBeforeStart and
// purgeInitContainers in kuberuntime_container.go at v1.37.0).
func (k *Kubelet) removeInitContainers(p *sim.Proc, pod *v1.Pod, s *podStatus, keep int) {
	var names [][]string // IDs to remove
	for i := range pod.Spec.InitContainers {
		var ids []string
		for _, c := range s.containers {
			if c.Name == pod.Spec.InitContainers[i].Name && (c.State == fakeruntime.Exited || keep == 0) {
				ids = append(ids, c.ID)
			}
		}
		if len(ids) > keep {
			names = append(names, ids[keep:])
		}
	}
	choose.Shuffle(k.sim, "init containers to remove of pod "+podName(pod), names)
	for _, ids := range names {
		for _, id := range ids {
			k.removeContainer(p, id)
		}
	}
}
