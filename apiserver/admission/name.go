package admission

import "strconv"

// maxGeneratedBase is the longest base of a generated name. A name has at most 63 characters, of which five are random
// (SimpleNameGenerator in k8s.io/apiserver/pkg/storage/names at v0.37.0).
const maxGeneratedBase = 63 - 5

// GeneratedName returns the name of an object with a generateName. It ends with a number instead of random characters: equal
// runs have equal names.
func GeneratedName(base string, ordinal int) string {
	return base[:min(len(base), maxGeneratedBase)] + strconv.Itoa(ordinal)
}
