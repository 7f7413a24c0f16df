package tune_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/tune"
	"probesim.dev/internal/input"
	"probesim.dev/internal/long"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// Each run draws the same requirements, unless the flags say otherwise.
var _ = flag.Set("rapid.seed", "1")
var _ = flag.Set("rapid.checks", fmt.Sprint(long.Sample(100, 2000)))

// Settings that tune returns meet the requirements by a check, and none of their neighbors towards
// the old setting does. No change of one or two fields to small values meets the requirements and
// is smaller, or exists if tune finds none.
func TestPropertyTunedSettingsAreTheSmallestChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := input.File{Name: "web.yaml", Data: []byte(drawManifest(t))}
		require := drawRequirements(t)
		p, _ := profile.Named(rapid.SampledFrom(profile.NamesWithPreviews()).Draw(t, "version"))
		o := check.Options{Profiles: []profile.Profile{p}, Require: require}
		r := tuned(t, f, o)
		c := r.Workloads[0].Containers
		if len(c) == 0 || len(r.Workloads[0].Missing) > 0 {
			return
		}
		x := &tried{t: t, f: f, require: require, base: container(t, f, p)}
		if slices.ContainsFunc(require,
			func(q check.Requirement) bool { return len(check.Values(x.base, q.Row, 0)) == 0 }) {
			return // of a new readiness probe
		}
		if !c[0].Met && len(c[0].Why) == 0 {
			t.Fatalf("%s%s: no setting, and no contradiction", f.Data, require)
		}
		if c[0].Met {
			o.Modify = r.Modify
			if got := checked(t, f, o); got.Problems() || !got.Met() {
				t.Fatalf("%s%s: with %s, the check finds %+v", f.Data, require, texts(c[0].Changes),
					got.Workloads[0].Requirements)
			}
			x.neighbors(c[0].Changes)
		}
		x.others(c[0])
	})
}

// drawManifest draws a Pod with some probes.
func drawManifest(t *rapid.T) string {
	var probes []string
	kinds := rapid.IntRange(1, 7).Draw(t, "probes")
	for i, kind := range []string{"startup", "liveness", "readiness"} {
		if kinds>>i&1 > 0 {
			handler := rapid.SampledFrom([]string{"httpGet: {port: 80}", "tcpSocket: {port: 80}", "grpc: {port: 80}",
				"exec: {command: [live]}"}).Draw(t, "handler")
			probes = append(probes, fmt.Sprintf("    %sProbe: {%s, initialDelaySeconds: %d, periodSeconds: %d, "+
				"timeoutSeconds: %d, failureThreshold: %d}\n", kind, handler,
				rapid.SampledFrom([]int{0, 0, 0, 3, 8}).Draw(t, "initialDelaySeconds"),
				rapid.IntRange(1, 10).Draw(t, "periodSeconds"),
				rapid.IntRange(1, 5).Draw(t, "timeoutSeconds"), rapid.IntRange(1, 4).Draw(t, "failureThreshold")))
		}
	}
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  terminationGracePeriodSeconds: 2\n  " +
		"containers:\n  - name: app\n    image: web:1\n" + strings.Join(probes, "")
}

// drawRequirements draws up to three requirements on different rows.
func drawRequirements(t *rapid.T) check.Requirements {
	var list check.Requirements
	for _, row := range rapid.SliceOfNDistinct(rapid.SampledFrom(check.Rows()), 1, 3, rapid.ID[check.RowID]).
		Draw(t, "rows") {
		list = append(list, check.Requirement{Row: row,
			Duration: time.Duration(rapid.IntRange(5, 300).Draw(t, "duration")) * 100 * time.Millisecond})
	}
	return list
}

