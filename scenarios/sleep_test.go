package scenarios

import (
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/value"
)

func TestSleepOf(t *testing.T) {
	for _, test := range []struct {
		command string // arguments separated by bars
		slept   time.Duration
		isAll   bool
	}{
		{"sleep|10", 10 * time.Second, true},
		{"/bin/sleep|10", 10 * time.Second, true},
		{"sleep|1m|30", 90 * time.Second, true},
		{"sleep|0.5s", 500 * time.Millisecond, true},
		{"sleep|2h", 2 * time.Hour, true},
		{"sleep|1000d", value.MaxDuration, true},
		{"sh|-c|sleep 10", 10 * time.Second, true},
		{"/bin/sh|-c|sleep 10", 10 * time.Second, true},
		{"/bin/bash|-e|-c|sleep 10", 10 * time.Second, true},
		{"bash|-ec|exec sleep '10'", 10 * time.Second, true},
		{"sh|-c|sleep 5; echo done && sleep 5s\nexit 0", 10 * time.Second, true},
		{"sh|-c|sleep 10 && kill -s QUIT 1", 10 * time.Second, true},
		{"sh|-c|sleep 10; /usr/sbin/nginx -s quit", 10 * time.Second, false},
		{"sh|-c|true", 0, true},
		{"nginx|-s|quit", 0, false},
		{"sh|-c|sleep $DELAY", 0, false},
		{"sh|-c|sleep 10 &", 0, false},
		{"sh|-c|a || sleep 10", 0, false},
		{"sh|-c|while true; do sleep 1; done", 0, false},
		{"sh|-c|if a; then sleep 10; fi", 0, false},
		{"sh|/stop.sh", 0, false},
		{"sh|-c", 0, false},
		{"sleep", 0, false},
		{"sleep|infinity", 0, false},
		{"sleep|-1", 0, false},
		{"sleep|NaN", 0, false},
		{"", 0, false},
	} {
		if slept, isAll := SleepOf(strings.Split(test.command, "|")); slept != test.slept || isAll != test.isAll {
			t.Errorf("%q sleeps %s, %t, want %s, %t", test.command, slept, isAll, test.slept, test.isAll)
		}
	}
}
