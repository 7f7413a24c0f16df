package reconstruct

import (
	"regexp"
	"strings"
	"testing"

	"probesim.dev/incident"
	"probesim.dev/incident/cluster"
)

// TestBurst checks that a count of failures is a lower bound if the kubelet drops later warnings: they are soon after the last recorded one.
func TestBurst(t *testing.T) {
	rec := simulated(t, strings.Replace(readiness, "periodSeconds: 10", "periodSeconds: 1", 1), "{at: 31s, for: 60s, readiness: 503}")
	m, err := newModel(rec, rec.Pods[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.claims(cluster.Zero) {
		if strings.HasPrefix(c.Says, "25 times") {
			if !strings.Contains(c.expect, "count: 25.., ") {
				t.Errorf("%s: {%s}", c.Says, c.expect)
			}
			return
		}
	}
	t.Error("no event has 25 failures")
}

// TestErrorsOfCommands checks that a command that could not run because its container had ended, and one that could not run because the kubelet
// did not reach the runtime, are different facts, unless another error of the probe does not tell its cause.
func TestErrorsOfCommands(t *testing.T) {
	const (
		gone = "Readiness probe errored and resulted in unknown state: rpc error: code = Unknown desc = failed to exec in container: container is in CONTAINER_EXITED state"
		away = `Readiness probe errored and resulted in unknown state: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused"`
	)
	for _, test := range []struct {
		told  bool
		alike bool
	}{{true, false}, {false, true}} {
		for _, message := range []string{gone, away} {
			text := pattern(message, incident.ParseUnhealthy(message), test.told)
			words := regexp.MustCompile(strings.Trim(text, "/"))
			if !words.MatchString(message) || words.MatchString(gone) && words.MatchString(away) != test.alike {
				t.Errorf("the pattern %q of %q", text, message)
			}
		}
	}
}
