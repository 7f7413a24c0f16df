package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
)

// pod returns the manifest of a pod whose container has some fields.
func pod(container string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  terminationGracePeriodSeconds: 10\n  " +
		"containers:\n" +
		"  - name: app\n    image: web:1\n    " + strings.Join(strings.Split(strings.TrimSpace(container), "\n"),
		"\n    ") + "\n"
}

func checked(t *testing.T, manifest string, o check.Options) *check.Report {
	t.Helper()
	c, err := check.New([]input.File{{Name: "web.yaml", Data: []byte(manifest)}}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c.Report()
}

// special returns findings without those that most containers of these tests have.
func special(list []check.Finding) []check.Finding {
	return slices.DeleteFunc(list, func(f check.Finding) bool {
		return f.ID == check.NoReadiness || f.ID == check.NoProbes || f.ID == check.AnswerTimeout
	})
}

// TestFindings checks which findings a container has, where they point to, and that 'probesim run'
// accepts their words.
func TestFindings(t *testing.T) {
	for _, test := range []struct {
		name, container string
		start           *value.Interval
		want            string // id and line of each finding
	}{
		{name: "fine", container: `
startupProbe: {httpGet: {path: /up, port: 80}, periodSeconds: 1, failureThreshold: 40}
livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 2, failureThreshold: 4}
readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 2, failureThreshold: 1}`},
		{name: "unknown port", want: "broken-probe:9", container: `readinessProbe: {tcpSocket: {port: htpp}}`},
		{name: "an unknown port of one probe of two", want: "broken-probe:9 no-startup-probe:10",
			container: `readinessProbe: {httpGet: {port: htpp}}
livenessProbe: {httpGet: {port: 80}, periodSeconds: 2}`},
		{name: "an unknown port of the startup probe", want: "broken-probe:9",
			container: `startupProbe: {httpGet: {port: htpp}}
livenessProbe: {httpGet: {port: 80}, periodSeconds: 2}`},
		{name: "liveness alone", want: "no-startup-probe:9 unnoticed-failure:9",
			container: `livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 2}`},
		{name: "a command with the default timeout", want: "exec-timeout:9 no-startup-probe:9",
			container: `livenessProbe: {exec: {command: [live]}, periodSeconds: 2}`},
		{name: "commands that do nothing", want: "", container: `
livenessProbe: {exec: {command: ["true"]}, periodSeconds: 2}
readinessProbe: {exec: {command: [sh, -c, exit 0]}, periodSeconds: 2}`},
		{name: "a timeout above the period", want: "long-timeout:9 no-startup-probe:9 unnoticed-failure:9",
			container: `livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 2, timeoutSeconds: 5}`},
		{name: "one endpoint and one budget", want: "no-startup-probe:9 no-time-to-recover:9", container: `
livenessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 3}
readinessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 3}`},
		{name: "one endpoint by name and by number", want: "no-startup-probe:10 no-time-to-recover:10", container: `
ports: [{name: http, containerPort: 80}]
livenessProbe: {httpGet: {port: http}, periodSeconds: 2, failureThreshold: 3}
readinessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 3}`},
		{name: "a long timeout and a single failure", want: "one-failure:9 no-startup-probe:9 unnoticed-failure:9",
			container: `livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 1}`},
		{name: "one endpoint, one budget and a hook", want: "no-startup-probe:10 no-time-to-recover:10", container: `
lifecycle: {preStop: {sleep: {seconds: 5}}}
livenessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 3}
readinessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 3}`},
		{name: "one endpoint and a patient liveness probe", want: "no-startup-probe:9", container: `
livenessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 20}
readinessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 2}`},
		{name: "two endpoints and a liveness probe that acts first", want: "no-startup-probe:9 no-time-to-recover:9",
			container: `
livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 2, failureThreshold: 3}
readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 5, failureThreshold: 3}`},
		{name: "two endpoints and one budget", want: "no-startup-probe:9", container: `
livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 2, failureThreshold: 3}
readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 2, failureThreshold: 3}`},
		{name: "a crash before a probe", want: "short-restart:9 no-startup-probe:9 unnoticed-failure:9",
			container: `livenessProbe: {tcpSocket: {port: 80}, initialDelaySeconds: 2, periodSeconds: 3, failureThreshold: 2}`},
		{name: "crashes before a probe", want: "no-startup-probe:9 short-restart:9 unnoticed-failure:9",
			container: `livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 20}`},
		{name: "a long preStop hook", want: "short-grace:9", container: `
lifecycle: {preStop: {sleep: {seconds: 8}}}
readinessProbe: {httpGet: {port: 80}, periodSeconds: 2}`},
		{name: "a delay of readiness", want: "slow-ready:9",
			container: `readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 20, periodSeconds: 2}`},
		{name: "a delay that no start outlasts", want: "other-endpoint:9", container: `
startupProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 30}
readinessProbe: {httpGet: {path: /ready, port: 80}, initialDelaySeconds: 2, periodSeconds: 5}
livenessProbe: {httpGet: {path: /live, port: 80}, initialDelaySeconds: 90, periodSeconds: 5, failureThreshold: 10}`},
		{name: "starts that are too long", want: "start-killed:9", start: &value.Interval{Min: 3e9, Max: 9e9},
			container: `startupProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 5}`},
		{name: "starts that are almost too long", want: "start-tight:9", start: &value.Interval{Min: 3e9, Max: 8500e6},
			container: `startupProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 10}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			manifest := pod(test.container)
			r := checked(t, manifest, check.Options{Start: value.Durations{Ordinary: test.start}})
			var got []string
			for _, f := range special(r.Workloads[0].Containers[0].Findings) {
				got = append(got, fmt.Sprintf("%s:%d", f.ID, f.Line))
				if _, _, err := whatif.Scenario(whatif.Options{Manifest: "web.yaml", Data: []byte(manifest),
					Words: f.App}); err != nil {
					t.Errorf("%s: 'probesim run' does not accept %q: %v", f.ID, f.App, err)
				}
			}
			if want := strings.Fields(test.want); !slices.Equal(got, want) {
				t.Errorf("the findings are %q, want %q: %+v", got, want, r.Workloads[0].Containers[0].Findings)
			}
		})
	}
}

// TestFindingBesideABrokenContainer checks that a container has its finding in a pod that another
// container keeps from being ready.
func TestFindingBesideABrokenContainer(t *testing.T) {
	r := checked(t, pod(`
livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 2, failureThreshold: 3}
readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 5, failureThreshold: 3}`)+`  - name: other
    image: other:1
    readinessProbe: {httpGet: {port: htpp}}
`, check.Options{})
	list := r.Workloads[0].Containers[0].Findings
	if !slices.ContainsFunc(list, func(f check.Finding) bool { return f.ID == check.NoTimeToRecover }) {
		t.Errorf("the findings have no %s: %+v", check.NoTimeToRecover, list)
	}
}

// TestAdvice checks that a finding blames the field that is the reason.
func TestAdvice(t *testing.T) {
	findings := func(container string) []check.Finding {
		manifest := strings.Replace(pod(container), "terminationGracePeriodSeconds: 10",
			"terminationGracePeriodSeconds: 2", 1)
		return special(checked(t, manifest, check.Options{}).Workloads[0].Containers[0].Findings)
	}
	hook := "lifecycle: {preStop: {exec: {command: [%s]}}}\nreadinessProbe: {httpGet: {port: 80}, periodSeconds: 2}"
	if got := findings(strings.Replace(hook, "%s", `"true"`, 1)); len(got) > 0 {
		t.Errorf("a hook that takes no time has the findings %+v", got)
	}
	if got := findings(strings.Replace(hook, "%s", `sleep, "1.5"`, 1)); len(got) != 1 || got[0].ID != check.ShortGrace {
		t.Errorf("a hook that takes most of the grace period has the findings %+v", got)
	}
	got := findings("startupProbe: {httpGet: {port: 80}, initialDelaySeconds: 20, periodSeconds: 2, " +
		"failureThreshold: 30}")
	if len(got) != 1 || got[0].ID != check.SlowReady ||
		!strings.Contains(got[0].Message, "Without its delay, the startup probe would find it sooner") {
		t.Errorf("a startup probe with a delay has the findings %+v", got)
	}
	for container, want := range map[string]string{
		"readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 20, " +
			"periodSeconds: 2}": "Without its delay, the readiness probe would find it sooner",
		"readinessProbe: {httpGet: {port: 80}, periodSeconds: 10, " +
			"successThreshold: 5}": "The readiness probe needs 5 successes, 10s apart",
		"lifecycle: {postStart: {exec: {command: [sleep, \"20\"]}}}\nreadinessProbe: {httpGet: {port: 80}, " +
			"periodSeconds: 2}": "until all postStart hooks have ended",
	} {
		got := findings(container)
		if len(got) != 1 || got[0].ID != check.SlowReady || !strings.Contains(got[0].Message, want) {
			t.Errorf("%s has the findings %+v, want the advice %q", container, got, want)
		}
	}
}

// TestMissedRequirements checks that 'probesim run' accepts the words that show a requirement on
// any row that is not met.
func TestMissedRequirements(t *testing.T) {
	manifest := pod("startupProbe: {httpGet: {port: 80}, periodSeconds: 2}\nlivenessProbe: {exec: {command: " +
		"[check]}}\n" +
		"readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 5}")
	for _, row := range check.Rows() {
		if row == check.Early {
			continue
		}
		q := check.Requirement{Row: row, Duration: 100 * time.Millisecond}
		if row.IsLimit() {
			q.Duration = time.Hour
		}
		v := checked(t, manifest, check.Options{Require: check.Requirements{q}}).Workloads[0].Requirements[0]
		if v.Met || len(v.App) == 0 != (row == check.Ready) {
			t.Errorf("%s: met %v, the words are %q", q, v.Met, v.App)
		}
		if _, _, err := whatif.Scenario(whatif.Options{Manifest: "web.yaml", Data: []byte(manifest),
			Words: v.App}); err !=
			nil {
			t.Errorf("%s: 'probesim run' does not accept %q: %v", q, v.App, err)
		}
	}
}

// TestVersionsDiffer checks a container whose liveness probe can stop a second start much earlier
// in the newest version than in an old one.
func TestVersionsDiffer(t *testing.T) {
	old, _ := profile.Named("v1.34")
	manifest := pod("startupProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 6}\nlivenessProbe: " +
		"{httpGet: {port: 80}, periodSeconds: 2}")
	var got []string
	for _, f := range checked(t, manifest,
		check.Options{Profiles: []profile.Profile{old, profile.Newest()}, Delays: "default"}).
		Workloads[0].Containers[0].Findings {
		got = append(got, string(f.ID)+": "+f.Message)
		if f.ID == check.VersionsDiffer && f.Kubernetes != "v1.37" {
			t.Errorf("the finding points to %s, not to the version whose restarts have less time", f.Kubernetes)
		}
	}
	want := "versions-differ: v1.34 and v1.37 differ. \"survives a restart of up to\": 50.0s and 4.0s; \"hung -> " +
		"Ready again\": 28.1s and 17.2s."
	if !slices.Contains(got, want) {
		t.Errorf("the findings are %q, want %q", got, want)
	}
}

// TestKubeletRestart checks which containers lose Ready for long when the kubelet restarts: since
// v1.35 none do, except in pods that are not ready anyway.
func TestKubeletRestart(t *testing.T) {
	old, _ := profile.Named("v1.34")
	broken := "  - name: broken\n    image: web:1\n    startupProbe: {httpGet: {port: nope}}\n"
	for _, test := range []struct {
		probes  string
		other   string // container
		profile profile.Profile
		want    string
	}{
		{"readinessProbe: {httpGet: {port: 80}, periodSeconds: 4, successThreshold: 3}", "", old,
			"A restart of the kubelet makes the healthy container not ready, for up to 5.1s: the kubelet of v1.34 " +
				"forgets the results of its probes, and the readiness probe needs 3 successes again."},
		{"readinessProbe: {httpGet: {port: 80}, periodSeconds: 4, successThreshold: 3}", "", profile.Newest(), ""},
		{"readinessProbe: {httpGet: {port: 80}}", broken, profile.Newest(), ""},
		{"readinessProbe: {httpGet: {port: 80}, periodSeconds: 4}", "", old, ""}, // it succeeds within milliseconds
		{"startupProbe: {httpGet: {port: 80}, periodSeconds: 8}\nreadinessProbe: {httpGet: {port: 80}, " +
			"periodSeconds: 4}", "", old,
			"A restart of the kubelet makes the healthy container not ready, for up to 4.0s: the kubelet of v1.34 " +
				"forgets the results of its probes."},
	} {
		got, manifest := "", pod(test.probes)+test.other
		for _, f := range checked(t, manifest, check.Options{Profiles: []profile.Profile{test.profile}}).
			Workloads[0].Containers[0].Findings {
			if f.ID == check.KubeletRestart {
				got = f.Message
				if _, _, err := whatif.Scenario(whatif.Options{Manifest: "web.yaml", Data: []byte(manifest),
					Words: f.App}); err != nil {
					t.Errorf("'probesim run' does not accept %q: %v", f.App, err)
				}
			}
		}
		if got != test.want {
			t.Errorf("%s%s, %s: the finding is %q, want %q", test.probes, test.other, test.profile.Version, got,
				test.want)
		}
	}
}

// TestSeldomOrder checks that a restart which is short in an unusual order of events only is no
// warning.
func TestSeldomOrder(t *testing.T) {
	manifest := pod("startupProbe: {httpGet: {path: /up, port: 80}, periodSeconds: 5, failureThreshold: "+
		"12}\nlivenessProbe: {httpGet: {path: /live, port: 80}, failureThreshold: 1}") +
		"  - name: side\n    image: side:1\n"
	list := checked(t, manifest, check.Options{Nodes: typical}).Workloads[0].Containers[0].Findings
	want := "After a liveness kill, the next start can have only 0s if the liveness probe runs before everything " +
		"else at its tick, and the first one always has 55.0s."
	if list = special(list); len(list) != 2 || list[1].Severity != check.Note || list[1].Message != want {
		t.Errorf("the findings are %+v, want the note %q", list, want)
	}
}

var typical, _ = fakeruntime.DelaySet("typical")

// TestStartKilledOnFewNodes checks that starts which only a young kubelet kills are as severe as
// those that others kill too: a finding about a limit below the longest start is an error, whatever
// share of the starts comes up.
func TestStartKilledOnFewNodes(t *testing.T) {
	manifest := pod("startupProbe: {httpGet: {port: 80}, periodSeconds: 30, failureThreshold: 3}")
	for _, longest := range []time.Duration{65 * time.Second, 90 * time.Second} {
		r := checked(t, manifest, check.Options{Start: value.Durations{Ordinary: &value.Interval{Min: 62 * time.Second,
			Max: longest}}})
		c := r.Workloads[0].Containers[0]
		i := slices.IndexFunc(c.Findings, func(f check.Finding) bool { return f.ID == check.StartKilled })
		if i < 0 || c.Findings[i].Severity != check.Error {
			t.Errorf("starts of up to %v: the findings are %+v", longest, c.Findings)
		}
	}
}

// TestRestartAfterSeveralCrashes checks that the finding says when a restart is short only after a
// back-off.
func TestRestartAfterSeveralCrashes(t *testing.T) {
	r := checked(t, pod("livenessProbe: {httpGet: {port: 80}, periodSeconds: 20, failureThreshold: 3}"),
		check.Options{Nodes: typical})
	list := r.Workloads[0].Containers[0].Findings
	i := slices.IndexFunc(list, func(f check.Finding) bool { return f.ID == check.ShortRestart })
	want := "After a crash, the next start can have only 20.0s if the container has crashed before, and the first " +
		"one always has 40.0s."
	if i < 0 || list[i].Message != want || list[i].Severity != check.Note {
		t.Errorf("the findings are %+v, want %q", list, want)
	}
}

// TestSlightlyShorterRestart checks that a restart with a fraction of a second less than the first
// start is no finding, even if the first start has hardly more.
func TestSlightlyShorterRestart(t *testing.T) {
	manifest := pod("livenessProbe: {httpGet: {port: 80}, periodSeconds: 2, failureThreshold: 1}")
	r := checked(t, manifest+"  - name: side\n    image: side:1\n", check.Options{Nodes: typical})
	list := r.Workloads[0].Containers[0].Findings
	if slices.ContainsFunc(list, func(f check.Finding) bool { return f.ID == check.ShortRestart }) {
		t.Errorf("the findings are %+v", list)
	}
}

// TestUnnoticedFailureSaysWhatDetects checks that the finding explains the time until SIGTERM
// that stands above it.
func TestUnnoticedFailureSaysWhatDetects(t *testing.T) {
	c := checked(t, pod("livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 2}"), check.Options{}).
		Workloads[0].Containers[0]
	if !slices.ContainsFunc(c.Times, func(x check.Time) bool { return x.Row == check.Detect && !x.Worst.IsNever() }) {
		t.Fatalf("the times are %+v", c.Times)
	}
	if !slices.ContainsFunc(c.Findings, func(f check.Finding) bool {
		return f.ID == check.UnnoticedFailure &&
			strings.HasSuffix(f.Message, "connections that are lost: the time until SIGTERM is about these.")
	}) {
		t.Errorf("the findings are %+v", c.Findings)
	}
}

// TestStoppedFirst checks the times in the finding about a liveness probe that asks another
// endpoint and is always first: its three failures, and those of the readiness probe after up to a
// period.
func TestStoppedFirst(t *testing.T) {
	list := checked(t, pod(`
livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 2, failureThreshold: 3}
readinessProbe: {httpGet: {path: /ready, port: 80}, periodSeconds: 5, failureThreshold: 3}`), check.Options{}).
		Workloads[0].Containers[0].Findings
	if list = special(list); len(list) != 2 || list[1].ID != check.NoTimeToRecover ||
		!strings.Contains(list[1].Message, "An outage of 4.0s can restart") ||
		!strings.Contains(list[1].Message, "needs up to 15.1s.") {
		t.Errorf("the findings are %+v", list)
	}
}
