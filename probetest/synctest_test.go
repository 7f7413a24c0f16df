package probetest_test

import (
	"net/http"
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
