package tune_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/answers/tune"
	"probesim.dev/internal/input"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
)

func tuned(t interface{ Fatal(...any) }, f input.File, o check.Options) *tune.Report {
	x, err := tune.New([]input.File{f}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Tasks() {
		if err := x.Do(context.Background(), i); err != nil {
			t.Fatal(err)
		}
	}
	r := x.Report()
	if r.Problems() {
		t.Fatal(r.Workloads[0].Problem)
	}
	return r
}

// Some settings that meet requirements differ in a field that a probe seldom needs, or in another
// probe.
func TestTuneFindsOtherFields(t *testing.T) {
	for _, test := range []struct{ probes, require, changes string }{
		// A call over gRPC that begins before the program is up waits for its timeout.
		{"startupProbe: {grpc: {port: 80}, periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 1}",
			"start>=100ms, ready<=3s",
			"startupProbe.timeoutSeconds 1, startupProbe.failureThreshold 2"},
		// The liveness probe kills the container in a stall that the readiness probe survives.
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 4, failureThreshold: 1}\n    readinessProbe: {httpGet: " +
			"{port: 80}, periodSeconds: 2, failureThreshold: 3}",
			"serving>=1800ms", "livenessProbe.failureThreshold 2"},
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 1}\n    readinessProbe: {httpGet: " +
			"{port: 80}, periodSeconds: 2, failureThreshold: 1}",
			"serving>=1800ms", "livenessProbe.failureThreshold 2, readinessProbe.failureThreshold 2"},
		// After a restart, the liveness probe can run before the startup probe, so both limit a
		// start.
		{"startupProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 1}\n    livenessProbe: {tcpSocket: " +
			"{port: 80}, periodSeconds: 3, failureThreshold: 1}",
			"restart>=1800ms", "startupProbe.failureThreshold 3, livenessProbe.failureThreshold 2"},
		// A probe that the program refuses does not wait for its timeout, so a longer one makes no
		// time longer.
		{"readinessProbe: {httpGet: {port: 80}}", "serving>=30s, unready<=10s",
			"readinessProbe.periodSeconds 3, readinessProbe.timeoutSeconds 11"},
		// With a period of minutes, the startup probe corrects late that the kubelet has carried
		// over the start.
		{"startupProbe: {httpGet: {port: 80}, periodSeconds: 120, failureThreshold: 1}\n    livenessProbe: {httpGet: " +
			"{port: 80}, failureThreshold: 3}",
			"restart>=60s", "startupProbe.failureThreshold 2, livenessProbe.failureThreshold 7"},
		{"startupProbe: {httpGet: {port: 80}, initialDelaySeconds: 8, periodSeconds: 9, failureThreshold: 1}\n    " +
			"livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 2}",
			"restart>=7100ms", "startupProbe.initialDelaySeconds 9, startupProbe.periodSeconds 1"},
		// A probe that can never run stays as it is.
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 4, failureThreshold: 1}\n    readinessProbe: {httpGet: " +
			"{port: htpp}}", "stall>=5s", "livenessProbe.failureThreshold 3"},
		// Slow answers need a timeout, of the startup probe too. A TCP probe tolerates them.
		{"startupProbe: {httpGet: {port: 80}, failureThreshold: 9}\n    livenessProbe: {httpGet: {port: 80}}",
			"stall>=20s, answer>=3500ms", "startupProbe.timeoutSeconds 4, livenessProbe.timeoutSeconds 4"},
		{"livenessProbe: {tcpSocket: {port: 80}}\n    readinessProbe: {httpGet: {port: 80}}",
			"answer>=4s, serving-answer>=2s", "readinessProbe.timeoutSeconds 2"},
		// A hook that drains a pod for long need not run in full when the program hangs.
		{"livenessProbe: {httpGet: {port: 80}}\n  terminationGracePeriodSeconds: 1800", "recover<=2m",
			"livenessProbe.terminationGracePeriodSeconds 60"},
		{"livenessProbe: {httpGet: {port: 80}, terminationGracePeriodSeconds: 50}\n  " +
			"terminationGracePeriodSeconds: 1800", "recover<=50s", "livenessProbe.terminationGracePeriodSeconds 10"},
		// The times grow with all fields, so the quickest probe shows that a time is too short.
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 4, failureThreshold: 1}", "detect<=1s", ""},
	} {
		require, err := parseRequirements(test.require)
		if err != nil {
			t.Fatal(err)
		}
		f := input.File{Name: "web.yaml",
			Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    " +
				"image: web:1\n    " + test.probes + "\n")}
		r := tuned(t, f, check.Options{Require: require})
		var changes []string
		for _, c := range r.Workloads[0].Containers[0].Changes {
			changes = append(changes, fmt.Sprintf("%s %d", c.Field, c.After))
		}
		if got := strings.Join(changes, ", "); got != test.changes || r.Met() != (test.changes != "") {
			t.Errorf("%s: the changes for %s are %q, want %q", test.probes, test.require, got, test.changes)
		}
	}
}

