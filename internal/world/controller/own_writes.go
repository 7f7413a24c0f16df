package controller

import (
	"fmt"

	"probesim.dev/internal/world/apiserver/store"
)

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
