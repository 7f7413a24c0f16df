package fakeruntime

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// do submits a call and advances until it is done.
func do(t testing.TB, rt *Runtime, now virtual.Time, c Call) *Op {
	t.Helper()
	op := rt.Submit(now, c)
	for !op.Done {
		next, ok := rt.Next()
		if !ok {
			t.Fatalf("%s does not end", c.Method)
		}
		rt.Advance(next)
	}
	if op.Err != nil {
		t.Fatal(op.Err)
	}
	return op
}

// startContainer starts a container in a new sandbox.
func startContainer(t testing.TB, rt *Runtime, pod, name string) (id string, now virtual.Time) {
	t.Helper()
	sandbox := do(t, rt, 0, Call{Method: RunPodSandbox, PodUID: pod})
	c := do(t, rt, sandbox.End, Call{Method: CreateContainer, SandboxID: sandbox.ID, Name: name})
	return c.ID, do(t, rt, c.End, Call{Method: StartContainer, ContainerID: c.ID}).End
}

// Lists of an unchanged runtime share one slice, and a probe changes nothing.
func TestGeneration(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Name: "p"})
	id, now := startContainer(t, rt, "u", "c")
	first := do(t, rt, now, Call{Method: ListContainers})
	probed := do(t, rt, first.End, Call{Method: ExecSync, ContainerID: id})
	second := do(t, rt, probed.End, Call{Method: ListContainers})
	if &first.Containers[0] != &second.Containers[0] || first.Generation != second.Generation ||
		rt.Generation() != second.Generation {
		t.Error("the list was rebuilt although nothing changed")
	}
	stopped := do(t, rt, second.End, Call{Method: StopContainer, ContainerID: id})
	third := do(t, rt, stopped.End, Call{Method: ListContainers})
	if third.Generation == second.Generation || first.Containers[0].State != Running ||
		third.Containers[0].State != Exited {
		t.Error("the list was not rebuilt after a change, or the earlier list changed")
	}
}

// An event belongs to the newest container, and an event about the image to the next one.
func TestEventInstance(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Name: "p"})
	check := func(reason string, want int) {
		t.Helper()
		if got := rt.EventInstance("u", "c", reason); got != want {
			t.Errorf("%s belongs to instance %d, want %d", reason, got, want)
		}
	}
	check("Pulled", 0)
	check("Failed", 0)
	id, now := startContainer(t, rt, "u", "c")
	check("Started", 0)
	check("Pulled", 1)
	check("Pulling", 1)
	check("Killing", 0)
	now = do(t, rt, now, Call{Method: CreateContainer, SandboxID: "u_0", Name: "c", Attempt: 1}).End
	check("Created", 1)
	check("Pulled", 2)
	do(t, rt, now, Call{Method: RemoveContainer, ContainerID: id})
	check("Unhealthy", 1)
	if got := rt.EventInstance("nobody", "c", "Started"); got != 0 {
		t.Errorf("an event of an unknown pod belongs to instance %d", got)
	}
}

// Records have causes, and containers have the step of their latest record.
func TestCauses(t *testing.T) {
	var records []trace.Record
	rt := New(Options{RecordCalls: true, Record: func(r trace.Record) int64 {
		records = append(records, r)
		return 100 + int64(len(records))
	}})
	rt.AddPod(Pod{UID: "u", Namespace: "ns", Name: "p"})
	do(t, rt, 0, Call{Method: RunPodSandbox, PodUID: "u"})
	do(t, rt, virtual.At(time.Second), Call{Method: CreateContainer, SandboxID: "u_0", Name: "c"})
	do(t, rt, virtual.At(2*time.Second), Call{Method: StartContainer, ContainerID: "u_c_0", Cause: 7})
	do(t, rt, virtual.At(3*time.Second), Call{Method: StopContainer, ContainerID: "u_c_0", Cause: 8, GraceSeconds: 30,
		StopReason: "Deleted"})
	list := do(t, rt, virtual.At(4*time.Second), Call{Method: ListContainers, Cause: 9})
	want := []trace.Record{
		{T: virtual.At(211 * time.Millisecond), Kind: trace.CRICall, Pod: "ns/p", Reason: "RunPodSandbox",
			Took: 211 * time.Millisecond},
		{T: virtual.At(1031 * time.Millisecond), Kind: trace.CRICall, Pod: "ns/p", Container: "c",
			Reason: "CreateContainer", Took: 31 * time.Millisecond},
		{T: virtual.At(2057 * time.Millisecond), Kind: trace.ContainerStarted, Cause: 7, Pod: "ns/p", Container: "c"},
		{T: virtual.At(2057 * time.Millisecond), Kind: trace.CRICall, Cause: 7, Pod: "ns/p", Container: "c",
			Reason: "StartContainer", Took: 57 * time.Millisecond},
		{T: virtual.At(3007 * time.Millisecond), Kind: trace.ContainerStopping, Cause: 8, Pod: "ns/p", Container: "c",
			GraceSeconds: 30, Reason: "Deleted"},
		{T: virtual.At(3107 * time.Millisecond), Kind: trace.ContainerExited, Cause: 105, Pod: "ns/p", Container: "c",
			ExitCode: 143},
		{T: virtual.At(3107 * time.Millisecond), Kind: trace.CRICall, Cause: 8, Pod: "ns/p", Container: "c",
			Reason: "StopContainer", Took: 107 * time.Millisecond},
		{T: virtual.At(4003100 * time.Microsecond), Kind: trace.CRICall, Cause: 9, Reason: "ListContainers",
			Took: 3100 * time.Microsecond},
	}
	for i := range max(len(want), len(records)) {
		if i >= len(want) || i >= len(records) || records[i] != want[i] {
			t.Fatalf("record %d: got\n%+v\nwant\n%+v", i, records[min(i, len(records)):], want[min(i, len(want)):])
		}
	}
	if got := list.Containers[0].Step; got != 106 {
		t.Errorf("the container changed last at step %d, want 106", got)
	}
}

