package realkubelet

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "unsafe" // for linkname

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
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
