package controller

import (
	"fmt"
	"time"

	"probesim.dev/internal/world/apiserver/store"
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

// OwnWrites are the newest versions that a controller has written, by the key of the owner and the
// kind. It syncs an owner only when its caches have seen these versions
// (pkg/controller/util/consistency/consistency.go at v1.37.0).
type OwnWrites struct {
	caches map[store.Kind]*Informer
	kinds  []store.Kind
	wrote  map[string]map[store.Kind]int64
}

// NewOwnWrites returns the writes of a controller that reads these kinds from caches.
func NewOwnWrites(f *Informers, kinds ...store.Kind) *OwnWrites {
	w := &OwnWrites{caches: map[store.Kind]*Informer{}, kinds: kinds, wrote: map[string]map[store.Kind]int64{}}
	for _, kind := range kinds {
		w.caches[kind] = f.Of(kind)
	}
	return w
}

// WroteAt notes the version of an object that the controller has written.
func (w *OwnWrites) WroteAt(owner string, kind store.Kind, version int64) {
	if w.wrote[owner] == nil {
		w.wrote[owner] = map[store.Kind]int64{}
	}
	w.wrote[owner][kind] = max(w.wrote[owner][kind], version)
}

// Seen returns an error if a cache has not seen a write, and forgets the writes otherwise.
func (w *OwnWrites) Seen(owner string) error {
	for _, kind := range w.kinds {
		if wrote, read := w.wrote[owner][kind], w.caches[kind].Version(); wrote > read {
			return fmt.Errorf("read version %d of %s is not as new as written version %d", read, kind, wrote)
		}
	}
	delete(w.wrote, owner)
	return nil
}

// Forget forgets the writes for an owner that is gone.
func (w *OwnWrites) Forget(owner string) { delete(w.wrote, owner) }
