package realkubelet

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"probesim.dev/conformance/kubelet/release"
)

// process serializes runs, because the kubelet has global state.
var process sync.Mutex

// teardown is the virtual time that goroutines have to notice that the kubelet stops.
const teardown = 5 * time.Minute

// inBubble runs f under virtual time, which starts at midnight of 1 January 2000 UTC.
func inBubble(t *testing.T, jitter func() func() float64, f func() error) (err error) {
	process.Lock()
	defer process.Unlock()
	klog.SetLogger(logr.Discard())
	defer restore(&wait.NeverStop, wait.NeverStop)
	defer restore(&jitterRand, jitterRand)
	defer restore(&utilruntime.ErrorHandlers, utilruntime.ErrorHandlers)
	// The default handlers sleep if the last error was less than a millisecond ago, even if it was in another
	// bubble.
	utilruntime.ErrorHandlers = nil

	leave := func() {}
	defer func() { leave() }()
	returned := false
	defer func() {
		// Some goroutines of the kubelet never end, so synctest panics when the bubble ends.
		if p := recover(); p != nil && !returned {
			err = fmt.Errorf("the virtual clock stopped: %v", p)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		// A goroutine that waits on a channel from outside the bubble does not count as durably blocked.
		stop := make(chan struct{})
		setClock(0)
		wait.NeverStop = stop
		jitterRand = jitter()
		leave = release.EnterBubble()
		err = f()
		close(stop)
		returned = true
		time.Sleep(teardown)
	})
	return err
}

func restore[T any](to *T, value T) { *to = value }
