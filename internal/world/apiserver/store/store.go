// Package store keeps the objects of a Kubernetes API server, as a state machine without time of
// its own: a method that needs the time gets it, and returns what has changed. The caller waits for
// latencies, writes records, and sends changes to watches.
//
// The store replaces a stored object and never changes it in place. You can keep an object that a
// method returns; do not change it.
package store

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Kind is a kind of objects, by the name of its resource.
type Kind string

const (
	Pods           Kind = "pods"
	Deployments    Kind = "deployments"
	ReplicaSets    Kind = "replicasets"
	Services       Kind = "services"
	EndpointSlices Kind = "endpointslices"
)

// Object is an API object: a *v1.Pod, *appsv1.Deployment, *appsv1.ReplicaSet, *v1.Service or
// *discoveryv1.EndpointSlice.
type Object interface {
	runtime.Object
	metav1.Object
}

// ChangeType is what happened to an object.
type ChangeType string

const (
	Added    ChangeType = "ADDED"
	Modified ChangeType = "MODIFIED"
	Deleted  ChangeType = "DELETED"
)

// Change is a change of one object. The zero Change is none.
type Change struct {
	Type ChangeType
	Kind Kind
	Old  Object // nil for Added
	New  Object // the object after the change; a deleted object in its last state
	// Version is the resource version of the change. Each change of a store has the next one, from
	// 1.
	Version int64
}

// Store holds objects of all kinds. Create it with New.
type Store struct {
	version int64
	objects map[Kind]map[string]Object // by namespace/name
	created map[string]int             // number of pods created, by namespace/name
	uids    map[types.UID]bool         // of all pods created
	names   map[string]int             // number of names generated, by kind, namespace and base
	asked   map[string]string          // the keys of ReplicaSets, by the key that the creator asked for
}

// New returns an empty store.
func New() *Store {
	return &Store{
		objects: map[Kind]map[string]Object{}, created: map[string]int{}, uids: map[types.UID]bool{},
		names: map[string]int{}, asked: map[string]string{},
	}
}

// Key returns the key of an object: namespace/name.
func Key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// Version returns the resource version of the last change.
func (s *Store) Version() int64 { return s.version }

// Get returns an object by its key, or nil.
func (s *Store) Get(kind Kind, key string) Object { return s.objects[kind][key] }

// List returns all objects of a kind, by key.
func (s *Store) List(kind Kind) []Object {
	list := make([]Object, 0, len(s.objects[kind]))
	for _, key := range slices.Sorted(maps.Keys(s.objects[kind])) {
		list = append(list, s.objects[kind][key])
	}
	return list
}

// put stores an object, which nobody else may change, with the next resource version.
func (s *Store) put(kind Kind, o Object) Change {
	s.version++
	o.SetResourceVersion(strconv.FormatInt(s.version, 10))
	key := Key(o)
	c := Change{Type: Modified, Kind: kind, Old: s.objects[kind][key], New: o, Version: s.version}
	if c.Old == nil {
		c.Type = Added
	}
	if s.objects[kind] == nil {
		s.objects[kind] = map[string]Object{}
	}
	s.objects[kind][key] = o
	return c
}

// remove deletes an object. Its last state has the resource version of the deletion.
func (s *Store) remove(kind Kind, old, last Object) Change {
	s.version++
	last.SetResourceVersion(strconv.FormatInt(s.version, 10))
	delete(s.objects[kind], Key(old))
	return Change{Type: Deleted, Kind: kind, Old: old, New: last, Version: s.version}
}

// notFound is the error for an object that does not exist.
func notFound(kind Kind, name string) error {
	return apierrors.NewNotFound(v1.Resource(string(kind)), name)
}

// generate returns the next name with a base: the base and an ordinal instead of random characters,
// because equal runs must have equal names.
func (s *Store) generate(kind Kind, namespace, base string, first int) string {
	counter := fmt.Sprintf("%s %s/%s", kind, namespace, base)
	ordinal := s.names[counter] + first
	s.names[counter]++
	return base + strconv.Itoa(ordinal)
}

// begin sets the fields that the API server sets in each new object.
func begin(o Object, now time.Time) {
	o.SetCreationTimestamp(metav1.NewTime(now.Truncate(time.Second)))
	o.SetGeneration(1)
}
