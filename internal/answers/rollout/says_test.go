package rollout_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/require"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
	"probesim.dev/trace/traffic"
)

// What the report says, and what it must not say.
func TestSays(t *testing.T) {
	service := func(spec string) func(string) string {
		return func(text string) string {
			return strings.Replace(text, "selector: {app: web}\n  ports", spec+"\n  ports", 1)
		}
	}
	hook := "lifecycle: {preStop: {exec: {command: [/bin/sh, -c, sleep 15]}}}"
	same := func(text string) string { return text }
	gate := manifest{replicas: 2, container: "lifecycle: {preStop: {sleep: {seconds: 80}}}"}
	for _, c := range []struct {
		name string
		m    manifest
		edit func(string) string
		rollout.Options
		says, not string
	}{
		{"a hook that needs a shell", manifest{container: hook}, same, rollout.Options{},
			"loses no simulated request; container app needs /bin/sh and sleep in the image", ""},
		{"a hook that needs nothing", manifest{container: "lifecycle: {preStop: {sleep: {seconds: 15}}}"}, same,
			rollout.Options{}, "loses no new connection", "in the image"},
		{"minReadySeconds beyond the progress deadline", manifest{replicas: 2}, same,
			rollout.Options{Router: "gateway: add 10m, remove 10m", Runs: 1},
			"fix minReadySeconds: 612 and progressDeadlineSeconds: 672", ""},
		{"a headless Service", manifest{}, service("selector: {app: web}\n  clusterIP: None"), rollout.Options{},
			"say how long it takes, such as --router 'dns: add", "always enough"},
		{"a headless Service with a router", manifest{}, service("selector: {app: web}\n  clusterIP: None"),
			rollout.Options{Router: "dns: add 5s..30s, remove 5s..35s"}, "preStop: {sleep: {seconds: 46}}", "such as"},
		{"connections until the exit", manifest{replicas: 3}, same,
			rollout.Options{Connections: traffic.Connections{Count: 50, UntilExit: true}, Runs: 20},
			"helps preStop: {sleep: {seconds: 2}}: at most", "of 5 runs"},
		{"addresses that are not ready", manifest{noReadiness: true,
			container: "env: []\n      initContainers: [{name: wait, image: busybox, command: [sleep, '30']}]"},
			service("selector: {app: web}\n  publishNotReadyAddresses: true"),
			rollout.Options{Change: rollout.Change{Kind: rollout.Scale, Scale: 3}},
			"fix publishNotReadyAddresses: false in Service web: always enough", "--start"},
		{"a gate of AWS", gate, func(text string) string {
			return strings.Replace(text, "      containers:",
				"      readinessGates: [{conditionType: target-health.elbv2.k8s.aws/web}]\n      containers:", 1)
		}, rollout.Options{Router: "alb-ip", Runs: 20}, "loses no new connection", "outage"},
		{"a gate without other pods", manifest{spec: "strategy: {type: Recreate}"}, same,
			rollout.Options{Router: "neg"}, "minReadySeconds: 72", "readiness gate ("},
		{"no gate", gate, same, rollout.Options{Router: "alb-ip", Runs: 20, App: rollout.App{}}, "an outage",
			"readiness gate ("},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := c.m.file()
			file.Data = []byte(c.edit(string(file.Data)))
			check(t, []input.File{file}, nil, c.Options, c.says, c.not)
		})
	}
}

// check checks that a report says some texts, and not another one.
func check(t *testing.T, files, from []input.File, o rollout.Options, says, not string) {
	t.Helper()
	o.Rate, o.Delays, o.Runs = 100, "typical", max(o.Runs, 3)
	o.Latency = *interval(10*time.Millisecond, 50*time.Millisecond)
	r, err := rollout.Run(files, from, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	render.Document(r).Write(&b, "text", document.Options{})
	text := strings.Join(strings.Fields(b.String()), " ")
	for s := range strings.SplitSeq(says, "; ") {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(s)) {
			t.Errorf("does not say %q", s)
		}
	}
	if not != "" && strings.Contains(text, not) {
		t.Errorf("says %q", not)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// Changes that meet a requirement have a note unless all is simulated.
func TestTuneSaysWhatIsNotSimulated(t *testing.T) {
	for _, c := range []struct {
		hook string
		is   bool
	}{{"exec: {command: [sleep, '15']}", true}, {"exec: {command: [sleep, '1']}", false},
		{"sleep: {seconds: 15}", false}} {
		o := options()
		o.Runs = 3
		o.Require, _ = require.Parse("lost<=0")
		file := manifest{replicas: 2, container: "lifecycle: {preStop: {" + c.hook + "}}"}.file()
		r, err := rollout.Tune([]input.File{file}, nil, o, true)
		if err != nil {
			t.Fatal(err)
		}
		if w := r.Workloads[0]; !w.Met || strings.HasPrefix(w.Note, "What is not simulated may lose requests") != c.is {
			t.Errorf("%s: met %t: %s", c.hook, w.Met, w.Note)
		}
	}
}

// A Service whose new selector matches no old pod has no endpoints until a new pod is Ready.
func TestSelectorOfNewPods(t *testing.T) {
	of := func(version string) []input.File {
		file := manifest{replicas: 2, container: "lifecycle: {preStop: {sleep: {seconds: 15}}}"}.file()
		file.Data = []byte(strings.NewReplacer("labels: {app: web}", "labels: {app: web, version: "+version+"}",
			"  selector: {app: web}\n  ports", "  selector: {app: web, version: "+version+"}\n  ports").
			Replace(string(file.Data)))
		return []input.File{file}
	}
	o := rollout.Options{App: rollout.App{Start: value.Durations{Ordinary: interval(20*time.Second, 20*time.Second)}}}
	check(t, of("v2"), of("v1"), o, "Service web selects no old pod (app=web,version=v2); "+
		"fix a selector without version in Service web: always enough", "")
}

// A container that the pods before the change do not have is an error, and no more.
func TestAnotherContainerBefore(t *testing.T) {
	old := manifest{}.file()
	old.Data = []byte(strings.Replace(string(old.Data), "name: app", "name: api", 1))
	_, err := rollout.Run([]input.File{manifest{}.file()}, []input.File{old}, rollout.Options{})
	if err == nil || !strings.Contains(err.Error(), `no container "app"`) {
		t.Errorf("error %v", err)
	}
}
