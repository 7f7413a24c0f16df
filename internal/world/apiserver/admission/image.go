package admission

import (
	_ "crypto/sha256" // digests of images
	_ "crypto/sha512"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
)

const maxImage = 4096 // bytes; the grammar has no limit for the host

// parseImage returns the reference that the name of an image is, or nil. The kubelet does not start
// a container with another image.
func parseImage(image string) reference.Named {
	if len(image) > maxImage {
		return nil
	}
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return nil
	}
	return named
}

// IsImage reports whether the name of an image is a valid reference. The kubelet starts no
// container of another image.
func IsImage(image string) bool { return parseImage(image) != nil }

// pullPolicy returns the default pull policy: Always for the tag latest, which an image without tag
// and digest has too, and IfNotPresent otherwise. (ParseImageName in pkg/util/parsers)
func pullPolicy(image string) v1.PullPolicy {
	if named := parseImage(image); named != nil {
		if tagged, ok := reference.TagNameOnly(named).(reference.Tagged); ok && tagged.Tag() == "latest" {
			return v1.PullAlways
		}
	}
	return v1.PullIfNotPresent
}
