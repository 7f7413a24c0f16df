package why

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// At describes the state of a pod at virtual time t, and explains the stop in progress, or else the
// last change: a change of Ready or a restart. If container is not empty, At describes only that
// container. A time after the end of the run counts as the end.
func (r *Run) At(pod, container string, t virtual.Time) Explanation {
	e := Explanation{Pod: pod, Container: container, Chain: []Link{}}
	m := &moment{Run: r, pod: pod, t: min(t, r.end)}
	e.State = m.describe(container)
	if change := m.lastChange(container); change != nil {
		e.Chain = r.chain(change)
	}
	return e
}

// moment is a pod at a virtual time. Its methods ignore later records.
type moment struct {
	*Run
	pod string
	t   virtual.Time
}

// lastChange returns the record of a stop in progress, or else of the last change of the pod or
// container, or nil.
func (m *moment) lastChange(container string) *trace.Record {
	var change, stop *trace.Record
	if flips := m.flips(m.pod, m.t); container == "" && len(flips) > 0 {
		change = flips[len(flips)-1]
	}
	for _, c := range m.containers() {
		if container != "" && c.Name != container {
			continue
		}
		if s := m.stop(c.Name); s != nil && (stop == nil || s.Step > stop.Step) {
			stop = s
		}
		life := m.last(c.Name, trace.ContainerStarted, trace.ContainerExited)
		if life != nil && (change == nil || life.Step > change.Step) && (container != "" || life.Instance > 0 ||
			life.Kind == trace.ContainerExited && !m.isInitSuccess(life)) {
			change = life
		}
	}
	if stop != nil {
		return stop
	}
	return change
}

// find returns the last matching record about the pod, or nil.
func (m *moment) find(matches func(*trace.Record) bool) *trace.Record {
	return last(m.records, func(rec *trace.Record) bool { return rec.T <= m.t && rec.Pod == m.pod && matches(rec) })
}

// last returns the last record of these kinds about a container, or nil. An empty name stands for
// the pod itself.
func (m *moment) last(container string, kinds ...trace.Kind) *trace.Record {
	return m.find(func(rec *trace.Record) bool {
		return rec.Container == container && slices.Contains(kinds, rec.Kind)
	})
}

func (m *moment) describe(container string) []string {
	name := nameOf(m.pod)
	if m.last("", trace.PodAdded) == nil {
		return []string{fmt.Sprintf("%s does not exist yet", name)}
	}
	if gone := m.last("", trace.PodRemoved); gone != nil {
		return []string{fmt.Sprintf("%s was removed at %s", name, m.at(gone.T))}
	}
	lines := []string{m.podLine(name)}
	if deleted, ending := m.last("", trace.PodDeleteRequested), m.terminating(); deleted != nil {
		lines = append(lines, fmt.Sprintf("%s has been terminating since %s", name, m.at(deleted.T)))
	} else if ending != "" {
		lines = append(lines, name+" terminates: "+ending)
	}
	if down := m.kubeletDown(); down != nil {
		lines = append(lines, fmt.Sprintf("the kubelet has been down since %s", m.at(down.T)))
	} else if out := m.outages(m.t, m.t, true); len(out) > 0 {
		lines = append(lines, strings.Join(out, "; "))
	}
	for _, c := range m.containers() {
		if container == "" || c.Name == container {
			lines = append(lines, m.containerLine(c))
		}
	}
	return lines
}

// terminating says why the kubelet terminates the pod, or "" if it does not, or because its
// containers have ended.
func (m *moment) terminating() string {
	for _, sync := range m.about[topic{trace.PodSync, subject{pod: m.pod}}] {
		if cause := m.cause(sync); sync.T <= m.t && sync.Reason == "terminating" && cause != nil {
			return m.clause(cause, sync, nil)
		}
	}
	return ""
}

// containers returns the containers of the pod, init containers first.
func (m *moment) containers() []*v1.Container {
	if pod := m.pods[m.pod]; pod != nil {
		return slices.Collect(podutil.Containers(&pod.Spec))
	}
	return nil
}

