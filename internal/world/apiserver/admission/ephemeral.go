package admission

import (
	"reflect"
	"slices"
	"unicode"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
)

// AddEphemeralContainer adds an ephemeral container to a copy of the pod, as kubectl debug does,
// and returns the copy. It sets the defaults and increments the generation
// (podEphemeralContainersStrategy in pkg/registry/core/pod/strategy.go at v1.37.0). It returns an
// Invalid error that lists all invalid fields.
func AddEphemeralContainer(pod *v1.Pod, c v1.EphemeralContainer) (*v1.Pod, error) {
	path := field.NewPath("spec", "ephemeralContainers").Index(len(pod.Spec.EphemeralContainers))
	DefaultEphemeral(&c)
	if err := asError(pod, ValidateEphemeral(pod, &c, path)); err != nil {
		return nil, err
	}
	after := *pod
	after.Spec.EphemeralContainers = append(slices.Clone(pod.Spec.EphemeralContainers), c)
	after.Generation++
	return &after, nil
}

// DefaultEphemeral sets the API server's defaults in an ephemeral container.
func DefaultEphemeral(c *v1.EphemeralContainer) {
	defaultContainer((*v1.Container)(&c.EphemeralContainerCommon), false)
	roundUp(&c.Resources)
}

// ephemeralFields are the fields that an ephemeral container can have
// (allowedEphemeralContainerFields).
var ephemeralFields = []string{
	"Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "VolumeMounts", "VolumeDevices",
	"TerminationMessagePath",
	"TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext", "Stdin", "StdinOnce", "TTY",
}

// ValidateEphemeral returns the errors with which the API server rejects a new ephemeral container
// of a pod. The defaults must be set. (ValidatePodEphemeralContainersUpdate and
// validateEphemeralContainers)
func ValidateEphemeral(pod *v1.Pod, c *v1.EphemeralContainer, path *field.Path) field.ErrorList {
	if podutil.IsMirror(pod) || podutil.IsStatic(pod) {
		return field.ErrorList{field.Forbidden(path, "static pods do not support ephemeral containers")}
	}
	names := sets.New[string]()
	for other := range podutil.Containers(&pod.Spec) {
		names.Insert(other.Name)
	}
	return errorsIn(path, func(s scope) {
		if c.TargetContainerName != "" && !names.Has(c.TargetContainerName) {
			s.add(field.NotFound(path.Child("targetContainerName"), c.TargetContainerName))
		}
		for i := range pod.Spec.EphemeralContainers {
			names.Insert(pod.Spec.EphemeralContainers[i].Name)
		}
		common := (*v1.Container)(&c.EphemeralContainerCommon)
		validateCommon(s, common, names)
		validateSupported(s, common)
		validateResizePolicy(s.at("resizePolicy"), common, pod.Spec.RestartPolicy)
		for f, value := range reflect.ValueOf(c.EphemeralContainerCommon).Fields() {
			s.at(string(unicode.ToLower(rune(f.Name[0])))+f.Name[1:]).forbid(
				!slices.Contains(ephemeralFields, f.Name) && !value.IsZero(),
				"cannot be set for an Ephemeral Container")
		}
	})
}
