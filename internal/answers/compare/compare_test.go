package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/summary"
	"probesim.dev/internal/value"
)

func s(seconds float64) value.Seconds { return value.Seconds(seconds * float64(time.Second)) }

func limit(row check.RowID, always, never float64) check.Limit {
	return check.Limit{Row: row, Always: s(always), Never: s(never)}
}

func duration(row check.RowID, best, worst float64) check.Time {
	return check.Time{Row: row, Best: s(best), Worst: s(worst)}
}

func deployment(namespace, name string, containers ...check.Container) check.Workload {
	return check.Workload{Kind: "Deployment", Namespace: namespace, Name: name, Containers: containers}
}

// A limit is better if it is greater, a time if it is smaller, and 0.1 s is no difference. A
// missing row says that there is no limit, or that nothing ever happens; without probes that delay
// it, a container is ready at once.
func TestRows(t *testing.T) {
	before := check.Container{Name: "app",
		Limits: []check.Limit{limit(check.Start, 10, 20), limit(check.Stall, 5, 6), limit(check.Serving, 5, 6),
			limit(check.Silence, 1, 2)},
		Times: []check.Time{duration(check.Ready, 0, 5), duration(check.Unready, 0, 5), duration(check.Detect, 1, 5),
			duration(check.Recover, 1, 9)},
	}
	after := check.Container{Name: "app",
		Limits: []check.Limit{limit(check.Start, 9, 30), limit(check.Stall, 7, 7), limit(check.Serving, 5.05, 9)},
		Times:  []check.Time{duration(check.Unready, 0, 4), duration(check.Recover, 0, 10)},
	}
	r := Compare(&check.Report{Workloads: []check.Workload{deployment("a", "web", before)}},
		&check.Report{Workloads: []check.Workload{deployment("a", "web", after)}})
	got := map[check.RowID]Change{}
	for _, row := range r.Workloads[0].Containers[0].Rows {
		got[row.Row] = row.Change
	}
	want := map[check.RowID]Change{
		check.Start: Worse, check.Stall: Better, check.Serving: Same, check.Silence: Better,
		check.Ready: Better, check.Unready: Better, check.Detect: Worse, check.Recover: Worse,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !r.Worse() {
		t.Error("nothing is worse")
	}
}

// Workloads match by kind, namespace and name, and containers by name.
func TestPresence(t *testing.T) {
	app, sidecar := check.Container{Name: "app"},
		check.Container{Name: "sidecar", Limits: []check.Limit{limit(check.Start, 1, 2)}}
	r := Compare(
		&check.Report{Workloads: []check.Workload{deployment("a", "web", app, sidecar), deployment("a", "old", app)}},
		&check.Report{Workloads: []check.Workload{deployment("b", "web", app), deployment("a", "web", app)}},
	)
	var got []string
	for _, w := range r.Workloads {
		got = append(got, w.Namespace+"/"+w.Name+" "+string(w.Change))
		for _, c := range w.Containers {
			got = append(got, c.Name+" "+string(c.Change))
		}
	}
	want := []string{"b/web added", "app added", "a/web same", "app same", "sidecar removed", "a/old removed",
		"app removed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Worse() {
		t.Error("a container that is gone is not worse")
	}
}

// pod returns a Deployment with containers, each written as "NAME=IMAGE PROBE ...". The probes have
// no figures.
func pod(name string, containers ...string) check.Workload {
	w := deployment("a", name)
	w.Images = map[string]string{}
	for _, text := range containers {
		words := strings.Fields(text)
		of, image, _ := strings.Cut(words[0], "=")
		w.Images[of] = image
		c := check.Container{Name: of}
		for _, probe := range words[1:] {
			c.Probes = append(c.Probes, check.Probe{Type: probe})
		}
		if len(c.Probes) > 0 {
			w.Containers = append(w.Containers, c)
		}
	}
	return w
}

func as(kind string, w check.Workload) check.Workload {
	w.Kind = kind
	return w
}

// A workload with another name or kind matches by the rules of match, and a container with another
// name by those of renames. A container that keeps existing without its probes loses them, and so
// does a workload that is gone.
func TestRenames(t *testing.T) {
	list := func(w ...check.Workload) []check.Workload { return w }
	for name, test := range map[string]struct {
		before, after []check.Workload
		want          []string
		worse         bool
	}{
		"workload": {list(pod("web", "app=r:5000/web:1 liveness")),
			list(pod("shop", "app=r:5000/web@sha256:1 liveness")),
			[]string{"Deployment a/shop (was web), container app"}, false},
		"workload and container": {list(pod("web", "app=web:1 liveness startup", "log=log")),
			list(pod("shop", "main=web:2 startup", "log=log")),
			[]string{"Deployment a/shop (was web), container main (was app): loses liveness"}, true},
		"workloads that differ in a container name": {list(pod("a", "x=i liveness"), pod("b", "y=i liveness")),
			list(pod("d", "y=i liveness"), pod("c", "x=i liveness")),
			[]string{"Deployment a/d (was b), container y", "Deployment a/c (was a), container x"},
			false},
		"two candidates": {list(pod("a", "x=i liveness")), list(pod("b", "x=i liveness"), pod("c", "x=i")),
			[]string{"Deployment a/b, container x (added)", "Deployment a/c (added): no probes",
				"Deployment a/a, container x (removed): loses liveness"}, true},
		"the only workloads": {list(pod("a", "x=i liveness")), list(as("Job", pod("b", "y=j liveness"))),
			[]string{"Job a/b (compared with Deployment a/a), container y (compared with x)"}, false},
		"the last of a kind": {list(pod("a", "x=i liveness"), pod("c", "x=i")), list(pod("b", "x=j"), pod("c", "x=i")),
			[]string{"Deployment a/b (compared with a), container x: loses liveness", "Deployment a/c: no probes"},
			true},
		"the last of two kinds": {list(pod("a", "x=i liveness"), pod("c", "x=i")),
			list(as("Job", pod("b", "x=j liveness")), pod("c", "x=i")),
			[]string{"Job a/b, container x (added)", "Deployment a/c: no probes",
				"Deployment a/a, container x (removed): loses liveness"}, true},
		"another kind": {list(pod("a", "x=i liveness")), list(as("Job", pod("a", "x=j"))),
			[]string{"Job a/a (was Deployment a/a), container x: loses liveness"}, true},
		"one kind of two": {list(pod("a", "x=i liveness"), as("Job", pod("a", "x=j liveness"))),
			list(as("Job", pod("a", "x=i liveness"))),
			[]string{"Job a/a, container x", "Deployment a/a, container x (removed): loses liveness"}, true},
		"two other kinds": {list(pod("a", "x=i liveness")),
			list(as("Job", pod("a", "x=j liveness")), as("CronJob", pod("a", "x=k liveness"))),
			[]string{"Job a/a, container x (added)", "CronJob a/a, container x (added)",
				"Deployment a/a, container x (removed): loses liveness"}, true},
		"another name, and a sidecar": {list(pod("a", "x=i:1 liveness"), pod("c", "z=k")),
			list(pod("c", "z=k"), as("Job", pod("b", "y=i:2", "proxy=p liveness"))),
			[]string{"Deployment a/c: no probes", "Job a/b (was Deployment a/a), container proxy (added)",
				"Job a/b (was Deployment a/a), container y (was x): loses liveness"}, true},
		"the image of all": {list(pod("a", "x=i liveness", "p=p"), pod("b", "x=j liveness", "p=p")),
			list(pod("c", "x=k liveness", "p=p"), pod("d", "x=l liveness")),
			[]string{"Deployment a/c, container x (added)", "Deployment a/d, container x (added)",
				"Deployment a/a, container x (removed): loses liveness",
				"Deployment a/b, container x (removed): loses liveness"}, true},
		"one workload becomes two": {list(pod("a", "x=i liveness", "y=j liveness")),
			list(pod("b", "x=i liveness"), pod("c", "y=j liveness")),
			[]string{"Deployment a/b, container x (added)", "Deployment a/c, container y (added)",
				"Deployment a/a, container x (removed): loses liveness",
				"Deployment a/a, container y (removed): loses liveness"}, true},
		"the name of two": {list(pod("a", "x=i liveness"), pod("a", "x=j liveness")), list(pod("a", "x=i liveness")),
			[]string{"Deployment a/a, container x", "Deployment a/a, container x (removed): loses liveness"}, true},
		"the only container": {list(pod("a", "x=i liveness")), list(pod("a", "y=j")),
			[]string{"Deployment a/a, container y (compared with x): loses liveness"}, true},
		"all probes": {list(pod("a", "x=i liveness readiness")), list(pod("a", "x=j")),
			[]string{"Deployment a/a, container x: loses liveness, readiness"}, true},
		"all probes, renamed": {list(pod("a", "x=i liveness")), list(pod("b", "y=i")),
			[]string{"Deployment a/b (was a), container y (was x): loses liveness"}, true},
		"container removed": {list(pod("a", "x=i liveness", "y=j liveness")), list(pod("a", "x=i liveness")),
			[]string{"Deployment a/a, container x", "Deployment a/a, container y (removed)"}, false},
		"container replaced": {list(pod("a", "x=i liveness", "y=j liveness")), list(pod("a", "x=i liveness", "z=k")),
			[]string{"Deployment a/a, container x", "Deployment a/a, container y (removed): replaced"}, true},
		"probe gained": {list(pod("a", "x=i liveness")), list(pod("a", "x=i liveness readiness")),
			[]string{"Deployment a/a, container x"}, false},
		"first probe": {list(pod("a", "x=i")), list(pod("a", "x=i liveness")),
			[]string{"Deployment a/a, container x"}, false},
	} {
		r := Compare(&check.Report{Workloads: test.before}, &check.Report{Workloads: test.after})
		var got []string
		for i := range r.Workloads {
			w := &r.Workloads[i]
			for k := range w.Containers {
				c := &w.Containers[k]
				text := w.HeadingOf(c)
				if len(c.Lost) > 0 {
					text += ": loses " + strings.Join(c.Lost, ", ")
				}
				if c.Replaced {
					text += ": replaced"
				}
				got = append(got, text)
			}
			if len(w.Containers) == 0 {
				got = append(got, w.Heading()+": no probes")
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if replaced := strings.HasSuffix(test.want[len(test.want)-1], ": replaced"); strings.HasSuffix(r.Headline(),
			"1 container replaced") != replaced {
			t.Errorf("%s: the headline is %q", name, r.Headline())
		}
		if r.Worse() != test.worse {
			t.Errorf("%s: worse is %v", name, r.Worse())
		}
	}
}

// The output says what is compared although names differ, and why.
func TestPairings(t *testing.T) {
	for _, test := range []struct {
		before, after check.Workload
		want          []string
	}{
		{pod("a", "x=i:1 liveness"), pod("a", "x=j liveness"), nil},
		{pod("a", "x=i:1 liveness"), as("Job", pod("a", "x=j")),
			[]string{"Job a/a is compared with Deployment a/a, because they have the same name."}},
		{pod("a", "x=i:1 liveness", "y=j"), pod("b", "z=i liveness", "y=j"), []string{
			"Deployment a/b is compared with Deployment a/a, because both have the images i and j.",
			"Container z of Deployment a/b is compared with container x, because both have the image i.",
		}},
		{pod("a", "x=i:1 liveness"), pod("b", "y=j liveness"), []string{
			"Deployment a/b is compared with Deployment a/a only because neither manifest has another workload left. " +
				"They may have nothing in common.",
			"Container y of Deployment a/b is compared with container x only because neither pod has another " +
				"container. They may have nothing in common.",
		}},
	} {
		r := Compare(&check.Report{Workloads: []check.Workload{test.before}},
			&check.Report{Workloads: []check.Workload{test.after}})
		if diff := cmp.Diff(test.want, r.Workloads[0].Pairings()); diff != "" {
			t.Error(diff)
		}
	}
}

// A finding with another message is the same finding; one of another severity is not.
func TestFindings(t *testing.T) {
	of := func(f ...check.Finding) *check.Report {
		return &check.Report{Workloads: []check.Workload{deployment("a", "web",
			check.Container{Name: "app", Findings: f})}}
	}
	r := Compare(
		of(check.Finding{ID: check.SlowReady, Severity: check.Note, Message: "15s"},
			check.Finding{ID: check.StartTight, Severity: check.Warning}),
		of(check.Finding{ID: check.SlowReady, Severity: check.Note, Message: "20s"},
			check.Finding{ID: check.StartTight, Severity: check.Error}),
	)
	c := r.Workloads[0].Containers[0]
	if len(c.Appeared) != 1 || c.Appeared[0].Severity != check.Error || len(c.Disappeared) != 1 ||
		c.Disappeared[0].Severity != check.Warning {
		t.Errorf("appeared %+v, disappeared %+v", c.Appeared, c.Disappeared)
	}
	for severity, want := range map[check.Severity]bool{check.Error: true, check.Warning: true, "worse": false,
		"": false} {
		if got := r.Appeared(severity); got != want {
			t.Errorf("appeared %q: %v", severity, got)
		}
	}
}

// Runs are compared seed by seed. A pod that never becomes Ready is the worst, whatever the time of
// the other run.
func TestRuns(t *testing.T) {
	run := func(seed int64, restarts int, ready time.Duration) Run {
		return Run{Seed: seed, Pods: map[string]summary.Numbers{"a/web": {Restarts: restarts, ToReady: ready}}}
	}
	sc := Runs("slow", "v1.37",
		[]Run{run(1, 0, time.Second), run(2, 3, summary.Never), run(3, 2, 4*time.Second)},
		[]Run{run(1, 1, summary.Never), run(2, 0, 2*time.Second), run(3, 2, 4*time.Second+50*time.Millisecond)})
	var got []string
	for _, p := range sc.Numbers[:2] {
		for _, cell := range p.cells() {
			got = append(got, cell.Text)
		}
	}
	want := []string{
		"restarts", "2, 3", "1, 2", "1", "1 (seed 1)", "time to Ready", "4.0s, never", "4.1s, never", "1", "1 (seed 1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if sc.worse() {
		t.Error("no median and no maximum is worse")
	}
}