// TestBehaviorRecords checks that each request and each exit records the number of the rule that
// decides it.
func TestBehaviorRecords(t *testing.T) {
	var got []string
	rt := New(Options{RecordRules: true, Record: func(r trace.Record) int64 {
		if r.Kind == trace.Behavior {
			got = append(got, strings.TrimSpace(fmt.Sprint(r.T, " ", r.Container, " ", r.Instance, " ", r.Probe,
				r.Reason, " ", r.Message)))
		}
		return 1
	}})
	fails := &Series{Items: []Item{{Answer: Answer{Word: Answers, Code: 1}}}}
	rt.AddPod(Pod{UID: "u", Containers: map[string]ContainerConfig{
		"c": {Program: Program{Rules: []Rule{
			{For: exactly(10 * time.Second), Probes: fails},
			{Replica: Range{Min: 1, Max: 1, Set: true}, Probes: fails},
			{PreStop: fails},
			{Clock: AfterSigterm, Exit: &Exit{Never: true}},
		}}},
		"d": {Program: Program{Rules: []Rule{{From: Exactly(time.Hour), Exit: &Exit{Code: 1}},
			{Clock: AfterSigterm, From: Exactly(time.Second), Exit: &Exit{}}}}},
	}})
	c, now := startContainer(t, rt, "u", "c")
	for _, at := range []time.Duration{0, 20 * time.Second} {
		do(t, rt, now.Add(at), Call{Method: ExecSync, ContainerID: c, Probe: trace.Liveness})
	}
	now = do(t, rt, now.Add(30*time.Second), Call{Method: ExecSync, ContainerID: c, Hook: "preStop"}).End
	now = do(t, rt, now, Call{Method: StopContainer, ContainerID: c, GraceSeconds: 5}).End
	d := do(t, rt, now, Call{Method: CreateContainer, SandboxID: "u_0", Name: "d"})
	now = do(t, rt, d.End, Call{Method: StartContainer, ContainerID: d.ID}).End
	do(t, rt, now, Call{Method: StopContainer, ContainerID: d.ID, GraceSeconds: 5})
	want := []string{"299ms c 0 liveness 1", "20.299s c 0 liveness", "30.299s c 0 preStop 3", "35.326s c 0 exit 4",
		"36.421s d 0 exit 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A preStop hook that sends SIGTERM stops the program while it still runs, and ends with the
// container. The SIGTERM of the runtime then changes nothing.
func TestPreStopSignal(t *testing.T) {
	var got []string
	rt := New(Options{Record: func(r trace.Record) int64 {
		got = append(got, strings.TrimSpace(fmt.Sprint(r.T, " ", r.Kind, " ", r.Reason, " ", r.Cause)))
		return int64(len(got))
	}})
	rt.AddPod(Pod{UID: "u", Containers: map[string]ContainerConfig{"c": {Program: Program{
		PreStopSleep: 22 * time.Second, PreStopSignal: new(2 * time.Second),
		Rules: []Rule{{Clock: AfterSigterm, Refuse: true},
			{Clock: AfterSigterm, From: Exactly(3 * time.Second), Exit: &Exit{Code: 4}}},
	}}}})
	c, now := startContainer(t, rt, "u", "c")
	got = nil
	hook := do(t, rt, now.Add(10*time.Second), Call{Method: ExecSync, ContainerID: c, Hook: "preStop", Cause: 7})
	stop := do(t, rt, hook.End, Call{Method: StopContainer, ContainerID: c, GraceSeconds: 5})
	want := []string{"12.299s Step kill 7", "12.299s ListenerChanged closed 1", "15.299s ContainerExited  1"}
	if !slices.Equal(got, want) || hook.ExitCode != codeSIGKILL || stop.End.Sub(hook.End) > time.Second {
		t.Errorf("got  %q, %+v, %v\nwant %q", got, hook, stop.End, want)
	}
}

// BenchmarkExecSync measures one exec probe.
func BenchmarkExecSync(b *testing.B) {
	for _, c := range []struct {
		name  string
		seed  *int64
		rules []Rule
	}{
		{name: "no rules"},
		{name: "three rules", seed: new(int64), rules: benchRules()},
	} {
		b.Run(c.name, func(b *testing.B) {
			rt := New(Options{Seed: c.seed})
			rt.AddPod(Pod{UID: "u", Name: "p",
				Containers: map[string]ContainerConfig{"c": {Program: Program{Rules: c.rules}}}})
			id, now := startContainer(b, rt, "u", "c")
			call := Call{Method: ExecSync, ContainerID: id, Probe: trace.Liveness, Timeout: time.Second}
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Second)
				rt.Submit(now, call)
				next, _ := rt.Next()
				for _, op := range rt.Advance(next) {
					rt.Release(op)
				}
			}
		})
	}
}

