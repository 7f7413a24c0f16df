package match

import (
	"testing"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// moment reads a moment in the notation of scenarios.
func moment(t *testing.T, text string) *Moment {
	t.Helper()
	var errs strict.Collector
	docs, _ := strict.Parse("m.yaml", []byte(text), &errs)
	m := &Moment{}
	strict.Decode(docs[0], m)
	if m.Becomes != nil {
		m.Becomes.Check(docs[0].Field("becomes"), m.Container, ContainerReasons)
	}
	if err := errs.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

func added(pod string) trace.Record   { return trace.Record{Kind: trace.PodAdded, Pod: pod} }
func removed(pod string) trace.Record { return trace.Record{Kind: trace.PodRemoved, Pod: pod} }

func patched(pod string, status trace.PodStatus) trace.Record {
	return trace.Record{Kind: trace.StatusPatched, Pod: pod, Status: &status}
}

func ready(pod string, ready bool) trace.Record {
	return patched(pod, trace.PodStatus{Phase: "Running", Ready: ready})
}

func container(restarts int32, started bool) trace.Record {
	return patched("default/a", trace.PodStatus{Containers: []trace.ContainerStatus{{Name: "c", RestartCount: restarts,
		Started: started}}})
}

func TestWatcher(t *testing.T) {
	for _, test := range []struct {
		name, moment string
		pods         func(string) bool
		records      []trace.Record
		want         []int // indexes of the records that are moments
	}{
		{
			name: "each change from no match to a match", moment: "{becomes: {ready: true}}",
			records: []trace.Record{added("default/a"), ready("default/a", false), ready("default/a", true),
				ready("default/a", true),
				ready("default/a", false), ready("default/a", true)},
			want: []int{2, 5},
		}, {
			name: "the first status is not a change", moment: "{becomes: {phase: Pending, ready: false}}",
			records: []trace.Record{added("default/a"), ready("default/a", false), removed("default/a"),
				added("default/a")},
		}, {
			name: "from the status at creation to the kubelet's first", moment: "{becomes: {phase: Running}}",
			records: []trace.Record{added("default/a"), ready("default/a", false)},
			want:    []int{1},
		}, {
			name: "all fields must match", moment: "{becomes: {phase: Running, ready: true}}",
			records: []trace.Record{added("default/a"), patched("default/a", trace.PodStatus{Ready: true}),
				ready("default/a", true)},
			want: []int{2},
		}, {
			name: "each pod separately", moment: "{becomes: {ready: true}}",
			records: []trace.Record{added("default/a"), added("default/b"), ready("default/a", true),
				ready("default/b", true)},
			want: []int{2, 3},
		}, {
			name: "only some pods", moment: "{becomes: {ready: true}}", pods: func(pod string) bool {
				return pod == "default/b"
			},
			records: []trace.Record{added("default/a"), added("default/b"), ready("default/a", true),
				ready("default/b", true)},
			want: []int{3},
		}, {
			name: "a removed pod has no status", moment: "{becomes: {ready: false}}",
			records: []trace.Record{added("default/a"), ready("default/a", true), removed("default/a")},
		}, {
			name: "a container's field", moment: "{container: c, becomes: {restartCount: 1..}}",
			records: []trace.Record{added("default/a"), container(0, false), container(1, false), container(2, false)},
			want:    []int{2},
		}, {
			name: "the first status of a container is not a change", moment: "{container: c, becomes: {started: true}}",
			records: []trace.Record{added("default/a"), container(0, true), container(0, false), container(0, true)},
			want:    []int{3},
		}, {
			name: "records", moment: "{container: c, instance: 1.., record: {kind: ContainerExited, exitCode: 137}}",
			records: []trace.Record{
				{Kind: trace.ContainerExited, Pod: "default/a", Container: "c", Instance: 0, ExitCode: 137},
				{Kind: trace.ContainerExited, Pod: "default/a", Container: "d", Instance: 1, ExitCode: 137},
				{Kind: trace.ContainerExited, Pod: "default/a", Container: "c", Instance: 1, ExitCode: 0},
				{Kind: trace.ContainerStarted, Pod: "default/a", Container: "c", Instance: 1},
				{Kind: trace.ContainerExited, Pod: "default/a", Container: "c", Instance: 1, ExitCode: 137},
			},
			want: []int{4},
		}, {
			name: "only records of containers have an instance", moment: "{instance: 0, record: {kind: Event}}",
			records: []trace.Record{{Kind: trace.Event, Pod: "default/a"},
				{Kind: trace.Event, Pod: "default/a", Container: "c"}},
			want: []int{1},
		}, {
			name: "a record of the node", moment: "{record: {kind: KubeletStarted}}", pods: func(string) bool {
				return false
			},
			records: []trace.Record{{Kind: trace.KubeletStarted}},
			want:    []int{0},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := moment(t, test.moment).NewWatcher(test.pods)
			var got []int
			for i := range test.records {
				if w.Observe(&test.records[i]) {
					got = append(got, i)
				}
			}
			if !equal(got, test.want) {
				t.Errorf("the moments are the records %v, want %v", got, test.want)
			}
		})
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestLookup(t *testing.T) {
	status := &trace.PodStatus{Phase: "Running", Ready: true,
		Containers: []trace.ContainerStatus{{Name: "c", State: "running", ExitCode: 3, RestartCount: 2}}}
	for _, test := range []struct {
		container, field string
		want             value.Scalar
		ok               bool
	}{
		{"", "phase", value.TextOf("Running"), true},
		{"", "ready", value.BoolOf(true), true},
		{"", "restartCount", value.Scalar{}, false},
		{"c", "restartCount", value.IntOf(2), true},
		{"c", "state", value.TextOf("running"), true},
		{"c", "phase", value.Scalar{}, false},
		{"d", "state", value.Scalar{}, false},
	} {
		if got, ok := Lookup(status, test.container, test.field); got != test.want || ok != test.ok {
			t.Errorf("%s %s is %v, %v", test.container, test.field, got, ok)
		}
	}
	if _, ok := Lookup(nil, "", "ready"); ok {
		t.Error("Lookup finds a field in a nil status")
	}
}
