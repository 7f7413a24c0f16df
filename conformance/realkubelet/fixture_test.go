package realkubelet

import (
	"bytes"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/trace"
)

// execProbe returns an exec probe with the API's defaults.
func execProbe(period, failures int32) *v1.Probe {
	return &v1.Probe{
		ProbeHandler:     v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check", "it"}}},
		TimeoutSeconds:   1,
		PeriodSeconds:    period,
		SuccessThreshold: 1,
		FailureThreshold: failures,
	}
}

// newPod returns a pod with one container, app, and the API's defaults.
func newPod(name string, app v1.Container) *v1.Pod {
	app.Name, app.Image, app.ImagePullPolicy = "app", "app:1", v1.PullIfNotPresent
	app.TerminationMessagePath = v1.TerminationMessagePathDefault
	app.TerminationMessagePolicy = v1.TerminationMessageReadFile
	pod := &v1.Pod{Spec: v1.PodSpec{
		Containers:                    []v1.Container{app},
		RestartPolicy:                 v1.RestartPolicyAlways,
		DNSPolicy:                     v1.DNSClusterFirst,
		SchedulerName:                 v1.DefaultSchedulerName,
		SecurityContext:               &v1.PodSecurityContext{},
		TerminationGracePeriodSeconds: new(int64(30)),
		EnableServiceLinks:            new(true),
	}}
	pod.Name = name
	return pod
}

// program returns the runtime's configuration of a pod whose container follows the rules.
func program(rules ...fakeruntime.Rule) fakeruntime.Pod {
	return fakeruntime.Pod{Containers: map[string]fakeruntime.ContainerConfig{
		"app": {Program: fakeruntime.Program{Rules: rules}},
	}}
}

func seconds(n int) fakeruntime.Draw { return fakeruntime.Exactly(time.Duration(n) * time.Second) }

func answer(a fakeruntime.Answer) *fakeruntime.Series {
	return &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: a, Count: 1}}}
}

func exits(code int32, output string) *fakeruntime.Series {
	return answer(fakeruntime.Answer{Word: fakeruntime.Answers, Code: code, Body: output})
}

// basePod returns a pod with all three probes. Its program takes 7 s to start and 5 s to stop, and
// its liveness probe fails from 60 s to 200 s.
func basePod(name string) (*v1.Pod, fakeruntime.Pod) {
	app := v1.Container{StartupProbe: execProbe(3, 10), LivenessProbe: execProbe(10, 3),
		ReadinessProbe: execProbe(5, 3)}
	return newPod(name, app), program(
		fakeruntime.Rule{Probes: exits(0, "ok")},
		fakeruntime.Rule{For: new(seconds(7)), Probes: exits(1, "starting")},
		fakeruntime.Rule{Clock: fakeruntime.AtScenario, From: seconds(60), For: new(seconds(140)),
			Liveness: exits(1, "broken")},
		fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, From: seconds(5), Exit: &fakeruntime.Exit{Code: 143}},
	)
}

// addAt0 returns a drive function that adds a pod at t=0 and then calls the other functions.
func addAt0(pod *v1.Pod, p fakeruntime.Pod, more ...func(drive.World)) func(drive.World) {
	return func(w drive.World) {
		w.At(0, func() { w.AddAdmitted(pod, p) })
		for _, f := range more {
			f(w)
		}
	}
}

func mustRun(t *testing.T, o Options, drive func(drive.World)) *Result {
	t.Helper()
	r, err := Run(t, o, drive)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// jsonl returns the records as lines of JSON.
func jsonl(records []trace.Record) string {
	var b []byte
	for i := range records {
		b = append(trace.AppendJSON(b, &records[i]), '\n')
	}
	return string(bytes.TrimSpace(b))
}

// recordsOf returns the records of a kind.
func recordsOf(r *Result, k trace.Kind) []trace.Record {
	var found []trace.Record
	for _, rec := range r.Records {
		if rec.Kind == k {
			found = append(found, rec)
		}
	}
	return found
}

// ms returns the time of a record in milliseconds.
func ms(rec trace.Record) float64 { return float64(rec.T.Offset().Microseconds()) / 1000 }
