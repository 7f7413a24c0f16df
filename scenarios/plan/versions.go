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
		v, err := value.ParseVersion(name)
		if err != nil {
			panic(err) // the profiles are part of this module
		}
		versions = append(versions, v)
	}
	return versions
}

// SelectVersions returns the known versions that any of the ranges selects, oldest first. Without
// ranges it returns the newest known release.
func SelectVersions(ranges []value.VersionRange) []value.Version {
	if len(ranges) == 0 {
		newest, err := value.ParseVersion(profile.Newest().Version)
		if err != nil {
			panic(err) // the profiles are part of this module
		}
		return []value.Version{newest}
	}
	return slices.DeleteFunc(KnownVersions(), func(v value.Version) bool {
		return !slices.ContainsFunc(ranges, func(r value.VersionRange) bool { return r.Selects(v) })
	})
}
