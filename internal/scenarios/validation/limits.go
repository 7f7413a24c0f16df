package validation

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
