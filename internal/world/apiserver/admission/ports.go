package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePorts is validateContainerPorts, without ports of the node.
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
		errs = append(errs, oneOf(at.Child("protocol"), port.Protocol, v1.ProtocolSCTP, v1.ProtocolTCP,
			v1.ProtocolUDP)...)
	}
	return errs
}
