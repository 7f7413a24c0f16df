package admission

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/kube/podutil"
	"probesim.dev/kube/profile"
)

// Resize applies a strategic merge patch to the resources of the containers in a copy of the pod, as the subresource pods/resize
// does, and returns the copy. Changed resources increment the generation (podResizeStrategy in
// pkg/registry/core/pod/strategy.go at v1.37.0). It returns a BadRequest error if the patch is unreadable, and an Invalid error that
// lists all invalid fields.
func Resize(p profile.Profile, pod *v1.Pod, patch []byte) (*v1.Pod, error) {
	merged, err := mergeRequest(pod, patch)
	if err != nil {
		return nil, err
	}
	defaultResources(&merged.Spec)
	before, err := throughJSON(pod) // as the patched pod
	if err != nil {
		return nil, err
	}
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

// resizable are the resources that a resize can change.
var resizable = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}

// ValidateResize returns the errors with which the API server rejects a resize of old to pod. The API server ignores changes of
// other fields; ValidateResize reports them. (ValidatePodResize)
func ValidateResize(p profile.Profile, pod, old *v1.Pod) field.ErrorList {
	path := field.NewPath("spec")
	if podutil.IsMirror(old) || podutil.IsStatic(old) {
		return field.ErrorList{field.Forbidden(path, "static pods cannot be resized")}
	}
	if len(pod.Spec.Containers) != len(old.Spec.Containers) || len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return field.ErrorList{field.Forbidden(path, "containers may not be added or removed on resize")}
	}
	var errs field.ErrorList
	if podutil.QOSClass(&pod.Spec) != podutil.QOSClass(&old.Spec) {
		errs = append(errs, field.Invalid(path, podutil.QOSClass(&old.Spec), "Pod QOS Class may not change as a result of resizing"))
	}
	same := pod.Spec.DeepCopy()
	for i := range same.Containers {
		errs = append(errs, resizeContainer(&same.Containers[i], &old.Spec.Containers[i], path.Child("containers").Index(i))...)
	}
	for i := range same.InitContainers {
		c, was, at := &same.InitContainers[i], &old.Spec.InitContainers[i], path.Child("initContainers").Index(i)
		sidecar := podutil.IsRestartableInitContainer(was)
		if !sidecar && !p.InPlacePodVerticalScalingInitContainers {
			continue
		}
		changed := !apiequality.Semantic.DeepEqual(c, was)
		if errs = append(errs, resizeContainer(c, was, at)...); changed && !sidecar && slices.ContainsFunc(c.ResizePolicy, restartsContainer) {
			errs = append(errs, field.Forbidden(at, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"))
		}
	}
	if !apiequality.Semantic.DeepEqual(same, &old.Spec) {
		errs = append(errs, field.Forbidden(path, "only cpu and memory resources are mutable"))
	}
	return errs
}

func restartsContainer(p v1.ContainerResizePolicy) bool {
	return p.RestartPolicy == v1.RestartContainer
}

// resizeContainer checks the new resources of a container, and then undoes the changes that are allowed. (validateContainerResize and
// validateResourceRequirements)
func resizeContainer(c, old *v1.Container, path *field.Path) field.ErrorList {
	path = path.Child("resources")
	var errs field.ErrorList
	lists := []struct {
		name     string
		now, was *v1.ResourceList
	}{{"requests", &c.Resources.Requests, &old.Resources.Requests}, {"limits", &c.Resources.Limits, &old.Resources.Limits}}
	for _, list := range lists {
		for _, name := range sortedNames(*list.was) {
			if _, kept := (*list.now)[name]; !kept {
				errs = append(errs, field.Forbidden(path.Child(list.name), "resource "+list.name+" cannot be removed"))
				break
			}
		}
		for _, name := range sortedNames(*list.now) {
			if q := (*list.now)[name]; q.Sign() < 0 {
				errs = append(errs, field.Invalid(path.Child(list.name).Key(string(name)), q.String(), "must be greater than or equal to 0"))
			}
		}
	}
	for _, name := range sortedNames(c.Resources.Requests) {
		request := c.Resources.Requests[name]
		if limit, limited := c.Resources.Limits[name]; limited && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests"), request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	for _, list := range lists {
		*list.now = undoResize(*list.now, *list.was)
	}
	return errs
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

func sortedNames(list v1.ResourceList) []v1.ResourceName {
	var names []v1.ResourceName
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// validateResizePolicies checks the resize policies of containers. (validateResizePolicy)
func validateResizePolicies(spec *v1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(name string, containers []v1.Container) {
		for i := range containers {
			at, seen := path.Child(name).Index(i).Child("resizePolicy"), map[v1.ResourceName]bool{}
			for j, p := range containers[i].ResizePolicy {
				if seen[p.ResourceName] {
					errs = append(errs, field.Duplicate(at.Index(j), p.ResourceName))
				}
				seen[p.ResourceName] = true
				errs = append(errs, required(at, p.ResourceName, resizable...)...)
				errs = append(errs, required(at, p.RestartPolicy, v1.NotRequired, v1.RestartContainer)...)
				if spec.RestartPolicy == v1.RestartPolicyNever && p.RestartPolicy != v1.NotRequired {
					errs = append(errs, field.Invalid(at, p.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
				}
			}
		}
	}
	check("initContainers", spec.InitContainers)
	check("containers", spec.Containers)
	return errs
}

// required reports a value that is missing, or not one of the supported ones.
func required[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return oneOf(path, value, supported...)
}

// defaultResources sets the requests of containers to their limits where they have none, and rounds quantities up to a thousandth.
// (SetDefaults_Pod and SetDefaults_ResourceList)
func defaultResources(spec *v1.PodSpec) {
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			for _, list := range []v1.ResourceList{r.Limits, r.Requests} {
				for name, q := range list {
					q.RoundUp(resource.Milli)
					list[name] = q
				}
			}
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
