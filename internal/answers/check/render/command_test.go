package render

import (
	"testing"

	"probesim.dev/internal/answers/check"
)

func TestCommand(t *testing.T) {
	for want, f := range map[string]check.Finding{
		"probesim run a.yaml": {File: "a.yaml", Delays: "default"},
		"probesim check a.yaml --kubernetes v1.34 --delays slow --start 9s; probesim check a.yaml --kubernetes v1.37 " +
			"--delays slow --start 9s": {
			File: "a.yaml", Versions: []string{"v1.34", "v1.37"}, Delays: "slow", Start: "9s"},
		"probesim check a.yaml --kubernetes v1.34; probesim check a.yaml --kubernetes v1.37": {File: "a.yaml",
			Versions: []string{"v1.34", "v1.37"}, Delays: "typical"},
		"probesim run a.yaml --app 'web/app=start 9s' --delays typical": {File: "a.yaml",
			App: []string{"web/app=start 9s"}, Delays: "typical"},
		"probesim run a.yaml --app 'web/app=down 2m at 5m'": {File: "a.yaml",
			App: []string{"web/app=down 2m at 5m"}},
		"probesim run a.yaml --app 'web/app=start 24s..32s' --seed 1..100": {File: "a.yaml",
			App: []string{"web/app=start 24s..32s"}},
		"probesim run a.yaml --app 'web/app=start 9s' --kubernetes v1.34": {File: "a.yaml",
			App: []string{"web/app=start 9s"}, Kubernetes: "v1.34"},
	} {
		if got := Command(&f); got != want {
			t.Errorf("the command is %q, want %q", got, want)
		}
	}
}