// A start of over an hour needs a threshold: package bounds takes no delay that is so long.
func TestTuneLongStart(t *testing.T) {
	require, err := parseRequirements("start>=2h")
	if err != nil {
		t.Fatal(err)
	}
	f := input.File{Name: "web.yaml",
		Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    " +
			"image: web:1\n" +
			"    startupProbe: {httpGet: {port: 80}, periodSeconds: 60, failureThreshold: 12}\n")}
	r := tuned(t, f, check.Options{Require: require})
	if c := r.Workloads[0].Containers[0]; !r.Met() || len(c.Changes) != 1 ||
		c.Changes[0].Field != "startupProbe.failureThreshold" || c.Changes[0].After != 121 {
		t.Errorf("the changes are %+v", c.Changes)
	}
}

// Some requirements on long starts have no setting.
func TestTuneLongTimes(t *testing.T) {
	f := input.File{Name: "web.yaml",
		Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    " +
			"image: web:1\n" +
			"    startupProbe: {httpGet: {port: 80}, initialDelaySeconds: 10, periodSeconds: 5, failureThreshold: " +
			"30}\n  " +
			"  readinessProbe: {httpGet: {port: 80}}\n")}
	for _, test := range []struct {
		require  string
		changes  int
		contrary string // the requirement that no setting meets
	}{
		{"retry>=2h", 0, "retry>=2h"},
		{"start>=3h", 1, ""},
		{"start>=5h, ready<=1s", 0, "meets ready<=1s"},
	} {
		require, err := parseRequirements(test.require)
		if err != nil {
			t.Fatal(err)
		}
		r := tuned(t, f, check.Options{Require: require})
		c := r.Workloads[0].Containers[0]
		if len(c.Changes) != test.changes {
			t.Errorf("%s: the changes are %+v", test.require, c.Changes)
		}
		if r.Met() == (test.contrary != "") ||
			!r.Met() && (len(c.Why) != 1 || !strings.Contains(c.Why[0], test.contrary)) {
			t.Errorf("%s: met %v, because %q", test.require, r.Met(), c.Why)
		}
	}
}

// A longer start gets a startup probe. The costs of changes are the rows that a full measurement
// finds worse.
func TestCosts(t *testing.T) {
	f := input.File{Name: "web.yaml",
		Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    " +
			"image: web:1\n" +
			"    livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 2}\n")}
	search := func(text string) tune.Container {
		require, err := parseRequirements(text)
		if err != nil {
			t.Fatal(err)
		}
		o := check.Options{Require: require}
		r := tuned(t, f, o)
		c := r.Workloads[0].Containers[0]
		var worse []check.RowID
		before := checked(t, f, check.Options{})
		after := checked(t, f, check.Options{Modify: r.Modify})
		for _, row := range compare.Compare(before, after).Workloads[0].Containers[0].Rows {
			if row.Change == compare.Worse {
				worse = append(worse, row.Row)
			}
		}
		var costs []check.RowID
		for _, x := range c.Costs {
			costs = append(costs, x.Row)
		}
		if !slices.Equal(costs, worse) {
			t.Errorf("%s: the costs are %v, and the comparison has %v", text, costs, worse)
		}
		return c
	}
	added := search("start>=9s") // the liveness probe stays as it is
	if len(added.Changes) != 2 || slices.ContainsFunc(added.Changes,
		func(x tune.Change) bool { return !strings.HasPrefix(x.Field, "startupProbe.") }) {
		t.Errorf("the changes are %+v", added.Changes)
	}
	search("stall>=9s")
}

