package tune_test

import (
	"context"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/check/compare"
	"probesim.dev/check/tune"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/manifests"
)

// group has the rows that depend on one probe, and the ranges of the durations to require, in tenths of a second.
type group struct {
	probe       string
	limit, time check.RowID
}

var groups = []group{
	{"startup", check.Start, check.Ready},
	{"liveness", check.Stall, check.Detect},
	{"readiness", check.Serving, check.Unready},
}

// manifest returns a Pod with a liveness probe, and another probe.
func manifest(kind string, period, timeout, threshold int) string {
	text := func(kind string, period, timeout, threshold int) string {
		return fmt.Sprintf("    %sProbe: {grpc: {port: 80}, periodSeconds: %d, timeoutSeconds: %d, failureThreshold: %d}\n", kind, period, timeout, threshold)
	}
	probes := text(kind, period, timeout, threshold)
	if kind == "readiness" {
		probes += text("liveness", 10, 1, 10)
	}
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: web:1\n" + probes
}

func tuned(t interface{ Fatal(...any) }, f check.File, o check.Options) *tune.Report {
	x, err := tune.New([]check.File{f}, o)
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

// Settings that tune returns meet the requirements by a full check, and none of their neighbors towards the old setting does. Where
// tune finds none, a search over all small settings finds none either.
func TestPropertyTunedSettingsMeetRequirements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.SampledFrom(groups).Draw(t, "group")
		f := check.File{Name: "web.yaml", Data: []byte(manifest(g.probe,
			rapid.IntRange(1, 3).Draw(t, "periodSeconds"), rapid.IntRange(1, 2).Draw(t, "timeoutSeconds"), rapid.IntRange(1, 4).Draw(t, "failureThreshold")))}
		text := fmt.Sprintf("%s>=%dms", g.limit, 100*rapid.IntRange(1, 90).Draw(t, "limit"))
		if rapid.IntRange(0, 3).Draw(t, "both") > 0 {
			text += fmt.Sprintf(", %s<=%dms", g.time, 100*rapid.IntRange(5, 110).Draw(t, "time"))
		}
		require, err := check.ParseRequirements(text)
		if err != nil {
			t.Fatal(err)
		}
		r := tuned(t, f, check.Options{Require: require})
		c := r.Workloads[0].Containers[0]
		switch {
		case r.Met():
			meets(t, r, f, require)
			if len(c.Changes) > 0 {
				neighbors(t, f, c.Changes, require)
			}
		case len(c.Contradictions) == 0:
			t.Fatalf("%s%s: no setting, and no contradiction", f.Data, text)
		default:
			bruteForce(t, f, g, require)
		}
	})
}

// Some settings that meet requirements differ in a field that a probe seldom needs, or in another probe.
func TestTuneFindsOtherFields(t *testing.T) {
	for _, test := range []struct{ probes, require, changes string }{
		// A call over gRPC that begins before the program is up waits for its timeout.
		{"startupProbe: {grpc: {port: 80}, periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 1}", "start>=100ms, ready<=3s",
			"startupProbe.timeoutSeconds 1, startupProbe.failureThreshold 2"},
		// The liveness probe kills the container in a stall that the readiness probe survives.
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 4, failureThreshold: 1}\n    readinessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 3}",
			"serving>=1800ms", "livenessProbe.failureThreshold 2"},
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 1}\n    readinessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 1}",
			"serving>=1800ms", "livenessProbe.failureThreshold 2, readinessProbe.failureThreshold 2"},
		// After a restart, the liveness probe can run before the startup probe, so both limit a start.
		{"startupProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 1}\n    livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 3, failureThreshold: 1}",
			"restart>=1800ms", "startupProbe.failureThreshold 3, livenessProbe.failureThreshold 2"},
		// The times grow with all fields, so the quickest probe shows that a time is too short.
		{"livenessProbe: {httpGet: {port: 80}, periodSeconds: 4, failureThreshold: 1}", "detect<=1s", ""},
	} {
		require, err := check.ParseRequirements(test.require)
		if err != nil {
			t.Fatal(err)
		}
		f := check.File{Name: "web.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: web:1\n    " + test.probes + "\n")}
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

