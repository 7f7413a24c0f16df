package probetest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Workload is an object of the API that brings pods; see AddWorkload.
type Workload interface {
	metav1.Object
	runtime.Object
}

// identified returns a copy of an object that says what it is, as objects of Go need not, and the spec of its
// pods.
func identified(w Workload) (Workload, *v1.PodSpec, error) {
	var version, kind string
	var spec *v1.PodSpec
	copied, _ := w.DeepCopyObject().(Workload)
	switch o := copied.(type) {
	case *v1.Pod:
		version, kind, spec = "v1", "Pod", &o.Spec
	case *appsv1.Deployment:
		version, kind, spec = "apps/v1", "Deployment", &o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		version, kind, spec = "apps/v1", "StatefulSet", &o.Spec.Template.Spec
	case *appsv1.DaemonSet:
		version, kind, spec = "apps/v1", "DaemonSet", &o.Spec.Template.Spec
	case *appsv1.ReplicaSet:
		version, kind, spec = "apps/v1", "ReplicaSet", &o.Spec.Template.Spec
	case *batchv1.Job:
		version, kind, spec = "batch/v1", "Job", &o.Spec.Template.Spec
	case *batchv1.CronJob:
		version, kind, spec = "batch/v1", "CronJob", &o.Spec.JobTemplate.Spec.Template.Spec
	default:
		return nil, nil, fmt.Errorf("a %T brings no pods: add a Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job or CronJob", w)
	}
	copied.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	return copied, spec, nil
}

func containerOf(spec *v1.PodSpec, name string) *v1.Container {
	for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
