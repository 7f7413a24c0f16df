// Package library holds the scenario files that come with probesim.
//
//	quickstart/  the scenarios to run and read first, with explanations of the format
//	e2e/         probe tests of Kubernetes' end-to-end suite (test/e2e/common/node/container_probe.go),
//	             one per file, with the assertions of the test and, because they are often weak, its
//	             intention
//	lifecycle/   init containers, sidecars, hooks, restart policies of containers, readiness gates,
//	             restarts and outages
//	bugs/        known bugs and changes around probes and restarts: one row of its README per file
//	versions/    other differences between releases of Kubernetes
//	manifests/   manifests of well-known projects; the files in manifests/published are unchanged
//	             copies, those in manifests/charts are written from the default values of charts
//	found/       differences that the comparison with the real kubelet found: the rule, and the side
//	             that was wrong: the simulator, the code around the real kubelet, or our notes
//	rollouts/    Deployments with their controllers and requests: rules that a user can see, and
//	             tests of Kubernetes' end-to-end suite (test/e2e/apps/deployment.go)
//	explored/    what 'probesim explore' found: runs in which the kubelet breaks a rule that it should
//	             obey, as small as possible
package library

import (
	"embed"
	"fmt"
	"io/fs"
	"path"

	"probesim.dev/scenarios"
)

// FS has the files of the library, with paths such as quickstart/exec-liveness.yaml.
//
//go:embed quickstart e2e lifecycle bugs versions manifests found explored rollouts
var FS embed.FS

// Scenarios loads all scenarios of the library, in the order of their files. Each call returns new
// values. An error means that the library itself is broken.
func Scenarios() ([]*scenarios.Scenario, error) {
	var all []*scenarios.Scenario
	err := fs.WalkDir(FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if name == "manifests/published" || name == "manifests/charts" {
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
