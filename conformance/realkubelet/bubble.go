package realkubelet

import (
	"fmt"
	"iter"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "unsafe" // for linkname

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"probesim.dev/sim/virtual"
)

// process serializes runs, because the kubelet has global state.
var process sync.Mutex

// teardown is the virtual time that goroutines have to notice that the kubelet stops.
const teardown = 5 * time.Minute

// neverExitWatch is a channel on which the reflectors of client-go up to v0.34 wait
// (tools/cache/reflector.go). Later releases do not have it.
//
//go:linkname neverExitWatch k8s.io/client-go/tools/cache.neverExitWatch
var neverExitWatch <-chan time.Time

// inBubble runs f under virtual time, which starts at midnight of 1 January 2000 UTC.
func inBubble(t *testing.T, jitter func() func() float64, f func() error) (err error) {
	process.Lock()
	defer process.Unlock()
	klog.SetLogger(logr.Discard())
	defer restore(&wait.NeverStop, wait.NeverStop)
	defer restore(&neverExitWatch, neverExitWatch)
	defer restore(&jitterRand, jitterRand)
	defer restore(&utilruntime.ErrorHandlers, utilruntime.ErrorHandlers)
	// The default handlers sleep if the last error was less than a millisecond ago, even if it was
	// in another bubble.
	utilruntime.ErrorHandlers = nil

	returned := false
	defer func() {
		// Some goroutines of the kubelet never end, so synctest panics when the bubble ends.
		if p := recover(); p != nil && !returned {
			err = fmt.Errorf("the virtual clock stopped: %v", p)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		// A goroutine that waits on a channel from outside the bubble does not count as durably
		// blocked.
		stop := make(chan struct{})
		setClock(0)
		wait.NeverStop = stop
		jitterRand = jitter()
		neverExitWatch = make(chan time.Time)
		err = f()
		close(stop)
		returned = true
		time.Sleep(teardown)
	})
	return err
}

func restore[T any](to *T, value T) { *to = value }

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
	for frame := range callers() {
		if slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(frame, s) }) {
			return true
		}
	}
	return false
}

// callers iterates over the names of the functions on the stack, the innermost first.
func callers() iter.Seq[string] {
	return func(yield func(string) bool) {
		var pcs [100]uintptr
		frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
		for frame, more := frames.Next(); more && yield(frame.Function); frame, more = frames.Next() {
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
