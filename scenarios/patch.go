package scenarios

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/apiserver"
	"probesim.dev/internal/strict"
)

// patch is a strategic merge patch of a pod's metadata and spec.
type patch struct{ node *strict.Node }

// patchedPod is what a patch may change.
type patchedPod = struct {
	Metadata metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec     v1.PodSpec        `json:"spec,omitempty"`
}

// Patched returns a value of the type that is patched, for documentation.
func (patch) Patched() any { return patchedPod{} }

// UnmarshalNode checks the patch against the type of a pod and keeps it.
func (p *patch) UnmarshalNode(n *strict.Node) {
	p.node = n
	if n.Kind != strict.Mapping {
		n.Errorf("must be a mapping with metadata and spec")
		return
	}
	var pod patchedPod
	n.Ignore(isDirective)
	strict.Decode(n, &pod)
	p.checkName()
}

func (p *patch) checkName() {
	for _, name := range []string{"name", "namespace"} {
		if field := p.node.Field("metadata").Field(name); field.Written() {
			field.Errorf("a patch cannot change the %s of a pod", name)
		}
	}
}

// isDirective reports whether a key says how to merge, such as $patch.
func isDirective(key string) bool { return strings.HasPrefix(key, "$") }

// apply returns the patched pod, or nil after saying why it cannot be. What is wrong in the patch is left
// out.
func (p *patch) apply(pod *v1.Pod) *v1.Pod {
	if p.node.Kind != strict.Mapping {
		return nil
	}
	patched, err := apiserver.Merge(pod, p.node.JSON())
	if err != nil {
		if !p.node.Bad() { // it may fail for what is left out
			p.node.Errorf("cannot be applied: %s", err)
		}
		return nil
	}
	return patched
}
