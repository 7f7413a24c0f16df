package check_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
)

// answer is what a check says about a manifest, on typical nodes.
type answer struct {
	text string // of the terminal, with one space between words
	json string // with one space between words
}

func ask(t *testing.T, manifest string, o check.Options) answer {
	t.Helper()
	o.Nodes, o.Delays = typical, "typical"
	r := checked(t, manifest, o)
	var text bytes.Buffer
	if err := render.Document(r).Write(&text, "text", document.Options{Details: true}); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(text.String(), "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("a line has over 80 columns: %s", line)
		}
	}
	var data bytes.Buffer
	to := json.NewEncoder(&data)
	to.SetEscapeHTML(false)
	if err := to.Encode(r); err != nil {
		t.Fatal(err)
	}
	return answer{strings.Join(strings.Fields(text.String()), " "), data.String()}
}

func (a answer) has(t *testing.T, text, json string) {
	t.Helper()
	if !strings.Contains(a.text, text) {
		t.Errorf("the text does not have %q:\n%s", text, a.text)
	}
	if !strings.Contains(a.json, json) {
		t.Errorf("the JSON does not have %s:\n%s", json, a.json)
	}
}

func (a answer) hasNot(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(a.text+a.json, part) {
			t.Errorf("the check has %q:\n%s\n%s", part, a.text, a.json)
		}
	}
}

var from8to20 = check.Options{Start: value.Durations{Ordinary: &value.Interval{Min: 8 * time.Second,
	Max: 20 * time.Second}}}

// TestWithoutAReadinessProbe checks how long a pod gets traffic before its program is up, and what
// a container without any probe has.
func TestWithoutAReadinessProbe(t *testing.T) {
	const never, alone = "ports: [{containerPort: 3000}]",
		"livenessProbe: {httpGet: {port: 3000}, initialDelaySeconds: 30}"
	for _, container := range []string{never, alone} {
		a := ask(t, pod(container), from8to20)
		a.has(t, "Ready before it is up for 7.6s 20.0s",
			`{"row":"early","text":"Ready before it is up for","best":7.6529,"worst":19.9956`)
		a.has(t, "There is no readiness probe: the pod gets traffic 7.6s to 20.0s before the program is up, for a "+
			"start of 8s..20s.", `"id":"no-readiness-probe","severity":"warning"`)
	}
	a := ask(t, pod(never), check.Options{})
	a.has(t, "deleted -> SIGTERM, SIGKILL 0.1s, 10.1s", `"deleted":{"sigterm":0.0105,"sigkill":10.0105}`)
	a.has(t, "No container has a probe: the pod is Ready as soon as it runs, so requests come before the program is "+
		"up, and nothing restarts it when it hangs.", `"withoutProbes":["app"],"noReadiness":true`)
	a.has(t, "note no-probes web.yaml:7", `"id":"no-probes","severity":"note"`)
	const asksCurl = "livenessProbe: {exec: {command: [sh, -c, curl -s localhost:80/up]}}"
	ask(t, pod(asksCurl), check.Options{}).
		has(t, "The liveness probe takes an answer with an HTTP error for a success: curl has no -f.",
			`"id":"exec-timeout"`)
	ask(t, pod(strings.Replace(asksCurl, "-s", "-sf", 1)), check.Options{}).hasNot(t, "curl has no -f")
	idle := ask(t, pod("livenessProbe: {exec: {command: [echo, well]}}"), check.Options{})
	idle.has(t, "No container has a probe that asks its program: the pod is Ready whatever that does, so",
		`"id":"no-probes","severity":"note"`)
	idle.hasNot(t, "stuck start", `"restarts":`) // nothing stops it
	a.hasNot(t, "No container has a readiness probe")
	a.hasNot(t, "no-readiness-probe")
	ask(t, pod(alone), check.Options{}).
		has(t, "No container has a readiness probe: the pod gets traffic whether it can serve or not.",
			`"noReadiness":true`)
	ask(t, pod("readinessProbe: {httpGet: {port: 80}}"), from8to20).hasNot(t, "no-readiness-probe", `"early"`)
	ask(t, strings.Replace(pod(never), "spec:", "spec:\n  restartPolicy: Never", 1), from8to20).
		hasNot(t, "no-readiness-probe", "no-probes")
	a = ask(t, strings.Replace(pod(never), "containers:",
		"containers:\n  - {name: istio-proxy, image: i, readinessProbe: {httpGet: {port: 1}}}", 1), check.Options{})
	a.has(t, "note no-probes app web.yaml:8 Except sidecars, no container has a probe: the pod is Ready as soon as "+
		"its sidecars are,", `"name":"app","line":8`)
	a.hasNot(t, "Without probes")
	a = ask(t, pod(never)+"  - {name: other, image: o}\n", check.Options{})
	if n := strings.Count(a.json, `"field":"spec.containers`); n != 1 {
		t.Errorf("a pod of two containers without probes has %d findings:\n%s", n, a.json)
	}
	ask(t, pod(never)+"  - {name: other, image: o, livenessProbe: {exec: {command: [x]}}}\n", check.Options{}).
		hasNot(t, "no-probes")
}

