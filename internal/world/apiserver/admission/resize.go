package admission

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
	"probesim.dev/kube/profile"
)

// Resize applies a strategic merge patch to the resources of the containers in a copy of the pod,
// as the subresource pods/resize does, and returns the copy. Changed resources increment the
// generation (podResizeStrategy in pkg/registry/core/pod/strategy.go at v1.37.0). It returns a
// BadRequest error if the patch is unreadable, and an Invalid error that lists all invalid fields.
func Resize(p profile.Profile, pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	before, merged, err := mergeRequest(pod, patch)
	if err != nil {
		return nil, err
	}
	defaultResources(&merged.Spec)
	if err := asError(pod, ValidateResize(p, merged, before)); err != nil {
		return nil, err
	}
	after := *pod
	after.Spec = merged.Spec
	if !apiequality.Semantic.DeepEqual(before.Spec, after.Spec) {
		after.Generation++
	}
	return &after, nil
}

// ValidateResize returns the errors with which the API server rejects a resize of old to pod. The
// API server ignores changes of other fields; ValidateResize reports them. (ValidatePodResize)
func ValidateResize(p profile.Profile, pod, old *v1.Pod) field.ErrorList {
	return errorsIn(field.NewPath("spec"), func(s scope) { validateResize(s, p, pod, old) })
}

func validateResize(s scope, p profile.Profile, pod, old *v1.Pod) {
	if podutil.IsMirror(old) || podutil.IsStatic(old) {
		s.forbid(true, "static pods cannot be resized")
		return
	}
	validateSpec(s, &pod.Spec)
	s.invalid(podutil.QOSClass(&pod.Spec) != podutil.QOSClass(&old.Spec), podutil.QOSClass(&old.Spec),
		"Pod QOS Class may not change as a result of resizing")
	if !validateSameContainers(s.at("containers"), "containers", pod.Spec.Containers, old.Spec.Containers) ||
		!validateSameContainers(s.at("initContainers"), "initContainers", pod.Spec.InitContainers,
			old.Spec.InitContainers) {
		return
	}
	const only = "only cpu and memory resources are mutable"
	before := slices.Concat(old.Spec.Containers, old.Spec.InitContainers)
	eachContainer(s, &pod.Spec, func(at scope, c *v1.Container, init bool) {
		was := &before[0]
		before = before[1:]
		if init {
			resizeInitContainer(s, at, p, c, was)
			return
		}
		validateContainerResize(at.at("resources"), c, was)
		s.forbid(!isResizeOnly(c, was), only)
	})
	rest := pod.Spec
	rest.Containers, rest.InitContainers = old.Spec.Containers, old.Spec.InitContainers
	s.forbid(len(*s.errs) == 0 && !apiequality.Semantic.DeepEqual(rest, old.Spec), only)
}

// validateSameContainers reports containers that are not in both lists, and returns false if there
// are any. (validatePodResizeContainerOrdering)
func validateSameContainers(s scope, name string, containers, before []v1.Container) bool {
	if len(containers) != len(before) {
		s.forbid(true, name+" may not be added or removed on resize")
		return false
	}
	same := true
	for i := range before {
		renamed := containers[i].Name != before[i].Name
		s.index(i).at("name").forbid(renamed, name+" may not be renamed or reordered on resize")
		same = same && !renamed
	}
	return same
}

// resizeInitContainer checks the change of an init container.
func resizeInitContainer(spec, s scope, p profile.Profile, c, old *v1.Container) {
	sidecar, changed := podutil.IsRestartableInitContainer(c), !apiequality.Semantic.DeepEqual(c, old)
	if !sidecar && !p.InPlacePodVerticalScalingInitContainers {
		spec.forbid(changed, "resources for non-sidecar init containers are immutable")
		return
	}
	validateContainerResize(s.at("resources"), c, old)
	s.forbid(!isResizeOnly(c, old), "only cpu and memory resources for init or sidecar containers are mutable")
	for _, policy := range c.ResizePolicy {
		s.forbid(changed && !sidecar && policy.RestartPolicy == v1.RestartContainer,
			"non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
	}
}

// validateContainerResize reports requests and limits that are gone. (function of that name)
func validateContainerResize(s scope, c, old *v1.Container) {
	check := func(name string, now, was v1.ResourceList) {
		gone := slices.ContainsFunc(slices.Sorted(maps.Keys(was)),
			func(resource v1.ResourceName) bool { _, kept := now[resource]; return !kept })
		s.at(name).forbid(gone, "resource "+name+" cannot be removed")
	}
	check("requests", c.Resources.Requests, old.Resources.Requests)
	check("limits", c.Resources.Limits, old.Resources.Limits)
}

// isResizeOnly reports whether only the cpu and memory of a container change.
// (dropCPUMemoryResourcesFromContainer)
func isResizeOnly(c, old *v1.Container) bool {
	same := *c
	same.Resources.Limits = undoResize(c.Resources.Limits, old.Resources.Limits)
	same.Resources.Requests = undoResize(c.Resources.Requests, old.Resources.Requests)
	return apiequality.Semantic.DeepEqual(&same, old)
}

// undoResize returns a list with the cpu and memory of another list.
func undoResize(now, was v1.ResourceList) v1.ResourceList {
	undone := v1.ResourceList{}
	for name, q := range now {
		if !slices.Contains(resizable, name) {
			undone[name] = q
		}
	}
	for _, name := range resizable {
		if q, ok := was[name]; ok {
			undone[name] = q
		}
	}
	if len(undone) == 0 && was == nil {
		return nil
	}
	return undone
}

// validateResizePolicy checks the resize policy of a container in a pod with a restart policy.
// (function of that name)
func validateResizePolicy(s scope, c *v1.Container, ofPod v1.RestartPolicy) {
	seen := map[v1.ResourceName]bool{}
	for i, p := range c.ResizePolicy {
		if seen[p.ResourceName] {
			s.add(field.Duplicate(s.path.Index(i), p.ResourceName))
		}
		seen[p.ResourceName] = true
		required(s, p.ResourceName, resizable...)
		required(s, p.RestartPolicy, v1.NotRequired, v1.RestartContainer)
		s.invalid(ofPod == v1.RestartPolicyNever && p.RestartPolicy != v1.NotRequired, p.RestartPolicy,
			"must be 'NotRequired' when pod `restartPolicy` is 'Never'")
	}
}

// required reports a value that is missing, or not one of the supported ones.
func required[T ~string](s scope, value T, supported ...T) {
	if s.require(value != "", ""); value != "" {
		oneOf(s, value, supported...)
	}
}

// defaultResources sets the requests of containers to their limits where they have none, and rounds
// quantities up to a thousandth. (SetDefaults_Pod and SetDefaults_ResourceList)
func defaultResources(spec *v1.PodSpec) {
	for c := range podutil.Containers(spec) {
		r := &c.Resources
		roundUp(r)
		for name, limit := range r.Limits {
			if _, requested := r.Requests[name]; !requested {
				if r.Requests == nil {
					r.Requests = v1.ResourceList{}
				}
				r.Requests[name] = limit.DeepCopy()
			}
		}
	}
}

// roundUp rounds the quantities of resources up to a thousandth (SetDefaults_ResourceList in
// pkg/apis/core/v1/defaults.go at v1.37.0).
func roundUp(r *v1.ResourceRequirements) {
	for _, list := range []v1.ResourceList{r.Limits, r.Requests} {
		for name, q := range list {
			q.RoundUp(resource.Milli)
			list[name] = q
		}
	}
}
