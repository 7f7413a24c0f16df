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

// process is held during a run: the kubelet has state that belongs to the process.
var process sync.Mutex

// teardown is the virtual time that goroutines have to see that the kubelet is to stop.
const teardown = 5 * time.Minute

// inBubble runs f under virtual time, which begins at midnight of 1 January 2000 UTC.
func inBubble(t *testing.T, jitter func() func() float64, f func() error) (err error) {
	process.Lock()
	defer process.Unlock()
	klog.SetLogger(logr.Discard())
	defer restore(&wait.NeverStop, wait.NeverStop)
	defer restore(&jitterRand, jitterRand)
	defer restore(&utilruntime.ErrorHandlers, utilruntime.ErrorHandlers)
	// The default ones sleep so long as the last error was less than a millisecond ago, also when that
	// error was in another bubble.
	utilruntime.ErrorHandlers = nil

	leave := func() {}
	defer func() { leave() }()
	returned := false
	defer func() {
		// Some of the kubelet's goroutines never end. synctest says so with a panic.
		if p := recover(); p != nil && !returned {
			err = fmt.Errorf("the virtual clock stopped: %v", p)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		// A channel from outside the bubble would not be known to block for good.
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
