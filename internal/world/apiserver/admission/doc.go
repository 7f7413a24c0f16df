// Package admission applies the rules of the API server to pods: it sets defaults, validates, drops
// fields whose feature gate is off, and merges patches. It covers the fields that the simulator
// reads. [Admit] does all of this for a new pod.
//
// The rules follow pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go at
// v1.37.0. A name in parentheses at the end of a comment is the function there that a rule follows.
// Error texts are the same as in the API server.
package admission

import "k8s.io/apimachinery/pkg/types"

// UID returns the generated UID of a pod. It depends on the pod's name only: the API server's
// random UID would make runs differ.
func UID(namespace, name string) types.UID { return types.UID("uid-" + namespace + "-" + name) }
