package admission

import (
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// The grammar of image references (github.com/distribution/reference v0.6.0). The kubelet does not
// start a container with another image. The default host is docker.io.
var (
	imagePath   = regexp.MustCompile(`^(?:` + imageHost + `/)?(` + imageName + `(?:/` + imageName + `)*)$`)
	imageTag    = regexp.MustCompile(`^:[\w][\w.-]*$`)
	imageDigest = regexp.MustCompile(`^@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$`)
	imageID     = regexp.MustCompile(`^[a-f0-9]{64}$`) // the ID of an image is not a reference
)

const (
	imageLabel = `(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])`
	imageHost  = `(?:` + imageLabel + `(?:\.` + imageLabel + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
	imageName  = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`

	maxImagePath = 255
	maxImageTag  = 129  // with its colon
	maxImage     = 4096 // bytes; the grammar has no limit for the host
)

// parseImage returns the tag with its colon and the digest with its @ of an image reference. It
// reports false if the image is not a reference.
func parseImage(image string) (tag, digest string, ok bool) {
	if len(image) > maxImage {
		return "", "", false
	}
	full := withHost(image)
	path, digest := splitBefore(full, strings.IndexByte(full, '@'))
	colon := strings.LastIndexByte(path, ':')
	if colon < strings.LastIndexByte(path, '/') {
		colon = -1 // before a port
	}
	path, tag = splitBefore(path, colon)
	m := imagePath.FindStringSubmatch(path)
	switch {
	case m == nil || len(m[1]) > maxImagePath || imageID.MatchString(image),
		tag != "" && (len(tag) > maxImageTag || !imageTag.MatchString(tag)),
		digest != "" && !imageDigest.MatchString(digest):
		return "", "", false
	}
	return tag, digest, true
}

// splitBefore splits a text before an index. A negative index stands for the end.
func splitBefore(text string, i int) (before, rest string) {
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i:]
}

// withHost adds the default host, unless the part before the first slash looks like a host.
func withHost(image string) string {
	host, rest, ok := strings.Cut(image, "/")
	switch {
	case !ok:
		return "docker.io/library/" + image
	case !strings.ContainsAny(host, ".:") && host != "localhost" && strings.ToLower(host) == host:
		return "docker.io/" + image
	case (host == "docker.io" || host == "index.docker.io") && !strings.Contains(rest, "/"):
		return "docker.io/library/" + rest
	}
	return image
}

// IsImage reports whether the name of an image is a valid reference. The kubelet starts no
// container of another image.
func IsImage(image string) bool {
	_, _, ok := parseImage(image)
	return ok
}

// pullPolicy returns the default pull policy: Always for the tag latest, which an image without tag
// and digest has too, and IfNotPresent otherwise. (ParseImageName in pkg/util/parsers)
func pullPolicy(image string) v1.PullPolicy {
	if tag, digest, ok := parseImage(image); ok && (tag == ":latest" || tag == "" && digest == "") {
		return v1.PullAlways
	}
	return v1.PullIfNotPresent
}
