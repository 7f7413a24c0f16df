package tune_test

import (
	"testing"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/require"
)

// BenchmarkTune tunes a usual container for usual requirements.
func BenchmarkTune(b *testing.B) {
	f := input.File{Name: "web.yaml",
		Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    " +
			"image: web:1\n" +
			"    livenessProbe: {httpGet: {port: 80}, initialDelaySeconds: 5, periodSeconds: 10, timeoutSeconds: " +
			"5}\n    " +
			"readinessProbe: {httpGet: {port: 80}}\n")}
	for _, text := range []string{"start>=70s", "start>=70s, stall>=15s, detect<=25s", "start>=5h",
		"serving>=30s, unready<=15s", "recover<=60s, stall>=10s", "stall>=15s, detect<=15s"} {
		b.Run(text, func(b *testing.B) {
			require, err := parseRequirements(text)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				tuned(b, f, check.Options{Require: require})
			}
		})
	}
}

// parseRequirements parses requirements on containers.
func parseRequirements(text string) (check.Requirements, error) {
	list, err := require.Parse(text)
	return check.RequirementsOf(list), err
}
