package manifests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"probesim.dev/internal/strict"
)

// APIObject is an API object that creates pods: a *Pod or *ReplicationController of core/v1, a
// *Deployment, *StatefulSet, *DaemonSet or *ReplicaSet of apps/v1, or a *Job or *CronJob of
// batch/v1.
type APIObject interface {
	metav1.Object
	runtime.Object
}

// Of returns an object of a Go program as a workload. Its errors have no position.
func Of(object APIObject, errs *strict.Collector) (*Object, error) {
	kind, err := kindOf(object)
	if err != nil {
		return nil, err
	}
	return &Object{
		Kind: kind, Node: strict.NewMapping(errs), object: object.DeepCopyObject().(APIObject),
		Name: cmp.Or(object.GetName(), object.GetGenerateName()),
	}, nil
}

// Marshal returns an object as a manifest, with the apiVersion and the kind of its Go type.
func Marshal(object APIObject) ([]byte, error) {
	kind, err := kindOf(object)
	if err != nil {
		return nil, err
	}
	object = object.DeepCopyObject().(APIObject)
	object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	return json.Marshal(object)
}

// Document returns an object as a manifest in the block style of YAML, without its status.
func Document(object APIObject) ([]byte, error) {
	data, err := Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := yaml.Unmarshal(data, &fields); err != nil { // keeps numbers as they are
		return nil, err
	}
	delete(fields, "status")
	return yaml.Marshal(fields)
}

// kindOf returns the kind of an object by its Go type.
func kindOf(object APIObject) (*workloadKind, error) {
	if object == nil || reflect.ValueOf(object).IsNil() {
		return nil, errors.New("there is no object: it is nil")
	}
	for i := range Kinds {
		if Kinds[i].is(object) {
			return &Kinds[i], nil
		}
	}
	return nil, fmt.Errorf("a %T creates no pods: the kinds that do are %s", object,
		strings.Join(WorkloadKinds(), ", "))
}
