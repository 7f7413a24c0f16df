package scenarios

import (
	"probesim.dev/scenarios/plan"
)

// Manifests are workloads that a program has read once, for scenarios about them that it loads again and again.
type Manifests struct{ loader *loader }

// ReadManifests reads the workloads of a file in memory and checks them as LoadBytes does.
func ReadManifests(name string, data []byte) (*Manifests, error) {
	l := newLoader(nil)
	l.readInstead([]Source{{name, data}})
	return &Manifests{l}, l.errs.Err()
}

// LoadBytes loads the scenarios of a file in memory as the function LoadBytes does if the file also has these workloads. After an error
// it must not be used again, because errors about workloads are kept with them.
func (m *Manifests) LoadBytes(name string, data []byte) ([]*plan.Scenario, error) {
	l := m.loader
	scenarios := l.load(l.read(name, data))
	return scenarios, l.errs.Err()
}
