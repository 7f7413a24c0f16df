package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// At says how a pod, or one container of it, is at a moment and why: the state of each container, and the chain of what
// changed it last: a change of Ready of the pod, a restart, or a stop that is under way. After the end of the run all is as it
// was then.
func (r *Run) At(pod, container string, t time.Duration) Explanation {
	e := Explanation{Pod: pod, Container: container}
	m := &moment{Run: r, pod: pod, t: min(t, r.end)}
	e.State = m.describe(container)
	if change := m.lastChange(container); change != nil {
		e.Chain = r.chain(change)
	}
	return e
}

// moment is a pod at a time.
type moment struct {
	*Run
	pod string
	t   time.Duration
}

// lastChange returns the record of what changed the pod or container last, or nil.
func (m *moment) lastChange(container string) *trace.Record {
	var change *trace.Record
	if flips := m.flips(m.pod, m.t); container == "" && len(flips) > 0 {
		change = flips[len(flips)-1]
	}
	for _, c := range m.containers() {
		life := m.last(c.Name, trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited)
		switch {
		case life == nil || container != "" && c.Name != container || change != nil && life.Step < change.Step:
		case container != "", life.Kind == trace.ContainerStopping, life.Kind == trace.ContainerStarted && life.Instance > 0:
			change = life
		}
	}
	return change
}

// find returns the last record about the pod up to now that fits, or nil.
func (m *moment) find(fits func(*trace.Record) bool) *trace.Record {
	for _, rec := range slices.Backward(m.records) {
		if rec.T <= m.t && rec.Pod == m.pod && fits(rec) {
			return rec
		}
	}
	return nil
}

// last returns the last record of a kind about a container up to now, or nil.
func (m *moment) last(container string, kinds ...trace.Kind) *trace.Record {
	return m.find(func(rec *trace.Record) bool { return rec.Container == container && slices.Contains(kinds, rec.Kind) })
}

func (m *moment) describe(container string) []string {
	name := trace.Clean(trace.PodName(m.pod))
	if m.last("", trace.PodAdded) == nil {
		return []string{fmt.Sprintf("%s has not been added yet", name)}
	}
	if gone := m.last("", trace.PodRemoved); gone != nil {
		return []string{fmt.Sprintf("%s has been gone since %s", name, at(gone.T))}
	}
	lines := []string{m.podLine(name)}
	if deleted := m.last("", trace.PodDeleteRequested); deleted != nil {
		lines = append(lines, fmt.Sprintf("the deletion of %s was requested at %s", name, at(deleted.T)))
	}
	if down := m.kubeletDown(); down != nil {
		lines = append(lines, fmt.Sprintf("the kubelet has not run since %s", at(down.T)))
	}
	for _, c := range m.containers() {
		if container == "" || c.Name == container {
			lines = append(lines, m.containerLine(c))
		}
	}
	return lines
}

// containers returns the containers of the pod, init containers first.
func (m *moment) containers() []*v1.Container {
	var all []*v1.Container
	if pod := m.pods[m.pod]; pod != nil {
		for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				all = append(all, &list[i])
			}
		}
	}
	return all
}

func (m *moment) kubeletDown() *trace.Record {
	for _, rec := range slices.Backward(m.records) {
		if rec.T <= m.t && (rec.Kind == trace.KubeletStarted || rec.Kind == trace.KubeletStopped) {
			if rec.Kind == trace.KubeletStopped {
				return rec
			}
			return nil
		}
	}
	return nil
}

// podLine says what the API server has of the pod.
func (m *moment) podLine(name string) string {
	status := m.apiStatus()
	if status == nil {
		return fmt.Sprintf("%s has no status yet", name)
	}
	text := fmt.Sprintf("%s is %s", name, status.Phase)
	if status.Reason != "" {
		text += fmt.Sprintf(" (%s)", trace.Clean(status.Reason))
	}
	flips := m.flips(m.pod, m.t)
	switch {
	case status.Ready:
		return text + " and Ready since " + at(flips[len(flips)-1].T)
	case len(flips) > 0:
		return text + " and not Ready since " + at(flips[len(flips)-1].T)
	}
	return text + " and has not been Ready yet"
}

// apiStatus returns the status of the pod as the API server has it, or nil.
func (m *moment) apiStatus() *trace.PodStatus {
	if rec := m.last("", trace.StatusPatched); rec != nil {
		return rec.Status
	}
	return nil
}

