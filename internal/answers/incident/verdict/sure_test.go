package verdict_test

import (
	"strings"
	"testing"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/input"
)

// TestNoMoreThanTheTextProves has texts that tempt a rule to say more than they prove.
func TestNoMoreThanTheTextProves(t *testing.T) {
	for _, test := range []struct {
		name, text, container string
		cause                 verdict.Cause
		sure                  verdict.Sure
		says                  string
	}{
		{"the event of a hook names its container", `
24m  Normal   Started              pod/web-1  spec.containers{app}      kubelet, node-1  Started container app      24m  1  web-1.17d0b0ef6f958061
23m  Warning  FailedPostStartHook  pod/web-1  spec.containers{app}      kubelet, node-1  PostStartHook failed       24m  2  web-1.17d0b0f06d1521a1
24m  Normal   Started              pod/web-1  spec.containers{sidecar}  kubelet, node-1  Started container sidecar  24m  1  web-1.17d0b0f078c6e7e1
`, "app", verdict.PostStartHook, verdict.Certain, "app was killed"},
		{"the event of a hook names no container", `
24m  Normal   Scheduled            pod/web-1  Successfully assigned default/web-1 to node-1
16m  Normal   Started              pod/web-1  Started container app
12m  Warning  FailedPostStartHook  pod/web-1  PostStartHook failed
23m  Normal   Started              pod/web-1  Started container sidecar
`, "app", verdict.PostStartHook, verdict.Likely, "app was most likely killed"},
		{"a refused pod never ran", `
32s  Warning  NodeShutdown  Pod/late  Pod was rejected as the node is shutting down.
31s  Normal   Scheduled     Pod/late  Successfully assigned default/late to node-1
`, "", verdict.Removed, verdict.Certain, "never ran"},
		{"a warning that has an age of another form", `
  Normal   Started    7m42s                    kubelet  Started container store
  Warning  Unhealthy  **2m52s (x13 over 6m42s)  kubelet  Readiness probe failed: HTTP probe failed with statuscode: 503**
`, "store", verdict.NotReady, verdict.Likely, "is most likely not ready"},
		{"a failure before the pod was there is no sign of a restart", `
  Normal   Scheduled  38s                default-scheduler  Successfully assigned default/web-1 to node-1
  Normal   Pulled     32s                kubelet            Successfully pulled image "web:1"
  Normal   Created    32s                kubelet            Created container app
  Normal   Started    32s                kubelet            Started container app
  Warning  Unhealthy  18s (x7 over 90s)  kubelet            Startup probe failed: HTTP probe failed with statuscode: 503
`, "app", verdict.Failing, verdict.Certain, "has not killed it"},
	} {
		v := verdict.Of(incident.Read([]input.File{{Name: "text", Data: []byte(test.text)}})).Verdicts[0]
		if v.Cause != test.cause || v.Sure != test.sure || v.Container != test.container ||
			!strings.Contains(v.Sentence, test.says) {
			t.Errorf("%s: got %s %s in %q: %s", test.name, v.Sure, v.Cause, v.Container, v.Sentence)
		}
	}
}