// kubeletDown returns the stop of the kubelet since which it has been down, or nil.
func (m *moment) kubeletDown() *trace.Record {
	rec := last(m.about[kubelet], func(rec *trace.Record) bool { return rec.T <= m.t })
	if rec == nil || rec.Kind != trace.KubeletStopped {
		return nil
	}
	return rec
}

// podLine describes the status of the pod in the API server.
func (m *moment) podLine(name string) string {
	status := m.apiStatus()
	if status == nil {
		return fmt.Sprintf("%s has no status from the kubelet yet", name)
	}
	text := fmt.Sprintf("%s is %s", name, status.Phase)
	if status.Reason != "" {
		text += fmt.Sprintf(" (%s)", printable.Text(status.Reason))
	}
	flips := m.flips(m.pod, m.t)
	if len(flips) == 0 {
		return text + ", not Ready yet" + m.closedGates(status)
	}
	since := "Ready since " + m.at(flips[len(flips)-1].T)
	if status.Ready {
		return text + ", " + since
	}
	return text + ", not " + since + m.closedGates(status)
}

// closedGates names the readiness gates of a pod that is not Ready although its containers are:
// somebody must set their conditions.
func (m *moment) closedGates(status *trace.PodStatus) string {
	pod := m.pods[m.pod]
	if !status.ContainersReady || pod == nil || len(pod.Spec.ReadinessGates) == 0 {
		return ""
	}
	var names []string
	for _, g := range pod.Spec.ReadinessGates {
		names = append(names, string(g.ConditionType))
	}
	return ": its containers are ready, and somebody must set the condition of its " +
		printable.Plural(len(names), "readiness gate") + " " + printable.Text(strings.Join(names, ", "))
}

// apiStatus returns the status of the pod in the API server, or nil.
func (m *moment) apiStatus() *trace.PodStatus {
	if rec := m.last("", trace.StatusPatched); rec != nil {
		return rec.Status
	}
	return nil
}

// containerLine describes a container: running, stopping, exited or waiting, and why it is not
// ready.
func (m *moment) containerLine(c *v1.Container) string {
	name := printable.Text(c.Name)
	life := m.last(c.Name, trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited)
	switch {
	case life == nil:
		return name + " has not started yet" + m.startBlockedBy(c)
	case life.Kind == trace.ContainerExited:
		return m.exitedLine(c, name, life)
	}
	start := m.last(c.Name, trace.ContainerStarted)
	text := fmt.Sprintf("%s has been running since %s", name, m.at(start.T))
	if start.Instance > 0 {
		text += fmt.Sprintf(" (restart %d)", start.Instance)
	}
	if stop := m.stop(c.Name); stop != nil {
		text += m.stopping(c, stop)
	}
	text += m.inPostStart(start)
	if lease := m.leaseOf(containerOf(start), m.t); lease != nil {
		text += "; it " + lease.words(m.Run, start)
	}
	return text + m.probeStates(c, start)
}

// startBlockedBy says what a container that has not started waits for.
func (m *moment) startBlockedBy(c *v1.Container) string {
	for _, before := range m.containers() {
		if before.Name == c.Name {
			break
		}
		if !m.isInit(before.Name) {
			continue
		}
		exit, start := m.last(before.Name, trace.ContainerExited), m.last(before.Name, trace.ContainerStarted)
		sidecar := podutil.IsRestartableInitContainer(before)
		switch {
		case sidecar && (start == nil || before.StartupProbe != nil && !m.probing(before, start, trace.Startup).
			hasSucceeded()):
			return fmt.Sprintf(": it waits for the sidecar %s to start", printable.Text(before.Name))
		case !sidecar && (exit == nil || exit.ExitCode != 0 || start != nil && start.Step > exit.Step):
			return fmt.Sprintf(": it waits for the init container %s to succeed", printable.Text(before.Name))
		}
	}
	for _, other := range m.containers() {
		start := m.last(other.Name, trace.HookStarted)
		if start != nil && start.Reason == "postStart" && m.hook(start).end > m.t {
			return fmt.Sprintf(": the pod worker has been running the postStart hook of %s since %s, until %s",
				printable.Text(other.Name), m.at(start.T), m.at(m.hook(start).end))
		}
	}
	return m.lastWarning(c.Name, 0)
}