// containerLine says what a container does, and why it is not ready if it is not.
func (m *moment) containerLine(c *v1.Container) string {
	name := trace.Clean(c.Name)
	life := m.last(c.Name, trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited)
	switch {
	case life == nil:
		return name + " has not been started yet" + m.waitsFor(c)
	case life.Kind == trace.ContainerExited:
		return m.exitedLine(c, name, life)
	}
	start := m.last(c.Name, trace.ContainerStarted)
	text := fmt.Sprintf("%s has run since %s", name, at(start.T))
	if start.Instance > 0 {
		text += fmt.Sprintf(" (restart %d)", start.Instance)
	}
	if life.Kind == trace.ContainerStopping {
		text += fmt.Sprintf("; it was told to stop at %s and is killed at %s unless it exits before", at(life.T), at(life.T+time.Duration(life.GraceSeconds)*time.Second))
	}
	return text + m.notReady(c, start)
}

// waitsFor says what a container that has not been started waits for, if that is another.
func (m *moment) waitsFor(c *v1.Container) string {
	for _, before := range m.containers() {
		if before.Name == c.Name {
			break
		}
		if !m.isInit(before.Name) {
			continue
		}
		exit, start := m.last(before.Name, trace.ContainerExited), m.last(before.Name, trace.ContainerStarted)
		sidecar := isSidecar(before)
		switch {
		case sidecar && (start == nil || before.StartupProbe != nil && !m.hasStarted(before, start)):
			return fmt.Sprintf(": the sidecar %s has not started up before it", trace.Clean(before.Name))
		case !sidecar && (exit == nil || exit.ExitCode != 0 || start != nil && start.Step > exit.Step):
			return fmt.Sprintf(": the init container %s has not succeeded before it", trace.Clean(before.Name))
		}
	}
	if what := m.postStart(subject{m.pod, c.Name}, m.t-soon-1, m.t); len(what) > 0 {
		return ": " + strings.Join(what, "; ")
	}
	return m.lastWarning(c.Name, 0)
}

func isSidecar(c *v1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
}

func (m *moment) isInit(name string) bool {
	return slices.ContainsFunc(m.pods[m.pod].Spec.InitContainers, func(c v1.Container) bool { return c.Name == name })
}

// lastWarning says what was the matter with a container since a step, if anything was.
func (m *moment) lastWarning(container string, since int64) string {
	warning := m.find(func(rec *trace.Record) bool {
		return rec.Kind == trace.Event && rec.Type == "Warning" && (rec.Container == container || rec.Container == "") && rec.Step > since && rec.Reason != "Unhealthy"
	})
	if warning == nil {
		return ""
	}
	return fmt.Sprintf(": %s at %s, %s", warning.Reason, at(warning.T), trace.Clean(warning.Message))
}

// exitedLine says why a container that has ended is not started again.
func (m *moment) exitedLine(c *v1.Container, name string, exit *trace.Record) string {
	if exit.ExitCode == 0 && m.isInit(c.Name) && !isSidecar(c) {
		return fmt.Sprintf("%s, an init container, succeeded at %s", name, at(exit.T))
	}
	text := fmt.Sprintf("%s exited at %s with code %d and has not been started again", name, at(exit.T), exit.ExitCode)
	backOff := m.find(func(rec *trace.Record) bool {
		return rec.Kind == trace.Event && rec.Reason == "BackOff" && rec.Container == c.Name && rec.Step > exit.Step
	})
	switch {
	case backOff != nil:
		if delay, known := m.backOff[backOff.Step]; known {
			text += fmt.Sprintf(": its back-off of %s is over at %s", span(delay), at(exit.T+delay))
			if exit.T+delay < m.t {
				text += ", and the kubelet has not looked at the pod since"
			}
			return text
		}
		return text + ": it waits for its back-off"
	case m.last("", trace.PodDeleteRequested) != nil:
		return text + ", as the pod is being deleted"
	}
	if what := m.inTheWay(subject{m.pod, c.Name}, exit.T, m.t); len(what) > 0 {
		return text + ": " + strings.Join(what, "; ")
	}
	if busy := m.stoppingOther(c.Name); busy != "" {
		return text + busy
	}
	if status := m.apiStatus(); status != nil && (status.Phase == "Succeeded" || status.Phase == "Failed") {
		return text + fmt.Sprintf(", as the pod has come to its end (%s)", status.Phase)
	}
	return text + m.lastWarning(c.Name, exit.Step)
}

// stoppingOther says that the pod's worker waits for the end of another container, if it does.
func (m *moment) stoppingOther(container string) string {
	for _, c := range m.containers() {
		life := m.last(c.Name, trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited)
		if c.Name != container && life != nil && life.Kind == trace.ContainerStopping {
			return fmt.Sprintf(": the pod's worker has been stopping %s since %s, with a grace of %ds", trace.Clean(c.Name), at(life.T), life.GraceSeconds)
		}
	}
	return ""
}
