// Package library holds the scenario files that come with probesim.
//
//	quickstart/  what to run and read first: each explains the format line by line
//	e2e/         probe tests of Kubernetes' own end-to-end suite (test/e2e/common/node/container_probe.go), one a file,
//	             with what the test asserts and, as that often is little, what it means
//	lifecycle/   what a pod has beside its regular containers: init containers, sidecars, hooks,
//	             restart policies of containers, readiness gates
//	bugs/        what has been reported about probes and restarts, and changed in them: one row of docs/bugs.md a file
//	versions/    what else releases of Kubernetes do in different ways
//	manifests/   what people run, as it is published: the files in manifests/published are not changed
//	found/       what the comparison with the real kubelet has found: the rule, and who was wrong, the simulator,
//	             the engine around the real kubelet (conformance), or what was written down about both
package library

import (
	"embed"
	"fmt"
	"io/fs"
	"path"

	"probesim.dev/scenarios"
)

// FS has the files, by paths such as quickstart/exec-liveness.yaml.
//
//go:embed quickstart e2e lifecycle bugs versions manifests found
var FS embed.FS

// Scenarios loads all scenarios of the library, in the order of their files. Each call returns new ones. An
// error means that the library itself is broken.
func Scenarios() ([]*scenarios.Scenario, error) {
	var all []*scenarios.Scenario
	err := fs.WalkDir(FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if name == "manifests/published" {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		data, err := FS.ReadFile(name)
		if err != nil {
			return err
		}
		loaded, err := scenarios.LoadBytes(name, data, FS.ReadFile)
		all = append(all, loaded...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("scenario library: %w", err)
	}
	return all, nil
}