// TestUnnoticed checks what check says about a hang and an HTTP error that no probe notices.
func TestUnnoticed(t *testing.T) {
	const readiness = "\nreadinessProbe: {httpGet: {port: 80}}"
	a := ask(t, pod("livenessProbe: {exec: {command: [pgrep, -f, server]}, timeoutSeconds: 5}"+readiness),
		check.Options{})
	a.has(t, "note unnoticed-failure web.yaml:9 The command of the liveness probe does not ask the program",
		`"id":"unnoticed-failure"`)
	a.hasNot(t, "comes up if its start takes", "no-startup-probe") // the process is there at once
	ask(t, pod("livenessProbe: {exec: {command: [sh, -c, ps aux | grep -q server || exit 1]}}"), check.Options{}).
		has(t, "No container has a probe that asks its program", `"id":"no-probes"`)
	ask(t, pod("livenessProbe: {exec: {command: [curl, localhost/up, '||', exit 1]}, timeoutSeconds: 5}"+readiness),
		check.Options{}).has(t, "for a success: curl has no -f. Fix: add -f to curl", "")
	a = ask(t, pod(readiness[1:]), check.Options{})
	a.has(t, "Nothing restarts app in a hang: there is no liveness probe.", "")
	a.hasNot(t, "unnoticed-failure")
	ask(t, "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: web}\nspec: {template: {spec: "+
		"{containers: [{name: app, image: web:1, livenessProbe: {httpGet: {port: 80}}}]}}}\n", check.Options{}).
		hasNot(t, "No container has a readiness probe") // its proxy has one
}

// TestHookUsesAllGrace checks that a container without probes has the finding about its hook.
func TestHookUsesAllGrace(t *testing.T) {
	a := ask(t, pod(`lifecycle: {preStop: {exec: {command: [sleep, "10"]}}}`), check.Options{})
	a.has(t, "deleted -> SIGTERM, SIGKILL 10.1s, 12.1s", `"deleted":{"sigterm":10.`)
	a.has(t, "The preStop hook uses the whole grace period of 10.0s: the program has only the 2.0s between SIGTERM "+
		"and SIGKILL that the kubelet always leaves.", `"id":"short-grace","severity":"warning"`)
}

