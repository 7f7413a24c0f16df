package simulate

import (
	"context"
	"strings"
	"testing"
	"time"

	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// TestRecordLimit checks that a run whose trace exceeds the limit ends with an error.
func TestRecordLimit(t *testing.T) {
	all, err := scenarios.Load("../library/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	plan := all[0].Plan("v1.37.0", nil)
	for limit, want := range map[int64]string{1: "stopped at 1m: more than 1 records; use fewer pods", 1000: ""} {
		n := node.New(node.Options{})
		plan.Drive(n)
		err := runUntil(context.Background(), n, virtual.At(time.Minute), limit, func(virtual.Time) {})
		n.Close()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("with a limit of %d records: %v, want %q", limit, err, want)
		}
	}
}
