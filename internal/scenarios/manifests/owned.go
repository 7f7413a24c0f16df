package manifests

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/printable"
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

// unowned returns the workloads of a file without the pods, ReplicaSets and Jobs that another one
// made: those of a live cluster. If the file does not have a workload, the newest of its pods
// stands for it, or else the newest other object that it made. Where a workload makes pods of
// several kinds, as a Workflow does, one of each kind is a workload of its own.
func (f *Objects) unowned() (list []*Object, owners map[*Object]*Owner) {
	var all []owned
	parents := map[Owner]*owned{}
	for _, m := range f.Manifests {
		o := owned{Object: m, own: Owner{m.Kind.Kind, m.Namespace(), m.Name}}
		o.by, o.hash = m.controller()
		all = append(all, o)
	}
	for i := range all {
		parents[all[i].own] = &all[i]
	}
	type group struct {
		by    Owner
		shape string
	}
	made, stand, shapes := make([]group, len(all)), map[group]*owned{}, map[Owner]int{}
	for i := range all {
		m := &all[i]
		made[i] = group{m.root(parents), m.shape()}
		if stand[made[i]] == nil {
			shapes[made[i].by]++
		}
		if m.newer(stand[made[i]]) {
			stand[made[i]] = m
		}
	}
	owners = map[*Object]*Owner{}
	for i := range all {
		m, by := &all[i], made[i].by
		switch {
		case by == (Owner{}):
			list = append(list, m.Object)
		case parents[by] == nil && stand[made[i]] == m:
			list = append(list, m.Object)
			if shapes[by] == 1 {
				owners[m.Object] = &made[i].by
			}
		}
	}
	return list, owners
}

// owned is an object, and the workload that made it; none if by is zero.
type owned struct {
	*Object
	own, by Owner
	hash    string // identifies the revision of the workload; empty if unknown
}

// root returns the workload at the end of the chain of owners. An object has none if its owners are
// a circle, or if the pods of its workload have other containers, unless they are of an older
// revision.
func (m *owned) root(parents map[Owner]*owned) Owner {
	by := m.by
	for range len(parents) + 1 {
		parent := parents[by]
		// getJobName in pkg/controller/cronjob/cronjob_controllerv2.go at v1.37.0
		if i := strings.LastIndex(by.Name, "-"); parent == nil && i > 0 && by.Kind == "Job" {
			if cron := (Owner{"CronJob", by.Namespace, by.Name[:i]}); parents[cron] != nil {
				by, parent = cron, parents[cron]
			}
		}
		switch {
		case parent == nil:
			return by
		case parent.Kind.Template == "" || m.hash == "" && !parent.makes(m.Object):
			return Owner{}
		case parent.by == (Owner{}):
			return by
		}
		by = parent.by
	}
	return Owner{}
}

// makes reports whether a pod of the workload, or an object with its template, has the containers
// of the workload.
func (m *Object) makes(o *Object) bool {
	made := o.containers("name")
	return !slices.ContainsFunc(m.containers("name"), func(name string) bool { return !slices.Contains(made, name) })
}

// containers returns a field of each container.
func (m *Object) containers(field string) []string {
	return printable.Words(m.Root().Find("spec.containers").Items,
		func(n *strict.Node) string { return valueOf(n.Field(field)) })
}

// shape tells the pods of a workload apart whose kind may make different ones: by their containers.
// It is empty for the kinds of Kubernetes, and for pods of a known revision.
func (m *owned) shape() string {
	if m.hash != "" || KindNamed(m.by.Kind) != nil {
		return ""
	}
	return strings.Join(append(m.containers("name"), m.containers("image")...), " ")
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

// controller returns the workload that made the object, and the hash of its revision, or nothing.
// Only pods, ReplicaSets, and the Jobs of a CronJob are made by another workload. It reads no more
// than that of the object, which need not be valid.
func (m *Object) controller() (of Owner, hash string) {
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
	of, hash = OwnerOf(&meta)
	isMade := m.Kind.Kind == "Pod" || m.Kind.Kind == "ReplicaSet" || m.Kind.Kind == "Job" && of.Kind == "CronJob"
	if !isMade || of == (Owner{"Pod", meta.Namespace, meta.Name}) {
		return Owner{}, ""
	}
	return of, hash
}
