package fakeruntime

import (
	"math/bits"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
)

// ControlDelays are the latencies of a control plane.
type ControlDelays struct {
	Watch    Latency // from a change in the API server until a controller or a router sees it
	Call     Latency // of a call of a controller to the API server
	Schedule Latency // until the scheduler has bound a pod
	Sync     Latency // until kube-proxy has written its rules
}

// Latency is a latency with a long tail: 19 of 20 are from Min to Usual, and one is from Usual to
// Max. Short ones are more frequent: half of the latencies in each part are in its lowest quarter.
type Latency struct{ Min, Usual, Max time.Duration }

// Median returns the latency that half of them do not exceed.
func (l Latency) Median() time.Duration { return l.Min + (l.Usual-l.Min)*100/361 } // (10/19)^2 of the lower part

// ControlDelaySet returns the latencies of a control plane beside a kind of node: fast, typical or
// slow. docs/nodes.md says what they are taken from. It returns false for other names.
func ControlDelaySet(name string) (ControlDelays, bool) {
	set := slices.Index(delaySets, name)
	if set < 0 {
		return ControlDelays{}, false
	}
	type ms = [3]int // Min, Usual and Max
	latency := func(of ...ms) Latency {
		at := func(i int) time.Duration { return time.Duration(of[set][i]) * time.Millisecond }
		return Latency{at(0), at(1), at(2)}
	}
	return ControlDelays{
		Watch:    latency(ms{1, 10, 40}, ms{1, 40, 500}, ms{10, 450, 1000}),
		Call:     latency(ms{2, 4, 16}, ms{2, 25, 500}, ms{10, 100, 1000}),
		Schedule: latency(ms{2, 8, 40}, ms{2, 20, 500}, ms{10, 500, 1000}),
		Sync:     latency(ms{10, 50, 50}, ms{20, 200, 200}, ms{100, 2800, 2800}),
	}, true
}

// Latency returns a random latency of an operation that begins now and is not part of a node, such
// as a call of a controller. The key names the operation. It returns false without a seed.
func (r *Runtime) Latency(now virtual.Time, key string, l Latency) (time.Duration, bool) {
	k := r.scope.key.named(key).with(int64(now))
	if !k.seeded {
		return 0, false
	}
	least, most := l.Min, l.Usual
	if k.hash%20 == 0 {
		least, most = l.Usual, l.Max
	}
	x := k.with(0).hash // a fraction of 2^64
	square, _ := bits.Mul64(x, x)
	above, _ := bits.Mul64(square, uint64(most-least)+1)
	return least + time.Duration(above), true
}
