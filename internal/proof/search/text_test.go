package search

import (
	"testing"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestCalls checks that the calls of both sides are shown by time, with marks at those that only
// one side has.
func TestCalls(t *testing.T) {
	call := func(t virtual.Time, method string) trace.Record {
		return trace.Record{T: t, Kind: trace.CRICall, Pod: "default/web", Reason: method}
	}
	real := []trace.Record{call(1, "b"), call(1, "a"), {T: 1, Kind: trace.PodAdded}, call(3, "c")}
	d := Divergence{At: 2, Simulated: []trace.Record{call(1, "a"), call(2, "x"), call(3, "c"), call(4, "y")}}
	want := `calls around the difference (- real kubelet, + simulator)
        0.000s  web  a
-       0.000s  web  b
+       0.000s  web  x
        0.000s  web  c
+       0.000s  web  y
`
	if got := d.Calls(real); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