// container returns the container of a file in a version.
func container(t *rapid.T, f input.File, p profile.Profile) *bounds.Container {
	m, err := manifests.Read(f.Name, f.Data)
	if err != nil {
		t.Fatal(err)
	}
	admitted, err := check.Admit(m.Workloads[0].Pod, p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := admitted.Bounds("app", fakeruntime.Delays{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tried is a container on which to try changes.
type tried struct {
	t       *rapid.T
	f       input.File
	require check.Requirements
	base    *bounds.Container
}

// change is a new value of a field, such as livenessProbe.periodSeconds.
type change struct {
	field string
	to    int32
}

// holds reports whether the container meets the requirements with some fields changed.
func (x *tried) holds(values ...change) bool {
	c := v1.Container{StartupProbe: x.base.Probe(trace.Startup).DeepCopy(),
		LivenessProbe:  x.base.Probe(trace.Liveness).DeepCopy(),
		ReadinessProbe: x.base.Probe(trace.Readiness).DeepCopy()}
	for _, v := range values {
		*field(&c, v.field) = v.to
	}
	b := x.base.With(c.StartupProbe, c.LivenessProbe, c.ReadinessProbe)
	for _, q := range x.require {
		if found := check.Values(b, q.Row, 0); len(found) > 0 {
			if margin, _ := q.Margin(found); margin < 0 {
				return false
			}
		}
	}
	return true
}

// old returns the old value of a field.
func (x *tried) old(name string) int32 {
	return *field(&v1.Container{StartupProbe: x.base.Probe(trace.Startup), LivenessProbe: x.base.Probe(trace.Liveness),
		ReadinessProbe: x.base.Probe(trace.Readiness)}, name)
}

// field returns a field of a container, or nil if it has no such probe.
func field(c *v1.Container, path string) *int32 {
	kind, name, _ := strings.Cut(path, "Probe.")
	p := map[string]*v1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe,
		"readiness": c.ReadinessProbe}[kind]
	if p == nil {
		return nil
	}
	return map[string]*int32{"initialDelaySeconds": &p.InitialDelaySeconds, "periodSeconds": &p.PeriodSeconds,
		"timeoutSeconds": &p.TimeoutSeconds, "failureThreshold": &p.FailureThreshold}[name]
}

// risky reports whether some changes bring what check warns of: tune leaves them out if it can.
func (x *tried) risky(values ...change) bool {
	for _, kind := range trace.ProbeTypes {
		p := x.base.Probe(kind).DeepCopy()
		if p == nil {
			continue
		}
		old := *p
		for _, v := range values {
			if of, _, _ := strings.Cut(v.field, "Probe."); of == string(kind) {
				*field(&v1.Container{StartupProbe: p, LivenessProbe: p, ReadinessProbe: p}, v.field) = v.to
			}
		}
		if p.TimeoutSeconds >= p.PeriodSeconds && old.TimeoutSeconds < old.PeriodSeconds ||
			p.TimeoutSeconds == 1 && old.TimeoutSeconds > 1 ||
			kind == trace.Liveness && p.FailureThreshold == 1 && old.FailureThreshold > 1 {
			return true
		}
	}
	return false
}

// neighbors checks that no setting meets the requirements that differs from the new one by one step
// towards the old one.
func (x *tried) neighbors(changes []tune.Change) {
	for i, back := range changes {
		var values []change
		for _, c := range changes {
			if c.Before == nil {
				return // a new probe has no old values
			}
			values = append(values, change{c.Field, c.After})
		}
		if *back.Before > back.After {
			values[i].to++
		} else {
			values[i].to--
		}
		if x.holds(values...) && !x.risky(values...) {
			x.t.Fatalf("%s%s: with %s, one step back in %s also meets the requirements", x.f.Data, x.require,
				texts(changes), back.Field)
		}
	}
}

// others checks that no change of one or two fields meets the requirements and is smaller than the
// one that was found.
func (x *tried) others(found tune.Container) {
	fields, relative := math.MaxInt, 0.0
	if found.Met {
		fields = len(found.Changes)
	}
	for _, c := range found.Changes {
		if c.Before == nil {
			return // a new probe has its own cost
		}
		relative += x.relative(change{c.Field, c.After})
	}
	// A liveness probe that stops the container sooner also takes it out of its Service, and leaves
	// no time to come up later. It is no setting for that.
	required := func(row check.RowID) bool {
		return slices.ContainsFunc(x.require, func(q check.Requirement) bool { return q.Row == row })
	}
	byStop := required(check.Unready) || required(check.Ready)
	if byStop && required(check.Restart) { // which can need a slower liveness probe
		return
	}
	var list []change
	for _, kind := range []string{"startup", "liveness", "readiness"} {
		for _, name := range []string{"initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold"} {
			path := kind + "Probe." + name
			// tune never changes it
			never := path == "livenessProbe.initialDelaySeconds" || kind == "liveness" && byStop
			if x.base.Probe(trace.Probe(kind)) != nil && !never {
				for v := int32(1); v <= 12; v++ {
					list = append(list, change{path, v})
				}
			}
		}
	}
	for i, a := range list {
		for _, b := range list[i:] {
			n, cost, values := 2, x.relative(a)+x.relative(b), []change{a, b}
			if a == b {
				n, cost, values = 1, x.relative(a), []change{a}
			}
			if a != b && a.field == b.field || n > fields || n == fields && cost > relative-1e-5 {
				continue
			}
			if x.holds(values...) && !x.risky(values...) {
				x.t.Fatalf("%s%s: %v meets the requirements; tune finds %s %+v", x.f.Data, x.require, values,
					texts(found.Changes), found.Why)
			}
		}
	}
}

// relative is the size of a change relative to the old value.
func (x *tried) relative(v change) float64 {
	old := float64(x.old(v.field))
	return math.Abs(float64(v.to)-old) / max(1, old)
}

func texts(changes []tune.Change) string {
	var list []string
	for _, c := range changes {
		list = append(list, fmt.Sprintf("%s %d", c.Field, c.After))
	}
	return strings.Join(list, ", ")
}
