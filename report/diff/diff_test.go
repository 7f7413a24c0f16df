package diff

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/trace"
)

// web returns records of one pod, each as "SECONDS KIND ARGUMENT".
func web(lines ...string) Run {
	r := Run{End: time.Minute}
	for i, line := range lines {
		f := strings.Fields(line)
		t, err := time.ParseDuration(f[0])
		if err != nil {
			panic(err)
		}
		rec := trace.Record{Step: int64(i + 1), T: t, Kind: trace.Kind(f[1]), Pod: "default/web"}
		switch rec.Kind {
		case trace.StatusPatched:
			rec.Status = &trace.PodStatus{Phase: "Running", Ready: f[2] == "ready"}
		case trace.Event:
			rec.Container, rec.Reason, rec.Message = "app", f[2], strings.Join(f[3:], " ")
		case trace.ProbeExecuted:
			rec.Container, rec.Probe, rec.Result = "app", trace.Liveness, trace.Result(f[2])
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
		"the same":              {base, ""},
		"a patch of nothing":    {web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "2.5s StatusPatched ready", "3s ProbeExecuted success"), ""},
		"an internal record":    {web("0s PodAdded", "0s PodSync", "1s ContainerStarted", "2s StatusPatched ready", "3s ProbeExecuted success"), ""},
		"a later status":        {web("0s PodAdded", "1s ContainerStarted", "2.5s StatusPatched ready", "3s ProbeExecuted success"), "2s"},
		"another result":        {web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "3s ProbeExecuted failure"), "3s otherwise 3s"},
		"one record less":       {web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready"), "3s otherwise 3s"},
		"one record more":       {web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "3s ProbeExecuted success", "9s PodRemoved"), "9s otherwise 9s"},
		"later, and then other": {web("0s PodAdded", "1s ContainerStarted", "2.5s StatusPatched ready", "3s ProbeExecuted failure"), "2s otherwise 3s"},
		"nothing at all":        {Run{}, "0s otherwise 0s"},
	} {
		for _, pair := range [][2]Run{{base, c.b}, {c.b, base}} {
			if got := said(Compare(pair[0], pair[1])); got != c.want {
				t.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
	}
}

func said(d *Difference) string {
	if d.Same() {
		return ""
	}
	text := d.First.String()
	if d.OtherAt {
		text += " otherwise " + d.Other.String()
	}
	return text
}

// What happens at one instant is the same in any order.
func TestOrderWithinAnInstant(t *testing.T) {
	a, b := web("1s PodAdded", "1s ContainerStarted"), web("1s ContainerStarted", "1s PodAdded")
	if d := Compare(a, b); !d.Same() {
		t.Errorf("they differ from %v on", d.First)
	}
}

func TestWords(t *testing.T) {
	a, b := web("1s Event Created Created container: app", "2s Event Created Created container: app"), web("1s Event Created Container created", "2s Event Created Container created")
	d := Compare(a, b)
	want := []Words{{"Created", "Created container: app", "Container created"}}
	if !d.Same() || cmp.Diff(want, d.Words) != "" {
		t.Errorf("same: %v, words (-want +got):\n%s", d.Same(), cmp.Diff(want, d.Words))
	}
}

func TestAround(t *testing.T) {
	a := web("1s PodAdded", "2s ContainerStarted", "3s ProbeExecuted success", "4s ProbeExecuted success", "5s ProbeExecuted success", "6s PodRemoved")
	b := web("1s PodAdded", "2s ContainerStarted", "3s ProbeExecuted success", "4s ProbeExecuted failure", "5s ProbeExecuted success", "7s PodRemoved")
	var got []string
	for _, l := range Compare(a, b).Around {
		got = append(got, [...]string{" ", "-", "+"}[l.Side]+l.Record.T.String())
	}
	if want := []string{" 1s", " 2s", " 3s", "-4s", "+4s", " 5s", "-6s", "+7s"}; cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
}

func TestChanged(t *testing.T) {
	a := web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "10s StatusPatched not", "15s StatusPatched ready", "20s ProbeExecuted failure")
	b := web("0s PodAdded", "1s ContainerStarted", "2s StatusPatched ready", "10s StatusPatched not", "20s ProbeExecuted failure", "21s ContainerStarted again")
	c := web("0s PodAdded", "30s PodRemoved")
	want := []Row{
		{"default/web", "", "first Ready", []string{"2.000s", "2.000s", "never"}},
		{"default/web", "", "not Ready since then", []string{"5.000s", "50.000s", "0.000s"}},
		{"default/web", "", "times that Ready was lost", []string{"1", "1", "0"}},
		{"default/web", "", "removed", []string{"never", "never", "30.000s"}},
		{"default/web", "", "phase in the end", []string{"Running", "Running", ""}},
		{"default/web", "app", "restarts", []string{"0", "1", ""}},
		{"default/web", "app", "stops by the kubelet", []string{"0", "0", ""}},
		{"default/web", "app", "last exit", []string{"none", "none", ""}},
		{"default/web", "app", "liveness probes", []string{"1, 1 failed", "1, 1 failed", ""}},
	}
	if diff := cmp.Diff(want, Changed(a, b, c)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}
