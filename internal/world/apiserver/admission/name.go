package admission

import "strconv"

// maxGeneratedBase is the maximum length of the base of a generated name. A name has at most 63
// characters; the API server uses the last five for a random suffix (SimpleNameGenerator in
// k8s.io/apiserver/pkg/storage/names at v0.37.0).
const maxGeneratedBase = 63 - 5

// GeneratedName returns the name of an object whose generateName is base. The name ends with the
// ordinal instead of random characters, because equal runs must have equal names.
func GeneratedName(base string, ordinal int) string {
	return base[:min(len(base), maxGeneratedBase)] + strconv.Itoa(ordinal)
}
