package manifests

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
)

// custom is a custom resource with a pod template in spec.template, such as a Rollout of Argo or a
// Service of Knative. Only its metadata and its template are read: the other fields depend on its
// controller.
type custom struct {
	metav1.PartialObjectMetadata
	template v1.PodTemplateSpec
	replicas *int32 // spec.replicas, if it is a whole number
}

// isCustomWorkload reports whether a custom resource has a pod template with containers.
func isCustomWorkload(n, apiVersion *strict.Node) bool {
	return IsCustom(apiVersion.Value) && n.Find("spec.template.spec.containers").Kind == strict.Sequence
}

// IsCustom reports whether an apiVersion belongs to custom resources, whose groups are domain
// names. Their kinds may have any name.
func IsCustom(apiVersion string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return ok && strings.Contains(group, ".")
}

// customKind returns the kind of a custom resource.
func customKind(apiVersion, kind string) *workloadKind {
	pick := func(m *Object, o *custom) {
		m.template(&o.ObjectMeta, &o.template, o.replicas)
		m.own = admission.ValidateCustomResource(&o.ObjectMeta)
	}
	return &workloadKind{apiVersion, kind, "spec.template", "spec.replicas", nil, typed(pick)}
}

// decode reads the metadata and the template of a custom resource.
func (c *custom) decode(n *strict.Node) {
	template := n.Find("spec.template")
	isKnative := strings.HasPrefix(n.Field("apiVersion").Value, "serving.knative.dev/")
	if isKnative {
		template.Field("spec").Skip(knativeFields...)
	}
	strict.Decode(n.Field("metadata"), &c.ObjectMeta)
	strict.Decode(template, &c.template)
	if isKnative {
		setKnativeDefaults(&c.template.Spec)
	}
	replicas := n.Find("spec.replicas")
	if number, err := strconv.ParseInt(replicas.Value, 10, 32); err == nil && number >= 0 && replicas.Tag == "!!int" {
		c.replicas = new(int32(number))
	}
}

// knativeFields are the fields of a RevisionSpec beside those of a PodSpec
// (pkg/apis/serving/v1/revision_types.go of knative.dev/serving).
var knativeFields = []string{"containerConcurrency", "timeoutSeconds", "responseStartTimeoutSeconds",
	"idleTimeoutSeconds"}

// setKnativeDefaults names the containers without a name, and sets the missing ports of their
// probes (revision_defaults.go and pkg/reconciler/revision/resources/deploy.go of
// knative.dev/serving).
func setKnativeDefaults(spec *v1.PodSpec) {
	port := int32(8080)
	for _, c := range spec.Containers {
		if len(c.Ports) > 0 {
			port = c.Ports[0].ContainerPort
		}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		name := "user-container"
		if len(spec.Containers) > 1 {
			name = fmt.Sprintf("user-container-%d", i)
		}
		c.Name = cmp.Or(c.Name, name)
		for _, p := range podutil.Probes(c) {
			if h := podutil.HandlerOf(&p.ProbeHandler); h.Port != nil {
				*h.Port = cmp.Or(*h.Port, intstr.FromInt32(port))
			}
		}
	}
}

// Kinds returns the built-in kinds of workloads, and those of the file.
func (f *Objects) Kinds() []string {
	kinds := WorkloadKinds()
	for _, m := range f.Manifests {
		if !slices.Contains(kinds, m.Kind.Kind) {
			kinds = append(kinds, m.Kind.Kind)
		}
	}
	return kinds
}
