package realkubelet

import (
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"sync"
	_ "unsafe" // for linkname

	_ "k8s.io/apimachinery/pkg/util/wait"

	"probesim.dev/sim/virtual"
)

// DefaultJitter is the fraction of every jitter if Options.Jitter is nil: the middle value.
const DefaultJitter = 0.5

// Draw is a random number that the kubelet drew in wait.Jitter.
type Draw struct {
	T     virtual.Time // virtual time since t=0
	Value float64      // at least 0 and less than 1
	// Requeue is true if a pod worker drew the number at the end of a sync, or for a static pod
	// that cannot start yet. Other draws do not affect the trace.
	Requeue bool
}

// jitterRand is the random source of wait.Jitter (k8s.io/apimachinery pkg/util/wait/wait.go, since
// v0.33). The kubelet uses wait.Jitter for the requeues of pod workers (pkg/kubelet/pod_workers.go,
// completeWork) and for the period of its node status.
//
//go:linkname jitterRand k8s.io/apimachinery/pkg/util/wait.jitterRand
var jitterRand func() float64

// jitter is a random source that records its draws.
type jitter struct {
	draw func(t virtual.Time) float64
	now  func() virtual.Time
	// counts reports whether the current goroutine does not belong to a stopped kubelet.
	counts func() bool

	mu     sync.Mutex
	draws  []Draw
	closed bool
}

func (j *jitter) next() float64 {
	counts := j.counts()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || !counts {
		return DefaultJitter
	}
	d := Draw{T: j.now(), Value: DefaultJitter,
		Requeue: calledBy("podWorkers).completeWork", "podWorkers).allowPodStart")}
	if j.draw != nil {
		d.Value = j.draw(d.T)
	}
	j.draws = append(j.draws, d)
	return d.Value
}

// calledBy reports whether a function whose name has one of the suffixes is on the stack.
func calledBy(suffixes ...string) bool {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(frame.Function, s) }) {
			return true
		}
		if !more {
			return false
		}
	}
}

// close returns the draws. Later draws, while the kubelet is torn down, do not count.
func (j *jitter) close() []Draw {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	return j.draws
}

// seedStart makes the random delay before the first run of young probe workers repeatable. A worker
// is young if the kubelet's age is less than the probe's period (pkg/kubelet/prober/worker.go,
// run). The delay comes from the global source of math/rand, which rand.Seed affects only with
// GODEBUG=randseednop=0; go.mod sets it. Besides the probe workers, only the reflectors of
// client-go draw from this source, when they start to watch.
func seedStart(seed int64) {
	rand.Seed(seed) //nolint:staticcheck // the only way to seed the source of the kubelet's rand.Float64
}

// startDraws returns all draws since seedStart, in order.
func startDraws(seed int64) []float64 {
	next := rand.Float64()
	var draws []float64
	for source := rand.New(rand.NewSource(seed)); len(draws) < 1<<16; {
		value := source.Float64()
		if value == next {
			return draws
		}
		draws = append(draws, value)
	}
	return nil
}
