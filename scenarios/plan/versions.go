package plan

import (
	"slices"

	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
)

// KnownVersions returns the versions with a profile, oldest first.
func KnownVersions() []value.Version {
	var versions []value.Version
	for _, name := range profile.NamesWithPreviews() {
		versions = append(versions, versionOf(name))
	}
	return versions
}

// versionOf returns the version of a profile.
func versionOf(name string) value.Version {
	v, err := value.ParseVersion(name)
	if err != nil {
		panic(err) // the profiles are part of this module
	}
	return v
}

// SelectVersions returns the known versions that any of the ranges selects, oldest first. Without
// ranges it returns the newest known release.
func SelectVersions(ranges []value.VersionRange) []value.Version {
	if len(ranges) == 0 {
		return []value.Version{versionOf(profile.Newest().Version)}
	}
	return slices.DeleteFunc(KnownVersions(), func(v value.Version) bool {
		return !slices.ContainsFunc(ranges, func(r value.VersionRange) bool { return Selects(r, v) })
	})
}

// Selects reports whether a range selects a known version.
func Selects(r value.VersionRange, v value.Version) bool {
	p, _ := profile.Named(v.String())
	return r.Selects(v, !p.Preview())
}
