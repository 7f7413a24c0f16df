package program

import (
	"flag"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/internal/value"
)

// Each run draws the same examples, unless -rapid.seed says otherwise.
var _ = flag.Set("rapid.seed", "1")

func TestSleepOf(t *testing.T) {
	for _, test := range []struct {
		command string // arguments separated by ¦
		slept   time.Duration
		isAll   bool
	}{
		{"sleep¦10", 10 * time.Second, true},
		{"/bin/sleep¦10", 10 * time.Second, true},
		{"sleep¦1m¦30", 90 * time.Second, true},
		{"sleep¦0.5s", 500 * time.Millisecond, true},
		{"sleep¦2h", 2 * time.Hour, true},
		{"sleep¦1000d", value.MaxDuration, true},
		{"sh¦-c¦sleep 10", 10 * time.Second, true},
		{"/bin/sh¦-c¦sleep 10", 10 * time.Second, true},
		{"/bin/bash¦-e¦-c¦sleep 10", 10 * time.Second, true},
		{"bash¦-ec¦exec sleep '10'", 10 * time.Second, true},
		{"sh¦-c¦sleep 5; echo done && sleep 5s\nexit 0", 10 * time.Second, true},
		{"sh¦-c¦sleep 10 && kill -s QUIT 1", 10 * time.Second, true},
		{"sh¦-c¦sleep 10; /usr/sbin/nginx -s quit", 10 * time.Second, true},
		{"sh¦-c¦true", 0, true},
		{"nginx¦-s¦quit", 0, true},
		{"sh¦-c¦sleep 5 && kill $(pidof nginx)", 5 * time.Second, true},
		{"sh¦-c¦sleep 5 && kill -QUIT `cat /run/nginx.pid`", 5 * time.Second, true},
		{"sh¦-c¦sleep 5; kill -s TERM \"$(cat \"${PID_FILE:-/run/x.pid}\")\" >/dev/null 2>&1", 5 * time.Second, true},
		{"sh¦-c¦sleep 5 && nginx -s quit || true", 5 * time.Second, true},
		{"sh¦-c¦sleep 5 || true", 5 * time.Second, true},
		{"sh¦-c¦sleep 5 || sleep 7; sleep 2", 7 * time.Second, true},
		{"sh¦-c¦# drain\nsleep 5 # seconds\n\nkill 1\n", 5 * time.Second, true},
		{"sh¦-c¦DELAY=3 sleep '5' >> /proc/1/fd/1", 5 * time.Second, true},
		{"sh¦-c¦A=1; sleep 5", 5 * time.Second, true},
		{"sh¦-c¦A=1 && sleep 5 || A=2", 5 * time.Second, true},
		{"sh¦-c¦echo 'a && b | c'; sleep 5", 5 * time.Second, true},
		{"sh¦-c¦echo $(sleep 2; hostname); sleep 5", 7 * time.Second, false},
		{"sh¦-c¦kill $((1 + 1)); sleep 5", 5 * time.Second, true},
		{"sh¦-c¦sleep 5; while pgrep nginx; do sleep 1; done", 5 * time.Second, false},
		{"sh¦-c¦sleep 5; wait", 5 * time.Second, false},
		{"sh¦-c¦sleep 5; (sleep 3)", 5 * time.Second, false},
		{"sh¦-c¦test -f /tmp/drain && sleep 5", 0, false},
		{"sh¦-c¦pgrep nginx || sleep 5", 0, false},
		{"sh¦-c¦sleep $(cat /delay)", 0, false},
		{"sh¦-c¦sleep \"${DELAY}\"", 0, false},
		{"sh¦-c¦sleep 5 | cat", 0, false},
		{"sh¦-c¦sleep 5 <<E\nE", 0, false},
		{"sh¦-c¦sleep '5", 0, false},
		{"sh¦-c¦kill $(sleep 5", 0, false},
		{"sh¦-c¦&& sleep 5", 0, false},
		{"sh¦-c¦sleep 5;;", 5 * time.Second, false},
		{"sh¦-c¦$(sleep 3)", 3 * time.Second, false},
		{"sh¦-c¦sleep $DELAY", 0, false},
		{"sh¦-c¦sleep 10 &", 0, false},
		{"sh¦-c¦a || sleep 10", 0, false},
		{"sh¦-c¦while true; do sleep 1; done", 0, false},
		{"sh¦-c¦if a; then sleep 10; fi", 0, false},
		{"sh¦/stop.sh", 0, false},
		{"sh¦-c", 0, false},
		{"sleep", 0, false},
		{"sleep¦infinity", 0, false},
		{"sleep¦-1", 0, false},
		{"sleep¦NaN", 0, false},
		{"", 0, false},
	} {
		if slept, isAll := SleepOf(strings.Split(test.command, "¦")); slept != test.slept || isAll != test.isAll {
			t.Errorf("%q sleeps %s, %t, want %s, %t", test.command, slept, isAll, test.slept, test.isAll)
		}
	}
}

// TestSleepOfAnyScript checks that no script makes SleepOf panic, or return a time that no scenario
// can have.
func TestSleepOfAnyScript(t *testing.T) {
	piece := rapid.SampledFrom([]string{"sleep", "5", "kill", " ", " ", ";", "&&", "||", "|", "&", "\n", "$(", ")",
		"${", "}", "`", "\"", "'", "\\", "#", ">", "<<", "exec", "A=", "if", "$", "*", "é"})
	rapid.Check(t, func(t *rapid.T) {
		script := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "script"), "")
		if slept, _ := SleepOf([]string{"sh", "-c", script}); slept < 0 || slept > value.MaxDuration {
			t.Errorf("%q sleeps %s", script, slept)
		}
	})
	for _, part := range []string{"$(", "`", "(", "#\n", "\\a", "\"", "sleep 5;", "$(sleep 5)"} {
		SleepOf([]string{"sh", "-c", strings.Repeat(part, 200_000)})
	}
}
