package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// An http.Handler can answer the probes of a container.
func TestHandler(t *testing.T) {
	asked := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch {
		case r.URL.Path == "/login":
			fmt.Fprintf(w, "%s of %s for %s", r.Method, r.Host, r.UserAgent())
		case asked == 1:
			http.Redirect(w, r, "/login", http.StatusSeeOther)
		case asked == 3:
			w.WriteHeader(http.StatusTeapot)
		case asked == 4:
			panic(http.ErrAbortHandler)
		}
	})
	pod, program := healthy(0, 10)
	app := &pod.Spec.Containers[0]
	app.StartupProbe, app.ReadinessProbe = nil, nil
	app.LivenessProbe.ProbeHandler = v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt(80),
		Scheme: v1.URISchemeHTTP}}
	answer := fakeruntime.Item{Answer: fakeruntime.Answer{Word: fakeruntime.Answers, Handler: handler}}
	program.Containers = map[string]fakeruntime.ContainerConfig{"app": {Program: fakeruntime.Program{
		Rules: []fakeruntime.Rule{{Probes: &fakeruntime.Series{Items: []fakeruntime.Item{answer}}}},
	}}}
	n := node.New(node.Options{})
	defer n.Close()
	n.At(0, func() { n.AddPod(pod, program) })
	if err := n.RunUntil(virtual.At(45 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := range n.Trace().All() {
		if r.Kind == trace.ProbeExecuted {
			got = append(got, fmt.Sprint(r.T, " ", r.Result, " ", r.Message))
		}
	}
	want := []string{
		"10.018s success GET of 10.64.0.1:80 for kube-probe/1.37",
		"20.009s failure HTTP probe failed with statuscode: 418",
		`30.009s failure Get "http://10.64.0.1:80/": EOF`,
		"40.009s success ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
