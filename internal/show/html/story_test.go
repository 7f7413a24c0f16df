package html

import (
	"testing"

	"probesim.dev/trace"
)

// TestStoryOfInitContainer checks that the end of an init container does not look like a failure,
// and that the changes of one status patch share a row and a cause.
func TestStoryOfInitContainer(t *testing.T) {
	patch := func(ready bool, containers ...trace.ContainerStatus) trace.Record {
		return trace.Record{Kind: trace.StatusPatched, Pod: "default/web",
			Status: &trace.PodStatus{Phase: "Running", Ready: ready, Containers: containers}}
	}
	app := trace.ContainerStatus{Name: "app", State: "waiting"}
	up := trace.ContainerStatus{Name: "app", State: "running", Started: true, Ready: true}
	down := trace.ContainerStatus{Name: "app", State: "terminated", ExitCode: 1}
	done := trace.ContainerStatus{Name: "migrate", State: "terminated", Reason: "Completed", Ready: true}
	records := []trace.Record{
		patch(false, trace.ContainerStatus{Name: "migrate", State: "running", Started: true}, app),
		patch(false, done, app),
		patch(true, done, up),
		patch(false, done, down),
		patch(false, done, trace.ContainerStatus{Name: "app", State: "running", Started: true}),
		// opposite tones
		patch(false, trace.ContainerStatus{Name: "migrate", State: "running", Started: true, Ready: true}, down),
	}
	for i := range records {
		records[i].Step = int64(i + 1)
	}
	want := [][2]string{
		{"migrate Started is true", "good"},
		{"migrate Started is false, migrate Ready is true", "good"},
		{"app Started is true, app Ready is true, Ready is true", "good"},
		{"app Started is false, app Ready is false, Ready is false", "bad"},
		{"app Started is true", "good"},
		{"migrate Started is true", "good"},
		{"app Started is false", "bad"},
	}
	story := merge(changes(records))
	if len(story) != len(want) {
		t.Fatalf("%d rows: %+v", len(story), story)
	}
	for i, h := range story {
		if h.What != want[i][0] || h.Tone != want[i][1] {
			t.Errorf("row %d is %q, %q; want %q", i, h.What, h.Tone, want[i])
		}
	}
}
