package controller

import (
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// expectationsTimeout is how long a controller waits for its expectations (ExpectationsTimeout in
// pkg/controller/controller_utils.go at v1.37.0).
const expectationsTimeout = 5 * time.Minute

// Expectations are the creations and deletions of pods that a controller has asked for and has not
// seen in its cache, by the key of the owner. Until it has, it creates and deletes no more
// (UIDTrackingControllerExpectations in pkg/controller/controller_utils.go at v1.37.0).
type Expectations struct {
	sim *sim.Sim
	of  map[string]*expectation
}

type expectation struct {
	creations int
	deletions map[string]bool // keys of pods
	since     virtual.Time
}

// NewExpectations returns expectations of nothing.
func NewExpectations(s *sim.Sim) *Expectations {
	return &Expectations{sim: s, of: map[string]*expectation{}}
}

// Satisfied reports whether all that was expected has been seen, or the wait is over.
func (e *Expectations) Satisfied(owner string) bool {
	x := e.of[owner]
	return x == nil || x.creations <= 0 && len(x.deletions) == 0 || e.sim.Now().Sub(x.since) > expectationsTimeout
}

// ExpectCreations replaces what is expected by a number of creations.
func (e *Expectations) ExpectCreations(owner string, number int) {
	e.of[owner] = &expectation{creations: number, since: e.sim.Now()}
}

// ExpectDeletions replaces what is expected by the deletions of pods.
func (e *Expectations) ExpectDeletions(owner string, pods []string) {
	x := &expectation{deletions: map[string]bool{}, since: e.sim.Now()}
	for _, pod := range pods {
		x.deletions[pod] = true
	}
	e.of[owner] = x
}

// CreationObserved counts a creation that was seen, or failed.
func (e *Expectations) CreationObserved(owner string) {
	if x := e.of[owner]; x != nil {
		x.creations--
	}
}

// DeletionObserved forgets the deletion of a pod that was seen, or failed.
func (e *Expectations) DeletionObserved(owner, pod string) {
	if x := e.of[owner]; x != nil {
		delete(x.deletions, pod)
	}
}

// Forget forgets what is expected for an owner that is gone.
func (e *Expectations) Forget(owner string) { delete(e.of, owner) }
