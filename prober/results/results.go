// Package results is the kubelet's cache of probe results and the channel on which its changes reach
// the sync loop. There is one manager for each probe type.
package results

import (
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Result is a verdict on a container: what its probe runs amount to once a threshold is reached.
type Result int

const (
	Unknown Result = iota
	Success
	Failure
)

func (r Result) String() string { return [...]string{"Unknown", "Success", "Failure"}[r] }

// Update says that the result of a container has changed.
type Update struct {
	ContainerID string
	PodUID      types.UID
	Result      Result
	Cause       int64 // step of the trace record that led to it
}

// updatesCapacity is how many updates wait for the sync loop before a probe worker blocks
// (pkg/kubelet/prober/results/results_manager.go at v1.37.0).
const updatesCapacity = 20

type entry struct {
	result Result
	cause  int64
}

// Manager holds the results of one probe type by container ID.
type Manager struct {
	probe   trace.Probe
	trace   *trace.Recorder
	cache   map[string]entry
	updates *sim.Chan[Update]
}

// NewManager returns an empty cache for the results of a probe type.
func NewManager(s *sim.Sim, probe trace.Probe, recorder *trace.Recorder) *Manager {
	return &Manager{
		probe:   probe,
		trace:   recorder,
		cache:   map[string]entry{},
		updates: sim.NewChan[Update](s, string(probe)+" updates", updatesCapacity),
	}
}

// Get returns the result of a container, if there is one.
func (m *Manager) Get(containerID string) (Result, bool) {
	e, ok := m.cache[containerID]
	return e.result, ok
}

// Cause returns the step of the record that led to the present result of a container, or 0.
func (m *Manager) Cause(containerID string) int64 { return m.cache[containerID].cause }

// Set stores a result. If it is the first or differs from the last it also sends an update, and waits
// while the channel is full. The sync of a pod may see the new result before its update is received,
// or the other way round (results_manager.go at v1.37.0).
func (m *Manager) Set(p *sim.Proc, u Update) {
	before, ok := m.cache[u.ContainerID]
	if ok && before.result == u.Result {
		return
	}
	if m.trace.Wants(trace.ResultChanged) {
		u.Cause = m.trace.Add(trace.Record{
			T: p.Now(), Kind: trace.ResultChanged, Cause: u.Cause, Probe: m.probe, Reason: u.ContainerID, Message: u.Result.String(),
		})
	}
	m.cache[u.ContainerID] = entry{u.Result, u.Cause}
	p.Preempt("result stored, not sent")
	m.updates.Send(p, u)
}

// Remove forgets the result of a container and sends nothing.
func (m *Manager) Remove(containerID string) { delete(m.cache, containerID) }

// Updates is the channel of changes.
func (m *Manager) Updates() *sim.Chan[Update] { return m.updates }
