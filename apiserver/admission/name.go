package admission

import "strconv"

// maxGeneratedBase is what is left of the base of a generated name, which has 63 characters at most, five of them random
// (SimpleNameGenerator in k8s.io/apiserver/pkg/storage/names at v0.37.0).
const maxGeneratedBase = 63 - 5

// GeneratedName returns the name that an object with a generateName gets. In the place of random characters it has a
// number, so that runs can be repeated.
func GeneratedName(base string, ordinal int) string {
	return base[:min(len(base), maxGeneratedBase)] + strconv.Itoa(ordinal)
}
