package trace

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
)

// Each run draws the same examples, unless -rapid.seed says otherwise.
var _ = flag.Set("rapid.seed", "1")

func TestAppendJSON(t *testing.T) {
	for _, test := range []struct {
		name string
		rec  Record
		want string
	}{
		{"of a pod", Record{Step: 1, Kind: PodAdded, Pod: "default/web"},
			`{"step":1,"t":0,"kind":"PodAdded","pod":"default/web"}`},
		{"of the node, before t=0", Record{Step: 2, T: virtual.At(-time.Second), Kind: KubeletStarted},
			`{"step":2,"t":-1000000000,"kind":"KubeletStarted"}`},
		{"instance 0 is written", Record{Step: 3, T: virtual.At(300 * time.Millisecond), Kind: ContainerStarted,
			Cause: 1, Pod: "default/web", Container: "app"},
			`{"step":3,"t":300000000,"kind":"ContainerStarted","cause":1,"pod":"default/web","container":"app","instance":0}`},
		{"stopping", Record{Step: 4, Kind: ContainerStopping, Pod: "p", Container: "c", Instance: 2, GraceSeconds: 30,
			Reason: "LivenessProbe"},
			`{"step":4,"t":0,"kind":"ContainerStopping","pod":"p","container":"c","instance":2,"graceSeconds":30,"reason":"LivenessProbe"}`},
		{"exit code 0 is written", Record{Step: 5, Kind: ContainerExited, Pod: "p", Container: "c"},
			`{"step":5,"t":0,"kind":"ContainerExited","pod":"p","container":"c","instance":0,"exitCode":0}`},
		{"probe", Record{Step: 6, Kind: ProbeExecuted, Pod: "p", Container: "c", Probe: Startup, Result: Failure,
			Message: "no\n", Took: 20 * time.Millisecond},
			`{"step":6,"t":0,"kind":"ProbeExecuted","pod":"p","container":"c","instance":0,"probe":"startup","result":"failure","message":"no\n","took":20000000}`},
		{"image pull", Record{Step: 6, Kind: ImagePullStarted, Pod: "p", Container: "c", Message: "c:1"},
			`{"step":6,"t":0,"kind":"ImagePullStarted","pod":"p","container":"c","instance":0,"message":"c:1"}`},
		{"end of an image pull", Record{Step: 6, Kind: ImagePullEnded, Pod: "p", Container: "c", Result: Success,
			Took: time.Second},
			`{"step":6,"t":0,"kind":"ImagePullEnded","pod":"p","container":"c","instance":0,"result":"success","message":"","took":1000000000}`},
		{"hook", Record{Step: 6, Kind: HookStarted, Pod: "p", Container: "c", Reason: "preStop"},
			`{"step":6,"t":0,"kind":"HookStarted","pod":"p","container":"c","instance":0,"reason":"preStop"}`},
		{"end of a hook", Record{Step: 6, Kind: HookEnded, Pod: "p", Container: "c", Reason: "preStop", Result: Failure,
			Message: "no"},
			`{"step":6,"t":0,"kind":"HookEnded","pod":"p","container":"c","instance":0,"reason":"preStop","result":"failure","message":"no","took":0}`},
		{"wait for volumes", Record{Step: 6, Kind: VolumeWaitEnded, Pod: "p", Reason: "mount", Result: Success,
			Took: time.Second},
			`{"step":6,"t":0,"kind":"VolumeWaitEnded","pod":"p","reason":"mount","result":"success","took":1000000000}`},
		{"event", Record{Step: 7, Kind: Event, Pod: "p", Type: "Normal", Reason: "Scheduled", Message: `a "b" \ ` +
			"\x00\xff\u2028é"},
			`{"step":7,"t":0,"kind":"Event","pod":"p","type":"Normal","reason":"Scheduled","message":"a \"b\" \\ \u0000` + "\ufffd\u2028é" + `"}`},
		{"status", Record{Step: 8, Kind: StatusPatched, Pod: "p",
			Status: &PodStatus{Phase: "Running", Ready: true, Containers: []ContainerStatus{
				{Name: "c", State: "terminated", Reason: "Error", ExitCode: 137, RestartCount: 3},
				{Name: "d", State: "running", Started: true}}}},
			`{"step":8,"t":0,"kind":"StatusPatched","pod":"p","phase":"Running","initialized":false,"containersReady":false,"ready":true,"containers":[` +
				`{"name":"c","state":"terminated","reason":"Error","exitCode":137,"ready":false,"started":false,"restartCount":3},` +
				`{"name":"d","state":"running","exitCode":0,"ready":false,"started":true,"restartCount":0}]}`},
		{"zero fields of internal kinds are omitted",
			Record{Step: 9, Kind: CRICall, Pod: "p", Reason: "RunPodSandbox", Took: 211 * time.Millisecond},
			`{"step":9,"t":0,"kind":"CRICall","pod":"p","reason":"RunPodSandbox","took":211000000}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := string(AppendJSON(nil, &test.rec))
			if got != test.want {
				t.Errorf("\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestRoundTrip writes and decodes records of any kind with any text. Only invalid UTF-8 changes:
// it becomes U+FFFD.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := genRecord(t)
		got, err := decode(AppendJSON(nil, &want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("wrote (-), read (+):\n%s", diff)
		}
	})
}

var kinds = []Kind{PodAdded, PodDeleteRequested, PodRemoved, ContainerStarted, ContainerStopping, ContainerExited,
	ProbeExecuted, StatusPatched, Event, ImagePullStarted, ImagePullEnded, HookStarted, HookEnded, VolumeWaitEnded,
	KubeletStopped, KubeletStarted,
	CRICall, ResultChanged, ManualTrigger, SyncLoop, PodSync, Relist, BackOff, ProbeSkipped, Behavior}

func genRecord(t *rapid.T) Record {
	text := func(label string) string { return strings.ToValidUTF8(rapid.String().Draw(t, label), "\ufffd") }
	r := Record{
		Step: rapid.Int64().Draw(t, "step"), T: virtual.Time(rapid.Int64().Draw(t, "t")),
		Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Cause: rapid.Int64().Draw(t, "cause"), Pod: text("pod"),
	}
	if r.Container = text("container"); r.Container != "" {
		r.Instance = rapid.Int().Draw(t, "instance")
	}
	any := !r.Kind.Observable()
	hook, pull, wait := r.Kind == HookStarted || r.Kind == HookEnded, r.Kind == ImagePullStarted ||
		r.Kind == ImagePullEnded, r.Kind == VolumeWaitEnded
	if any || r.Kind == ProbeExecuted {
		r.Probe = Probe(text("probe"))
	}
	if any || r.Kind == ProbeExecuted || r.Kind == HookEnded || r.Kind == ImagePullEnded || wait {
		r.Result = Result(text("result"))
		r.Took = time.Duration(rapid.Int64().Draw(t, "took"))
	}
	if any || r.Kind == Event {
		r.Type = text("type")
	}
	if any || r.Kind == Event || r.Kind == ContainerStopping || hook || wait {
		r.Reason = text("reason")
	}
	if any || r.Kind == Event || r.Kind == ProbeExecuted || r.Kind == HookEnded || pull {
		r.Message = text("message")
	}
	if any || r.Kind == ContainerStopping {
		r.GraceSeconds = rapid.Int64().Draw(t, "grace")
	}
	if any || r.Kind == ContainerExited {
		r.ExitCode = rapid.Int32().Draw(t, "exitCode")
	}
	if r.Kind == StatusPatched {
		r.Status = genStatus(t, text)
	}
	return r
}

func genStatus(t *rapid.T, text func(string) string) *PodStatus {
	flag := func(label string) bool { return rapid.Bool().Draw(t, label) }
	s := &PodStatus{Phase: text("phase"), Reason: text("podReason"), Initialized: flag("initialized"),
		ContainersReady: flag("containersReady"), Ready: flag("ready"), Containers: []ContainerStatus{}}
	times := func(label string) *virtual.Time {
		return rapid.Ptr(rapid.Map(rapid.Int64(), func(n int64) virtual.Time {
			return virtual.Time(n)
		}), true).Draw(t, label)
	}
	if flag("details") {
		s.Details = &PodDetails{}
		for range rapid.IntRange(0, 2).Draw(t, "conditions") {
			s.Details.PodIPs = append(s.Details.PodIPs, text("ip"))
			s.Details.Conditions = append(s.Details.Conditions, Condition{
				Type: text("type"), Status: text("status"), Since: virtual.Time(rapid.Int64().Draw(t, "since")),
				Reason: text("r"), Message: text("m"),
			})
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "containers") {
		s.Containers = append(s.Containers,
			ContainerStatus{Name: text("name"), State: text("state"), Reason: text("why"),
				ExitCode: rapid.Int32().Draw(t, "code"), Ready: flag("r"), Started: flag("s"),
				RestartCount: rapid.Int32().Draw(t, "restarts")})
		if flag("of container") {
			last := &Termination{ExitCode: rapid.Int32().Draw(t, "last"), Reason: text("last"),
				StartedAt: times("from"), FinishedAt: times("to")}
			s.Containers[len(s.Containers)-1].Details = &ContainerDetails{
				Image: text("image"), StartedAt: times("started"), FinishedAt: times("finished"), LastState: last,
			}
		}
	}
	return s
}

// FuzzAppendJSON checks that any message results in one line of valid JSON and UTF-8.
func FuzzAppendJSON(f *testing.F) {
	f.Add("plain", "default/web")
	f.Add("\x00\x1f\x7f\xff\u2028\"\\\n", "p\xc3")
	f.Fuzz(func(t *testing.T, message, pod string) {
		line := AppendJSON(nil, &Record{Kind: Event, Pod: pod, Message: message})
		if !json.Valid(line) || bytes.ContainsAny(line, "\n\r") {
			t.Fatalf("%q", line)
		}
		got, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		quoted, _ := json.Marshal(message)
		json.Unmarshal(quoted, &want)
		if got.Message != want {
			t.Fatalf("got %q, encoding/json has %q", got.Message, want)
		}
	})
}

func TestAppendJSONDoesNotAllocate(t *testing.T) {
	rec := Record{Step: 1, Kind: ProbeExecuted, Pod: "default/web", Container: "app", Probe: Liveness, Result: Failure,
		Message: "a\tb"}
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { buf = AppendJSON(buf[:0], &rec) }); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	rec := Record{Step: 123456, T: 1234567890123, Kind: ProbeExecuted, Pod: "default/web", Container: "app",
		Instance: 3,
		Probe:    Liveness, Result: Failure, Message: "HTTP probe failed with statuscode: 503",
		Took: 20 * time.Millisecond}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendJSON(buf[:0], &rec)
	}
	b.SetBytes(int64(len(buf)))
}