// After a crash while starting, only a delay allows for a start, so a new startup probe gets one.
func TestRetryNeedsADelay(t *testing.T) {
	require, err := parseRequirements("retry>=3s")
	if err != nil {
		t.Fatal(err)
	}
	f := input.File{Name: "web.yaml",
		Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    " +
			"image: web:1\n" +
			"    livenessProbe: {httpGet: {port: 80}, periodSeconds: 1}\n")}
	r := tuned(t, f, check.Options{Require: require})
	if !r.Met() || r.Workloads[0].Containers[0].Changes[0].Field != "startupProbe.initialDelaySeconds" {
		t.Fatalf("%+v", r.Workloads[0].Containers[0])
	}
	edited, _, err := r.Edit(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := checked(t, input.File{Name: f.Name, Data: edited}, check.Options{Require: require}); !got.Met() {
		t.Errorf("%s: the check finds %+v", edited, got.Workloads[0].Requirements)
	}
}

func checked(t interface{ Fatal(...any) }, f input.File, o check.Options) *check.Report {
	c, err := check.New([]input.File{f}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Report()
}

// TestTuneLeavesSidecars checks that a requirement changes the ordinary containers, and a sidecar
// only by its name.
func TestTuneLeavesSidecars(t *testing.T) {
	data, err := os.ReadFile("../check/testdata/meshed-deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	helper := strings.Replace(string(data), "      containers:\n",
		"      containers:\n      - {name: helper, image: helper:1}\n", 1)
	for _, test := range []struct {
		manifest, require string
		changes           string
		missing           string
	}{
		{string(data), "start>=70s", "app startupProbe.failureThreshold 15", ""},
		{string(data), "app/start>=70s", "app startupProbe.failureThreshold 15", ""},
		{string(data), "envoy/start>=70s", "envoy startupProbe.failureThreshold 71", ""},
		{string(data), "start>=50s, envoy/start>=40s", "envoy startupProbe.failureThreshold 41", ""},
		{helper, "start>=70s", "app startupProbe.failureThreshold 15",
			"start>=1m10s: container helper has no startup or liveness probe"},
		{helper, "app/start>=70s", "app startupProbe.failureThreshold 15", ""},
	} {
		require, err := parseRequirements(test.require)
		if err != nil {
			t.Fatal(err)
		}
		f := input.File{Name: "orders.yaml", Data: []byte(test.manifest)}
		r := tuned(t, f, check.Options{Require: require})
		var changes, missing []string
		for _, c := range r.Workloads[0].Containers {
			for _, x := range c.Changes {
				changes = append(changes, fmt.Sprintf("%s %s %d", c.Name, x.Field, x.After))
			}
		}
		for _, m := range r.Workloads[0].Missing {
			missing = append(missing, m.String())
		}
		if got := strings.Join(changes, ", "); got != test.changes || strings.Join(missing, ", ") != test.missing ||
			r.Met() != (test.missing == "") {
			t.Errorf("%s: the changes are %q, missing is %q, met %v, want %+v", test.require, got, missing, r.Met(),
				test)
		}
		if after := checked(t, f, check.Options{Require: require, Modify: r.Modify}); after.Met() != r.Met() {
			t.Errorf("%s: the check of the settings finds %+v", test.require, after.Workloads[0].Requirements)
		}
	}
}

// TestTuneTakesAnnotations checks that tune meets what an annotation asks for above the command
// line, and not what it asks for below.
func TestTuneTakesAnnotations(t *testing.T) {
	for _, test := range []struct {
		annotation string
		allow      bool
		after      int32
	}{{"start>=90s", false, 19}, {"start>=60s", false, 15}, {"start>=60s", true, 13}, {"app/start>=90s", false, 19}} {
		f := input.File{Name: "web.yaml",
			Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {probesim.dev/require: " +
				test.annotation + "}}\nspec:\n  containers:\n  - name: app\n    image: web:1\n" +
				"    startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 2}\n")}
		require, err := parseRequirements("start>=70s")
		if err != nil {
			t.Fatal(err)
		}
		w := tuned(t, f, check.Options{Require: require, AllowAnnotations: test.allow}).Workloads[0]
		if c := w.Containers[0].Changes; len(c) != 1 || c[0].After != test.after {
			t.Errorf("%s, allowed %v: the changes are %+v, want the threshold %d", test.annotation, test.allow, c,
				test.after)
		}
	}
}

// tunedWith is tuned with a margin.
func tunedWith(t *testing.T, manifest string, o check.Options, margin float64) (input.File, *tune.Report) {
	t.Helper()
	f := input.File{Name: "web.yaml", Data: []byte(manifest)}
	x, err := tune.New([]input.File{f}, o)
	if err != nil {
		t.Fatal(err)
	}
	x.Margin = margin
	for i := range x.Tasks() {
		if err := x.Do(context.Background(), i); err != nil {
			t.Fatal(err)
		}
	}
	return f, x.Report()
}

// TestMargin checks that limits get a margin if a setting has it, that times do not, and that what
// meets the requirements stays as it is.
func TestMargin(t *testing.T) {
	for _, test := range []struct {
		probes, require, changes string
		tight                    bool
	}{
		{"startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 2}", "start>=70s",
			"startupProbe.failureThreshold 18", false},
		{"startupProbe: {httpGet: {port: 80}, periodSeconds: 5, failureThreshold: 15}", "start>=70s", "", false},
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 2}", "stall>=5s",
			"livenessProbe.failureThreshold 7", false},
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 2}", "stall>=5s, detect<=8.1s",
			"livenessProbe.failureThreshold 6", true},
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 3}", "detect<=20s",
			"livenessProbe.periodSeconds 5", false},
	} {
		o := check.Options{Require: requirementsOf(t, test.require)}
		_, r := tunedWith(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: "+
			"app\n    image: web:1\n    "+test.probes+"\n", o, 0.2)
		c := r.Workloads[0].Containers[0]
		var changes []string
		for _, x := range c.Changes {
			changes = append(changes, fmt.Sprintf("%s %d", x.Field, x.After))
		}
		if got := strings.Join(changes, ", "); !c.Met || got != test.changes || c.Tight != test.tight {
			t.Errorf("%s, %s: the changes are %q, tight %v, met %v, want %+v", test.probes, test.require, got, c.Tight,
				c.Met, test)
		}
	}
}

