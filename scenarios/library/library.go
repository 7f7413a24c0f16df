// Package library contains the scenario files that come with probesim.
//
//	quickstart/  start here: scenarios with line-by-line explanations of the format
//	e2e/         the probe tests of the end-to-end suite of Kubernetes (test/e2e/common/node/container_probe.go), one in each
//	             file, with the assertions of the test and further ones
//	lifecycle/   init containers, sidecars, hooks, restart policies of containers, and readiness gates
//	bugs/        reported bugs and changes of probes and restarts: one row of docs/bugs.md in each file
//	versions/    other differences between releases of Kubernetes
//	manifests/   widely used published manifests; the files in manifests/published are unchanged
//	found/       findings of the comparison with the real kubelet: the rule, and which side was wrong, the simulator, the
//	             driver of the real kubelet (conformance) or the specification of both
package library

import (
	"embed"
	"fmt"
	"io/fs"
	"path"

	"probesim.dev/scenarios"
)

// FS contains the files, with paths such as quickstart/exec-liveness.yaml.
//
//go:embed quickstart e2e lifecycle bugs versions manifests found
var FS embed.FS

// Scenarios loads all scenarios of the library, in the order of their files. Each call returns new scenarios. An error means that
// the library itself is invalid.
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
