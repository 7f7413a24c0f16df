package ginkgokit_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/node"
	"probesim.dev/probetest"
)

// inMisuse is the environment variable that adds the specs of this file to the suite.
const inMisuse = "GINKGOKIT_MISUSE"

var _ = ginkgo.Describe("misuse", func() {
	if os.Getenv(inMisuse) == "" {
		return
	}
	within := func(timeout time.Duration, handler http.HandlerFunc) *probetest.Node {
		n := probetest.NewNode(ginkgo.GinkgoTB(), probetest.NodeOptions{HandlerTimeout: timeout})
		probe := &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
		n.AddPod(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "a", ReadinessProbe: probe}}},
		}, probetest.Behavior{"app": {{Handler: handler}}})
		return n
	}
	with := func(handler http.HandlerFunc) *probetest.Node { return within(time.Minute, handler) }
	ok := func(http.ResponseWriter, *http.Request) {}
	ginkgo.It("a handler panics", func() {
		with(func(http.ResponseWriter, *http.Request) { panic("out of order") }).Advance(time.Minute)
	})
	ginkgo.It("a handler hangs", func() {
		until := make(chan struct{})
		defer close(until)
		within(20*time.Millisecond, func(http.ResponseWriter, *http.Request) { <-until }).Advance(time.Minute)
	})
	ginkgo.It("an assertion fails in a handler", func() {
		with(func(http.ResponseWriter, *http.Request) {
			gomega.Expect("in the handler").To(gomega.BeEmpty())
		}).Advance(time.Minute)
	})
	ginkgo.It("an assertion fails in a function of At", func() {
		n := with(ok)
		n.At(time.Second, func(*node.Node) { gomega.Expect("in the function").To(gomega.BeEmpty()) })
		n.Advance(time.Minute)
	})
	ginkgo.It("a function of At panics", func() {
		n := with(ok)
		n.At(time.Second, func(*node.Node) { panic("out of order") })
		n.Advance(time.Minute)
	})
	ginkgo.It("Advance in a function of At", func() {
		n := with(ok)
		n.Do(func(*node.Node) { n.Advance(time.Second) })
		n.Advance(time.Minute)
	})
	ginkgo.Describe("one node for two specs", ginkgo.Ordered, func() {
		var n *probetest.Node
		ginkgo.It("creates it", func() { n = with(ok); n.Advance(time.Second) })
		ginkgo.It("uses it", func() { n.Advance(time.Second) })
	})
})

// TestMisuse checks how specs fail that misuse a node: each with its reason, and without an effect
// on other specs.
func TestMisuse(t *testing.T) {
	for focus, want := range map[string][]string{
		"a handler panics": {"[FAILED] the handler of the container web/app panicked: out of " +
			"order\n", "GET http://10.64.0.1:80/\n", "/ginkgokit/misuse_test.go:"},
		"a handler hangs": {"[FAILED] the handler of the container web/app did not respond " +
			"within 20ms of real time.\n", "/ginkgokit/misuse_test.go:"},
		"an assertion fails in a handler":        {"[FAILED] Expected\n", "<string>: in the handler\n"},
		"an assertion fails in a function of At": {"[FAILED] Expected\n", "<string>: in the function\n"},
		"a function of At panics":                {"[FAILED] the function of At at ", " panicked: out of order\n"},
		"Advance in a function of At": {"[FAILED] the function of Do at ", "Advance at ",
			"the node is in use by the function of Do at "},
		"one node for two specs": {"[FAILED] Advance at ", ": the node is closed, by Close at "},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSuite$", "-ginkgo.no-color", "-ginkgo.focus=misuse "+focus)
		cmd.Env = append(os.Environ(), inMisuse+"=yes", inSuite+"=testdata/suite/web.yaml")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "| 1 Failed |") ||
			strings.Contains(string(out), "Your Test Panicked") {
			t.Errorf("%s: not one spec failed\n%s", focus, out)
		}
		for _, text := range want {
			if !strings.Contains(strings.ReplaceAll(string(out), "\n  ", "\n"), text) {
				t.Errorf("%s: the output has no %q\n%s", focus, text, out)
			}
		}
	}
}
