// Package results caches probe results and sends their changes to the sync loop. The kubelet has
// one Manager for each probe type.
//
// The rules are those of pkg/kubelet/prober/results/results_manager.go at v1.37.0.
package results

import (
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Result is the kubelet's opinion of a container. A worker changes it when enough probe runs in a
// row agree.
type Result int

const (
	// Unknown is the result of a startup probe that has not reached a threshold.
	Unknown Result = iota
	// Success makes a container alive, ready or started, depending on the probe type.
	Success
	// Failure makes the kubelet kill the container, or makes the container unready.
	Failure
)

func (r Result) String() string { return [...]string{"Unknown", "Success", "Failure"}[r] }

// Update is a change of a container's result. The step of the trace record that led to it travels
// with the update, as the cause of the process that receives it.
type Update struct {
	ContainerID string
	PodUID      types.UID
	Result      Result

	// Container is the name of the container. If the probes of running pods can change, ProbeID
	// tells apart the probes that a container has one after the other, and version numbers the
	// results.
	Container string
	ProbeID   int64
	version   int64
}

// Subject names a container in trace records.
type Subject struct {
	Pod       string // namespace/name
	Container string
	Instance  int
}

// updatesCapacity is the number of updates that wait for the sync loop before a worker blocks.
const updatesCapacity = 20

type entry struct {
	result Result
	cause  int64
	update Update // of a manager for mutable probes
}

// Manager holds the results of one probe type by container ID.
type Manager struct {
	probe   trace.Probe
	trace   *trace.Recorder
	cache   map[string]entry
	updates *sim.Chan[Update]
	mutable *mutable // nil: the probes of a running pod do not change
	changes map[string]int64
}

// NewManager returns a Manager without results.
func NewManager(s *sim.Sim, probe trace.Probe, recorder *trace.Recorder) *Manager {
	return &Manager{
		probe:   probe,
		trace:   recorder,
		cache:   map[string]entry{},
		updates: sim.NewChan[Update](s, string(probe)+" updates", updatesCapacity),
	}
}

// Get returns the result of a container, false if there is none.
func (m *Manager) Get(containerID string) (Result, bool) {
	e, ok := m.cache[containerID]
	return e.result, ok
}

// Cause returns the step of the trace record that led to the present result of a container, or to a
// later change of its probe. It returns 0 if there is neither.
func (m *Manager) Cause(containerID string) int64 {
	return max(m.cache[containerID].cause, m.changes[containerID])
}

// NoteChange notes the step of the trace record about a change of the probe of a container that
// runs.
func (m *Manager) NoteChange(containerID string, step int64) {
	if m.changes == nil {
		m.changes = map[string]int64{}
	}
	m.changes[containerID] = step
}

// Changed returns the step of the last NoteChange about a container, 0 if there was none.
func (m *Manager) Changed(containerID string) int64 { return m.changes[containerID] }

// Set stores a result of a container. If the result is new or has changed, Set also sends an
// update, and waits while the channel is full. A sync of the pod can read the new result before the
// sync loop receives the update.
func (m *Manager) Set(p *sim.Proc, about Subject, u Update) {
	before, ok := m.cache[u.ContainerID]
	if ok && before.result == u.Result && before.update.ProbeID == u.ProbeID {
		return
	}
	cause := p.Cause()
	if m.trace.Wants(trace.ResultChanged) {
		cause = m.trace.Add(trace.Record{
			T: p.Now(), Kind: trace.ResultChanged, Cause: cause, Pod: about.Pod, Container: about.Container,
			Instance: about.Instance,
			Probe:    m.probe, Reason: u.ContainerID, Message: u.Result.String(),
		})
	}
	if m.mutable != nil {
		m.publish(p, u, cause)
		return
	}
	m.cache[u.ContainerID] = entry{result: u.Result, cause: cause}
	p.Preempt("result stored, not sent")
	p.WithCause(cause, func() { m.updates.Send(p, u) })
}

// Seed stores a result that is no news to the sync loop. It sends no update.
func (m *Manager) Seed(containerID string, r Result) { m.cache[containerID] = entry{result: r} }

// Remove forgets the result of a container, and its update if the manager has not sent that yet. It
// sends no update.
func (m *Manager) Remove(containerID string) {
	delete(m.cache, containerID)
	if m.mutable != nil {
		m.mutable.forget(containerID)
	}
}

// Updates returns the channel that the sync loop receives updates from.
func (m *Manager) Updates() *sim.Chan[Update] { return m.updates }
