package validation

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// workload is an entry of spec.pods while it is checked.
type workload struct {
	*plan.Workload
	errs           manifests.PodErrors
	unread         bool                     // some containers or their names could not be read
	replicasUnread bool                     // the number of replicas could not be read
	withAdded      map[string]*v1.Container // containers by name, with the probes that steps add
	probed         *v1.Pod                  // after the patches of probes that have been checked; nil before the first
	debugged       []*format.Debug          // the steps that have been checked
	node           *strict.Node             // of the entry of spec.pods
	// a Deployment after the steps that have been checked; nil before the first
	rolled    *appsv1.Deployment
	revisions int // of rolled
	undos     int // steps that undo a change
	// a step that has been checked undoes a change, so the template of rolled is not known
	undone  bool
	scripts []script // of the containers of rolled; nil: those of the entry
	// containers of the pod, and those that steps add; nil until container needs it
	byName map[string]*v1.Container
}

// allContainers returns the containers of the pod, init containers first, and the ephemeral ones
// that steps add.
func (w *workload) allContainers() []*v1.Container {
	return append(slices.Collect(podutil.Containers(&w.Pod.Spec)), w.Ephemeral...)
}

// container returns a container of the pod, or an ephemeral container that a step adds, or nil.
func (w *workload) container(name string) *v1.Container {
	if w.byName == nil {
		w.byName = map[string]*v1.Container{}
		for _, c := range slices.Backward(w.allContainers()) {
			w.byName[c.Name] = c
		}
	}
	return w.byName[name]
}

func (w *workload) hasSeveralContainers() bool {
	return len(w.Pod.Spec.InitContainers)+len(w.Pod.Spec.Containers) > 1
}

// containerNames returns the names of the containers to suggest.
func (w *workload) containerNames() []string {
	all := w.allContainers()
	return printable.Words(all[:min(len(all), strict.MaxSuggestions)], func(c *v1.Container) string { return c.Name })
}

// makePod applies the patch and sets the defaults. It checks a patched pod again.
func (w *workload) makePod() {
	w.Pod = w.Manifest.NewPod()
	w.unread = !containersRead(w.Manifest.Root())
	patched := w.patched()
	if patched != nil {
		patched.Name, patched.Namespace = w.Pod.Name, w.Pod.Namespace // even if the patch replaces the metadata
		w.Pod, w.errs.Patches = patched, w.Spec.Patch.Nodes
	}
	admission.Default(w.Pod)
	if patched != nil && !w.unread {
		w.Manifest.Check(&w.errs, w.Pod)
	}
}

// patched returns the pod with the patch applied, or nil if there is none or it cannot be applied.
func (w *workload) patched() *v1.Pod {
	if w.Spec.Patch == nil {
		return nil
	}
	patched := apply(w.Spec.Patch.Nodes, w.Pod)
	unread := func(n *strict.Node) bool { return !containersRead(n) }
	w.unread = w.unread || patched == nil || slices.ContainsFunc(w.Spec.Patch.Nodes, unread)
	return patched
}

// containersRead reports whether the containers in a pod or patch, and their names, could be read.
func containersRead(root *strict.Node) bool {
	if !root.Bad() {
		return true
	}
	for _, field := range []string{"initContainers", "containers"} {
		list := root.Field("spec").Field(field)
		if list.Unread() {
			return false
		}
		for _, item := range list.Items {
			if name := item.Field("name"); name.Unread() || name.Value == "" {
				return false
			}
		}
	}
	return true
}

// apply returns the patched pod, or nil after reporting why a patch cannot be applied. Invalid
// parts of the patches are left out.
func apply(patches []*strict.Node, pod *v1.Pod) *v1.Pod {
	for _, n := range patches {
		if n.Kind != strict.Mapping {
			return nil
		}
		if pod = merge(pod, n.JSON(), n); pod == nil {
			return nil
		}
	}
	return pod
}

// merge returns the pod with a strategic merge patch, or nil after reporting why it cannot be
// applied. Of a bad patch, the invalid parts may be the reason.
func merge(pod *v1.Pod, patch []byte, n *strict.Node) *v1.Pod {
	patched, err := admission.Merge(pod, patch)
	if err != nil {
		n.ErrorIf(!n.Bad(), "cannot be applied: %s", err)
		return nil
	}
	return patched
}

// podNames returns the names to suggest: of the workloads, and of the first ten pods of each.
func (c *checker) podNames() []string {
	var names []string
	for _, w := range c.workloads {
		if len(names) >= strict.MaxSuggestions {
			break
		}
		names = append(names, w.Manifest.Name)
		if w.Controlled != nil {
			for set := range min(w.Controlled.ReplicaSets, 10) {
				names = append(names, fmt.Sprintf("%s-%d", w.Manifest.Name, set+1))
			}
			continue
		}
		if w.Manifest.Kind.Template != "" {
			for replica := range min(w.Replicas, 10) {
				names = append(names, w.Manifest.PodName(replica))
			}
		}
	}
	return names
}
