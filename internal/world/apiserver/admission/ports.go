package admission

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validatePorts is validateContainerPorts, without ports of the node.
func validatePorts(s scope, ports []v1.ContainerPort) {
	names := sets.New[string]()
	for i, port := range ports {
		at := s.index(i)
		name, number := at.at("name"), at.at("containerPort")
		if messages := validation.IsValidPortName(port.Name); port.Name != "" && len(messages) > 0 {
			name.invalidFor(port.Name, messages)
		} else if names.Has(port.Name) {
			name.add(field.Duplicate(name.path, port.Name))
		} else if port.Name != "" {
			names.Insert(port.Name)
		}
		if number.require(port.ContainerPort != 0, ""); port.ContainerPort != 0 {
			number.invalidFor(port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))
		}
		oneOf(at.at("protocol"), port.Protocol, v1.ProtocolSCTP, v1.ProtocolTCP, v1.ProtocolUDP)
	}
}
