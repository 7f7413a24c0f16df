package incident

// Limits of a recording. They bound the time and memory that files from a stranger can cost.
const (
	MaxFile  = 64 << 20  // bytes of a file
	MaxInput = 256 << 20 // bytes of all files
	maxFacts = 200_000
	maxPods  = 5_000
	maxLine  = 64 << 10 // bytes of a line of text
	// maxContainers is the maximum number of containers of a pod.
	maxContainers = 200
	maxProblems   = 200
	maxMessage    = 10 << 10 // bytes of a message; the kubelet limits the output of a probe to this
	maxPoints     = 20_000   // updates of one event
)
