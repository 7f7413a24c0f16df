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
		{"a pod that a later list has as ready has its image", `
Warning  Failed  2m1s (x3 over 5m)  kubelet  Failed to pull image "app:latest": rpc error: pull access denied
Warning  Failed  2m1s (x3 over 5m)  kubelet  Error: ErrImagePull

NAME    READY   STATUS    RESTARTS   AGE
web-1   1/1     Running   0          85s
`, "", verdict.Nothing, verdict.Certain, "everything is ready"},
		{"init containers that ended are no restart of a ready pod", `
web-1   0/1   Init:0/1          0   2s
web-1   0/1   Init:Error        1   4s
web-1   0/1   PodInitializing   0   9s
web-1   1/1   Running           0   10s
`, "", verdict.Nothing, verdict.Certain, "everything is ready"},
		{"a status has the exit code", `
NAME    READY   STATUS      RESTARTS   AGE
web-1   0/1     Completed   2          26s
`, "", verdict.OwnExit, verdict.Likely, "ended without an error (Completed)"},
		{"an old failure of a pod that a list has as not ready", `
NAME    READY   STATUS    RESTARTS   AGE
web-1   0/1     Running   0          9m
Name:   web-1
Events:
  Type     Reason     Age                  From     Message
  Warning  Unhealthy  4m                   kubelet  Readiness probe failed: HTTP probe failed with statuscode: 503
  Warning  Unhealthy  3m (x5 over 3m40s)   kubelet  Liveness probe failed: Get "http://10.0.0.7:80/": EOF
`, "", verdict.NotReady, verdict.Certain, "is not ready"},
		{"a name with a colon in a row", `
web:   0/1 CrashLoopBackOff   6 restarts
db:    1/1 Running            0 restarts
`, "", verdict.OwnExit, verdict.Open, "web has restarted 6 times"},
		{"starts without a failed probe between them", `
Normal   Started  3m (x9 over 18m)   kubelet  Started container app
Warning  BackOff  1m (x60 over 18m)  kubelet  Back-off restarting failed container app in pod web-1_default(1)
`, "app", verdict.OwnExit, verdict.Likely, "ended by itself"},
		{"a workload without its pods", `
status:
  conditions:
  - {type: Available, status: "False", reason: MinimumReplicasUnavailable,
     message: Deployment does not have minimum availability.}
`, "", verdict.Waiting, verdict.Open, "A workload is not available"},
		{"a workload that cannot make pods", `
status:
  conditions:
  - {type: ReplicaFailure, status: "True", message: 'pods "web-1" is forbidden: exceeded quota: small'}
`, "", verdict.Rejected, verdict.Certain, "does not take the pods of its workload"},
		{"an alert names its pod", `
Alert: Pod has been in a non-ready state for more than 15 minutes.
 • job: kube-state-metrics
 • namespace: shop
 • pod: web-7d77cc9cb-w7wlc
`, "", verdict.Unknown, verdict.Open, "speaks of something that is not ready"},
		{"a hook that failed, in the words of 2016", `
38s  38s  1  {kubelet n1}  spec.containers{app}  Normal  Killing  Killing container with id 5c6a: PostStart handler: error 1
`, "app", verdict.PostStartHook, verdict.Certain, "its postStart hook failed"},
		{"a command for one container of several", `
NAME    READY   STATUS    RESTARTS   AGE
web-1   1/2     Running   1          10m

Warning  Unhealthy  pod/web-1  Liveness probe failed: HTTP probe failed with statuscode: 500
Normal   Killing    pod/web-1  Container app failed liveness probe, will be restarted
`, "app", verdict.LivenessProbe, verdict.Certain, "was killed by its liveness probe"},
	} {
		v := verdict.Of(incident.Read([]input.File{{Name: "text", Data: []byte(test.text)}})).Verdicts[0]
		if v.Cause != test.cause || v.Sure != test.sure || v.Container != test.container ||
			!strings.Contains(v.Sentence, test.says) {
			t.Errorf("%s: got %s %s in %q: %s", test.name, v.Sure, v.Cause, v.Container, v.Sentence)
		}
		command := map[string]string{"an alert names its pod": "w7wlc -n shop",
			"a command for one container of several": "-c app --previous"}[test.name]
		if command != "" && !strings.HasSuffix(v.Question.Command, command) {
			t.Errorf("%s: %s", test.name, v.Question.Command)
		}
	}
}