// TestSlowAnswers checks how long an answer may take, how long slow answers may last, and what the
// findings about the timeout and a threshold of 1 say.
func TestSlowAnswers(t *testing.T) {
	a := ask(t, pod("startupProbe: {httpGet: {path: /livez, port: 80}, timeoutSeconds: 4}\nlivenessProbe: {httpGet: "+
		"{path: /livez, port: 80}, timeoutSeconds: 2}\nreadinessProbe: {httpGet: {path: /readyz, port: 80}}"),
		check.Options{Require: requirements(t, "answer>=2s, serving-answer>=2s, silence>=20s")})
	a.has(t, "tolerates answers of up to 2.0s 2.0s",
		`{"row":"answer","text":"tolerates answers of up to","always":2,"never":2,"formula":"2.0s = timeoutSeconds","cases":[{"case":"liveness probe","kubernetes":"v1.37","least":2,"greatest":2}]`)
	a.has(t, "stays in its Service at answers of up to 1.0s 1.0s", `"row":"serving-answer"`)
	a.has(t, "survives late or no answers for up to 20.0s",
		`"row":"silence","text":"survives late or no answers for up to","always":20,"never":29.999`)
	a.has(t, "in its Service, late or no answers up to 20.0s 30.0s",
		`"row":"serving-silence","text":"in its Service, late or no answers up to","always":20,`)
	a.has(t, "ok answer>=2s: 2.0s in container app, liveness probe (v1.37)",
		`"requirement":"answer>=2s","row":"answer","required":2,"met":true`)
	a.has(t, "FAIL serving-answer>=2s: 1.0s in container app, readiness probe (v1.37)",
		`"row":"serving-answer","required":2,"met":false`)
	a.has(t, "The readiness probe has the default timeout of 1s: 3 answers in a row that take longer take the pod "+
		"out of its Service.", `"id":"answer-timeout","severity":"note"`)
	a.hasNot(t, "one-failure")

	a = ask(t, pod("livenessProbe: {httpGet: {path: /livez, port: 80}, periodSeconds: 30, failureThreshold: "+
		"1}\nreadinessProbe: {grpc: {port: 80}, timeoutSeconds: 1}"), check.Options{})
	a.has(t, "One failure of the liveness probe restarts the container: a single answer of over 1s is enough.",
		`"id":"one-failure","severity":"warning"`)
	a.has(t, "The readiness probe has the default timeout of 1s", `"id":"answer-timeout"`) // also if it is written
	ask(t, pod("livenessProbe: {httpGet: {port: 80}}\nreadinessProbe: {grpc: {port: 80}}"), check.Options{}).has(t,
		"The liveness and readiness probes have the default timeout of 1s: for the liveness probe, 3 answers in a row "+
			"that take longer restart the container.", `"answer-timeout"`)
	a = ask(t, pod("livenessProbe: {tcpSocket: {port: 80}, failureThreshold: 1}"), check.Options{})
	a.has(t, "a single lost connection is enough", `"one-failure"`)
	a.has(t, "tolerates answers of up to no limit",
		`"row":"answer","text":"tolerates answers of up to","always":null,"never":null`)
	a.has(t, "survives lost connections for up to", `"row":"silence"`)
	a.hasNot(t, "answer-timeout")
}

// TestHungOutOfTheService checks when a container that hangs is not ready: its runs last until
// their timeout.
func TestHungOutOfTheService(t *testing.T) {
	a := ask(t, pod("readinessProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 2, timeoutSeconds: 3}"),
		check.Options{Require: requirements(t, "hung-unready<=12s")})
	a.has(t, "hung -> out of the Service 8.0s 13.2s",
		`"row":"hung-unready","text":"hung -> out of the Service","best":8.003`)
	a.has(t, "FAIL hung-unready<=12s: 13.2s in container app", `"row":"hung-unready","required":12,"met":false`)
	ask(t, pod("readinessProbe: {tcpSocket: {port: 80}}"), check.Options{}).
		has(t, "connections lost -> out of the Service", `"row":"hung-unready"`)
}

// TestReadinessGate checks that a pod with a readiness gate is not said to be Ready by its probes.
func TestReadinessGate(t *testing.T) {
	a := ask(t, strings.Replace(pod("readinessProbe: {tcpSocket: {port: 80}}"), "spec:",
		"spec:\n  readinessGates: [{conditionType: lb.example.com/ready}]", 1), check.Options{})
	a.has(t, "up -> Ready, but for its readiness gates 10.5s", `"text":"up -> Ready, but for its readiness gates"`)
	a.has(t, "The pod is Ready only once its containers are and somebody has set lb.example.com/ready to True",
		`"id":"readiness-gate","severity":"note"`)
}

// TestStopSignalWaits checks that the time of SIGTERM has a condition if a hook of unknown length
// or another container decides.
func TestStopSignalWaits(t *testing.T) {
	a := ask(t, pod("lifecycle: {preStop: {exec: {command: [/shutdown.sh]}}}"), check.Options{})
	a.has(t, "deleted -> SIGTERM from 0.2s, once its preStop hook has ended deleted -> SIGKILL 10.2s",
		`"deleted":{"sigterm":0.1205,"sigkill":10.1205`)
	a.has(t, "", `"condition":"once its preStop hook has ended"`)
	ask(t, pod(`lifecycle: {preStop: {exec: {command: [/bin/sh, -c, "sleep 5"]}}}`), check.Options{}).
		hasNot(t, "condition", "from ")

	sidecar := strings.Replace(pod("livenessProbe: {tcpSocket: {port: 80}}"), "spec:",
		"spec:\n  initContainers:\n  - {name: once, image: e}\n"+
			"  - {name: side, image: e, restartPolicy: Always, lifecycle: {preStop: {sleep: {seconds: 5}}}, "+
			"readinessProbe: {tcpSocket: {port: 1}}}", 1)
	a = ask(t, sidecar, check.Options{})
	a.has(t, "deleted -> SIGTERM from 5.1s, once app has exited deleted -> SIGKILL 10.1s",
		`"condition":"once app has exited"`)
	a.has(t, "deleted -> SIGTERM, SIGKILL 0.1s, 10.1s", `"deleted":{"sigterm":0.0105,"sigkill":10.0105}`) // of app
}

