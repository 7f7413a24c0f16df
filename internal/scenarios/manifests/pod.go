package manifests

import (
	"regexp"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/strict"
)

// PodErrors reports errors about a pod where its fields are written: in the last patch that has the
// field, otherwise in the manifest.
type PodErrors struct {
	Manifest *Object
	Patches  []*strict.Node
}

func (p *PodErrors) report(pod *v1.Pod, e *field.Error) {
	p.At(pod, e.Field).Errorf("%s", e.ErrorBody())
}

// At returns the node of a field of the pod. A field that is not written has a missing node.
func (p *PodErrors) At(pod *v1.Pod, path string) *strict.Node {
	if path == "metadata.name" || path == "metadata.namespace" {
		return p.Manifest.Node.Find(path)
	}
	written, known := FindInPod(p.Manifest.Root(), pod, path)
	var missing *strict.Node // where a patch would have the field
	for _, patch := range slices.Backward(p.Patches) {
		patched, knows := FindInPod(patch, pod, path)
		if knows && patched.Written() {
			return patched
		}
		if missing == nil || knows {
			missing = patched
		}
	}
	if known || missing == nil {
		return written
	}
	return missing
}

var containerPath = regexp.MustCompile(`^spec\.(containers|initContainers)\[(\d+)\]\.?(.*)$`)

// FindInPod is like Find, but finds containers by name, because a patch lists only some of them. It
// returns false if the container is not there.
func FindInPod(root *strict.Node, pod *v1.Pod, path string) (*strict.Node, bool) {
	m := containerPath.FindStringSubmatch(path)
	if m == nil {
		return root.Find(path), true
	}
	index, _ := strconv.Atoi(m[2])
	containers := pod.Spec.Containers
	if m[1] == "initContainers" {
		containers = pod.Spec.InitContainers
	}
	list, name := root.Field("spec").Field(m[1]), containers[index].Name
	named := func(i int) bool {
		return i < len(list.Items) && list.Items[i].Field("name").Value == name
	}
	for i := 0; !named(index) && i < len(list.Items); i++ {
		if named(i) {
			index = i
		}
	}
	return list.Index(index).Find(m[3]), named(index)
}
