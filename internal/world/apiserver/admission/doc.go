// Package admission applies the rules of the API server to pods: it sets defaults, validates, drops
// fields whose feature gate is off, and merges patches. It covers the fields that the simulator
// reads. [Admit] does all of this for a new pod.
//
// The rules follow pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go at
// v1.37.0. A name in parentheses at the end of a comment is the function there that a rule follows.
// Error texts are the same as in the API server.
package admission

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// UID returns the generated UID of a pod. It depends on the pod's name only: the API server's
// random UID would make runs differ.
func UID(namespace, name string) types.UID { return types.UID("uid-" + namespace + "-" + name) }

// maxGeneratedBase is the maximum length of the base of a generated name. A name has at most 63
// characters; the API server uses the last five for a random suffix (SimpleNameGenerator in
// k8s.io/apiserver/pkg/storage/names at v0.37.0).
const maxGeneratedBase = 63 - 5

// GeneratedName returns the name of an object whose generateName is base. The name ends with the
// ordinal instead of random characters, because equal runs must have equal names.
func GeneratedName(base string, ordinal int) string {
	return base[:min(len(base), maxGeneratedBase)] + strconv.Itoa(ordinal)
}
