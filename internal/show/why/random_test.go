package why_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"probesim.dev/internal/long"
	"probesim.dev/internal/proof/random"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// TestEachChainOfRandomScenariosHasARoot explains random scenarios, which combine features in ways
// that no other test does.
func TestEachChainOfRandomScenariosHasARoot(t *testing.T) {
	for seed := range uint64(long.Sample(12, 60)) {
		file := filepath.Join(t.TempDir(), fmt.Sprintf("%d.yaml", seed))
		if err := os.WriteFile(file, random.Scenario(seed), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := scenarios.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, plan := range loaded[0].Plans() {
			run, pods := simulated(t, plan)
			for _, pod := range pods {
				for _, e := range explainAll(run, pod) {
					if wrong := chainError(e.Chain); wrong != "" {
						t.Errorf("random scenario %d [%s]: %s:\n%s", seed, plan.Version, wrong, text(t, e))
					}
				}
				run.At(pod.Namespace+"/"+pod.Name, "", virtual.At(plan.Duration/3)) // must not panic
			}
		}
	}
}
