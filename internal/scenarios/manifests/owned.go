package manifests

import (
	"cmp"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/strict"
)

// Owner identifies the workload that made an object of a cluster.
type Owner struct{ Kind, Namespace, Name string }

// OwnerOf returns the workload of a pod: its controller, or the owner of that as its name says. It
// is the pod itself without a controller, and for a static pod, whose controller is its node. A
// controller of Deployments or Rollouts names a ReplicaSet by the hash of its pod template
// (pkg/controller/deployment/sync.go at v1.37.0). The hash, also that of other controllers,
// identifies the revision of the template.
func OwnerOf(pod *metav1.ObjectMeta) (of Owner, hash string) {
	of = Owner{"Pod", cmp.Or(pod.Namespace, v1.NamespaceDefault), pod.Name}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind == "Node" {
		return of, ""
	}
	of.Kind, of.Name, hash = owner.Kind, owner.Name, pod.Labels["controller-revision-hash"]
	if owner.Kind != "ReplicaSet" {
		return of, hash
	}
	for _, made := range []struct {
		label, by string
	}{{"pod-template-hash", "Deployment"}, {"rollouts-pod-template-hash", "Rollout"}} {
		own := pod.Labels[made.label]
		if name, cut := strings.CutSuffix(owner.Name, "-"+own); cut && own != "" {
			of.Kind, of.Name, hash = made.by, name, own
		}
	}
	return of, hash
}

// unowned returns the workloads of a file without the objects that another workload made: those of
// a live cluster, such as the ReplicaSets and pods of a Deployment. If the file does not have a
// workload, the newest of its pods stands for it, or else its newest other object.
func (f *Objects) unowned() (list []*Object, owners map[*Object]*Owner) {
	var all []owned
	for _, m := range f.Manifests {
		all = append(all, owned{Object: m, own: Owner{m.Kind.Kind, m.Namespace(), m.Name}, by: m.controller()})
	}
	parents := map[Owner]*owned{}
	for i := range all {
		parents[all[i].own] = &all[i]
	}
	stand := map[Owner]*owned{}
	for i := range all {
		m := &all[i]
		for range all { // a circle of owners ends too
			parent := parents[m.by]
			// getJobName in pkg/controller/cronjob/cronjob_controllerv2.go at v1.37.0
			if i := strings.LastIndex(m.by.Name, "-"); parent == nil && i > 0 && m.by.Kind == "Job" {
				if by := (Owner{"CronJob", m.by.Namespace, m.by.Name[:i]}); parents[by] != nil {
					m.by, parent = by, parents[by]
				}
			}
			if parent == nil || parent.by == (Owner{}) {
				break
			}
			m.by = parent.by
		}
		if m.by != (Owner{}) && parents[m.by] == nil && m.newer(stand[m.by]) {
			stand[m.by] = m
		}
	}
	owners = map[*Object]*Owner{}
	for i := range all {
		m := &all[i]
		if m.by == (Owner{}) {
			list = append(list, m.Object)
		} else if stand[m.by] == m {
			list, owners[m.Object] = append(list, m.Object), &m.by
		}
	}
	return list, owners
}

// owned is an object, and the workload that made it; none if by is zero.
type owned struct {
	*Object
	own, by Owner
}

// newer reports whether an object stands for its workload rather than another one, which may be
// nil.
func (m *owned) newer(o *owned) bool {
	if o == nil || (m.own.Kind == "Pod") != (o.own.Kind == "Pod") {
		return o == nil || m.own.Kind == "Pod"
	}
	const created = "metadata.creationTimestamp" // RFC 3339 in UTC
	return valueOf(m.Node.Find(created)) > valueOf(o.Node.Find(created))
}

// controller returns the workload that made the object, or nothing. It reads no more than that of
// the object, which need not be valid.
func (m *Object) controller() Owner {
	meta := metav1.ObjectMeta{Namespace: m.Namespace(), Name: m.Name, Labels: map[string]string{}}
	labels := m.Node.Find("metadata.labels")
	for i, key := range labels.Keys {
		meta.Labels[key.Name] = labels.Items[i].Value
	}
	for _, n := range m.Node.Find("metadata.ownerReferences").Items {
		if value := n.Field("controller"); value.Kind == strict.Scalar && value.Value == "true" {
			meta.OwnerReferences = append(meta.OwnerReferences,
				metav1.OwnerReference{Kind: n.Field("kind").Value, Name: n.Field("name").Value, Controller: new(true)})
		}
	}
	of, _ := OwnerOf(&meta)
	if of == (Owner{"Pod", meta.Namespace, meta.Name}) {
		return Owner{}
	}
	return of
}
