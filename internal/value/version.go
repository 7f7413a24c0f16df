package value

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"

	"probesim.dev/internal/strict"
)

// Version is a Kubernetes release without its patch number, or a preview of what may come to one
// that is not out: v1.38-preview follows v1.38.
type Version struct {
	Major, Minor int
	preview      bool
}

// VersionRange is a closed range of Kubernetes releases. Patch numbers do not count.
type VersionRange struct {
	Min, Max Version
	text     string
}

var versionPattern = regexp.MustCompile(`^v(\d{1,4})\.(\d{1,4})(\.\d{1,4}|-preview)?$`)

// ParseVersion parses a version such as v1.37, v1.37.0 or v1.38-preview.
func ParseVersion(s string) (Version, error) {
	var v Version
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return v, fmt.Errorf("%s is not a version such as v1.37", strict.Quote(s))
	}
	v.Major, _ = strconv.Atoi(m[1])
	v.Minor, _ = strconv.Atoi(m[2])
	v.preview = m[3] == "-preview"
	return v, nil
}

func (v Version) String() string {
	text := fmt.Sprintf("v%d.%d", v.Major, v.Minor)
	if v.preview {
		text += "-preview"
	}
	return text
}

// Compare returns a negative number if v is older than w, a positive one if it is newer, and 0 if
// they are equal.
func (v Version) Compare(w Version) int {
	switch order := cmp.Or(v.Major-w.Major, v.Minor-w.Minor); {
	case order != 0 || v.preview == w.preview:
		return order
	case v.preview:
		return 1
	}
	return -1
}

// UnmarshalText parses a range of versions.
func (r *VersionRange) UnmarshalText(text []byte) error {
	r.text = string(text)
	var err error
	r.Min, r.Max, err = parseRange(r.text, Version{}, Version{Major: math.MaxInt}, ParseVersion, Version.Compare)
	return err
}

// Contains reports whether v is in the range.
func (r VersionRange) Contains(v Version) bool { return r.Min.Compare(v) <= 0 && v.Compare(r.Max) <= 0 }

// Selects reports whether a run of the range includes v. A version that is not out must be named:
// one end of the range has its minor version. So v1.37.. does not select v1.38 before it is out,
// and v1.37..v1.38 does.
func (r VersionRange) Selects(v Version, isOut bool) bool {
	return r.Contains(v) && (isOut || r.Min.sameMinor(v) || r.Max.sameMinor(v))
}

func (v Version) sameMinor(w Version) bool { return v.Major == w.Major && v.Minor == w.Minor }

// String returns the range as written.
func (r VersionRange) String() string { return r.text }
