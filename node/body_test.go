package node_test

import (
	"fmt"
	"slices"
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

// The kubelet reads at most 10 KiB of a body. It does not wait for the end of a body that has sent
// as much.
func TestBodyOf10KiBThatNeverEnds(t *testing.T) {
	for size, want := range map[int][]string{
		10<<10 - 1: {"16s error context deadline exceeded (Client.Timeout or context cancellation while reading body)"},
		10 << 10:   {"10.009s success", "20.009s success"},
	} {
		pod, program := healthy(0, 10)
		app := &pod.Spec.Containers[0]
		app.StartupProbe, app.ReadinessProbe = nil, nil
		app.LivenessProbe.TimeoutSeconds = 2
		app.LivenessProbe.ProbeHandler = v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt(80),
			Scheme: v1.URISchemeHTTP}}
		answer := fakeruntime.Item{Answer: fakeruntime.Answer{Word: fakeruntime.Answers,
			Body: strings.Repeat("x", size), BodyOpen: true}}
		program.Containers = map[string]fakeruntime.ContainerConfig{"app": {Program: fakeruntime.Program{
			Rules: []fakeruntime.Rule{{Probes: &fakeruntime.Series{Items: []fakeruntime.Item{answer}}}},
		}}}
		n := node.New(node.Options{})
		n.At(0, func() { n.AddPod(pod, program) })
		if err := n.RunUntil(virtual.At(21 * time.Second)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for r := range n.Trace().All() {
			if r.Kind == trace.ProbeExecuted {
				got = append(got, fmt.Sprint(r.T, " ", r.Result, " ", strings.Trim(r.Message, "x")))
			}
		}
		n.Close()
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("a body of %d bytes: %q, want %q", size, got, want)
		}
	}
}
