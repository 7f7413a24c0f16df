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
	path := field.NewPath("spec")
	if podutil.IsMirror(old) || podutil.IsStatic(old) {
		return field.ErrorList{field.Forbidden(path, "static pods cannot be resized")}
	}
	errs := validateSpec(&pod.Spec, path)
	if podutil.QOSClass(&pod.Spec) != podutil.QOSClass(&old.Spec) {
		errs = append(errs, field.Invalid(path, podutil.QOSClass(&old.Spec),
			"Pod QOS Class may not change as a result of resizing"))
	}
	if added := validateSameContainers(&pod.Spec, &old.Spec, path); len(added) > 0 {
		return append(errs, added...)
	}
	for i := range pod.Spec.InitContainers {
		errs = append(errs, resizeInitContainer(p, &pod.Spec.InitContainers[i], &old.Spec.InitContainers[i], path,
			i)...)
	}
	for i := range pod.Spec.Containers {
		c, was := &pod.Spec.Containers[i], &old.Spec.Containers[i]
		errs = append(errs, validateContainerResize(c, was, path.Child("containers").Index(i))...)
		if !isResizeOnly(c, was) {
			errs = append(errs, field.Forbidden(path, "only cpu and memory resources are mutable"))
		}
	}
	rest := pod.Spec
	rest.Containers, rest.InitContainers = old.Spec.Containers, old.Spec.InitContainers
	if len(errs) == 0 && !apiequality.Semantic.DeepEqual(rest, old.Spec) {
		errs = append(errs, field.Forbidden(path, "only cpu and memory resources are mutable"))
	}
	return errs
}

// validateSameContainers reports containers that are not in both specs.
// (validatePodResizeContainerOrdering)
func validateSameContainers(spec, old *v1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(name string, containers, before []v1.Container) {
		if len(containers) != len(before) {
			errs = append(errs, field.Forbidden(path.Child(name), name+" may not be added or removed on resize"))
			return
		}
		for i := range before {
			if containers[i].Name != before[i].Name {
				errs = append(errs, field.Forbidden(path.Child(name).Index(i).Child("name"),
					name+" may not be renamed or reordered on resize"))
			}
		}
	}
	check("containers", spec.Containers, old.Containers)
	check("initContainers", spec.InitContainers, old.InitContainers)
	return errs
}

// resizeInitContainer checks the change of an init container.
func resizeInitContainer(p profile.Profile, c, old *v1.Container, path *field.Path, i int) field.ErrorList {
	at, sidecar := path.Child("initContainers").Index(i), podutil.IsRestartableInitContainer(c)
	changed := !apiequality.Semantic.DeepEqual(c, old)
	if !sidecar && !p.InPlacePodVerticalScalingInitContainers {
		if changed {
			return field.ErrorList{field.Forbidden(path, "resources for non-sidecar init containers are immutable")}
		}
		return nil
	}
	errs := validateContainerResize(c, old, at)
	if !isResizeOnly(c, old) {
		errs = append(errs, field.Forbidden(at,
			"only cpu and memory resources for init or sidecar containers are mutable"))
	}
	if changed && !sidecar {
		for _, policy := range c.ResizePolicy {
			if policy.RestartPolicy == v1.RestartContainer {
				errs = append(errs, field.Forbidden(at,
					"non-sidecar init containers with a resize policy of RestartContainer cannot be resized"))
			}
		}
	}
	return errs
}

// validateContainerResize reports requests and limits that are gone. (function of that name)
func validateContainerResize(c, old *v1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(name string, now, was v1.ResourceList) {
		for _, resource := range slices.Sorted(maps.Keys(was)) {
			if _, kept := now[resource]; !kept {
				errs = append(errs, field.Forbidden(path.Child("resources", name), "resource "+name+
					" cannot be removed"))
				return
			}
		}
	}
	check("requests", c.Resources.Requests, old.Resources.Requests)
	check("limits", c.Resources.Limits, old.Resources.Limits)
	return errs
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

// validateResizePolicies checks the resize policies of containers.
func validateResizePolicies(spec *v1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(name string, containers []v1.Container) {
		for i := range containers {
			errs = append(errs, validateResizePolicy(&containers[i], spec.RestartPolicy, path.Child(name).Index(i))...)
		}
	}
	check("initContainers", spec.InitContainers)
	check("containers", spec.Containers)
	return errs
}

// validateResizePolicy checks the resize policy of a container in a pod with a restart policy.
// (function of that name)
func validateResizePolicy(c *v1.Container, ofPod v1.RestartPolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at, seen := path.Child("resizePolicy"), map[v1.ResourceName]bool{}
	for i, p := range c.ResizePolicy {
		if seen[p.ResourceName] {
			errs = append(errs, field.Duplicate(at.Index(i), p.ResourceName))
		}
		seen[p.ResourceName] = true
		errs = append(errs, required(at, p.ResourceName, resizable...)...)
		errs = append(errs, required(at, p.RestartPolicy, v1.NotRequired, v1.RestartContainer)...)
		if ofPod == v1.RestartPolicyNever && p.RestartPolicy != v1.NotRequired {
			errs = append(errs, field.Invalid(at, p.RestartPolicy,
				"must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
		}
	}
	return errs
}

// required reports a value that is missing, or not one of the supported ones.
func required[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return oneOf(path, value, supported...)
}

// defaultResources sets the requests of containers to their limits where they have none, and rounds
// quantities up to a thousandth. (SetDefaults_Pod and SetDefaults_ResourceList)
func defaultResources(spec *v1.PodSpec) {
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
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
