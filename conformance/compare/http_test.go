package compare

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/conformance/realkubelet"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
)

// requests are requests of httpGet probes and hooks.
var requests = []v1.HTTPGetAction{
	{},
	{Path: "/healthz?full=1&x"},
	{Path: "relative"},
	{Path: "//elsewhere/up?q#fragment"},
	{Path: "/a b/%2f/é"},
	{Path: "%zz\x01"},
	{Path: "?"},
	{Path: "/;x=[1]|"},
	{Host: "::1", Path: "/six"},
	{Host: "127.0.0.1", Scheme: v1.URISchemeHTTPS},
	{HTTPHeaders: []v1.HTTPHeader{{Name: "Host", Value: "shop.example.com"}}},
	{HTTPHeaders: []v1.HTTPHeader{{Name: "host", Value: "shop.example.com:81"}, {Name: "Host", Value: "other"}}},
	{HTTPHeaders: []v1.HTTPHeader{{Name: "accept", Value: "text/plain"}, {Name: "user-agent", Value: "mine"}}},
	{HTTPHeaders: []v1.HTTPHeader{{Name: "Accept", Value: ""}, {Name: "User-Agent", Value: ""}}},
	{HTTPHeaders: []v1.HTTPHeader{{Name: "X-A", Value: "1"}, {Name: "x-a", Value: " 2 "},
		{Name: "Authorization", Value: "Basic eDp5"}}},
	{HTTPHeaders: []v1.HTTPHeader{{Name: "Connection", Value: "keep-alive"}, {Name: "Accept-Encoding", Value: "gzip"}}},
	overHTTP2(v1.HTTPGetAction{Path: "/up?x"}),
	overHTTP2(v1.HTTPGetAction{HTTPHeaders: []v1.HTTPHeader{{Name: "Host", Value: "shop.example.com:81"},
		{Name: "Connection", Value: "close"}, {Name: "keep-alive", Value: "1"}, {Name: "X-A", Value: " 2 "}}}),
}

// overHTTP2 sets the protocol to HTTP2 if the release has the field.
func overHTTP2(get v1.HTTPGetAction) v1.HTTPGetAction {
	if f := reflect.ValueOf(&get).Elem().FieldByName("Protocol"); f.IsValid() {
		f.Set(reflect.New(f.Type().Elem()))
		f.Elem().SetString("HTTP2")
	}
	return get
}

// http2 enables HTTP/2 probes. The feature gate does not affect the other requests.
var http2 = kubeletconfig.Config{FeatureGates: map[string]bool{"H2CContainerProbe": true}}

// TestRequests checks that a program sees the same requests, including redirects, from the real
// kubelet and the simulator.
func TestRequests(t *testing.T) {
	for i, action := range requests {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			want, got := &requestLog{}, &requestLog{}
			if _, err := realkubelet.Run(t, realkubelet.Options{Duration: 12 * time.Second, Config: http2},
				want.drive(&action)); err != nil {
				t.Fatal(err)
			}
			kubelet, err := profile.Newest().SetGate("H2CContainerProbe", true)
			if err != nil {
				t.Fatal(err)
			}
			n := node.New(node.Options{Profile: kubelet})
			defer n.Close()
			got.drive(&action)(n)
			if err := n.RunUntil(virtual.At(12 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.seen, got.seen); diff != "" || len(want.seen) < 6 {
				t.Errorf("%d requests (- real kubelet, + simulator):\n%s", len(want.seen), diff)
			}
		})
	}
}

// requestLog is a program that records its requests. It redirects every request to /end, except
// requests for /end itself.
type requestLog struct{ seen []string }

func (l *requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	seen := fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Proto, " ", r.Host, " ", r.URL, " ", r.Header, " ", r.Close)
	// Release builds set the version in the User-Agent header (hack/lib/version.sh); test binaries
	// do not.
	l.seen = append(l.seen, userAgentVersion.Replace(seen))
	if r.URL.Path != "/end" {
		http.Redirect(w, r, "/end?x", http.StatusFound)
	}
}

var userAgentVersion = strings.NewReplacer("[kube-probe/.]", "[kube-probe/1.37]", "[kube-lifecycle/.]",
	"[kube-lifecycle/1.37]")

// drive returns a function that adds a pod with the action as its probe and hook, and with l as its
// program.
func (l *requestLog) drive(action *v1.HTTPGetAction) func(drive.World) {
	action = action.DeepCopy()
	if action.Port == (intstr.IntOrString{}) {
		action.Port = intstr.FromInt(8080)
	}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{
		Name: "app", Image: "app:1", LivenessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: action},
			PeriodSeconds: 5},
		Lifecycle: &v1.Lifecycle{PostStart: &v1.LifecycleHandler{HTTPGet: action.DeepCopy()}},
	}}}}
	pod.Name = "web"
	admission.Default(pod)
	handled := &fakeruntime.Series{
		Items: []fakeruntime.Item{{Answer: fakeruntime.Answer{Word: fakeruntime.Answers, Handler: l}}}}
	program := fakeruntime.Pod{UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Containers: map[string]fakeruntime.ContainerConfig{
			"app": {Program: fakeruntime.Program{Rules: []fakeruntime.Rule{{Probes: handled, PostStart: handled}}}},
		}}
	return func(w drive.World) { w.At(0, func() { w.AddAdmitted(pod, program) }) }
}
