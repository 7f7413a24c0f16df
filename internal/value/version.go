package value

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Version is a Kubernetes release.
type Version struct{ Major, Minor, Patch int }

// VersionRange is a closed range of Kubernetes releases. In a range, v1.36 stands for all patch releases of 1.36.
type VersionRange struct {
	Min, Max Version
	text     string
}

var versionPattern = regexp.MustCompile(`^v(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?$`)

// ParseVersion parses a full version such as v1.37.0.
func ParseVersion(s string) (Version, error) {
	lo, hi, err := parseVersions(s)
	if err == nil && lo != hi {
		err = fmt.Errorf("%s is not a full version such as v1.37.0", strict.Quote(s))
	}
	return lo, err
}

func (v Version) String() string { return fmt.Sprintf("v%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Compare returns a negative number if v is older than w, a positive one if it is newer, and 0 if they are equal.
func (v Version) Compare(w Version) int {
	for _, d := range []int{v.Major - w.Major, v.Minor - w.Minor, v.Patch - w.Patch} {
		if d != 0 {
			return d
		}
	}
	return 0
}

// UnmarshalText parses a range of versions.
func (r *VersionRange) UnmarshalText(text []byte) error {
	s := string(text)
	r.text = s
	from, to, isRange := strings.Cut(s, "..")
	if !isRange {
		to = from
	}
	r.Min, r.Max = Version{}, Version{math.MaxInt, 0, 0}
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

// String returns the range as written.
func (r VersionRange) String() string { return r.text }

// parseVersions returns the first and the last release that a version stands for.
func parseVersions(s string) (first, last Version, err error) {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return first, last, fmt.Errorf("%s is not a version such as v1.37.0 or v1.37", strict.Quote(s))
	}
	first.Major, _ = strconv.Atoi(m[1])
	first.Minor, _ = strconv.Atoi(m[2])
	if m[3] == "" {
		last = first
		last.Patch = math.MaxInt
		return first, last, nil
	}
	first.Patch, _ = strconv.Atoi(m[3])
	return first, first, nil
}
