package scenarios

import (
	"slices"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/trace/match"
)

// Limits of a scenario. Durations are limited by value.MaxDuration, delays by an hour.
const (
	MaxPods  = 10_000  // per scenario
	MaxSeeds = 100_000 // per scenario

	maxEntries = 1000 // in spec.pods, steps and expect, and in behavior and answers of a container

	// maxParts is the limit of pods, containers and probes in total. Each needs a process of the simulator, and
	// node.DefaultLimits bounds those.
	maxParts = 150_000

	maxFiles      = 1000       // files that the scenarios of a file use manifests from
	maxPodValues  = 2_000_000  // values in the manifests of a scenario, counted for each pod
	maxFileValues = 4_000_000  // values in the manifests that the scenarios of a file use
	maxFilePods   = 200_000    // pods in the scenarios of a file
	maxFileMerges = 50_000_000 // comparisons of values by the patches, about
	maxFileBytes  = 16 << 20   // bytes of the files that the scenarios of a file use manifests from
)

// checker checks a scenario and resolves the names in it.
type checker struct {
	*loader
	file     *file
	scenario *Scenario
	root     *strict.Node // of the document
	spec     *strict.Node
	versions []value.Version   // versions that the scenario runs
	against  []profile.Profile // profiles to check against; nil: not computed from versions yet
	pods     int
	values   int // in the manifests of all pods
	parts    int // number of pods, containers and probes

	matches        map[string][]*workload // cache of matching
	haveContainer  map[[2]string]bool     // names of pods, and a container that all of these have
	replicasUnread bool                   // the number of replicas of a workload could not be read

	moments []*strict.Node // of the moments of the scenario

	facts map[scope]facts // cache of factsOf
	done  []stepDone      // cache of stepsDone
	kills *match.Kills    // cache of killReasons

	clockSteps time.Duration // sum of all clock steps, regardless of their signs
}

// check reports all errors in the scenario. Fields that could not be read are zero or have their default, and
// their nodes take no further errors; see strict.Node.Unread.
func (c *checker) check() {
	c.checkMetadata()
	if c.spec.Kind != strict.Mapping {
		if !c.spec.Bad() {
			c.spec.Errorf("is required")
		}
		return
	}
	c.checkRun()
	c.checkConfig(c.scenario.Spec.Kubelet.Config, c.spec.Field("kubelet").Field("config"))
	if c.spec.Field("duration").Bad() {
		c.scenario.Spec.Duration = value.Duration(value.MaxDuration) // so that no time is reported as too late
	}
	checkDelays(c.spec.Field("delays"), c.scenario.Spec.Delays)
	c.checkPods()
	c.checkMoments()
	c.checkSteps()
	c.checkExpect()
}

// fits reports whether a list is within the limit of entries.
func (c *checker) fits(n *strict.Node) bool {
	if len(n.Items) <= maxEntries {
		return true
	}
	n.Errorf("has more than %d entries", maxEntries)
	return false
}

func (c *checker) checkMetadata() {
	n, m := c.root.Field("metadata"), c.scenario.Metadata
	if name := n.Field("name"); m.Name == "" && !name.Bad() {
		name.Errorf("is required: the name of the scenario")
	} else if !name.Bad() {
		for _, message := range validation.IsDNS1123Subdomain(m.Name) {
			name.Errorf("%s is not a valid name: %s", strict.Quote(m.Name), message)
		}
	}
	for _, e := range apivalidation.ValidateLabels(m.Labels, field.NewPath("labels")) {
		n.Field("labels").Errorf("%s", e.ErrorBody())
	}
}

// checkRun checks the duration, the seeds and the versions.
func (c *checker) checkRun() {
	s := &c.scenario.Spec
	if n := c.spec.Field("duration"); s.Duration == 0 && !n.Bad() {
		n.Errorf("must be longer than 0s")
	}
	if s.Seeds != nil && !c.spec.Field("seeds").Bad() {
		switch n := c.spec.Field("seeds"); {
		case s.Seeds.Min == value.OpenMin || s.Seeds.Max == value.OpenMax:
			n.Errorf("has an open end: every seed is a run, so write both ends")
		case s.Seeds.Max-s.Seeds.Min >= MaxSeeds:
			n.Errorf("contains more than %d seeds", MaxSeeds)
		}
	}
	c.checkVersions()
}

// checkVersions selects the versions that the scenario runs.
func (c *checker) checkVersions() {
	ranges, n := c.scenario.Spec.KubernetesVersions, c.spec.Field("kubernetesVersions")
	known := knownVersions()
	for i, r := range ranges {
		if !slices.ContainsFunc(known, r.Selects) {
			n.Index(i).Errorf("%s is not supported yet: the supported versions are %s", r, listVersions(known))
		}
	}
	if !n.Bad() {
		c.versions = selectVersions(ranges)
	}
}

// knownVersions returns the versions with a profile, oldest first.
func knownVersions() []value.Version {
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

// selectVersions returns the known versions that any of the ranges selects, oldest first. Without ranges it returns the
// newest known release.
func selectVersions(ranges []value.VersionRange) []value.Version {
	if len(ranges) == 0 {
		newest, err := value.ParseVersion(profile.Newest().Version)
		if err != nil {
			panic(err) // the profiles are part of this module
		}
		return []value.Version{newest}
	}
	return slices.DeleteFunc(knownVersions(), func(v value.Version) bool {
		return !slices.ContainsFunc(ranges, func(r value.VersionRange) bool { return r.Selects(v) })
	})
}

func anyIn(versions []value.Version, ranges []value.VersionRange) bool {
	for _, v := range versions {
		if inAny(ranges, v) {
			return true
		}
	}
	return false
}

func listVersions(versions []value.Version) string {
	list := ""
	for i, v := range versions {
		if i > 0 {
			list += ", "
		}
		list += v.String()
	}
	return list
}
