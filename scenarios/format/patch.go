package format

import (
	"encoding/json"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/strict"
)

// PatchPod patches pods through the API.
type PatchPod struct {
	Pod      string                   `json:"pod,omitempty"` // as in Delete
	Metadata *part[metav1.ObjectMeta] `json:"metadata,omitempty"`
	Spec     *part[v1.PodSpec]        `json:"spec,omitempty"`
	Status   *part[v1.PodStatus]      `json:"status,omitempty"`
}

// JSON returns the patch for the API server.
func (p *PatchPod) JSON() []byte {
	data, err := json.Marshal(struct {
		Metadata *part[metav1.ObjectMeta] `json:"metadata,omitempty"`
		Spec     *part[v1.PodSpec]        `json:"spec,omitempty"`
		Status   *part[v1.PodStatus]      `json:"status,omitempty"`
	}{p.Metadata, p.Spec, p.Status})
	if err != nil {
		panic(err) // the parts are valid JSON
	}
	return data
}

// ChangesProbes reports whether the patch is about probes of containers, which the API server
// refuses for pods that terminate.
func (p *PatchPod) ChangesProbes() bool {
	if p.Spec == nil {
		return false
	}
	var patch struct {
		Spec struct{ InitContainers, Containers []map[string]json.RawMessage }
	}
	if json.Unmarshal(p.JSON(), &patch) != nil {
		return false
	}
	for _, c := range slices.Concat(patch.Spec.InitContainers, patch.Spec.Containers) {
		for _, key := range ProbeKeys {
			if _, has := c[key+"Probe"]; has {
				return true
			}
		}
	}
	return false
}

// part is the part of a strategic merge patch that patches a T.
type part[T any] struct{ node *strict.Node }

// UnmarshalNode checks the patch against T and keeps the node.
func (p *part[T]) UnmarshalNode(n *strict.Node) {
	p.node = n
	var patched T
	n.Ignore(isDirective)
	strict.Decode(n, &patched)
}

// Patched returns a T, for the generator of the documentation.
func (part[T]) Patched() any {
	var patched T
	return patched
}

func (p *part[T]) MarshalJSON() ([]byte, error) { return p.node.JSON(), nil }

// patch has strategic merge patches of the metadata and spec of a pod, which apply one after the
// other: that of a scenario, and that of its variant.
type patch struct{ Nodes []*strict.Node }

// patchedPod has the fields that a patch can change.
type patchedPod = struct {
	Metadata metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec     v1.PodSpec        `json:"spec,omitempty"`
}

// Patched returns a patchedPod, for the generator of the documentation.
func (patch) Patched() any { return patchedPod{} }

// UnmarshalNode checks a patch against the type of a pod and adds it.
func (p *patch) UnmarshalNode(n *strict.Node) {
	p.Nodes = append(p.Nodes, n)
	if n.Kind != strict.Mapping {
		n.Errorf("must be a mapping with metadata and spec")
		return
	}
	var pod patchedPod
	n.Ignore(isDirective)
	strict.Decode(n, &pod)
	for _, name := range []string{"name", "namespace"} {
		if field := n.Field("metadata").Field(name); field.Written() {
			field.Errorf("a patch cannot change the %s of a pod", name)
		}
	}
}

// isDirective reports whether a key is a merge directive, such as $patch.
func isDirective(key string) bool { return strings.HasPrefix(key, "$") }
