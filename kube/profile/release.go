package profile

import (
	"slices"
	"strconv"
	"strings"
)

// release is a Kubernetes release: its major, minor and patch version, and 1 for a preview, which
// follows the release of its minor version.
type release [4]int

// previewSuffix ends the name of a preview.
const previewSuffix = "-preview"

// parseRelease parses a release such as v1.36.3; v1.36 is short for v1.36.0, and so are
// v1.36.0-beta.0, which comes before it, and v1.36-preview. It reports false for other texts.
func parseRelease(text string) (release, bool) {
	var r release
	numbers, suffix, _ := strings.Cut(text, "-")
	numbers, ok := strings.CutPrefix(numbers, "v")
	parts := strings.Split(numbers, ".")
	if !ok || len(parts) < 2 || len(parts) > 3 {
		return release{}, false
	}
	if "-"+suffix == previewSuffix {
		r[3] = 1
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return release{}, false
		}
		r[i] = n
	}
	return r, true
}

// atLeast reports whether the release is equal to other or later. It returns false if other is not
// a valid release.
func (r release) atLeast(other string) bool {
	o, ok := parseRelease(other)
	return ok && slices.Compare(r[:], o[:]) >= 0
}