// A start of over an hour needs a threshold: package bounds measures no delay that is so long.
func TestTuneLongStart(t *testing.T) {
	require, err := check.ParseRequirements("start>=2h")
	if err != nil {
		t.Fatal(err)
	}
	f := check.File{Name: "web.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: web:1\n" +
		"    startupProbe: {httpGet: {port: 80}, periodSeconds: 60, failureThreshold: 12}\n")}
	r := tuned(t, f, check.Options{Require: require})
	if c := r.Workloads[0].Containers[0]; !r.Met() || len(c.Changes) != 1 || c.Changes[0].Field != "startupProbe.failureThreshold" || c.Changes[0].After != 121 {
		t.Errorf("the changes are %+v", c.Changes)
	}
}

// The settings alone show that a start of hours is far more than a probe allows for, or far less, and that a time is too long. So the search needs few runs,
// which are long.
func TestTuneLongTimesWithFewRuns(t *testing.T) {
	f := check.File{Name: "web.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: web:1\n" +
		"    startupProbe: {httpGet: {port: 80}, initialDelaySeconds: 10, periodSeconds: 5, failureThreshold: 30}\n    readinessProbe: {httpGet: {port: 80}}\n")}
	for _, test := range []struct {
		require  string
		changes  int
		contrary []string // the requirement that no setting meets
		tries    int
	}{
		{"retry>=2h", 0, []string{"retry>=2h"}, 2},
		{"start>=3h", 1, nil, 5},
		{"start>=5h, ready<=1s", 0, []string{"ready<=1s"}, 5},
	} {
		require, err := check.ParseRequirements(test.require)
		if err != nil {
			t.Fatal(err)
		}
		r := tuned(t, f, check.Options{Require: require})
		c := r.Workloads[0].Containers[0]
		if len(c.Changes) != test.changes || c.Tries > test.tries {
			t.Errorf("%s: %d tries, the changes are %+v", test.require, c.Tries, c.Changes)
		}
		if r.Met() == (test.contrary != nil) || !r.Met() && (len(c.Contradictions) != 1 || !slices.Equal(c.Contradictions[0].Requirements, test.contrary)) {
			t.Errorf("%s: met %v, the contradictions are %+v", test.require, r.Met(), c.Contradictions)
		}
	}
}

// Without a startup probe, a longer start costs time to detect a hang. The costs are the rows that a full measurement finds worse, and
// the requirement of the alternative leads to the alternative.
func TestCosts(t *testing.T) {
	f := check.File{Name: "web.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: web:1\n" +
		"    livenessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 2}\n")}
	search := func(text string) tune.Container {
		require, err := check.ParseRequirements(text)
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
	slower := search("start>=9s")
	a := slower.Alternative
	if a == nil {
		t.Fatalf("no alternative to %+v", slower.Changes)
	}
	other := search("start>=9s, " + a.Requirement)
	if !reflect.DeepEqual(other.Changes, a.Changes) || !slices.Equal(other.Costs, a.Costs) {
		t.Errorf("the alternative is %+v, and with its requirement tune returns %+v and %v", a, other.Changes, other.Costs)
	}
	if slices.ContainsFunc(a.Changes, func(x tune.Change) bool { return !strings.HasPrefix(x.Field, "startupProbe.") }) || other.Alternative != nil {
		t.Errorf("the alternative changes %+v", a.Changes)
	}
}

// Of two requirements, the wider setting names the one that just holds.
func TestWiderIsAboutTheTightRequirement(t *testing.T) {
	require, err := check.ParseRequirements("start>=6s, restart>=6s")
	if err != nil {
		t.Fatal(err)
	}
	f := check.File{Name: "web.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: web:1\n" +
		"    livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 2, failureThreshold: 3}\n")}
	c := tuned(t, f, check.Options{Require: require}).Workloads[0].Containers[0]
	if len(c.Margins) != 2 || c.Margins[0].Margin <= c.Margins[1].Margin || c.Wider == nil || c.Wider.Requirement != "restart>=6s" {
		t.Errorf("the margins are %+v, and the wider setting is %+v", c.Margins, c.Wider)
	}
}

// After a crash while starting, only a delay allows for a start, so a new startup probe gets one.
func TestRetryNeedsADelay(t *testing.T) {
	require, err := check.ParseRequirements("retry>=3s")
	if err != nil {
		t.Fatal(err)
	}
	f := check.File{Name: "web.yaml", Data: []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: web:1\n" +
		"    livenessProbe: {httpGet: {port: 80}, periodSeconds: 1}\n")}
	r := tuned(t, f, check.Options{Require: require})
	if !r.Met() || r.Workloads[0].Containers[0].Changes[0].Field != "startupProbe.initialDelaySeconds" {
		t.Fatalf("%+v", r.Workloads[0].Containers[0])
	}
	if w := r.Workloads[0].Containers[0].Wider; w == nil || w.Field != "startupProbe.initialDelaySeconds" || w.Margin <= 0 {
		t.Errorf("the wider setting is %+v", w)
	}
	edited, _, err := r.Edit(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := checked(t, check.File{Name: f.Name, Data: edited}, check.Options{Require: require}); !got.Met() {
		t.Errorf("%s: the check finds %+v", edited, got.Workloads[0].Requirements)
	}
}

