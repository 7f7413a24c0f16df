package realkubelet

import (
	"math/rand"
	"runtime"
	"strings"
	"sync"
	_ "unsafe" // for linkname

	_ "k8s.io/apimachinery/pkg/util/wait"

	"probesim.dev/sim/virtual"
)

// DefaultJitter is the part of every jitter that is drawn when Options say nothing: the middle.
const DefaultJitter = 0.5

// Draw is a random number that the kubelet drew with wait.Jitter.
type Draw struct {
	T     virtual.Time // virtual time since t=0
	Value float64      // from 0 up to, not including, 1
	// Requeue says that a pod worker drew it at the end of a sync; the other draws decide nothing that a
	// trace shows.
	Requeue bool
}

// jitterRand is the source of wait.Jitter (k8s.io/apimachinery pkg/util/wait/wait.go, from v0.33 on),
// which the kubelet uses for the requeues of pod workers (pkg/kubelet/pod_workers.go, completeWork) and
// for the period of its node status.
//
//go:linkname jitterRand k8s.io/apimachinery/pkg/util/wait.jitterRand
var jitterRand func() float64

// jitter is a source of random numbers that remembers what it gave.
type jitter struct {
	draw func(t virtual.Time) float64
	now  func() virtual.Time
	// counts reports whether what draws now is not part of a kubelet that was stopped.
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
	d := Draw{T: j.now(), Value: DefaultJitter, Requeue: calledBy("podWorkers).completeWork")}
	if j.draw != nil {
		d.Value = j.draw(d.T)
	}
	j.draws = append(j.draws, d)
	return d.Value
}

// calledBy reports whether a function whose name ends so is on the stack.
func calledBy(suffix string) bool {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, suffix) {
			return true
		}
		if !more {
			return false
		}
	}
}

// close returns what was drawn; what is drawn while the kubelet is torn down does not count.
func (j *jitter) close() []Draw {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	return j.draws
}

// seedStart pins the delay before the first run of the probe workers that start while the kubelet is
// younger than their period (pkg/kubelet/prober/worker.go, run). It is drawn from math/rand's own source,
// which can be seeded only with GODEBUG=randseednop=0; go.mod says so. Of what runs here only the reflectors
// of client-go draw from it too, when they begin to watch.
func seedStart(seed int64) {
	rand.Seed(seed) //nolint:staticcheck // the only way to reach the source of somebody else's rand.Float64
}

// startDraws returns what was drawn since seedStart, in the order of the draws.
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