func requirementsOf(t *testing.T, text string) check.Requirements {
	t.Helper()
	require, err := parseRequirements(text)
	if err != nil {
		t.Fatal(err)
	}
	return require
}

// TestAddsAReadinessProbe checks what a new readiness probe asks, and that the changed manifest
// meets the requirements.
func TestAddsAReadinessProbe(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: " +
		"web:1\n"
	for _, test := range []struct{ container, require, probe, missing string }{
		{"livenessProbe: {httpGet: {path: /live, port: 80}, timeoutSeconds: 2}", "unready<=40s",
			"http :80/live every 10s, 3 failures, timeout 2s", ""},
		{"livenessProbe: {httpGet: {path: /live, port: 80}}", "unready<=20s",
			"http :80/live every 6s, 3 failures, timeout 1s", ""},
		{"startupProbe: {grpc: {port: 80}}", "serving>=25s", "grpc :80 every 13s, 3 failures, timeout 1s", ""},
		{"ports: [{containerPort: 53, protocol: UDP}, {containerPort: 3000}]", "ready<=12s",
			"tcp :3000 every 10s, 3 failures, timeout 1s", ""},
		{"args: [x]", "ready<=12s", "", "ready<=12s: container app has no readiness or startup probe"},
		{"ports: [{containerPort: 3000}]", "start>=12s", "",
			"start>=12s: container app has no startup or liveness probe"},
		{"startupProbe: {httpGet: {port: 80}}", "ready<=40s", "", ""}, // the startup probe decides
	} {
		o := check.Options{Require: requirementsOf(t, test.require)}
		f, r := tunedWith(t, head+"    "+test.container+"\n", o, 0)
		var b strings.Builder
		if err := tune.Document(r, nil).Write(&b, "text", document.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), test.missing) ||
			strings.Contains(b.String(), "readinessProbe: none -> ") != (test.probe != "") ||
			!strings.Contains(b.String(), test.probe) {
			t.Errorf("%s, %s, want %+v:\n%s", test.container, test.require, test, b.String())
		}
		if strings.Contains(b.String(), "accepts connections") != strings.HasPrefix(test.probe, "tcp") ||
			r.Met() != (test.missing == "") {
			t.Errorf("%s: met %v:\n%s", test.container, r.Met(), b.String())
		}
		if !r.Met() {
			continue
		}
		edited, _, err := r.Edit(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := checked(t, input.File{Name: f.Name, Data: edited}, o); !got.Met() {
			t.Errorf("%s: the check of %s finds %+v", test.container, edited, got.Workloads[0].Requirements)
		}
	}
}

