package node_test

import (
	"net/http"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// restartAt is when the copies in these tests restart their kubelet: while a probe runs.
var restartAt = virtual.At(20*time.Second + 10*time.Millisecond)

// probedNode returns a node with a pod at t=1s, whose liveness probe fails from the second run on.
func probedNode(o node.Options, answer fakeruntime.Answer) *node.Node {
	n := node.New(o)
	n.At(virtual.At(time.Second), func() {
		pod := &v1.Pod{}
		pod.Namespace, pod.Name = "default", "web"
		pod.Spec.Containers = []v1.Container{{Name: "app", Image: "web:1", LivenessProbe: &v1.Probe{
			PeriodSeconds: 5, FailureThreshold: 2, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{}},
		}}}
		pod.Spec.Containers[0].LivenessProbe.HTTPGet.Port.IntVal = 80
		good := fakeruntime.Answer{Word: fakeruntime.Answers, Code: 200}
		err := n.AddPod(pod, fakeruntime.Pod{Containers: map[string]fakeruntime.ContainerConfig{
			"app": {Program: fakeruntime.Program{Rules: []fakeruntime.Rule{
				{Liveness: &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: good, Count: 2}, {Answer: answer}}}},
			}}}}})
		if err != nil {
			panic(err)
		}
	})
	return n
}

// runTo runs a node to the end of these tests, and returns the hash of its trace.
func runTo(t *testing.T, n *node.Node) string {
	t.Helper()
	defer n.Close()
	if err := n.RunUntil(virtual.At(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return trace.Hash(n.Trace().Records())
}

var failing = fakeruntime.Answer{Word: fakeruntime.Answers, Code: 500}

// A copy goes on like the node would with a restart, and the node goes on as if there were no copy.
func TestCopyAtRestart(t *testing.T) {
	n := probedNode(node.Options{}, failing)
	if err := n.RunUntil(restartAt - 1); err != nil {
		t.Fatal(err)
	}
	c, ok := n.CopyAtRestart(restartAt, &trace.Recorder{})
	if !ok {
		t.Fatal("the node has no copy")
	}
	restart := func(n *node.Node) {
		n.StopKubelet()
		n.At(restartAt.Add(time.Second), n.StartKubelet)
	}
	restart(c)
	whole := probedNode(node.Options{}, failing)
	whole.At(restartAt, func() { restart(whole) })
	without := probedNode(node.Options{}, failing)
	want, unchanged := runTo(t, whole), runTo(t, without)
	if got := runTo(t, c); got != want {
		t.Error("the trace of the copy is not that of a run with the restart")
	}
	if got := runTo(t, n); got != unchanged {
		t.Error("the copy changes the trace of the node")
	}
	if want == unchanged {
		t.Error("the restart changes nothing")
	}
}

// A node has no copy if more than data would have to be copied, or if something comes before the
// end of the kubelet.
func TestCopyAtRestartRefuses(t *testing.T) {
	seed := int64(1)
	handler := failing
	handler.Handler = http.NotFoundHandler()
	for _, c := range []struct {
		name   string
		o      node.Options
		answer fakeruntime.Answer
		at     virtual.Time
		until  virtual.Time
	}{
		{"a seed", node.Options{Seed: &seed}, failing, restartAt, restartAt - 1},
		{"a handler", node.Options{}, handler, restartAt, restartAt - 1},
		{"a trace that is not in memory", node.Options{Trace: &trace.Recorder{Sink: func(*trace.Record) {}}}, failing,
			restartAt, restartAt - 1},
		{"another time", node.Options{}, failing, restartAt, restartAt - 2},
		{"a call of At at the instant", node.Options{}, failing, virtual.At(time.Second), virtual.At(time.Second) - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := probedNode(c.o, c.answer)
			defer n.Close()
			if err := n.RunUntil(c.until); err != nil {
				t.Fatal(err)
			}
			if _, ok := n.CopyAtRestart(c.at, &trace.Recorder{}); ok {
				t.Error("the node has a copy")
			}
		})
	}
}
