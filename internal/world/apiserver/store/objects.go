package store

import (
	"errors"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Find returns an object, or a NotFound error.
func (s *Store) Find(kind Kind, namespace, name string) (Object, error) {
	if o := s.Get(kind, namespace+"/"+name); o != nil {
		return o, nil
	}
	return nil, notFound(kind, name)
}

// Create stores a copy of a new object that is not a pod, which shares the parts of the object: do
// not change them later. It gives the object a UID, and a name if that is generated. A ReplicaSet
// of a Deployment does not get the name that the controller asks for, which ends with a hash, but
// the name of the Deployment and a number: web-1, web-2 and so on. Create returns an AlreadyExists
// error if there is an object of that name, or a ReplicaSet whose controller has asked for that
// name.
func (s *Store) Create(kind Kind, o Object, now time.Time) (Change, error) {
	o = copyOf(o)
	asked := Key(o)
	if given := s.asked[asked]; s.Get(kind, asked) != nil || kind == ReplicaSets && s.Get(kind, given) != nil {
		return Change{}, apierrors.NewAlreadyExists(v1.Resource(string(kind)), o.GetName())
	}
	owner := metav1.GetControllerOf(o)
	switch {
	case kind == ReplicaSets && owner != nil:
		o.SetName(s.generate(kind, o.GetNamespace(), owner.Name+"-", 1))
		s.asked[asked] = Key(o)
	case o.GetName() == "":
		o.SetName(s.generate(kind, o.GetNamespace(), o.GetGenerateName(), 0))
	}
	begin(o, now)
	if o.GetUID() == "" {
		o.SetUID(types.UID("uid-" + string(kind) + "-" + o.GetNamespace() + "-" + o.GetName()))
	}
	if status := part(o, "Status"); status.IsValid() {
		status.SetZero()
	}
	return s.put(kind, o), nil
}

// Update stores a copy of an object that is not a pod, as PUT does; it does not change the status.
// The copy shares the parts of the object: do not change them later. Update returns a NotFound
// error if the object does not exist, and a Conflict error if its resource version is not the
// stored one; an empty version always fits. It returns no change if nothing changes.
func (s *Store) Update(kind Kind, o Object) (Change, error) {
	return s.replace(kind, o, prepare)
}

// UpdateStatus stores the status of a copy of an object, as PUT of the subresource status does,
// with the results of Update.
func (s *Store) UpdateStatus(kind Kind, o Object) (Change, error) {
	return s.replace(kind, o, prepareStatus)
}

// replace stores what prepare makes of a copy of an object. Prepare reports whether the object
// changes besides its metadata.
func (s *Store) replace(kind Kind, o Object, prepare func(kind Kind, stored, o Object) bool) (Change, error) {
	stored, err := s.Find(kind, o.GetNamespace(), o.GetName())
	if err != nil {
		return Change{}, err
	}
	if v := o.GetResourceVersion(); v != "" && v != stored.GetResourceVersion() {
		return Change{}, apierrors.NewConflict(v1.Resource(string(kind)), o.GetName(),
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	o = copyOf(o)
	o.SetUID(stored.GetUID())
	o.SetCreationTimestamp(stored.GetCreationTimestamp())
	o.SetGeneration(stored.GetGeneration())
	o.SetResourceVersion(stored.GetResourceVersion())
	if changed := prepare(kind, stored, o); !changed && equality.Semantic.DeepEqual(meta(stored), meta(o)) {
		return Change{New: stored}, nil
	}
	return s.put(kind, o), nil
}

// counted are the parts whose changes are generations of an object: the spec of a Deployment, and
// its annotations, which its ReplicaSets copy; the spec of a ReplicaSet; all of an EndpointSlice
// but its metadata, and its labels (PrepareForUpdate in pkg/registry/apps/deployment/strategy.go,
// apps/replicaset/strategy.go and discovery/endpointslice/strategy.go at v1.37.0).
var counted = map[Kind][]string{
	Deployments: {"Spec", "Annotations"}, ReplicaSets: {"Spec"},
	EndpointSlices: {"Labels", "Endpoints", "Ports", "AddressType"},
}

// prepare keeps the status of an object, and counts its generations.
func prepare(kind Kind, stored, o Object) bool {
	parts, counts := counted[kind]
	if !counts {
		return !equality.Semantic.DeepEqual(stored, o)
	}
	keep(stored, o, "Status")
	changed := !equalIn(stored, o, parts...)
	if changed {
		o.SetGeneration(stored.GetGeneration() + 1)
	}
	return changed
}

// prepareStatus keeps the spec of an object. A write of the status of a Deployment also keeps its
// labels but not its annotations: its controller writes the revision that way (the PrepareForUpdate
// of deploymentStatusStrategy and rsStatusStrategy in pkg/registry/apps/deployment/strategy.go and
// apps/replicaset/strategy.go at v1.37.0).
func prepareStatus(kind Kind, stored, o Object) bool {
	inWholeSeconds(o)
	if keep(stored, o, "Spec"); kind == Deployments {
		keep(stored, o, "Labels")
	}
	return !equalIn(stored, o, "Status")
}

// part returns a part of an object by the name of its field, such as Spec; invalid if the object
// has none.
func part(o Object, name string) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName(name) }

// keep sets a part of an object, if it has one, to what is stored.
func keep(stored, o Object, name string) {
	if p := part(o, name); p.IsValid() {
		p.Set(part(stored, name))
	}
}

func equalIn(a, b Object, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(name string) bool {
		return !equality.Semantic.DeepEqual(part(a, name).Interface(), part(b, name).Interface())
	})
}

// copyOf returns a copy of an object that shares its parts.
func copyOf(o Object) Object {
	own := reflect.New(reflect.TypeOf(o).Elem())
	own.Elem().Set(reflect.ValueOf(o).Elem())
	return own.Interface().(Object)
}

func meta(o Object) metav1.Object { return o.(metav1.ObjectMetaAccessor).GetObjectMeta() }

// inWholeSeconds drops the fractions of a second from the times of conditions: JSON has none.
func inWholeSeconds(o Object) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		o.Status.Conditions = slices.Clone(o.Status.Conditions)
		for i := range o.Status.Conditions {
			c := &o.Status.Conditions[i]
			c.LastUpdateTime, c.LastTransitionTime = whole(c.LastUpdateTime), whole(c.LastTransitionTime)
		}
	case *appsv1.ReplicaSet:
		o.Status.Conditions = slices.Clone(o.Status.Conditions)
		for i := range o.Status.Conditions {
			c := &o.Status.Conditions[i]
			c.LastTransitionTime = whole(c.LastTransitionTime)
		}
	}
}

func whole(t metav1.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// Delete removes an object that is not a pod. It returns a NotFound error if the object does not
// exist.
func (s *Store) Delete(kind Kind, namespace, name string) (Change, error) {
	stored, err := s.Find(kind, namespace, name)
	if err != nil {
		return Change{}, err
	}
	return s.remove(kind, stored, copyOf(stored)), nil
}
