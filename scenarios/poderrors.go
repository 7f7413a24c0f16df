package scenarios

import (
	"regexp"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/strict"
)

// podErrors reports what is wrong with a pod at the places where its fields were written: in the patch
// if it has the field, else in the manifest.
type podErrors struct {
	manifest *manifest
	patch    *strict.Node // nil if there is none
}

func (p *podErrors) report(pod *v1.Pod, e *field.Error) {
	p.at(pod, e.Field).Errorf("%s", e.ErrorBody())
}

// at returns the node of a field of the pod, or the missing node that stands for it.
func (p *podErrors) at(pod *v1.Pod, path string) *strict.Node {
	if path == "metadata.name" || path == "metadata.namespace" {
		return p.manifest.node.Find(path)
	}
	written, known := findInPod(p.manifest.root(), pod, path)
	if p.patch != nil {
		if patched, _ := findInPod(p.patch, pod, path); patched.Written() || !known {
			return patched
		}
	}
	return written
}

var containerPath = regexp.MustCompile(`^spec\.(containers|initContainers)\[(\d+)\]\.?(.*)$`)

// findInPod is like Find, with containers found by name: a patch lists only some of them. It reports
// false if the container is not there.
func findInPod(root *strict.Node, pod *v1.Pod, path string) (*strict.Node, bool) {
	m := containerPath.FindStringSubmatch(path)
	if m == nil {
		return root.Find(path), true
	}
	index, _ := strconv.Atoi(m[2])
	containers := pod.Spec.Containers
	if m[1] == "initContainers" {
		containers = pod.Spec.InitContainers
	}
	list := root.Field("spec").Field(m[1])
	named := func(i int) bool {
		return i < len(list.Items) && list.Items[i].Field("name").Value == containers[index].Name
	}
	for i := 0; !named(index) && i < len(list.Items); i++ {
		if named(i) {
			index = i
		}
	}
	return list.Index(index).Find(m[3]), named(index)
}
