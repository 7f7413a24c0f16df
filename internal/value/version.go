package value

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Version is a Kubernetes release without its patch number, or a preview of one that is not out:
// v1.38-preview precedes v1.38.
type Version struct {
	Major, Minor int
	preview      bool
}

// VersionRange is a closed range of Kubernetes releases. In a range, v1.38 stands for the release
// and its preview. Patch numbers do not count: v1.38.0 is the release alone.
type VersionRange struct {
	Min, Max Version
	text     string
}

var versionPattern = regexp.MustCompile(`^v(\d{1,4})\.(\d{1,4})(\.\d{1,4}|-preview)?$`)

// ParseVersion parses a version such as v1.37, v1.37.0 or v1.38-preview.
func ParseVersion(s string) (Version, error) {
	_, v, err := parseVersions(s)
	return v, err
}

func (v Version) String() string {
	text := fmt.Sprintf("v%d.%d", v.Major, v.Minor)
	if v.preview {
		text += "-preview"
	}
	return text
}

// Preview reports whether the version is the preview of a release.
func (v Version) Preview() bool { return v.preview }

// Compare returns a negative number if v is older than w, a positive one if it is newer, and 0 if
// they are equal.
func (v Version) Compare(w Version) int {
	switch order := cmp.Or(v.Major-w.Major, v.Minor-w.Minor); {
	case order != 0 || v.preview == w.preview:
		return order
	case v.preview:
		return -1
	}
	return 1
}

// UnmarshalText parses a range of versions.
func (r *VersionRange) UnmarshalText(text []byte) error {
	s := string(text)
	r.text = s
	from, to, isRange := strings.Cut(s, "..")
	if !isRange {
		to = from
	}
	r.Min, r.Max = Version{}, Version{Major: math.MaxInt}
	var err error
	if from != "" || !isRange {
		if r.Min, _, err = parseVersions(from); err != nil {
			return err
		}
	}
	if to != "" || !isRange {
		if _, r.Max, err = parseVersions(to); err != nil {
			return err
		}
	}
	if r.Min.Compare(r.Max) > 0 {
		return fmt.Errorf("%s is empty: it ends before it begins", strict.Quote(s))
	}
	return nil
}

// Contains reports whether v is in the range.
func (r VersionRange) Contains(v Version) bool { return r.Min.Compare(v) <= 0 && v.Compare(r.Max) <= 0 }

// Selects reports whether a run of the range includes v. A preview must be named: one end of the
// range is the preview or its minor version. So v1.37.. does not select v1.38-preview, and
// v1.37..v1.38 does.
func (r VersionRange) Selects(v Version) bool {
	return r.Contains(v) && (!v.Preview() || r.Min.sameMinor(v) || r.Max.sameMinor(v))
}

func (v Version) sameMinor(w Version) bool { return v.Major == w.Major && v.Minor == w.Minor }

// String returns the range as written.
func (r VersionRange) String() string { return r.text }

// parseVersions returns the first and the last release that a version stands for.
func parseVersions(s string) (first, last Version, err error) {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return first, last, fmt.Errorf("%s is not a version such as v1.37", strict.Quote(s))
	}
	first.Major, _ = strconv.Atoi(m[1])
	first.Minor, _ = strconv.Atoi(m[2])
	last = first
	first.preview, last.preview = !strings.HasPrefix(m[3], "."), m[3] == "-preview"
	return first, last, nil
}
