package rollout_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/long"
	"probesim.dev/internal/require"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/router"
	"probesim.dev/kube/profile"
	"probesim.dev/trace/traffic"
)

// manifest is a Deployment and its Service.
type manifest struct {
	replicas    int
	spec        string // lines of the spec of the Deployment
	container   string // lines of the container
	noReadiness bool
	grace       int    // 300 by default
	more        string // documents after the Service
}

func (m manifest) file() input.File {
	probe := "readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}"
	if m.noReadiness {
		probe = "imagePullPolicy: IfNotPresent"
	}
	return input.File{Name: "web.yaml", Data: fmt.Appendf(nil, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  %s
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: %d
      containers:
      - name: app
        image: example.com/web:1
        %s
        %s
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080}]
%s`, max(1, m.replicas), m.spec, cmp.Or(m.grace, 300), probe, m.container, m.more)}
}

func run(t *testing.T, m manifest, o rollout.Options) *rollout.Workload {
	t.Helper()
	if o.Rate == 0 {
		o.Rate = 100
	}
	r, err := rollout.Run([]input.File{m.file()}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return &r.Workloads[0]
}

func interval(least, most time.Duration) *value.Interval {
	return &value.Interval{Min: least, Max: most}
}

// With a preStop sleep of the rule, no run loses a request, and no run needs more; and none loses
// more than is sent: for random Deployments, changes, hooks before and after the change, grace
// periods, routers, connections, latencies, programs and nodes. The default sample is small; the
// large one has 5,000 runs.
func TestAlwaysEnough(t *testing.T) {
	ruled := 0
	for i := range long.Sample(8, 100) {
		if testAlwaysEnough(t, i) {
			ruled++
		}
	}
	for _, seed := range []int{1471, 10443, 11496, 19567} { // connections that clients keep
		testAlwaysEnough(t, seed)
	}
	if ruled < long.Sample(8, 100)/5 {
		t.Errorf("the rule gives a sleep %d times", ruled)
	}
}

// testAlwaysEnough makes random runs, and reports whether there is a sleep of the rule.
func testAlwaysEnough(t *testing.T, seed int) (ruled bool) {
	profiles := []profile.Profile{profile.V1_33, profile.V1_34, profile.Newest()}
	r := rand.New(rand.NewPCG(1, uint64(seed)))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	random := func(most time.Duration) time.Duration { return time.Duration(r.Int64N(int64(most))) }
	m := manifest{replicas: 1 + r.IntN(4), grace: []int{1, 5, 15, 30, 300, 300}[r.IntN(6)], noReadiness: r.IntN(9) == 0,
		spec: pick("minReadySeconds: 0", "minReadySeconds: 1", "minReadySeconds: 2", "strategy: {type: Recreate}",
			"strategy: {rollingUpdate: {maxSurge: 2, maxUnavailable: 1}}",
			"strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}",
			"strategy: {rollingUpdate: {maxSurge: 100%, maxUnavailable: 0}}")}
	start, stop, latency := random(5*time.Second), random(3*time.Second), random(time.Second)
	if r.IntN(3) == 0 {
		stop, latency = random(time.Minute), random(time.Minute)
	}
	o := rollout.Options{
		Rate: float64(1 + r.IntN(1000)), Runs: 3, Profile: profiles[r.IntN(len(profiles))],
		Delays: pick("default", "fast", "typical", "slow"), Latency: value.Interval{Min: latency / 2, Max: latency},
		App: rollout.App{
			Start:  value.Durations{Ordinary: interval(start/2, start)},
			Stop:   value.Durations{Ordinary: interval(stop, stop*2)},
			Refuse: value.Durations{Ordinary: interval(0, stop/2)},
		},
	}
	if r.IntN(4) == 0 {
		o.App.Refuse = value.Durations{Ordinary: interval(rollout.Never, rollout.Never)}
	}
	if r.IntN(2) == 0 {
		o.Router = pick(router.Names()...)
	}
	if r.IntN(6) == 0 {
		o.Router, m.spec = "gateway: add 1s..9s, remove 2s..6s", "minReadySeconds: 22"
	}
	if r.IntN(3) == 0 {
		m.more = service("internal", 8080) + service("public", 8080)
	}
	if r.IntN(5) == 0 {
		o.Connections = traffic.Connections{Count: 1 + r.IntN(100), UntilExit: r.IntN(2) == 0}
	}
	switch change := r.IntN(8); change {
	case 0:
		o.Change = rollout.Change{Kind: rollout.Undo}
	case 1:
		o.Change = rollout.Change{Kind: rollout.Scale, Scale: int32(r.IntN(6))}
		if int(o.Change.Scale) == m.replicas {
			o.Change.Scale++
		}
	}
	hook := func(m manifest) manifest {
		m.container = pick("tty: false",
			fmt.Sprintf("lifecycle: {preStop: {sleep: {seconds: %d}}}", min(4, m.grace-1)),
			"lifecycle: {preStop: {exec: {command: [sh, -c, 'sleep 2; kill 1; sleep 5']}}}")
		return m
	}
	was, is := hook(m), hook(m)
	was.spec, is.container = m.spec, is.container+"\n        env: [{name: A, value: b}]"
	name := fmt.Sprintf("%d: from %+v to %+v, %+v", seed, was, is, o)
	rollOut := func() *rollout.Workload {
		w := runFrom(t, was, is, o)
		if w.Lost != nil && w.Lost.Greatest > w.Lost.Requests+1e-6 {
			t.Errorf("%s: loses %v of %v", name, w.Lost.Greatest, w.Lost.Requests)
		}
		return w
	}
	always := -1.0
	for _, row := range rollOut().Rows {
		if row.Row != rollout.RowPreStop || row.Always == nil {
			continue
		}
		if always = *row.Always; row.Greatest > always {
			t.Errorf("%s: a run needs %v s, and %v s are always enough", name, row.Greatest, always)
		}
	}
	if always < 0 {
		return false
	}
	was.container, is.container = "tty: false", "env: [{name: A, value: b}]"
	if always > 0 {
		sleep := fmt.Sprintf("lifecycle: {preStop: {sleep: {seconds: %d}}}", int(math.Ceil(always)))
		was.container, is.container = sleep, sleep+"\n        env: [{name: A, value: b}]"
	}
	if o.Runs = 50; !long.Enabled() {
		o.Runs = 10
	}
	if w := rollOut(); w.Verdict != rollout.LosesNone {
		t.Errorf("%s: %s: %+v lost with a sleep of %v s", name, w.Verdict, w.Lost, always)
	}
	return true
}

// A change that adds a preStop hook, or lengthens it, says that only this rollout loses requests.
func TestOnce(t *testing.T) {
	hook := func(seconds int) manifest {
		return manifest{replicas: 3, container: fmt.Sprintf("lifecycle: {preStop: {sleep: {seconds: %d}}}", seconds)}
	}
	o := options()
	o.Runs = 8
	for _, c := range []struct {
		from, to manifest
		says     string
	}{
		{manifest{replicas: 3}, hook(5), "loses requests, once: the next one loses none in 3 runs."},
		{hook(1), hook(4), "loses requests, once: the next one loses none in 3 runs."},
		{manifest{replicas: 3}, hook(1), "loses requests, once: the next one loses up to "},
		{hook(5), manifest{replicas: 3}, ""},
		{hook(1), manifest{replicas: 3, container: hook(1).container + "\n        tty: true"}, ""},
	} {
		if w := runFrom(t, c.from, c.to, o); !strings.Contains(w.Reason, c.says) ||
			strings.Contains(w.Reason, "once") != (c.says != "") {
			t.Errorf("from %+v to %+v: %s: %q", c.from, c.to, w.Verdict, w.Reason)
		}
	}
}

// runFrom rolls out from one manifest to another one.
func runFrom(t *testing.T, from, to manifest, o rollout.Options) *rollout.Workload {
	t.Helper()
	r, err := rollout.Run([]input.File{to.file()}, []input.File{from.file()}, o)
	if err != nil {
		t.Fatal(err)
	}
	return &r.Workloads[0]
}

// The verdict names what decides. A few runs show it.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name string
		manifest
		rollout.Options
		verdict rollout.Verdict
		reason  string // part of the reason, or of the largest part of the losses
		fix     string // part of the fixes
	}{
		{"the defaults", manifest{replicas: 3}, rollout.Options{}, rollout.Loses, "exited old",
			"preStop: {sleep: {seconds: 10}}"},
		{"a preStop sleep", manifest{replicas: 3, container: "lifecycle: {preStop: {exec: {command: [sleep, '3']}}}"},
			rollout.Options{}, rollout.LosesNone, "", ""},
		{"a hook that stops the program before it sleeps",
			manifest{replicas: 3, container: "lifecycle: {preStop: {exec: {command: [sh, -c, 'kill 1; sleep 20']}}}"},
			rollout.Options{}, rollout.Loses, "exited old", "preStop: {sleep: {seconds: 10}}"},
		{"a hook that stops it after its sleep",
			manifest{replicas: 3,
				container: "lifecycle: {preStop: {exec: {command: [sh, -c, 'sleep 3; nginx -s quit']}}}"},
			rollout.Options{}, rollout.LosesNone, "The preStop hook of container app stops the program 3s after", ""},
		{"a request that stops it", manifest{replicas: 3,
			container: "lifecycle: {preStop: {httpGet: {path: /quitquitquit, port: 8080}}}"},
			rollout.Options{}, rollout.Loses, "exited old", "preStop: {sleep: {seconds: 10}}"},
		{"no readiness probe", manifest{noReadiness: true},
			rollout.Options{App: rollout.App{Start: value.Durations{Ordinary: interval(4*time.Second, 4*time.Second)}}},
			rollout.Loses, "notListening new", "a readinessProbe"},
		{"Recreate", manifest{replicas: 2, spec: "strategy: {type: Recreate}"},
			rollout.Options{App: rollout.App{
				Start: value.Durations{Ordinary: interval(10*time.Second, 10*time.Second)}}}, rollout.Loses,
			"noEndpoints ", "maxSurge: 1 and maxUnavailable: 0"},
		{"a start that a probe kills",
			manifest{container: "livenessProbe: {tcpSocket: {port: 8080}, periodSeconds: 5}"},
			rollout.Options{App: rollout.App{Start: value.Durations{Ordinary: interval(time.Minute, time.Minute)}}},
			rollout.NeverCompletes, "maxUnavailable 0", ""},
		{"a grace period that is too short",
			manifest{container: "lifecycle: {preStop: {sleep: {seconds: 3}}}", grace: 10}, rollout.Options{
				Latency: value.Interval{Max: 15 * time.Second},
				App:     rollout.App{Stop: value.Durations{Ordinary: interval(20*time.Second, 20*time.Second)}},
			}, rollout.Loses, "inFlight old", "; terminationGracePeriodSeconds: 25"},
		{"a probe that never succeeds", manifest{container: "startupProbe: {httpGet: {path: /, port: none}}"},
			rollout.Options{}, rollout.NeverReady, "startup probe", ""},
		{"a load balancer", manifest{replicas: 2}, rollout.Options{Router: "ingress-nginx"}, rollout.Loses,
			"exited old", "preStop: {sleep: {seconds: 12}}; minReadySeconds: 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.Options.Runs = 12
			w := run(t, c.manifest, c.Options)
			reason, fix := w.Reason, ""
			if w.Lost != nil && len(w.Lost.Parts) > 0 {
				reason = w.Lost.Parts[0].Reason + " " + w.Lost.Parts[0].Pods
			}
			for _, f := range w.Fixes {
				fix += f.Change + "; "
			}
			if w.Verdict != c.verdict || !strings.Contains(reason, c.reason) || !strings.Contains(fix, c.fix) {
				t.Errorf("%s: %q, fixed by %q; want %s: %q, fixed by %q", w.Verdict, reason, fix, c.verdict, c.reason,
					c.fix)
			}
		})
	}
}

// A time without a pod is an outage: behind a Service that selects only the new version, all
// requests until it is up are lost; without a Service, the report says how long no pod is Ready.
func TestOutage(t *testing.T) {
	labels := func(version string) input.File {
		data := strings.ReplaceAll(string(manifest{replicas: 3}.file().Data), "labels: {app: web}",
			"labels: {app: web, version: "+version+"}")
		return input.File{Name: version + ".yaml",
			Data: []byte(strings.Replace(data, "selector: {app: web}\n", "selector: {version: "+version+"}\n", 1))}
	}
	o := options()
	o.Runs, o.App.Start.Ordinary = 3, interval(10*time.Second, 10*time.Second)
	r, err := rollout.Run([]input.File{labels("v2")}, []input.File{labels("v1")}, o)
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Workloads[0]; w.Verdict != rollout.Loses || w.Lost.Least < 10*o.Rate || w.Lost.Greatest > 15*o.Rate ||
		len(w.Lost.Parts) != 1 || w.Lost.Parts[0].Reason != traffic.NoEndpoints {
		t.Errorf("another selector: %s, %+v", w.Verdict, w.Lost)
	}
	deployment, _, _ := strings.Cut(string(manifest{spec: "strategy: {type: Recreate}"}.file().Data), "---\n")
	if r, err = rollout.Run([]input.File{{Name: "web.yaml", Data: []byte(deployment)}}, nil, o); err != nil {
		t.Fatal(err)
	}
	w := &r.Workloads[0]
	if text := render.Headline(r, w); w.Outage < 10e9 || w.Outage > 15e9 ||
		!strings.Contains(text, "completes, and no pod is Ready for up to 1") {
		t.Errorf("without a Service: %s for %v", text, w.Outage)
	}
}

// No run loses more requests than there are, however long they take.
func TestLosesAtMostWhatIsSent(t *testing.T) {
	for _, latency := range []time.Duration{time.Second, 30 * time.Second, 10 * time.Minute} {
		o := options()
		o.Runs, o.Latency = 3, value.Interval{Min: latency, Max: latency}
		w := run(t, manifest{replicas: 2, spec: "strategy: {type: Recreate}"}, o)
		if w.Lost.Greatest > w.Lost.Requests+1e-6 || w.Lost.Greatest == 0 {
			t.Errorf("%s: loses %v of %v", latency, w.Lost.Greatest, w.Lost.Requests)
		}
	}
}

// Each start of a container draws how long it takes, so a pod whose first start a probe kills comes
// up later. The report names the probe and the cure, and its worst run shows the verdict.
func TestEachStartIsDrawn(t *testing.T) {
	m := manifest{replicas: 3,
		container: "livenessProbe: {tcpSocket: {port: 8080}, initialDelaySeconds: 10, periodSeconds: 10}"}
	o := options()
	o.Runs, o.App.Start.Ordinary = 40, interval(20*time.Second, time.Minute)
	w := run(t, m, o)
	if takes := w.Rows[0]; w.Verdict != rollout.MissesDeadline || takes.Least > 120 || takes.Greatest < 600 ||
		!strings.Contains(w.Reason, "The liveness probe of container app kills the program before it is up, up to") ||
		!strings.Contains(w.Fix, "startup probe") {
		t.Errorf("%s: %s Fix: %s %+v", w.Verdict, w.Reason, w.Fix, takes)
	}
	shown, err := rollout.Show(t.Context(), []input.File{m.file()}, nil, o, w.Worst.Seed)
	if err != nil || shown[0].Took < 10*time.Minute {
		t.Errorf("the worst run: %v, %v", shown, err)
	}
}

// service is one more Service of the pods.
func service(name string, port int) string {
	return fmt.Sprintf("---\n{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {selector: {app: web}, "+
		"ports: [{port: 80, targetPort: %d}]}}\n", name, port)
}

// All Services of a Deployment are in the runs. kube-proxy writes the rules of a second one a
// second later, so that each loses more. A Service of another container has its own losses, and the
// fix is about both containers.
func TestSeveralServices(t *testing.T) {
	sidecar := "ports: [{containerPort: 8080}]\n      - name: exporter\n        image: example.com/exporter:1\n      " +
		"  ports: [{containerPort: 9100}]"
	metrics := service("metrics", 9100)
	threeSeconds := value.Interval{Min: 3 * time.Second, Max: 3 * time.Second}
	stop := rollout.App{Stop: value.Durations{Of: map[string]value.Interval{"exporter": threeSeconds}}}
	alone := run(t, manifest{replicas: 3}, rollout.Options{Runs: 20, Delays: "typical"})
	for _, c := range []struct {
		name string
		manifest
		rollout.Options
		services, fix string
		more          bool // each Service loses at least what one alone does
	}{
		{"one container", manifest{more: service("internal", 8080)}, rollout.Options{}, "web app, internal app",
			"preStop: {sleep: {seconds: ", true},
		{"two containers", manifest{container: sidecar, more: metrics}, rollout.Options{App: stop},
			"web app, metrics exporter", "} in app and exporter", true},
		{"one of them", manifest{container: sidecar, more: metrics}, rollout.Options{App: stop, Service: "metrics"}, "",
			"preStop: {sleep: {seconds: ", false},
		{"a headless one", manifest{more: strings.Replace(service("db", 8080), "selector", "clusterIP: None, selector",
			1)}, rollout.Options{}, "", "preStop: {sleep: {seconds: ", false},
	} {
		c.replicas, c.Options.Runs, c.Options.Delays = 3, 20, "typical"
		w := run(t, c.manifest, c.Options)
		var services []string
		for _, s := range w.Services {
			services = append(services, s.Name+" "+s.Container)
			if s.Lost.Median > w.Lost.Median || s.Lost.Greatest > w.Lost.Greatest ||
				c.more && s.Lost.Median < alone.Lost.Median {
				t.Errorf("%s: Service %s loses %+v, all %+v, and one alone %+v", c.name, s.Name, s.Lost, w.Lost,
					alone.Lost)
			}
		}
		if got := strings.Join(services, ", "); got != c.services || len(w.Fixes) == 0 || !w.Fixes[0].LosesNone ||
			!strings.Contains(w.Fixes[0].Change, c.fix) {
			t.Errorf("%s: Services %s, fixed by %+v", c.name, got, w.Fixes)
		}
		if c.Service != "" && (w.Service != "metrics" || w.Container != "exporter") {
			t.Errorf("%s: Service %s of container %s is counted", c.name, w.Service, w.Container)
		}
	}
}

// An annotation of a Deployment asks for more on its own, and the requirements of the options must
// hold too.
func TestAnnotatedRequirements(t *testing.T) {
	o := options()
	o.Runs = 3
	o.Require, _ = require.Parse("lost<=1000")
	file := manifest{replicas: 3}.file()
	file.Data = []byte(strings.Replace(string(file.Data), "metadata: {name: web}",
		"metadata: {name: web, annotations: {probesim.dev/require: 'ready<=1m, replicas>=3, lost<=1'}}", 1))
	r, err := rollout.Run([]input.File{file}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range r.Workloads[0].Requirements {
		got = append(got, fmt.Sprint(v.Requirement, " ", v.Met))
	}
	o.Require = nil
	file.Data = []byte(strings.Replace(string(file.Data), "lost<=1'", "lost<=1000'", 1))
	for _, o.AllowAnnotations = range []bool{false, true} {
		if r, err := rollout.Run([]input.File{file}, nil, o); err != nil || r.Bad() == o.AllowAnnotations {
			t.Errorf("an annotation that allows losses: %v, bad %v, if it may: %v", err, r.Bad(), o.AllowAnnotations)
		}
	}
	if want := "lost<=1000 true, replicas>=3 true, lost<=1 false"; strings.Join(got, ", ") != want || !r.Bad() {
		t.Errorf("%v, want %s", got, want)
	}
}

// A rollout whose new pods may wait for what the old ones have fails, unless something is required
// and met.
func TestWaitsAreFindings(t *testing.T) {
	for _, c := range []struct {
		port, require string
		bad           bool
	}{{"containerPort: 8080", "", false}, {"containerPort: 8080, hostPort: 8080", "", true},
		{"containerPort: 8080, hostPort: 8080", "takes<=5m", false},
		{"containerPort: 8080, hostPort: 8080", "takes<=1ms", true}} {
		o := rollout.Options{Runs: 2}
		if c.require != "" {
			o.Require, _ = require.Parse(c.require)
		}
		w := run(t, manifest{container: "lifecycle: {preStop: {sleep: {seconds: 6}}}\n        ports: [{" + c.port +
			"}]"}, o)
		if w.Verdict != rollout.LosesNone || w.Bad() != c.bad {
			t.Errorf("%s, %q: %s, bad %v, want %v", c.port, c.require, w.Verdict, w.Bad(), c.bad)
		}
	}
}

// The fix of a rollout that adds a sidecar lets both containers sleep, and the pods before the
// change have only one of them.
func TestFixOfANewSidecar(t *testing.T) {
	before := manifest{replicas: 2}.file()
	after := manifest{replicas: 2, container: "imagePullPolicy: IfNotPresent\n      - name: exporter\n        image: " +
		"example.com/exporter:1"}.file()
	r, err := rollout.Run([]input.File{after}, []input.File{before}, rollout.Options{Rate: 100, Runs: 4})
	if err != nil {
		t.Fatal(err)
	}
	if fixes := r.Workloads[0].Fixes; len(fixes) == 0 || !strings.Contains(fixes[0].Change, "in app and exporter") ||
		!fixes[0].LosesNone {
		t.Errorf("the fixes are %+v", fixes)
	}
}

// What cannot be rolled out has an error at its place, and nothing is simulated.
func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string // a part of the manifest, and what stands there instead
		rollout.Options
		from bool // the manifest is that before the change
		want string
	}{
		{"no ReplicaSet to go back to", "replicas: 1", "replicas: 1\n  revisionHistoryLimit: 0",
			rollout.Options{Change: rollout.Change{Kind: rollout.Undo}}, false,
			"web.yaml:6:25: spec.revisionHistoryLimit: no earlier ReplicaSet is kept"},
		{"a named port that no container has", "targetPort: 8080", "targetPort: http", rollout.Options{}, false,
			`web.yaml:23:34: spec.ports[0].targetPort: no container of Deployment web has a port of the name "http"`},
		{"a port in quotes", "targetPort: 8080", "targetPort: '8080'", rollout.Options{}, false,
			`web.yaml:23:34: spec.ports[0].targetPort: Invalid value: "8080": must contain at least one letter`},
		{"a Service twice", "---\n", "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: " +
			"{app: web}, ports: [{port: 80}]}\n---\n", rollout.Options{}, false,
			"web.yaml:25:18: metadata.name: the Service web is already defined in line 18"},
		{"a Service in another namespace", "metadata: {name: web}", "metadata: {name: web, namespace: prod}",
			rollout.Options{}, false,
			"web.yaml:20:11: metadata: the Service selects no pod: it is in namespace default, and Deployment web is " +
				"in namespace prod"},
		{"what is not simulated", "/, port: 8080}", "/, port: 8080, httpHeaders: [{name: Host, value: <b>}]}",
			rollout.Options{}, false,
			"web.yaml:15:70: spec.template.spec.containers[0].readinessProbe.httpGet.httpHeaders: Forbidden: a header"},
		{"a template that is not filled in", "example.com/web:1", "${IMAGE}", rollout.Options{}, false,
			"web.yaml:14:16: spec.template.spec.containers[0].image: Forbidden: an image name with a placeholder, " +
				"which is not filled in, is not supported yet"},
		{"no replicas before", "replicas: 1", "replicas: 0", rollout.Options{}, true,
			"web.yaml:5:13: spec.replicas: there are no replicas"},
		{"too many replicas before", "replicas: 1", "replicas: 101", rollout.Options{}, true,
			"web.yaml:5:13: spec.replicas: 101 replicas are more"},
		{"paused before", "replicas: 1", "replicas: 1\n  paused: true", rollout.Options{}, true,
			"web.yaml:6:11: spec.paused: the Deployment is paused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := manifest{}.file()
			changed := input.File{Name: file.Name, Data: []byte(strings.Replace(string(file.Data), c.old, c.new, 1))}
			files, from := []input.File{changed}, []input.File(nil)
			if c.from {
				file.Name, file.Data = "new.yaml", []byte(strings.Replace(string(file.Data), "web:1", "web:2", 1))
				files, from = []input.File{file}, files
			}
			c.Options.Runs = 1
			if _, err := rollout.Run(files, from, c.Options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %s", err, c.want)
			}
		})
	}
}

// Requests that the Service of a Deployment does not send to its pods alone are named, and never
// said to be safe.
func TestService(t *testing.T) {
	read := func(old, new string) *rollout.Workload {
		file := manifest{container: "lifecycle: {preStop: {sleep: {seconds: 8}}}"}.file()
		file.Data = []byte(strings.Replace(string(file.Data), old, new, 1))
		r, err := rollout.Run([]input.File{file}, nil, rollout.Options{Rate: 100, Runs: 3})
		if err != nil {
			t.Fatal(err)
		}
		return &r.Workloads[0]
	}
	if w := read("selector: {app: web}\n  ports",
		"type: ExternalName\n  externalName: example.com\n  selector: {app: web}\n  ports"); w.Lost != nil ||
		!strings.Contains(fmt.Sprint(w.NotSimulated), "ExternalName") {
		t.Errorf("ExternalName: %+v lost, and not simulated: %v", w.Lost, w.NotSimulated)
	}
	w := read("  ports: [{port: 80", "  publishNotReadyAddresses: true\n  ports: [{port: 80")
	if w.Verdict != rollout.Loses || w.Rows[0].Row == rollout.RowPreStop {
		t.Errorf("publishNotReadyAddresses: %s, with rows %+v", w.Verdict, w.Rows)
	}
	data := string(manifest{}.file().Data)
	second, _, _ := strings.Cut(strings.Replace(data, "metadata: {name: web}", "metadata: {name: canary}", 1), "---")
	if w := read("---\n", "---\n"+second+"---\n"); !strings.Contains(fmt.Sprint(w.NotSimulated),
		", which gets a part") {
		t.Errorf("a second Deployment is not named: %v", w.NotSimulated)
	}
}

// An interrupt leaves the Deployments that were rolled out before.
func TestInterrupted(t *testing.T) {
	first := manifest{}.file()
	second := input.File{Name: "second.yaml", Data: []byte(strings.ReplaceAll(string(first.Data), "web", "second"))}
	interrupted, made := errors.New("interrupted"), 0
	r, err := rollout.Run([]input.File{first, second}, nil,
		rollout.Options{Runs: 1, Each: func(n int, name string, do func(context.Context, int) error) error {
			if strings.HasPrefix(name, "rollouts of ") && n > 0 {
				made++
			}
			if made > 1 {
				return interrupted
			}
			for i := range n {
				if err := do(t.Context(), i); err != nil {
					return err
				}
			}
			return nil
		}})
	if err != interrupted || r == nil || len(r.Workloads) != 1 || r.Workloads[0].Name != "web" {
		t.Errorf("%v, %+v", err, r)
	}
}

// A quota decides without a run, so there is none to show: it would complete.
func TestQuota(t *testing.T) {
	file := manifest{replicas: 3}.file()
	file.Data = append(file.Data, "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: small}\nspec: {hard: "+
		"{pods: 3}}\n"...)
	r, err := rollout.Run([]input.File{file}, nil, rollout.Options{Command: "probesim rollout web.yaml", Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	if w := r.Workloads[0]; w.Verdict != rollout.NeverCompletes || w.Worst.Command != "" || w.Worst.Run != nil {
		t.Errorf("%s, with the worst run %+v", w.Verdict, w.Worst)
	}
}

// Each word tells something once.
func TestAddTwice(t *testing.T) {
	for _, text := range []string{"start 5s, start never", "refuse never, refuse 1s", "refuse 1s, refuse never",
		"stop 1s, stop 2s"} {
		events, err := whatif.Parse([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		app := &rollout.App{}
		word, _, _ := strings.Cut(text, " ")
		if err := errors.Join(app.Add(events[0]), app.Add(events[1])); err == nil || err.Error() != word+
			" is there twice" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What an annotation or the configuration ignores, and what the baseline has too, is no failure.
// What is worse than in the baseline is one.
func TestKnown(t *testing.T) {
	ignored := manifest{replicas: 2}.file()
	ignored.Data = []byte(strings.Replace(string(ignored.Data), "metadata: {name: web}",
		"metadata: {name: web, annotations: {probesim.dev/ignore: 'unnoticed-failure, rollout'}}", 1))
	report := func(f input.File, change func(*rollout.Options)) *rollout.Report {
		o := options()
		o.Runs = 3
		change(&o)
		r, err := rollout.Run([]input.File{f}, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain := manifest{replicas: 2}.file()
	baseline := report(plain, func(*rollout.Options) {})
	for _, c := range []struct {
		name   string
		f      input.File
		change func(*rollout.Options)
		bad    bool
	}{
		{"nothing", plain, func(*rollout.Options) {}, true},
		{"an annotation that may not ask for less", ignored, func(*rollout.Options) {}, true},
		{"an annotation", ignored, func(o *rollout.Options) { o.AllowAnnotations = true }, false},
		{"the configuration", plain, func(o *rollout.Options) {
			o.Ignores = func(file string) bool { return file == "web.yaml" }
		}, false},
		{"another file", plain, func(o *rollout.Options) {
			o.Ignores = func(file string) bool { return file != "web.yaml" }
		}, true},
		{"the baseline", plain, func(o *rollout.Options) { o.Baseline = baseline }, false},
		{"less than the baseline",
			manifest{replicas: 2, container: "lifecycle: {preStop: {sleep: {seconds: 1}}}"}.file(),
			func(o *rollout.Options) { o.Baseline = baseline }, false},
		{"worse than the baseline", manifest{replicas: 2, spec: "strategy: {type: Recreate}"}.file(),
			func(o *rollout.Options) { o.Baseline = baseline }, true},
		{"a requirement", plain, func(o *rollout.Options) {
			o.Baseline = baseline
			o.Require, _ = require.Parse("lost<=0")
		}, true},
	} {
		r := report(c.f, c.change)
		if r.Bad() != c.bad || c.bad == (r.Workloads[0].Known != "") && c.name != "a requirement" {
			t.Errorf("%s: bad %t, known %q", c.name, r.Bad(), r.Workloads[0].Known)
		}
	}
}

// A change that no rule is behind has 1,000 runs, and says so. One with a rule needs no more than
// those of the Deployment.
func TestFixesAreConfirmed(t *testing.T) {
	m := manifest{container: "lifecycle: {preStop: {exec: {command: [drain]}}}", noReadiness: true}
	o := options()
	o.App.Start.Ordinary = interval(time.Second, time.Second)
	o.App.Refuse.Ordinary = interval(rollout.Never, rollout.Never)
	o.App.Stop.Ordinary = interval(20*time.Second, 20*time.Second)
	if fixes := run(t, m, o).Fixes; len(fixes) != 1 || !fixes[0].LosesNone || fixes[0].Runs != 1000 {
		t.Errorf("without a rule: %+v", fixes)
	}
	fixes := run(t, manifest{replicas: 3}, options()).Fixes
	if len(fixes) == 0 || !fixes[0].Always || fixes[0].Runs != 100 {
		t.Errorf("with a rule: %+v", fixes)
	}
}
