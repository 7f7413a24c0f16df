package apiserver

import (
	"cmp"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/trace"
)

// revisionAnnotation has the revision of a rollout
// (pkg/controller/deployment/util/deployment_util.go at v1.37.0).
const revisionAnnotation = "deployment.kubernetes.io/revision"

// RecordsOf returns the records of a change of an object that is not a pod, without their times and
// causes. Both engines write these. A change that shows in no record, such as one of annotations,
// has none.
func RecordsOf(c store.Change) []trace.Record {
	switch o := c.New.(type) {
	case *appsv1.Deployment:
		old, _ := c.Old.(*appsv1.Deployment)
		return workloadRecord(c, ObjectName("Deployment", o), deploymentState(old), deploymentState(o))
	case *appsv1.ReplicaSet:
		old, _ := c.Old.(*appsv1.ReplicaSet)
		name := ObjectName("ReplicaSet", o)
		records := workloadRecord(c, name, replicaSetState(old), replicaSetState(o))
		from := int32(0)
		if old != nil {
			from = ptr.Deref(old.Spec.Replicas, 1)
		}
		if to := ptr.Deref(o.Spec.Replicas, 1); to != from && c.Type != store.Deleted {
			records = append(records, trace.Record{Kind: trace.Scaled,
				Object: &trace.Object{Name: name, From: from, To: to}})
		}
		return records
	case *discoveryv1.EndpointSlice:
		name := "Service " + o.Namespace + "/" + o.Labels[discoveryv1.LabelServiceName]
		return []trace.Record{{Kind: trace.EndpointsWritten,
			Object: &trace.Object{Name: name, Endpoints: EndpointsOf(o)}}}
	}
	return nil
}

// ObjectName returns the name of an object in records, such as "ReplicaSet default/web-1".
func ObjectName(kind string, o metav1.Object) string { return kind + " " + store.Key(o) }

// workloadRecord returns the record of a workload that was in one state and is in another.
func workloadRecord(c store.Change, name string, before, after *trace.Workload) []trace.Record {
	reason := "status"
	switch {
	case c.Type == store.Deleted:
		reason = "deleted"
	case before == nil || before.Generation != after.Generation:
		reason = "spec"
	case reflect.DeepEqual(before, after):
		return nil
	}
	return []trace.Record{{Kind: trace.WorkloadChanged, Reason: reason,
		Object: &trace.Object{Name: name, Workload: after}}}
}

func deploymentState(o *appsv1.Deployment) *trace.Workload {
	if o == nil {
		return nil
	}
	s := &o.Status
	w := &trace.Workload{
		Desired: ptr.Deref(o.Spec.Replicas, 1), Replicas: s.Replicas, Updated: s.UpdatedReplicas,
		Ready: s.ReadyReplicas, Available: s.AvailableReplicas,
		Terminating: ptr.Deref(s.TerminatingReplicas, 0), Generation: o.Generation, Observed: s.ObservedGeneration,
		Revision: o.Annotations[revisionAnnotation],
	}
	for _, c := range s.Conditions {
		w.Conditions = append(w.Conditions,
			trace.ObjectCondition{Type: string(c.Type), Status: string(c.Status), Reason: c.Reason})
	}
	return sorted(w)
}

func replicaSetState(o *appsv1.ReplicaSet) *trace.Workload {
	if o == nil {
		return nil
	}
	s := &o.Status
	w := &trace.Workload{
		Desired: ptr.Deref(o.Spec.Replicas, 1), Replicas: s.Replicas, Ready: s.ReadyReplicas,
		Available:   s.AvailableReplicas,
		Terminating: ptr.Deref(s.TerminatingReplicas, 0), Generation: o.Generation, Observed: s.ObservedGeneration,
		Revision: o.Annotations[revisionAnnotation],
	}
	for _, c := range s.Conditions {
		w.Conditions = append(w.Conditions,
			trace.ObjectCondition{Type: string(c.Type), Status: string(c.Status), Reason: c.Reason})
	}
	return sorted(w)
}

func sorted(w *trace.Workload) *trace.Workload {
	slices.SortFunc(w.Conditions, func(a, b trace.ObjectCondition) int { return cmp.Compare(a.Type, b.Type) })
	return w
}

// EndpointsOf returns the endpoints of a slice, by pod: a slice has them in the order of a Go map.
func EndpointsOf(slice *discoveryv1.EndpointSlice) []trace.Endpoint {
	list := make([]trace.Endpoint, 0, len(slice.Endpoints))
	for _, e := range slice.Endpoints {
		endpoint := trace.Endpoint{
			Ready: ptr.Deref(e.Conditions.Ready, true), Serving: ptr.Deref(e.Conditions.Serving, true),
			Terminating: ptr.Deref(e.Conditions.Terminating, false),
		}
		if e.TargetRef != nil {
			endpoint.Pod = e.TargetRef.Namespace + "/" + e.TargetRef.Name
		}
		list = append(list, endpoint)
	}
	slices.SortFunc(list, func(a, b trace.Endpoint) int { return cmp.Compare(a.Pod, b.Pod) })
	return list
}
