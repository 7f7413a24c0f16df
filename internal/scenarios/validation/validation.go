package validation

import (
	"slices"
	"strings"
	"sync"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// checker checks a scenario and resolves the names in it.
type checker struct {
	*Usage
	file *manifests.Objects
	// a file with manifests, by its path relative to file; nil after reporting an error at n
	open      func(n *strict.Node, name string) *manifests.Objects
	scenario  *plan.Scenario
	root      *strict.Node // of the document
	spec      *strict.Node
	versions  []value.Version   // versions that the scenario runs
	against   []profile.Profile // profiles to check against; nil: not computed from versions yet
	workloads []*workload       // those of the scenario, in their order
	pods      int
	values    int // in the manifests of all pods
	parts     int // number of pods, containers and probes

	matches        map[string][]*workload // cache of matching
	haveContainer  map[[2]string]bool     // names of pods, and a container that all of these have
	replicasUnread bool                   // the number of replicas of a workload could not be read

	moments        []*strict.Node // of the moments of the scenario
	checkedMoments int            // the first ones

	reasons func() []string               // containerReasons, once
	probes  map[[2]string]map[string]bool // cache of probesOf

	clockSteps time.Duration // sum of all clock steps, regardless of their signs
}

// Check checks a scenario of a file and resolves the names in it. root is the node of its document.
func Check(s *plan.Scenario, root *strict.Node, f *manifests.Objects,
	open func(n *strict.Node, name string) *manifests.Objects, u *Usage) {
	c := &checker{Usage: u, file: f, open: open, scenario: s, root: root, spec: root.Field("spec"),
		matches: map[string][]*workload{}, haveContainer: map[[2]string]bool{},
		probes: map[[2]string]map[string]bool{}}
	c.reasons = sync.OnceValue(c.containerReasons)
	c.check()
}

// CheckWorkload checks the only entry of spec.pods of a scenario, whose node is entry, against a
// version.
func CheckWorkload(s *plan.Scenario, m *manifests.Object, entry *strict.Node, version profile.Profile) {
	c := &checker{Usage: &Usage{}, scenario: s, against: []profile.Profile{version}}
	if w := c.workload(m, &s.Spec.Pods[0], entry); w != nil {
		c.add(w, m.Node)
	}
}

// check reports all errors in the scenario. Fields that could not be read are zero or have their
// default, and their nodes take no further errors; see strict.Node.Unread.
func (c *checker) check() {
	c.checkMetadata()
	if c.spec.Kind != strict.Mapping {
		c.spec.ErrorIf(!c.spec.Bad(), "is required")
		return
	}
	c.checkRun()
	c.checkConfig(c.scenario.Spec.Kubelet.Config, c.spec.Field("kubelet").Field("config"))
	c.checkAllocatable(c.scenario.Spec.Kubelet.Allocatable, c.spec.Field("kubelet").Field("allocatable"))
	if c.spec.Field("duration").Bad() {
		c.scenario.Spec.Duration = value.Duration(value.MaxDuration) // so that no time is reported as too late
	}
	checkDelays(c.spec.Field("delays"), c.scenario.Spec.Delays)
	c.checkControlPlane()
	c.checkPods()
	c.checkServices()
	c.checkMoments()
	c.checkSteps()
	c.checkMoments() // of the programs that steps bring
	c.checkExpect()
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
	c.spec.Field("duration").ErrorIf(s.Duration == 0, "must be longer than 0s")
	if s.Seeds != nil && !c.spec.Field("seeds").Bad() {
		switch n := c.spec.Field("seeds"); {
		case s.Seeds.Min == value.OpenMin || s.Seeds.Max == value.OpenMax:
			n.Errorf("has an open end: every seed is a run, so write both ends")
		case s.Seeds.Max-s.Seeds.Min >= format.MaxSeeds:
			n.Errorf("contains more than %d seeds", format.MaxSeeds)
		}
	}
	c.checkVersions()
}

// checkVersions selects the versions that the scenario runs.
func (c *checker) checkVersions() {
	ranges, n := c.scenario.Spec.KubernetesVersions, c.spec.Field("kubernetesVersions")
	known := plan.KnownVersions()
	for i, r := range ranges {
		if !slices.ContainsFunc(known, func(v value.Version) bool { return plan.Selects(r, v) }) {
			n.Index(i).Errorf("%s is not supported yet: the supported versions are %s", r, listVersions(known))
		}
	}
	if !n.Bad() {
		c.versions = plan.SelectVersions(ranges)
	}
}

func listVersions(versions []value.Version) string {
	return strings.Join(printable.Words(versions, value.Version.String), ", ")
}

// Usage counts what the scenarios of a file use, against the limits of a file.
type Usage struct {
	values int // number of values in the manifests used so far
	pods   int // number of pods so far
	merges int // comparisons of values by the patches, so far
	ranged int // names of the ranges so far
}

const (
	// maxParts is the limit of pods, containers and probes of a scenario in total. Each needs a
	// process of the simulator, and node.DefaultLimits bounds those.
	maxParts = 150_000

	maxPodValues  = 2_000_000  // values in the manifests of a scenario, counted for each pod
	maxFileValues = 4_000_000  // values in the manifests that the scenarios of a file use
	maxFilePods   = 200_000    // pods in the scenarios of a file
	maxFileMerges = 50_000_000 // comparisons of values by the patches, about
	maxRanged     = 100_000    // names of all ranges of a file
)
