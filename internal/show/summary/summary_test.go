package summary

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var _ = flag.Set("rapid.seed", "1")

func at(seconds float64) virtual.Time {
	return virtual.At(time.Duration(seconds * float64(time.Second)))
}

func patch(t float64, pod, phase string, ready bool, containers ...trace.ContainerStatus) trace.Record {
	return trace.Record{T: at(t), Kind: trace.StatusPatched, Pod: pod,
		Status: &trace.PodStatus{Phase: phase, Ready: ready, Containers: containers}}
}

func status(name string, ready bool) trace.ContainerStatus {
	return trace.ContainerStatus{Name: name, Ready: ready}
}

func started(t float64, pod, container string, instance int) trace.Record {
	return trace.Record{T: at(t), Kind: trace.ContainerStarted, Pod: pod, Container: container, Instance: instance}
}

func of(t float64, kind trace.Kind, pod string) trace.Record {
	return trace.Record{T: at(t), Kind: kind, Pod: pod}
}

func TestMeasure(t *testing.T) {
	const web = "default/web"
	for _, test := range []struct {
		name    string
		records []trace.Record
		want    Pod
	}{
		{"outages and a restart", []trace.Record{
			of(5, trace.PodAdded, web), started(6, web, "app", 0),
			patch(7, web, "Running", false, status("app", false)),
			patch(15, web, "Running", true, status("app", true)),
			patch(20, web, "Running", false, status("app", false)),
			patch(21, web, "Running", false, status("app", false)), // no change of Ready
			patch(23, web, "Running", true, status("app", true)),
			started(30, web, "app", 1),
			patch(90, web, "Running", false, status("app", false)), // until the end
		}, Pod{web, Numbers{1, 10 * time.Second, 13 * time.Second, 10 * time.Second, nil}, []Container{
			{"app", Numbers{1, 10 * time.Second, 13 * time.Second, 10 * time.Second, nil}}}}},
		{"never Ready", []trace.Record{
			of(0, trace.PodAdded, web), patch(1, web, "Running", false, status("app", false)),
		}, Pod{web, Numbers{ToReady: Never}, []Container{{"app", Numbers{ToReady: Never}}}}},
		{"no status", []trace.Record{of(0, trace.PodAdded, web), started(1, web, "app", 0),
			{T: at(2), Kind: trace.StatusPatched, Pod: web}},
			Pod{web, Numbers{ToReady: Never}, []Container{{"app", Numbers{ToReady: Never}}}}},
		{"containers differ", []trace.Record{
			of(0, trace.PodAdded, web), started(1, web, "a", 0), started(1, web, "b", 0), started(9, web, "b", 1),
			started(19, web, "b", 2),
			patch(2, web, "Running", false, status("a", true), status("b", false)),
			patch(4, web, "Running", true, status("a", true), status("b", true)),
			patch(8, web, "Running", false, status("a", true), status("b", false)),
		}, Pod{web, Numbers{2, 4 * time.Second, 92 * time.Second, 92 * time.Second, nil}, []Container{
			{"a", Numbers{0, 2 * time.Second, 0, 0, nil}},
			{"b", Numbers{2, 4 * time.Second, 92 * time.Second, 92 * time.Second, nil}}}}},
		{"a deletion is no outage", []trace.Record{
			of(0, trace.PodAdded, web), patch(1, web, "Running", true), patch(10, web, "Running", false),
			of(12, trace.PodDeleteRequested, web), patch(13, web, "Running", true), patch(14, web, "Running", false),
			of(40, trace.PodRemoved, web),
		}, Pod{web, Numbers{0, time.Second, 2 * time.Second, 2 * time.Second, nil}, []Container{}}},
		{"a success is no outage", []trace.Record{
			of(0, trace.PodAdded, web), patch(1, web, "Running", true, status("app", true)),
			patch(9, web, "Running", false, status("app", false)),
			patch(10, web, "Succeeded", false, status("app", false)),
		}, Pod{web, Numbers{0, time.Second, time.Second, time.Second, nil},
			[]Container{{"app", Numbers{0, time.Second, time.Second, time.Second, nil}}}}},
		{"a failure is one", []trace.Record{
			of(0, trace.PodAdded, web), patch(1, web, "Running", true), patch(10, web, "Failed", false),
		}, Pod{web, Numbers{0, time.Second, 90 * time.Second, 90 * time.Second, nil}, []Container{}}},
	} {
		got := Measure(test.records, at(100))
		if diff := cmp.Diff([]Pod{test.want}, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// TestMeasureSeparatesPods checks that each pod has its own numbers, and that a pod that comes back
// under its name is another pod.
func TestMeasureSeparatesPods(t *testing.T) {
	got := Measure([]trace.Record{
		of(0, trace.PodAdded, "default/a"), of(0, trace.PodAdded, "default/b"),
		patch(3, "default/b", "Running", true), patch(4, "default/a", "Running", true),
		of(5, trace.PodRemoved, "default/a"), of(10, trace.PodAdded, "default/a"),
		patch(12, "default/a", "Running", true),
	}, at(60))
	want := []Pod{{Name: "default/a", Numbers: Numbers{ToReady: 4 * time.Second}},
		{Name: "default/b", Numbers: Numbers{ToReady: 3 * time.Second}},
		{Name: "default/a", Numbers: Numbers{ToReady: 2 * time.Second}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestTotalAndWorse(t *testing.T) {
	runs := []Numbers{ // worst first
		{Restarts: 2},
		{Restarts: 1, ToReady: Never},
		{ToReady: Never, Unready: 2},
		{ToReady: Never},
		{ToReady: 1, Unready: 9},
		{ToReady: 1, Unready: 8, Outage: 8},
		{ToReady: 1, Unready: 8, Outage: 7},
		{ToReady: 3},
		{ToReady: 2},
	}
	for i := range runs {
		for j := range runs {
			if got := Worse(runs[i], runs[j]); got != compare(i, j) {
				t.Errorf("Worse(%+v, %+v) is %d", runs[i], runs[j], got)
			}
		}
	}
	total := Total([]Pod{{Numbers: Numbers{1, 5, 7, 4, nil}}, {Numbers: Numbers{2, 3, 6, 6, nil}}})
	if want := (Numbers{3, 5, 13, 6, nil}); total != want {
		t.Errorf("the total is %+v, want %+v", total, want)
	}
	if total := Total([]Pod{{Numbers: Numbers{ToReady: Never}}, {Numbers: Numbers{ToReady: 3}}}); total.ToReady !=
		Never {
		t.Errorf("the time to Ready of a run with a pod that never gets Ready is %s", total.ToReady)
	}
}

func compare(i, j int) int { return min(1, max(-1, i-j)) }

func TestSummaryGroupsReplicas(t *testing.T) {
	s := New([]Group{{Name: "default/web", Pods: []string{"default/web-0", "default/web-1"},
		Init: []string{"migrate"}}})
	for seed := int64(1); seed <= 3; seed++ {
		s.Add(seed, []Pod{
			{"default/web-0", Numbers{Restarts: int(seed), ToReady: time.Duration(seed)},
				[]Container{{"migrate", Numbers{Restarts: 1}}, {"app", Numbers{ToReady: Never}}}},
			{"default/web-1", Numbers{ToReady: Never},
				[]Container{{"migrate", Numbers{}}, {"app", Numbers{ToReady: 2, Unready: 5}}}},
			{"default/other", Numbers{ToReady: 7}, nil},
		})
	}
	if len(s.Pods) != 2 || s.Runs != 3 {
		t.Fatalf("%d groups, %d runs", len(s.Pods), s.Runs)
	}
	web, app, init := s.Pods[0], s.Pods[0].Containers[1], s.Pods[0].Containers[0]
	for name, got := range map[string][]int64{
		"restarts [0 0 0 1 2 3]":         web.Restarts.Values(),
		"unready [0 0 0]":                web.Unready.Values(), // only of pods that became Ready
		"unready of app [5 5 5]":         app.Unready.Values(),
		"restarts of init [0 0 0 1 1 1]": init.Restarts.Values(),
		"ready of init []":               init.ToReady.Values(),
	} {
		if want := name[len(name)-len(text(got)):]; want != text(got) {
			t.Errorf("%s: got %s", name, text(got))
		}
	}
	if n, seeds := web.ToReady.Never(); n != 3 || seeds.String() != "1..3" {
		t.Errorf("never Ready: %d, seeds %s", n, seeds)
	}
	if v, seed := web.Restarts.Max(); v != 3 || seed != 3 {
		t.Errorf("the maximum is %d with seed %d", v, seed)
	}
	if v, seed := app.Unready.Max(); v != 5 || seed != 1 {
		t.Errorf("of equal values, seed %d has the maximum %d; want the lowest", seed, v)
	}
	if s.Pods[1].Name != "default/other" || !init.Init || app.Init {
		t.Errorf("unexpected groups: %+v", s.Pods)
	}
}

func text(values []int64) string {
	s := "["
	for i, v := range values {
		if i > 0 {
			s += " "
		}
		s += time.Duration(v).String()[:1]
	}
	return s + "]"
}

// TestQuantiles checks quantiles against their definition.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 200).Draw(t, "values")
		p := rapid.IntRange(1, 100).Draw(t, "p")
		var d Distribution
		for i, v := range values {
			d.Add(int64(i), v)
		}
		got := d.Quantile(p)
		atMost := func(v int64) (n int) {
			for _, x := range values {
				if x <= v {
					n++
				}
			}
			return n
		}
		if !slices.Contains(values, got) || 100*atMost(got) < p*len(values) || 100*atMost(got-1) >= p*len(values) {
			t.Errorf("the quantile of %d%% is %d", p, got)
		}
		v, seed := d.Max()
		if v != slices.Max(values) || seed != int64(slices.Index(values, v)) || d.Min() != slices.Min(values) {
			t.Errorf("from %d to %d with seed %d", d.Min(), v, seed)
		}
	})
}

// TestSeeds checks ranges of seeds against a set of numbers.
func TestSeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		added := rapid.SliceOf(rapid.Int64Range(-9, 30)).Draw(t, "seeds")
		var s Seeds
		for _, seed := range added {
			s.Add(seed)
		}
		var got []int64
		for i, r := range s {
			if i > 0 && r[0] <= s[i-1][1]+1 || r[0] > r[1] {
				t.Fatalf("%v is not compact", s)
			}
			for seed := r[0]; seed <= r[1]; seed++ {
				got = append(got, seed)
			}
		}
		want := slices.Compact(slices.Sorted(slices.Values(added)))
		if !slices.Equal(got, want) || s.Count() != len(want) {
			t.Errorf("%v of %v", s, added)
		}
	})
}

func TestSeedsText(t *testing.T) {
	var s Seeds
	for _, test := range []struct {
		add         []int64
		label, full string
	}{
		{[]int64{7}, "seed 7", "7"},
		{[]int64{8}, "seeds 7..8", "7..8"},
		{[]int64{1, 3, 5, 10}, "seeds 1, 3, 5, 7..8, 10", "1,3,5,7..8,10"},
		{[]int64{12}, "seeds 1, 3, 5, 7..8, 10, 12", "1,3,5,7..8,10,12"},
		{[]int64{20, 21, 22}, "seeds 1, 3, 5, 7..8, 10 and 4 more", "1,3,5,7..8,10,12,20..22"},
	} {
		for _, seed := range test.add {
			s.Add(seed)
		}
		if all, _ := s.MarshalText(); s.Label() != test.label || string(all) != test.full {
			t.Errorf("%q and %q, want %q and %q", s.Label(), all, test.label, test.full)
		}
	}
}