// TestHostOfAProbe checks that a probe of the node is an error, and one of another machine a
// warning, but not for pods in the network of the node.
func TestHostOfAProbe(t *testing.T) {
	manifest := pod("livenessProbe: {httpGet: {host: localhost, path: /live, port: 9080}, periodSeconds: " +
		"5}\nreadinessProbe: {tcpSocket: {host: 127.0.0.1, port: 9080}, periodSeconds: 60}")
	a := ask(t, manifest, check.Options{Require: requirements(t, "detect<=1m")})
	a.has(t, "The liveness probe asks localhost: the kubelet runs it on the node, so that is the node and not the "+
		"pod. Nothing listens there unless another program does: the container is killed after each start (after "+
		"12.8s to 14.9s).",
		`"id":"probe-host","severity":"error"`)
	a.has(t, "The readiness probe asks 127.0.0.1", `"field":"spec.containers[0].readinessProbe.tcpSocket.host"`)
	a.has(t, "FAIL detect<=1m: the livenessProbe of container app does not ask the container: it asks localhost, "+
		"which is the node and not the pod", `"met":false`)
	onNode := strings.Replace(manifest, "spec:", "spec:\n  hostNetwork: true", 1)
	a = ask(t, onNode, check.Options{})
	a.hasNot(t, "probe-host", "broken-probe")
	a.has(t, "hung -> SIGTERM", `"row":"detect"`)
	a = ask(t, strings.ReplaceAll(onNode, "127.0.0.1", "db.example.com"), check.Options{})
	a.has(t, "The readiness probe asks db.example.com, another machine: its answers say nothing about this "+
		"container, and the container is not ready while that is down.",
		`"id":"probe-host","severity":"warning"`)
	a.hasNot(t, "broken-probe")

	hooks := "lifecycle: {postStart: {httpGet: {host: localhost, port: 80}}, preStop: {httpGet: {host: 10.0.0.1, " +
		"port: 80}}}"
	a = ask(t, pod(hooks), check.Options{})
	a.has(t, "error probe-host web.yaml:9 The postStart hook asks localhost: the kubelet runs it on the node, so "+
		"that is the node and not the pod. Nothing listens there unless another program does: the kubelet kills the "+
		"container, in each start.",
		`"id":"probe-host","severity":"error"`)
	a.has(t, "warning probe-host web.yaml:9 The preStop hook asks 10.0.0.1, another machine",
		`"field":"spec.containers[0].lifecycle.preStop.httpGet.host"`)
	ask(t, strings.Replace(pod(strings.Replace(hooks, "10.0.0.1", "127.0.0.1", 1)), "spec:",
		"spec:\n  hostNetwork: true", 1), check.Options{}).hasNot(t, "probe-host")
}

