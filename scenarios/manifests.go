package scenarios

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
)

// Workload is a workload of a manifest, as an entry of spec.pods names it.
type Workload struct {
	Pos
	Kind     string
	Name     string  // metadata.name, or the generateName that it has instead
	Replicas int     // pods that it asks for; 1 of a Pod
	Pod      *v1.Pod // as the API server has it: replica 0, with defaults
}

// Manifest is what a file of manifests has.
type Manifest struct {
	Workloads []Workload
	Others    []string // kinds of the other objects, in the order of the file, each once
	Scenarios int
}

// ReadManifest reads a file of manifests from memory, and checks its workloads as LoadBytes does. The error is of type
// Errors. That a workload is right does not mean that this version can simulate it.
func ReadManifest(name string, data []byte) (*Manifest, error) {
	l := newLoader(nil)
	f := l.read(name, data)
	m := &Manifest{Scenarios: len(f.scenarios)}
	for _, w := range f.manifests {
		if w.load(); w.node.Bad() {
			continue
		}
		pod := w.newPod()
		admission.Default(pod)
		m.Workloads = append(m.Workloads, Workload{Pos: w.node.Pos, Kind: w.kind.kind, Name: w.name, Replicas: w.replicas, Pod: pod})
	}
	seen := map[string]bool{}
	for _, n := range f.others {
		if kind := n.Field("kind").Value; !seen[kind] {
			seen[kind] = true
			m.Others = append(m.Others, kind)
		}
	}
	return m, l.errs.Err()
}

// ReadFile reads a scenario file or a manifest: a regular file that is not larger than such a file may be. Its error says
// why it cannot be read, without the path.
func ReadFile(path string) ([]byte, error) { return readFile(path) }

// WorkloadKinds are the kinds of objects that bring pods.
func WorkloadKinds() []string { return kindNames() }

// IsWorkload reports whether an object of that apiVersion and kind brings pods.
func IsWorkload(apiVersion, kind string) bool {
	w := kindNamed(kind)
	return w != nil && w.apiVersion == apiVersion
}
