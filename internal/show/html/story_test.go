package html

import (
	"testing"

	"probesim.dev/internal/show/document"
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
		// the worst tone counts
		patch(false, trace.ContainerStatus{Name: "migrate", State: "running", Started: true, Ready: true}, down),
	}
	for i := range records {
		records[i].Step = int64(i + 1)
	}
	want := []struct {
		what string
		tone document.Style
	}{
		{"migrate Started is true", document.Good},
		{"migrate Started is false, migrate Ready is true", document.Good},
		{"app Started is true, app Ready is true, Ready is true", document.Good},
		{"app Started is false, app Ready is false, Ready is false", document.Bad},
		{"app Started is true", document.Good},
		{"migrate Started is true, app Started is false", document.Bad},
	}
	story := changes(records)
	if len(story) != len(want) {
		t.Fatalf("%d rows: %+v", len(story), story)
	}
	for i, h := range story {
		if h.What != want[i].what || h.Tone != want[i].tone {
			t.Errorf("row %d is %q, %v; want %v", i, h.What, h.Tone, want[i])
		}
	}
}
