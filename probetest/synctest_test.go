package probetest_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	. "probesim.dev/probetest"
)

// A node leaves no goroutine behind, so a test can use one in a bubble of testing/synctest. Time
// there is the clock of a handler, which here is stale when nothing was synced for 45 seconds.
func TestHandlerInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lastSync := time.Now()
		ready := func(w http.ResponseWriter, _ *http.Request) {
			if time.Since(lastSync) > 45*time.Second {
				http.Error(w, "stale", http.StatusServiceUnavailable)
			}
		}
		n := NewNode(t, NodeOptions{})
		web := n.AddPod(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: v1.PodSpec{Containers: []v1.Container{{
				Name: "app", Image: "web:1",
				ReadinessProbe: &v1.Probe{
					ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(8080)}},
					PeriodSeconds: 5,
				},
			}}},
		}, Behavior{"app": {{Handler: http.HandlerFunc(ready)}}})
		for range 120 {
			time.Sleep(time.Second)
			n.Advance(time.Second)
		}
		NewWithT(t).Expect(web).To(HaveReadyIntervals(ReadyInterval{
			From: BeNumerically("<", 10*time.Second), To: BeNumerically("~", time.Minute, 5*time.Second),
		}))
	})
}

// cache is a program that syncs every 10 s, on a goroutine of its own, and is stale when it has not
// synced for 45 s.
type cache struct{ synced atomic.Pointer[time.Time] }

func (c *cache) run(ctx context.Context, source func() error) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		if source() == nil {
			c.synced.Store(new(time.Now()))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *cache) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if synced := c.synced.Load(); synced == nil || time.Since(*synced) > 45*time.Second {
		http.Error(w, "stale", http.StatusServiceUnavailable)
	}
}

// The program has timers and goroutines of package time. Both clocks move in steps of a second.
func TestProgramInABubble(t *testing.T) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "web:1", ReadinessProbe: &v1.Probe{
			ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(8080)}},
			PeriodSeconds: 5,
		}}}},
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()       // a bubble ends when its goroutines have ended
		var down atomic.Bool // the program reads it on its goroutine
		c := &cache{}
		go c.run(ctx, func() error {
			if down.Load() {
				return errors.New("the source is down")
			}
			return nil
		})
		n := NewNode(t, NodeOptions{})
		web := n.AddPod(pod, Behavior{"app": {{Handler: c}}})
		advance := func(by time.Duration) {
			for range by / time.Second {
				time.Sleep(time.Second) // moves the clock of the program
				synctest.Wait()         // until its goroutines have done what is due
				n.Advance(time.Second)  // moves the node
			}
		}
		advance(time.Minute)
		down.Store(true)
		advance(2 * time.Minute)
		NewWithT(t).Expect(web).To(HaveReadyIntervals(ReadyInterval{From: BeNumerically("<", 10*time.Second),
			To: BeNumerically("~", 110*time.Second, 10*time.Second)}))
	})
}
