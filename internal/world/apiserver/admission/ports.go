package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePorts is validateContainerPorts.
func validatePorts(ports []v1.ContainerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, port := range ports {
		at := path.Index(i)
		if messages := validation.IsValidPortName(port.Name); port.Name != "" && len(messages) > 0 {
			errs = append(errs, invalid(at.Child("name"), port.Name, messages)...)
		} else if names.Has(port.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
		} else if port.Name != "" {
			names.Insert(port.Name)
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, invalid(at.Child("containerPort"), port.ContainerPort,
				validation.IsValidPortNum(int(port.ContainerPort)))...)
		}
		if port.HostPort != 0 {
			errs = append(errs, invalid(at.Child("hostPort"), port.HostPort,
				validation.IsValidPortNum(int(port.HostPort)))...)
		}
		errs = append(errs, oneOf(at.Child("protocol"), port.Protocol, v1.ProtocolSCTP, v1.ProtocolTCP,
			v1.ProtocolUDP)...)
	}
	return errs
}

// hostPorts is AccumulateUniqueHostPorts for one container.
func hostPorts(c *v1.Container, taken sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, port := range c.Ports {
		if port.HostPort == 0 {
			continue
		}
		key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
		if taken.Has(key) {
			errs = append(errs, field.Duplicate(path.Child("ports").Index(i).Child("hostPort"), key))
		}
		taken.Insert(key)
	}
	return errs
}

// validateHostPorts rejects a host port of two containers, and on the host's network a host port
// that differs from the container port. Init containers run one after the other and can share a
// port. (checkHostPortConflicts, validatePodHostNetworkDeps)
func validateHostPorts(spec *v1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	taken := sets.New[string]()
	for i, c := range spec.Containers {
		at := path.Child("containers").Index(i)
		errs = append(errs, hostPorts(&c, taken, at)...)
		for j, port := range c.Ports {
			if spec.HostNetwork && port.HostPort != port.ContainerPort {
				errs = append(errs, field.Invalid(at.Child("ports").Index(j).Child("hostPort"), port.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	for i, c := range spec.InitContainers {
		errs = append(errs, hostPorts(&c, sets.New[string](), path.Child("initContainers").Index(i))...)
	}
	return errs
}
