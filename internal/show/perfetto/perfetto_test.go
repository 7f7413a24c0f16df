package perfetto

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/long"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/show/report"
	"probesim.dev/node"
	"probesim.dev/scenarios/library"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// file has the structure of the format:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
type file struct {
	DisplayTimeUnit string
	TraceEvents     []struct {
		Ph, Name, Cat, S, BP string
		Pid, Tid             int
		Ts                   *json.Number
		Dur                  *json.Number
		ID                   int64
		Args                 map[string]any
	}
}

// check parses a file, reports violations of the format, and counts the events of each phase.
func check(t *testing.T, text []byte) (file, map[string]int) {
	t.Helper()
	var f file
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		t.Fatal(err)
	}
	phases, ends, begun := map[string]int{}, map[int]int64{}, map[int64]int64{}
	named, process := map[int]string{}, map[int]int{}
	last := int64(0)
	for i, e := range f.TraceEvents {
		phases[e.Ph]++
		if e.Ph == "M" {
			last = 0 // a new run
			if name, ok := e.Args["name"].(string); ok {
				if e.Name == "thread_name" {
					named[e.Tid], process[e.Tid] = name, e.Pid
				} else {
					named[e.Pid] = name
				}
			}
			continue
		}
		at := nanoseconds(t, e.Ts)
		switch {
		case at < 0 || at < last:
			t.Errorf("event %d: %d comes after %d", i, at, last)
		case named[e.Pid] == "" || e.Ph != "C" && named[e.Tid] == "":
			t.Errorf("event %d: its process or thread has no name", i)
		case e.Ph != "C" && process[e.Tid] != e.Pid:
			t.Errorf("event %d: its thread is of another process", i)
		}
		last = at
		switch e.Ph {
		case "X":
			if at < ends[e.Tid] {
				t.Errorf("event %d: %s at %d starts before the previous event on %s ends, at %d", i, e.Name, at,
					named[e.Tid], ends[e.Tid])
			}
			ends[e.Tid] = at + nanoseconds(t, e.Dur)
		case "i":
			if !strings.Contains("gpt", e.S) || e.S == "" {
				t.Errorf("event %d: an instant has the scope %q", i, e.S)
			}
		case "C":
			ofObject := strings.Contains(named[e.Pid], "Deployment ") || strings.Contains(named[e.Pid], "Service ")
			if v := fmt.Sprint(e.Args["value"]); v != "0" && v != "1" &&
				!(ofObject && regexp.MustCompile(`^[0-9]+$`).MatchString(v)) {
				t.Errorf("event %d: the counter %s is %s", i, e.Name, v)
			}
		case "s":
			begun[e.ID] = at
		case "f":
			if from, ok := begun[e.ID]; !ok || from > at || e.BP != "e" {
				t.Errorf("event %d: a flow ends without a start", i)
			}
		default:
			t.Errorf("event %d: phase %q", i, e.Ph)
		}
	}
	if phases["s"] != phases["f"] {
		t.Errorf("%d flows start and %d end", phases["s"], phases["f"])
	}
	return f, phases
}

// nanoseconds parses a time in microseconds with at most three decimals.
func nanoseconds(t *testing.T, n *json.Number) int64 {
	t.Helper()
	if n == nil {
		t.Fatal("an event has no time")
	}
	whole, rest, _ := strings.Cut(n.String(), ".")
	d, err := time.ParseDuration(whole + "us")
	if err == nil && rest != "" {
		var more time.Duration
		more, err = time.ParseDuration(rest + strings.Repeat("0", 3-len(rest)) + "ns")
		d += more
	}
	if err != nil {
		t.Fatal(err)
	}
	return int64(d)
}

// restart returns a run with a killed container and a kubelet that stops.
func restart(zero time.Duration) *report.Run {
	const pod = "default/web"
	var rec trace.Recorder
	at := func(s float64, r trace.Record) int64 {
		r.T = virtual.At(zero + time.Duration(s*1e9))
		if r.Kind != trace.KubeletStopped && r.Kind != trace.KubeletStarted {
			r.Pod = pod
		}
		return rec.Add(r)
	}
	status := func(s float64, ready bool, cause int64) {
		at(s, trace.Record{Kind: trace.StatusPatched, Cause: cause,
			Status: &trace.PodStatus{Ready: ready, Containers: []trace.ContainerStatus{
				{Name: "app", State: "running", Ready: ready, Started: ready}}}})
	}
	at(0, trace.Record{Kind: trace.PodAdded})
	at(0.3, trace.Record{Kind: trace.ContainerStarted, Container: "app"})
	probe := at(5.02, trace.Record{Kind: trace.ProbeExecuted, Container: "app", Probe: trace.Startup,
		Result: trace.Success, Took: 20_000_001})
	status(5.03, true, probe)
	// The second took longer than the time since the first.
	at(5.5, trace.Record{Kind: trace.ProbeExecuted, Container: "app", Probe: trace.Liveness, Result: trace.Success,
		Took: time.Second})
	probe = at(6, trace.Record{Kind: trace.ProbeExecuted, Container: "app", Probe: trace.Liveness,
		Result: trace.Failure, Took: time.Second, Message: "<\"\xff>"})
	at(6, trace.Record{Kind: trace.Event, Container: "app", Type: "Normal", Reason: "Killing", Cause: probe})
	stop := at(6.5, trace.Record{Kind: trace.ContainerStopping, Container: "app", Reason: "LivenessProbe",
		Cause: probe})
	at(8, trace.Record{Kind: trace.ContainerExited, Container: "app", ExitCode: 137, Cause: stop})
	at(9, trace.Record{Kind: trace.ContainerStarted, Container: "app", Instance: 1, Cause: probe})
	status(9.1, false, 0)
	at(10, trace.Record{Kind: trace.KubeletStopped})
	at(12, trace.Record{Kind: trace.KubeletStarted})
	at(13, trace.Record{Kind: trace.Step, Reason: "evict"})
	return &report.Run{Scenario: "s", Kubernetes: "v1.37", Seed: new(int64(4)),
		Until: virtual.At(zero + 20*time.Second), Records: rec.Records()}
}

