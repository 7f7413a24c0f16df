package node_test

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/node"
	"probesim.dev/sim/trace"
)

func probe(period, failures int32) *v1.Probe {
	return &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"x"}}},
		PeriodSeconds: period, FailureThreshold: failures, SuccessThreshold: 1, TimeoutSeconds: 1,
	}
}

func basePod() (*v1.Pod, fakeruntime.Pod) {
	grace := int64(30)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p00", UID: "uid-p00"},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace,
			Containers: []v1.Container{{
				Name: "app", Image: "app:1", ImagePullPolicy: v1.PullIfNotPresent,
				StartupProbe: probe(3, 10), LivenessProbe: probe(10, 3), ReadinessProbe: probe(5, 3),
			}},
		},
	}
	s := func(w fakeruntime.Word, code int32, body string) *fakeruntime.Series {
		return &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: fakeruntime.Answer{Word: w, Code: code, Body: body}, Count: 1}}}
	}
	f := func(d time.Duration) *fakeruntime.Draw { x := fakeruntime.Exactly(d); return &x }
	return pod, fakeruntime.Pod{UID: "uid-p00", Namespace: "default", Name: "p00", Containers: map[string]fakeruntime.ContainerConfig{"app": {Program: fakeruntime.Program{Rules: []fakeruntime.Rule{
		{Probes: s(fakeruntime.Answers, 0, "ok")},
		{Clock: fakeruntime.AtScenario, From: fakeruntime.Exactly(60 * time.Second), For: f(140 * time.Second), Liveness: s(fakeruntime.Answers, 1, "broken")},
		{For: f(7 * time.Second), Probes: s(fakeruntime.Answers, 1, "starting")},
		{Clock: fakeruntime.AfterSigterm, From: fakeruntime.Exactly(5 * time.Second), Exit: &fakeruntime.Exit{Code: 143}},
	}}}}}
}

func TestBase(t *testing.T) {
	zero := fakeruntime.Exactly(0)
	_ = zero
	n := node.New(node.Options{Chooser: zeroJitter{}, Trace: &trace.Recorder{Internal: true}, Delays: fakeruntime.Delays{ImageStatus: &zero, APIGet: &zero, APIPatch: &zero}})
	defer n.Close()
	n.At(0, func() { n.AddPod(basePod()) })
	if err := n.RunUntil(100 * time.Second); err != nil {
		t.Fatal(err)
	}
	for _, r := range n.Trace().Records() {
		if r.T >= 0 && r.Kind != trace.CRICall {
			fmt.Println(string(trace.AppendJSON(nil, &r)))
		}
	}
}

type zeroJitter struct{ sim.Chooser }

func (zeroJitter) Choose(sim.Choice, int) int  { return 0 }
func (zeroJitter) Next([]sim.Choice) int       { return 0 }
func (zeroJitter) Fraction(sim.Choice) float64 { return 0 }
