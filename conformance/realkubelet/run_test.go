package realkubelet

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// TestBase compares a run with a recorded trace. That trace was compared, to the millisecond, with
// one of the same kubelet over another runtime and another API server.
func TestBase(t *testing.T) {
	zero := new(seconds(0))
	r := mustRun(t, Options{
		Duration: 100 * time.Second,
		Delays:   fakeruntime.Delays{ImageStatus: zero, APIGet: zero, APIPatch: zero, APIDelete: zero},
		Jitter:   func(virtual.Time) float64 { return 0 },
	}, addAt0(basePod("p00")))
	got := jsonl(r.Records) + "\n"
	if diff := cmp.Diff(sorted(golden(t, "base.jsonl", got)), sorted(got)); diff != "" {
		t.Error(diff)
	}
}

// golden returns the contents of a file in testdata, from the directory of this release if it
// exists there.
func golden(t *testing.T, file, got string) string {
	t.Helper()
	path := filepath.Join("testdata", release.Version, file)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join("testdata", file)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(want)
}

// sorted returns the lines of a trace without their step numbers in alphabetical order, because the
// order of records at one instant has no meaning.
func sorted(lines string) []string {
	all := strings.Split(lines, "\n")
	for i, line := range all {
		_, all[i], _ = strings.Cut(line, ",")
	}
	slices.Sort(all)
	return all
}

func TestRunsRepeat(t *testing.T) {
	o := Options{Duration: 15 * time.Minute, Internal: true}
	want := mustRun(t, o, addAt0(basePod("p00")))
	for range 4 {
		mustRun(t, Options{Duration: time.Minute}, addAt0(basePod("other")))
		got := mustRun(t, o, addAt0(basePod("p00")))
		if diff := cmp.Diff(sorted(jsonl(want.Records)), sorted(jsonl(got.Records))); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestRecordsAreInOrder(t *testing.T) {
	r := mustRun(t, Options{Duration: 100 * time.Second, Internal: true}, addAt0(basePod("p00")))
	if !slices.IsSortedFunc(r.Records, func(a, b trace.Record) int { return int(a.T.Sub(b.T)) }) {
		t.Error("the records are not ordered by time")
	}
	first, last := r.Records[0], r.Records[len(r.Records)-1]
	if first.T != virtual.At(-DefaultUptime) || last.T > virtual.At(100*time.Second) {
		t.Errorf("records from %v to %v, want from the start of the kubelet to the end of the run", first.T, last.T)
	}
}

func TestCallsAreInternal(t *testing.T) {
	r := mustRun(t, Options{Duration: 5 * time.Second}, addAt0(basePod("p00")))
	if calls := recordsOf(r, trace.CRICall); len(calls) > 0 {
		t.Errorf("%d CRICall records without Internal", len(calls))
	}
	r = mustRun(t, Options{Duration: time.Second, Internal: true}, addAt0(basePod("p00")))
	var got []string
	for _, c := range recordsOf(r, trace.CRICall) {
		if c.Pod != "" {
			got = append(got, c.Reason+" "+c.T.String()+" "+c.Took.String())
		}
	}
	// Calls about the starting pod, by its worker, the PLEG and the status manager.
	want := strings.Split(golden(t, "calls.txt", strings.Join(got, "\n")), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestObserverMaySchedule(t *testing.T) {
	// The runtime holds its lock while it writes this record.
	deleteWhenStarted := func(w drive.World) {
		w.Observe(func(rec *trace.Record) {
			if rec.Kind == trace.ContainerStarted {
				w.At(rec.T, func() { w.DeletePod("default", "p00", nil) })
			}
		})
	}
	pod, p := basePod("p00")
	r := mustRun(t, Options{Duration: 20 * time.Second}, addAt0(pod, p, deleteWhenStarted))
	requested := recordsOf(r, trace.PodDeleteRequested)
	if len(requested) != 1 || requested[0].T != recordsOf(r, trace.ContainerStarted)[0].T {
		t.Errorf("got %v, want one request when the container starts", requested)
	}
}