// writer writes runs to a file.
type writer struct {
	Writer
	to   *bytes.Buffer
	runs int
}

func newWriter(to *bytes.Buffer) *writer { return &writer{to: to} }

func (w *writer) Add(run *report.Run, several bool) error {
	var b bytes.Buffer
	if err := Render(&b, run, w.runs, several); err != nil {
		return err
	}
	w.runs++
	return w.Writer.Add(w.to, b.String())
}

func (w *writer) Close() error { return w.Writer.Close(w.to) }

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w := newWriter(&b)
	for _, zero := range []time.Duration{0, -3 * time.Second} {
		if err := w.Add(restart(zero), true); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, phases := check(t, b.Bytes())
	// In each run: the kubelet up, down and up; three probe runs; the container running twice, stop
	// pending, and stopping.
	if phases["X"] != 2*(3+3+4) || phases["C"] != 2*4 || phases["s"] != 2*5 {
		t.Errorf("%v", phases)
	}
	text := b.String()
	for _, want := range []string{
		`{"ph":"M","name":"process_name","pid":`, `"args":{"name":"s v1.37 seed 4: web"}`,
		`"args":{"name":"app liveness"}`,
		`"name":"success","cat":"probe","pid":3,"tid":8,"ts":4999999.999,"dur":20000.001,`,
		`"name":"failure","cat":"probe",`, `"message":"\u003c\"\\xff\u003e"`, `"name":"container exited with 137"`,
		`"name":"container started: restart 1"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the file does not have %s:\n%s", want, text)
		}
	}
	if f.DisplayTimeUnit != "ms" {
		t.Errorf("displayTimeUnit %q", f.DisplayTimeUnit)
	}
}

// TestEmpty checks that a file without runs is valid.
func TestEmpty(t *testing.T) {
	for _, runs := range [][]*report.Run{nil, {{}}} {
		var b bytes.Buffer
		w := newWriter(&b)
		for _, r := range runs {
			w.Add(r, false)
		}
		w.Close()
		check(t, b.Bytes())
	}
}

// TestLibrary checks that each fourth run, or each run, of the library results in a valid file.
func TestLibrary(t *testing.T) {
	all, err := library.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := newWriter(&b)
	step := long.Sample(4, 1)
	for i := 0; i < len(all); i += step {
		s := all[i]
		plan := s.Plans()[0]
		known, _ := plan.Profile()
		n := node.New(node.Options{Profile: known, Uptime: &plan.Uptime, Seed: plan.Seed, Delays: plan.Delays,
			Config: plan.Config, ControlPlane: plan.ControlPlane()})
		drive.Start(plan, n)
		if err := n.RunUntil(virtual.At(plan.Duration)); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(&report.Run{Scenario: s.Metadata.Name, Until: virtual.At(plan.Duration),
			Records: n.Trace().Records()}, true); err != nil {
			t.Fatal(err)
		}
		n.Close()
	}
	w.Close()
	f, phases := check(t, b.Bytes())
	if phases["X"] < 5000/step || phases["s"] < 1000/step {
		t.Errorf("%v", phases)
	}
	actions := map[string]int{}
	for _, e := range f.TraceEvents {
		if e.Cat == "action" {
			actions[e.Name]++
		}
	}
	names := []string{"mount success", "pull success", "preStop success"}
	if step == 1 { // a sample may lack the rare ones
		names = append(names, "pull failure", "postStart failure")
	}
	for _, name := range names {
		if actions[name] == 0 {
			t.Errorf("no slice %s in %v", name, actions)
		}
	}
}

// A status lists all containers of its pod, and each of them has events with the status. The file
// must not grow with the square of their number.
func TestManyContainers(t *testing.T) {
	size := func(containers int) int {
		status := &trace.PodStatus{Phase: "Running"}
		records := []trace.Record{{Step: 1, Kind: trace.PodAdded, Pod: "default/web"}}
		for i := range containers {
			name := fmt.Sprintf("container-%04d", i)
			status.Containers = append(status.Containers,
				trace.ContainerStatus{Name: name, State: "waiting", Reason: "ContainerCreating"})
			records = append(records, trace.Record{Step: int64(i) + 3, Kind: trace.ContainerStarted, Pod: "default/web",
				Container: name, T: 2})
		}
		records = slices.Insert(records, 1,
			trace.Record{Step: 2, Kind: trace.StatusPatched, Pod: "default/web", T: 1, Status: status})
		var b bytes.Buffer
		w := newWriter(&b)
		if err := w.Add(&report.Run{Scenario: "many", Records: records, Until: virtual.At(time.Minute)}, false); err !=
			nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Len()
	}
	if few, many := size(200), size(800); many > 5*few {
		t.Errorf("200 containers give %d bytes, and 800 give %d", few, many)
	}
}