// TestNotSimulated checks that fields which decide the question and have no part in the figures are
// named once per workload.
func TestNotSimulated(t *testing.T) {
	a := ask(t, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  progressDeadlineSeconds: 60
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "web:1", ports: [{containerPort: 80, hostPort: 80}], resources: {requests: {cpu: 640}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 3, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: app, image: "db:1"}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {backoffLimit: 2, activeDeadlineSeconds: 60, template: {spec: {restartPolicy: Never, activeDeadlineSeconds: 30, containers: [{name: app, image: "db:1"}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`, check.Options{})
	a.has(t, "not simulated: progressDeadlineSeconds, host ports, a cpu request of 640, PodDisruptionBudget",
		`"notSimulated":["progressDeadlineSeconds","host ports","a cpu request of 640","PodDisruptionBudget"]`)
	a.has(t, "not simulated: OrderedReady", `"notSimulated":["OrderedReady"]`)
	a.has(t, "not simulated: backoffLimit, activeDeadlineSeconds",
		`"notSimulated":["backoffLimit","activeDeadlineSeconds"]`)
	ask(t, pod(""), check.Options{}).hasNot(t, "not simulated", "notSimulated")
}

// TestOtherEndpoint checks that a startup probe which asks another port, or in another way, than
// the liveness probe is a note.
func TestOtherEndpoint(t *testing.T) {
	probes := func(startup, liveness string) string {
		return pod("ports: [{name: http, containerPort: 80}]\nstartupProbe: {" + startup +
			", timeoutSeconds: 1}\nlivenessProbe: {" + liveness +
			", timeoutSeconds: 1}\nreadinessProbe: {httpGet: {path: /ready, port: 80}, timeoutSeconds: 1}")
	}
	a := ask(t, probes("tcpSocket: {port: 80}", "httpGet: {path: /live, port: http}"), check.Options{})
	a.has(t, "The startup probe asks tcp :80, and the liveness probe http :http/live: once the first succeeds, the "+
		"liveness probe counts from then on, and can stop a program that is not up there yet.",
		`"id":"other-endpoint","severity":"note"`)
	for _, two := range [][2]string{{"httpGet: {path: /live, port: 81}", "httpGet: {path: /live, port: 80}"},
		{"httpGet: {path: /, port: 80}", "httpGet: {path: /healthz, port: 80}"}} {
		ask(t, probes(two[0], two[1]), check.Options{}).has(t, "The startup probe asks", `"id":"other-endpoint"`)
	}
	for _, two := range [][2]string{
		{"httpGet: {path: /startupz, port: 80}", "httpGet: {path: /livez, port: http}"},
		{"httpGet: {path: /live, port: 80}", "tcpSocket: {port: 80}"},
		{"exec: {command: [up]}", "tcpSocket: {port: 80}"}, {"tcpSocket: {port: 80}", "tcpSocket: {port: http}"},
	} {
		ask(t, probes(two[0], two[1]), check.Options{}).hasNot(t, "other-endpoint")
	}
}

// TestStartOfAnyLength checks that a container without a startup probe has the note about its
// start, however long that may be, and that a given start is exact.
func TestStartOfAnyLength(t *testing.T) {
	manifest := pod("livenessProbe: {httpGet: {port: 80}, initialDelaySeconds: 120, periodSeconds: 30, " +
		"timeoutSeconds: 2}\nreadinessProbe: {httpGet: {port: 80}, timeoutSeconds: 2}")
	ask(t, manifest, check.Options{}).
		has(t, "There is no startup probe: the liveness probe can stop a start that takes more than 2m59s, and "+
			"always stops one of over 3m30s.", `"id":"no-startup-probe"`)
	ask(t, manifest, from8to20).hasNot(t, "no-startup-probe")
	long := check.Options{Start: value.Durations{Ordinary: &value.Interval{Min: 3 * time.Minute,
		Max: 200 * time.Second}}}
	ask(t, manifest, long).has(t, " of the starts that take 3m..3m20s are killed: 3 x 30s always allows a start of "+
		"up to 2m59s", `"id":"start-killed","severity":"error"`)
}

// TestBehindService checks that the lack of probes is worse behind a Service.
func TestBehindService(t *testing.T) {
	const service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: shop}\nspec: {selector: {app: web}}\n"
	plain := strings.Replace(pod(""), "name: web}", "name: web, labels: {app: web}}", 1)
	ask(t, plain, check.Options{}).has(t, "so requests come before the program is up", `"severity":"note"`)
	ask(t, plain+service, check.Options{}).has(t, "so Service shop sends requests before the program is up",
		`"id":"no-probes","severity":"warning"`)
}

// TestUndeclaredPort checks the finding about a port that no container declares.
func TestUndeclaredPort(t *testing.T) {
	const probe = "\nreadinessProbe: {httpGet: {port: 9090}}"
	ask(t, pod("ports: [{containerPort: 8080}]"+probe), check.Options{}).has(t, "The readiness probe asks port 9090, "+
		"which no container of the pod declares. The containers declare 8080.", `"id":"undeclared-port"`)
	for _, ports := range []string{"", "ports: [{containerPort: 9090}]",
		"ports: [{name: metrics, containerPort: 9090}]"} {
		ask(t, pod(ports+probe), check.Options{}).hasNot(t, "undeclared-port")
	}
	declares := "ports: [{containerPort: 8080}]" + probe + "\nlivenessProbe: {httpGet: {port: 9090}}"
	list := checked(t, chart(declares, ""), check.Options{}).Verdict.Findings
	if list[len(list)-1].ID != check.UndeclaredPort {
		t.Errorf("it is not the last of %+v", list) // it need not be a fault
	}
}

// TestPlaceholders checks manifests that something renders later: an image that is no reference
// changes no figure, and a host that is none is no other machine.
func TestPlaceholders(t *testing.T) {
	const probe = "livenessProbe: {httpGet: {port: 80}}"
	plain := ask(t, pod(probe), check.Options{})
	a := ask(t, strings.Replace(pod(probe), "image: web:1", "image: ko://example.com/web", 1), check.Options{})
	a.has(t, `not simulated: the image "ko://example.com/web", which no node can pull`, `"row":"start"`)
	a.hasNot(t, "probesim run")
	plain.has(t, "probesim run", `"row":"start"`)
	ask(t, pod("livenessProbe: {httpGet: {host: __DNS_IP__, port: 80}}"), check.Options{}).has(t,
		"it asks __DNS_IP__, which is no host: a placeholder is not filled in", `"id":"probe-host"`)
}

// TestNeverRestarted checks what findings say about a container that fails: with restartPolicy
// Never, the kubelet kills it and starts no other instance, and a Job makes another pod. With
// OnFailure, it starts again after a failed probe, whatever its exit code.
func TestNeverRestarted(t *testing.T) {
	const ofPod = "\n  restartPolicy: Never"
	of := func(spec string) string {
		return strings.Replace(pod("livenessProbe: {httpGet: {port: 80}, failureThreshold: 1}\nreadinessProbe: "+
			"{httpGet: {port: 80}, failureThreshold: 4}"), "spec:", "spec:"+spec, 1)
	}
	template := strings.ReplaceAll(of(ofPod)[strings.Index(of(ofPod), "spec:"):], "\n", "\n    ")
	job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web}\nspec:\n  template:\n    " + template
	own := strings.Replace(of("\n  restartPolicy: OnFailure"), "image:", "restartPolicy: Never\n    image:", 1)
	rules := strings.Replace(own, "image:", "restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: "+
		"[137]}}]\n    image:", 1)
	another := strings.TrimSuffix(of(ofPod), "\n") + "\n  - {name: other, image: other:1}\n"
	for _, test := range []struct {
		name, manifest, verb, follows string
	}{
		{"Always", of(""), "restart", ""},
		{"OnFailure", of("\n  restartPolicy: OnFailure"), "restart", ""},
		{"Never", of(ofPod), "kill", "(restartPolicy Never): the pod fails."},
		{"Never, of two containers", another, "kill", "the pod fails once its other containers have ended."},
		{"Never of the container", own, "kill", "the pod fails."},
		{"Never of the container, and rules", rules, "kill", ""},
		{"a Job", job, "kill", "the pod fails, and its Job can make another one, up to backoffLimit."},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, f := range checked(t, test.manifest, check.Options{}).Workloads[0].Containers[0].Findings {
				says := map[check.FindingID]string{check.OneFailure: "the liveness probe %ss the container",
					check.NoTimeToRecover: "can %s the container"}[f.ID]
				if !strings.Contains(f.Message, strings.Replace(says, "%s", test.verb, 1)) {
					t.Errorf("%s does not say %s: %s", f.ID, test.verb, f.Message)
				}
				if says != "" && (!strings.HasSuffix(f.Message, test.follows) ||
					test.follows == "" && strings.Contains(f.Message, "the pod fails")) {
					t.Errorf("%s does not end in %q: %s", f.ID, test.follows, f.Message)
				}
			}
		})
	}
}

// TestLivenessActsFirst checks that a finding does not give the time of a restart as one of the
// readiness probe.
func TestLivenessActsFirst(t *testing.T) {
	for failures, needs := range map[string]string{"12": "6m00.2s", "3": "1m30.2s"} {
		a := ask(t, pod("livenessProbe: {httpGet: {port: 80}, periodSeconds: 30}\nreadinessProbe: {httpGet: "+
			"{port: 80}, periodSeconds: 30, failureThreshold: "+failures+"}"), check.Options{})
		want := "An outage of 1m00s, also of a database behind the endpoint, can restart the container before the " +
			"readiness probe takes it out of its Service, which needs up to " + needs + "."
		a.has(t, want, want)
	}
}

// TestBlindAtFirst checks that check says how long no probe stops a program that hangs.
func TestBlindAtFirst(t *testing.T) {
	probe := "livenessProbe: {httpGet: {port: 80}, initialDelaySeconds: "
	const says = "It first runs 10m00s after the start: nothing stops a program that hangs before."
	ask(t, pod(probe+"600}"), check.Options{}).has(t, says, says)
	ask(t, pod(probe+"10}"), check.Options{}).hasNot(t, "It first runs")
}
