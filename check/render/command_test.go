package render

import (
	"testing"

	"probesim.dev/check"
)

func TestCommand(t *testing.T) {
	for want, f := range map[string]check.Finding{
		"": {File: "a.yaml"},
		"probesim run a.yaml --app 'web/app=down 2m at 5m'":                                              {File: "a.yaml", App: []string{"web/app=down 2m at 5m"}},
		"probesim run a.yaml --app 'web/app=start 24s..32s' --seed 1..100":                               {File: "a.yaml", App: []string{"web/app=start 24s..32s"}},
		"probesim check a.yaml --witness witnesses; probesim run witnesses --run web-app-restart-always": {File: "a.yaml", Witness: "web-app-restart-always"},
	} {
		if got := Command(&f); got != want {
			t.Errorf("the command is %q, want %q", got, want)
		}
	}
}
