package diff

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// web returns a run with records of one pod, each written as "TIME KIND ARGUMENT".
func web(lines ...string) Run {
	r := Run{End: virtual.At(time.Minute)}
	for i, line := range lines {
		f := strings.Fields(line)
		t, err := time.ParseDuration(f[0])
		if err != nil {
			panic(err)
		}
		rec := trace.Record{Step: int64(i + 1), T: virtual.At(t), Kind: trace.Kind(f[1]), Pod: "default/web"}
		switch rec.Kind {
		case trace.StatusPatched:
			rec.Status = &trace.PodStatus{Phase: "Running", Ready: f[2] == "ready"}
		case trace.Event:
			rec.Container, rec.Reason, rec.Message = "app", f[2], strings.Join(f[3:], " ")
		case trace.ProbeExecuted:
			rec.Container, rec.Probe, rec.Result, rec.Message = "app", trace.Liveness, trace.Result(f[2]),
				strings.Join(f[3:], " ")
		case trace.ImagePullEnded, trace.HookEnded:
			rec.Container, rec.Reason, rec.Result, rec.Message = "app", "postStart", trace.Result(f[2]),
				strings.Join(f[3:], " ")
		case trace.ImagePullStarted:
			rec.Container, rec.Message = "app", f[2]
		case trace.ContainerStarted:
			rec.Container, rec.Instance = "app", len(f)-2
		}
		r.Records = append(r.Records, rec)
	}
	return r
}

func TestCompare(t *testing.T) {
	base := web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "3s ProbeExecuted success")
	for name, c := range map[string]struct {
		b    Run
		want string
	}{
		"equal": {base, ""},
		"status patch without a " +
			"change": {web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "2.5s StatusPatched ready",
			"3s ProbeExecuted success"), ""},
		"internal " +
			"record": {web("0s PodAdded", "0s PodSync", "1s ContainerStarted", "2s StatusPatched ready",
			"3s ProbeExecuted success"), ""},
		"later status": {web("0s PodAdded", "1s ContainerStarted", "2.5s StatusPatched ready",
			"3s ProbeExecuted success"), "2s"},
		"different result": {web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready",
			"3s ProbeExecuted failure"), "3s diverges 3s"},
		"one record fewer": {web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready"),
			"3s diverges 3s"},
		"one record more": {web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready",
			"3s ProbeExecuted success", "9s PodRemoved"), "9s diverges 9s"},
		"later, then different": {web("0s PodAdded", "1s ContainerStarted", "2.5s StatusPatched ready",
			"3s ProbeExecuted failure"), "2s diverges 3s"},
		"empty run": {Run{}, "0s diverges 0s"},
	} {
		for _, pair := range [][2]Run{{base, c.b}, {c.b, base}} {
			if got := describe(Compare(pair[0], pair[1])); got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
	}
}

// TestDivergenceAmongEqualRecords checks that the records around a divergence show it, however many
// equal ones its instant has.
func TestDivergenceAmongEqualRecords(t *testing.T) {
	equal := []string{"10s Event A", "10s Event B", "10s Event C", "10s Event D", "20s ProbeExecuted success"}
	a := web(append([]string{"1s ContainerStarted", "10s Event E"}, equal...)...)
	b := web(append([]string{"2s ContainerStarted"}, equal...)...)
	for _, pair := range []struct {
		a, b Run
		side Side
	}{{a, b, A}, {b, a, B}} {
		d := Compare(pair.a, pair.b)
		if !slices.ContainsFunc(d.AroundBehavior,
			func(l Line) bool { return l.Side == pair.side && l.Record.Reason == "E" }) {
			t.Errorf("the event E of one run is not in %v", d.AroundBehavior)
		}
	}
}

