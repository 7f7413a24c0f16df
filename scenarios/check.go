package scenarios

import (
	"time"

	apivalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
)

// What a scenario may ask for. Durations are limited by value.MaxDuration, delays by an hour.
const (
	MaxPods  = 10_000  // in a scenario
	MaxSeeds = 100_000 // in a scenario

	maxEntries = 1000 // of spec.pods, steps, expect, and of a container's behavior and answers

	// maxParts bounds pods, containers and probes together. For each the simulator has a process at some
	// time, and it stops at node.DefaultLimits of them.
	maxParts = 150_000

	maxFiles      = 1000      // that workloads are taken from
	maxPodValues  = 2_000_000 // in the manifests of all pods of a scenario, one by one
	maxFileValues = 4_000_000 // in the manifests that the scenarios of a file use
)

// checker checks one scenario against its file and resolves the names in it.
type checker struct {
	*loader
	file     *file
	scenario *Scenario
	root     *strict.Node // the document
	spec     *strict.Node
	versions []value.Version   // that the scenario runs
	given    []profile.Profile // the behaviours to check against; nil: those of versions
	pods     int
	values   int // in the manifests of its pods
	parts    int // pods, containers and probes

	clockSteps time.Duration // all together, whatever their signs
}

// check reports everything that is wrong in the scenario. What could not be read is zero or its default,
// and its nodes take no further errors; see strict.Node.Unread.
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
		c.scenario.Spec.Duration = value.Duration(value.MaxDuration) // nothing can be called too late
	}
	checkDelays(c.spec.Field("delays"), c.scenario.Spec.Delays)
	c.checkPods()
	c.checkSteps()
	c.checkExpect()
}

// fits reports whether a list is not too long to be looked at.
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

// checkRun checks what is about the run as a whole.
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

// checkVersions finds the versions that the scenario runs.
func (c *checker) checkVersions() {
	ranges, n := c.scenario.Spec.KubernetesVersions, c.spec.Field("kubernetesVersions")
	known := knownVersions()
	for i, r := range ranges {
		if !anyIn(known, []value.VersionRange{r}) {
			n.Index(i).Errorf("%s is not supported yet: the supported versions are %s", r, listVersions(known))
		}
	}
	if !n.Bad() {
		c.versions = selectVersions(ranges)
	}
}

// knownVersions are the versions with a behaviour profile, oldest first.
func knownVersions() []value.Version {
	var versions []value.Version
	for _, name := range profile.Names() {
		v, err := value.ParseVersion(name)
		if err != nil {
			panic(err) // a profile without a proper version is a mistake in the program
		}
		versions = append(versions, v)
	}
	return versions
}

// selectVersions returns the known versions in any of the ranges, oldest first; the newest of all if
// there are none.
func selectVersions(ranges []value.VersionRange) []value.Version {
	known := knownVersions()
	if len(ranges) == 0 {
		return known[len(known)-1:]
	}
	var selected []value.Version
	for _, v := range known {
		if inAny(ranges, v) {
			selected = append(selected, v)
		}
	}
	return selected
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