func benchRules() []Rule {
	answers := func(word Word) *Series { return &Series{Items: []Item{{Answer: Answer{Word: word}}}} }
	chance := 0.1
	return []Rule{
		{Probes: &Series{Items: []Item{
			{Answer: Answer{Word: Answers, Latency: &Draw{time.Millisecond, 80 * time.Millisecond}}}}}},
		{Chance: &chance, Probes: answers(Hangs)},
		{From: Exactly(time.Minute), Every: &Draw{80 * time.Second, 100 * time.Second}, For: exactly(6 * time.Second),
			Probes: answers(Stalls)},
	}
}

// BenchmarkList measures an idle relist of many containers.
func BenchmarkList(b *testing.B) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Name: "p"})
	_, now := startContainer(b, rt, "u", "c")
	for i := range 10_000 {
		rt.Submit(now, Call{Method: CreateContainer, SandboxID: "u_0", Name: "c", Attempt: i + 1})
	}
	rt.Advance(now.Add(time.Second))
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(2 * time.Second)
		rt.Submit(now, Call{Method: ListContainers})
		for _, op := range rt.Advance(now.Add(time.Second)) {
			rt.Release(op)
		}
	}
}

// Instance numbers are unique, even if the attempts of the caller start over.
func TestInstanceNumbersAreUnique(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Name: "p"})
	now := do(t, rt, 0, Call{Method: RunPodSandbox, PodUID: "u"}).End
	var got []int
	for _, attempt := range []int{0, 1, 0, 1, 5} {
		op := do(t, rt, now, Call{Method: CreateContainer, SandboxID: "u_0", Name: "c", Attempt: attempt})
		got = append(got, rt.Instance(op.ID))
		now = do(t, rt, op.End, Call{Method: RemoveContainer, ContainerID: op.ID}).End
	}
	if !slices.Equal(got, []int{0, 1, 2, 3, 5}) {
		t.Errorf("instances %v", got)
	}
}

// A program that exits at the end of its grace period exits by itself or is killed, depending on
// the seed. Without a seed it is killed. Without a grace period, there is no race.
func TestExitAtTheEndOfTheGracePeriod(t *testing.T) {
	end := Exactly(30 * time.Second)
	exitCode := func(seed *int64, stop func(rt *Runtime, id string, now virtual.Time)) int32 {
		var code int32
		rt := New(Options{Seed: seed, Record: func(r trace.Record) int64 { code = r.ExitCode; return r.Step }})
		rule := Rule{Clock: AfterSigterm, From: end, Exit: &Exit{}}
		rt.AddPod(Pod{UID: "u", Name: "p",
			Containers: map[string]ContainerConfig{"c": {Program: Program{Rules: []Rule{rule}}}}})
		id, now := startContainer(t, rt, "u", "c")
		stop(rt, id, now)
		return code
	}
	stop := func(grace int64) func(*Runtime, string, virtual.Time) {
		return func(rt *Runtime, id string, now virtual.Time) {
			do(t, rt, now, Call{Method: StopContainer, ContainerID: id, GraceSeconds: grace})
		}
	}
	codes := map[int32]int{}
	for seed := range int64(200) {
		codes[exitCode(&seed, stop(30))]++
	}
	if codes[0] < 70 || codes[137] < 70 || len(codes) != 2 {
		t.Errorf("the exit codes of 200 seeds are %v, want about as many 0 as 137", codes)
	}
	if code := exitCode(nil, stop(30)); code != 137 {
		t.Errorf("without a seed the exit code is %d", code)
	}
	end = Exactly(0)
	for seed := range int64(20) {
		if code := exitCode(&seed, stop(0)); code != 137 {
			t.Errorf("without a grace period the exit code is %d", code)
		}
	}
}