// TestAfterTheEnd compares runs of which one ends before it has the last probe.
func TestAfterTheEnd(t *testing.T) {
	early := web("0s PodAdded", "40s ProbeExecuted success", "50s ProbeExecuted success",
		"59.99s ProbeExecuted success")
	for name, c := range map[string]struct {
		late Run
		want string
	}{
		"later": {web("0s PodAdded", "40.013s ProbeExecuted success", "50.013s ProbeExecuted success"),
			"40s"},
		"later, by too little": {web("0s PodAdded", "40.005s ProbeExecuted success", "50.005s ProbeExecuted success"),
			"40s diverges 59.99s"},
		"another result": {web("0s PodAdded", "40.013s ProbeExecuted success", "50.013s ProbeExecuted failure"),
			"40s diverges 50s"},
		"no probe": {web("0s PodAdded"), "40s diverges 40s"},
	} {
		for _, pair := range [][2]Run{{early, c.late}, {c.late, early}} {
			if got := describe(Compare(pair[0], pair[1])); got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
	}
}

func describe(d *Difference) string {
	if d.Same {
		return ""
	}
	text := d.First.String()
	if d.Behavior != nil {
		text += " diverges " + d.Behavior.String()
	}
	return text
}

func TestCompareIgnoresTheOrderWithinAnInstant(t *testing.T) {
	a, b := web("1s PodAdded", "1s ContainerStarted"), web("1s ContainerStarted", "1s PodAdded")
	if d := Compare(a, b); !d.Same {
		t.Errorf("the runs differ from %v", d.First)
	}
}

// TestMessages compares runs that differ in messages. Another result, another time and another
// image are no text.
func TestMessages(t *testing.T) {
	for name, test := range map[string]struct {
		a, b     Run
		want     string // of describe
		messages []Message
	}{
		"events": {
			web("1s Event Created Created container: app", "2s Event Created Created container: app"),
			web("1s Event Created Container created", "2s Event Created Container created"),
			"", []Message{{"Created", "Created container: app", "Container created"}}},
		"a probe, a hook and a pull": {
			web("1s ImagePullEnded failure no", "2s HookEnded failure not found", "3s ProbeExecuted failure refused"),
			web("1s ImagePullEnded failure none", "2s HookEnded failure missing",
				"3s ProbeExecuted failure connection refused"),
			"", []Message{{"image pull failure", "no", "none"}, {"postStart failure", "not found", "missing"},
				{"liveness failure", "refused", "connection refused"}}},
		"a later probe": {web("3s ProbeExecuted failure refused"), web("4s ProbeExecuted failure connection refused"),
			"3s", nil},
		"another result": {web("3s ProbeExecuted failure refused"), web("3s ProbeExecuted error refused"),
			"3s diverges 3s", nil},
		"another image": {web("1s ImagePullStarted web:1"), web("1s ImagePullStarted web:2"), "1s diverges 1s", nil},
	} {
		d := Compare(test.a, test.b)
		if got := describe(d); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		if diff := cmp.Diff(test.messages, d.Messages); diff != "" {
			t.Errorf("%s: messages (-want +got):\n%s", name, diff)
		}
	}
}

func TestAround(t *testing.T) {
	a := web("1s PodAdded", "2s ContainerStarted", "3s ProbeExecuted success", "4s ProbeExecuted success",
		"5s ProbeExecuted success", "6s PodRemoved")
	b := web("1s PodAdded", "2s ContainerStarted", "3s ProbeExecuted success", "4s ProbeExecuted failure",
		"5s ProbeExecuted success", "7s PodRemoved")
	var got []string
	for _, l := range Compare(a, b).Around {
		got = append(got, map[Side]string{Both: " ", A: "-", B: "+"}[l.Side]+l.Record.T.String())
	}
	if want := []string{" 1s", " 2s", " 3s", "-4s", "+4s", " 5s", "-6s", "+7s"}; cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
}

func TestChanged(t *testing.T) {
	a := web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "10s StatusPatched not",
		"15s StatusPatched ready", "20s ProbeExecuted failure")
	b := web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "10s StatusPatched not",
		"20s ProbeExecuted failure", "21s ContainerStarted again")
	c := web("0s PodAdded", "30s PodRemoved")
	want := []Row{
		{"default/web", "", "time to Ready", []string{"2.000s", "2.000s", "never"}},
		{"default/web", "", "not Ready afterwards", []string{"5.000s", "50.000s", ""}},
		{"default/web", "", "longest outage", []string{"5.000s", "50.000s", ""}},
		{"default/web", "", "lost Ready (times)", []string{"1", "1", "0"}},
		{"default/web", "", "removed", []string{"never", "never", "30.000s"}},
		{"default/web", "", "final phase", []string{"Running", "Running", ""}},
		{"default/web", "app", "restarts", []string{"0", "1", ""}},
		{"default/web", "app", "stops by the kubelet", []string{"0", "0", ""}},
		{"default/web", "app", "last exit", []string{"none", "none", ""}},
		{"default/web", "app", "liveness probes", []string{"1, 1 failed", "1, 1 failed", ""}},
	}
	if diff := cmp.Diff(want, Changed(a, b, c)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}
