package coverage

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// Each point in the source where the model leaves a choice open is listed.
func TestPointsAreThoseOfTheSource(t *testing.T) {
	kinds := map[string]choose.Kind{"Preempt": choose.Preemption, "Shuffle": choose.Order, "Choose": choose.Order,
		"Race": choose.Race, "raceOf": choose.Race, "JitterSource": choose.Jitter}
	calls := regexp.MustCompile(`(?:\b(Preempt|Race)(?:Before)?\(|\b(Shuffle|Choose)\([^"]*, |(JitterSource) = ` +
		`|\b(raceOf)\w+ += )"([^"]*)"`)
	var found []string
	for _, dir := range []string{"kubelet", "prober", "prober/results", "status", "internal/world/apiserver", "node",
		"fakeruntime"} {
		files, err := filepath.Glob("../../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range calls.FindAllStringSubmatch(string(text), -1) {
				found = append(found, pointName(kinds[m[1]+m[2]+m[3]+m[4]], m[5]))
			}
		}
	}
	var listed []string
	for _, p := range points {
		if p.kind != choose.Next && p.kind != choose.SelectCase {
			listed = append(listed, pointName(p.kind, p.prefix))
		}
	}
	slices.Sort(found)
	slices.Sort(listed)
	if found = slices.Compact(found); !slices.Equal(found, listed) {
		t.Errorf("the source has the points\n%s\nand the list\n%s", strings.Join(found, "\n"),
			strings.Join(listed, "\n"))
	}
}

func TestCoverage(t *testing.T) {
	c := New()
	records := []trace.Record{
		{Kind: trace.ContainerStopping, Reason: "LivenessProbe"},
		{Kind: trace.ContainerStopping, Reason: "LivenessProbe"},
		{Kind: trace.ProbeExecuted, Probe: trace.Liveness, Result: trace.Failure}, {Kind: trace.BackOff},
		{Kind: trace.Event, Type: "Warning", Reason: "Unhealthy"},
	}
	c.Add("one", records, []choose.Choice{{Kind: choose.Preemption, Key: "result stored, not sent liveness worker"}})
	c.Add("two", records[:1], nil)
	want := map[string]Item{
		"LivenessProbe":                      {Name: "LivenessProbe", Runs: 2, In: "one"},
		"liveness failure":                   {Name: "liveness failure", Runs: 1, In: "one"},
		"BackOff":                            {Name: "BackOff", Runs: 1, In: "one"},
		"Warning Unhealthy":                  {Name: "Warning Unhealthy", Runs: 1, In: "one"},
		"preemption result stored, not sent": {Name: "preemption result stored, not sent", Runs: 1, In: "one"},
	}
	for _, g := range c.Groups {
		if len(g.Items) == 0 {
			t.Errorf("%s has no items", g.Name)
		}
		for _, item := range g.Items {
			expected, known := want[item.Name]
			if expected.Name = item.Name; item != expected {
				t.Errorf("%s: %+v, want %+v", g.Name, item, expected)
			}
			if never := slices.Contains(g.Never(), item.Name); never == known {
				t.Errorf("%s: never seen is %t", item.Name, never)
			}
		}
	}
}
