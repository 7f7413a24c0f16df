// Package admission does to a pod what the API server does before a kubelet sees it: it fills in defaults
// and refuses what is not valid, for the fields that the simulator reads. Rules are those of Kubernetes
// v1.37.0, in pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go; each rule here
// names its function there.
package admission

import "k8s.io/apimachinery/pkg/types"

// UID returns the uid of a pod that brings none. It is a function of the pod's name, so that runs can
// be repeated.
func UID(namespace, name string) types.UID { return types.UID("uid-" + namespace + "-" + name) }