// inPostStart says that an instance runs its postStart hook. The kubelet runs it in the sync that
// starts the container, and shows the start after it (startContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go at v1.37.0).
func (m *moment) inPostStart(start *trace.Record) string {
	hook := m.ofInstance(start, start.Step, trace.HookStarted, "postStart")
	if hook == nil || hook.T > m.t || m.hook(hook).end <= m.t {
		return ""
	}
	until := "and does not end in this run"
	if end := m.hook(hook).end; end < m.end {
		until = "until " + m.at(end)
	}
	return fmt.Sprintf("; its postStart hook has run since %s, %s: up to its end, the status does not show that the "+
		"container runs, and no probe runs", m.at(hook.T), until)
}

func (m *moment) isInit(name string) bool {
	return slices.ContainsFunc(m.pods[m.pod].Spec.InitContainers, func(c v1.Container) bool { return c.Name == name })
}

// lastWarning quotes the last warning about a container, or about the pod, since a step.
func (m *moment) lastWarning(container string, since int64) string {
	warning := m.find(func(rec *trace.Record) bool {
		return rec.Kind == trace.Event && rec.Type == "Warning" && (rec.Container == container ||
			rec.Container == "") && rec.Step > since && rec.Reason != "Unhealthy"
	})
	if warning == nil {
		return ""
	}
	return fmt.Sprintf(": %s at %s: %s", warning.Reason, m.at(warning.T), printable.Text(warning.Message))
}

// exitedLine says why a container that has exited is not running again.
func (m *moment) exitedLine(c *v1.Container, name string, exit *trace.Record) string {
	if exit.ExitCode == 0 && m.isInit(c.Name) && !podutil.IsRestartableInitContainer(c) {
		return fmt.Sprintf("%s (init container) succeeded at %s", name, m.at(exit.T))
	}
	text := fmt.Sprintf("%s exited with code %d at %s and has not restarted", name, exit.ExitCode, m.at(exit.T))
	if m.last("", trace.PodDeleteRequested) != nil {
		return text + ": the pod is being deleted"
	}
	if m.terminating() != "" {
		return text + ": the pod terminates"
	}
	backOff := m.find(func(rec *trace.Record) bool {
		return rec.Kind == trace.Event && rec.Reason == "BackOff" && rec.Container == c.Name && rec.Step > exit.Step
	})
	if backOff != nil {
		delay, known := m.backOff[backOff.Step]
		end := exit.T.Add(delay)
		switch {
		case !known:
			return text + ": it is in back-off"
		case end < m.t:
			return text + fmt.Sprintf(": its %s back-off ended at %s, and the kubelet has not synced the pod since",
				m.span(delay), m.at(end))
		}
		return text + fmt.Sprintf(": its %s back-off ends at %s", m.span(delay), m.at(end))
	}
	if reasons := m.obstacles(containerOf(exit), exit.T, m.t); len(reasons) > 0 {
		return text + ": " + strings.Join(reasons, "; ")
	}
	for _, other := range m.containers() {
		life := m.last(other.Name, trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited)
		if other.Name != c.Name && life != nil && life.Kind == trace.ContainerStopping {
			return text + fmt.Sprintf(": the pod worker has been stopping %s since %s (%ds grace period)",
				printable.Text(other.Name), m.at(life.T), life.GraceSeconds)
		}
	}
	if status := m.apiStatus(); status != nil && (status.Phase == "Succeeded" || status.Phase == "Failed") {
		return text + ": the pod has " + strings.ToLower(status.Phase)
	}
	return text + m.lastWarning(c.Name, exit.Step)
}