// TestGrace checks the grace period of a pod whose programs need some time after SIGTERM, and that
// the changed manifest has no finding about it.
func TestGrace(t *testing.T) {
	stop := func(text string) check.Options {
		d, err := value.ParseDurations(text)
		if err != nil {
			t.Fatal(err)
		}
		return check.Options{Stop: d}
	}
	const hook = "  containers:\n  - name: app\n    image: web:1\n    lifecycle: {preStop: {sleep: {seconds: 20}}}\n"
	meshed, err := os.ReadFile("../check/testdata/meshed-deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n"
	for _, test := range []struct {
		manifest, stop string
		margin         float64
		want           string
	}{
		{pod + "  terminationGracePeriodSeconds: 25\n" + hook, "3s", 0, ""},
		{pod + "  terminationGracePeriodSeconds: 25\n" + hook, "10s", 0,
			"terminationGracePeriodSeconds: 25 -> 32: app takes up to 10.0s to exit after SIGTERM: SIGKILL comes " +
				"after 12.0s."},
		{pod + "  terminationGracePeriodSeconds: 25\n" + hook, "10s", 0.2,
			"terminationGracePeriodSeconds: 25 -> 33: app takes up to 10.0s to exit after SIGTERM: SIGKILL comes " +
				"after 13.0s."},
		{pod + hook, "4s..40s", 0, "terminationGracePeriodSeconds: 30 -> 62: app takes up to 40.0s to exit after " +
			"SIGTERM: SIGKILL comes after 42.0s."},
		{string(meshed), "app=40s,envoy=3s", 0,
			"terminationGracePeriodSeconds: 45 -> 60: app takes up to 40.0s to exit after SIGTERM: SIGKILL comes " +
				"after 45.0s."},
	} {
		o := stop(test.stop)
		f, r := tunedWith(t, test.manifest, o, test.margin)
		got := ""
		if g := r.Workloads[0].Grace; g != nil {
			got = g.String() + ": " + g.Why()
		}
		if got != test.want || r.Changed() != (test.want != "") {
			t.Errorf("%s: the change is %q, want %q", test.stop, got, test.want)
		}
		edited, _, err := r.Edit(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checked(t, input.File{Name: f.Name, Data: edited}, o).Workloads[0].Containers {
			if slices.ContainsFunc(c.Findings, func(f check.Finding) bool { return f.ID == check.ShortGrace }) {
				t.Errorf("%s: the changed manifest has the findings %+v", test.stop, c.Findings)
			}
		}
		patches, err := r.Patches()
		if text := string(bytes.Join(patches, nil)); err != nil ||
			strings.Contains(text, "terminationGracePeriodSeconds") != (test.want != "") {
			t.Errorf("%s: the patch is %s, %v", test.stop, text, err)
		}
	}
}