func checked(t interface{ Fatal(...any) }, f check.File, o check.Options) *check.Report {
	c, err := check.New([]check.File{f}, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Tasks() {
		if err := c.Do(context.Background(), i); err != nil {
			t.Fatal(err)
		}
	}
	return c.Report()
}

// meets checks that the changed file meets the requirements.
func meets(t *rapid.T, r *tune.Report, f check.File, require check.Requirements) {
	edited, _, err := r.Edit(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := checked(t, check.File{Name: f.Name, Data: edited}, check.Options{Require: require}); got.Problems() || !got.Met() {
		t.Fatalf("%s%s: the check finds %+v", edited, require, got.Workloads[0].Requirements)
	}
}

// holds reports whether the container of a pod meets requirements.
func holds(t *rapid.T, pod *v1.Pod, require check.Requirements) bool {
	for _, middle := range []bool{true, false} { // most settings fail on one node already
		for _, q := range require {
			found, err := check.Measure(context.Background(), pod, "app", profile.Newest(), []check.RowID{q.Row}, check.Options{Nodes: bounds.Nodes{Middle: middle}})
			if err != nil {
				t.Fatal(err)
			}
			if len(found[q.Row]) == 0 {
				continue
			}
			if margin, _ := q.Margin(found[q.Row]); margin < 0 {
				return false
			}
		}
	}
	return true
}

// pod returns the pod of a file.
func pod(t *rapid.T, f check.File) *v1.Pod {
	m, err := manifests.Read(f.Name, f.Data)
	if err != nil {
		t.Fatal(err)
	}
	return m.Workloads[0].Pod
}

// probe returns a probe of a container by the name of its type.
func probe(c *v1.Container, kind string) *v1.Probe {
	return map[string]*v1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe}[kind]
}

// field returns a field such as livenessProbe.periodSeconds.
func field(c *v1.Container, path string) *int32 {
	kind, name, _ := strings.Cut(path, "Probe.")
	p := probe(c, kind)
	return map[string]*int32{"initialDelaySeconds": &p.InitialDelaySeconds, "periodSeconds": &p.PeriodSeconds, "timeoutSeconds": &p.TimeoutSeconds, "failureThreshold": &p.FailureThreshold}[name]
}

// neighbors checks that no setting meets the requirements that differs from the new one by one step towards the old one.
func neighbors(t *rapid.T, f check.File, changes []tune.Change, require check.Requirements) {
	if slices.ContainsFunc(changes, func(c tune.Change) bool { return c.Before == nil }) {
		return // a new probe has no old values
	}
	for _, back := range changes {
		p := pod(t, f)
		for _, c := range changes {
			at := field(&p.Spec.Containers[0], c.Field)
			*at = c.After
			if c.Field != back.Field {
				continue
			}
			if *c.Before > c.After {
				*at++
			} else {
				*at--
			}
		}
		if holds(t, p, require) {
			t.Fatalf("%s%s: with %+v, one step back in %s also meets the requirements", f.Data, require, changes, back.Field)
		}
	}
}

// bruteForce checks that none of many small settings of a probe meets the requirements.
func bruteForce(t *rapid.T, f check.File, g group, require check.Requirements) {
	p := pod(t, f)
	at := probe(&p.Spec.Containers[0], g.probe)
	for at.PeriodSeconds = 1; at.PeriodSeconds <= 4; at.PeriodSeconds++ {
		for at.TimeoutSeconds = 1; at.TimeoutSeconds <= 3; at.TimeoutSeconds++ {
			for at.FailureThreshold = 1; at.FailureThreshold <= 11; at.FailureThreshold++ {
				if holds(t, p, require) {
					t.Fatalf("%s%s: period %d, timeout %d, threshold %d meets the requirements, and tune finds nothing",
						f.Data, require, at.PeriodSeconds, at.TimeoutSeconds, at.FailureThreshold)
				}
			}
		}
	}
}

// Each run draws the same requirements, unless the flags say otherwise. A requirement takes seconds.
var _ = flag.Set("rapid.seed", "1")
var _ = flag.Set("rapid.checks", "3")
