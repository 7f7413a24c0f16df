package fakeruntime_test

import (
	"fmt"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A driver starts a container, and then runs the command of its liveness probe twice. The program
// fails from 5 s after its start on.
func Example() {
	rt := fakeruntime.New(fakeruntime.Options{})
	failing := fakeruntime.Rule{From: fakeruntime.Exactly(5 * time.Second), Liveness: &fakeruntime.Series{
		Items: []fakeruntime.Item{{Answer: fakeruntime.Answer{Word: fakeruntime.Answers, Code: 1}, Count: 1}}}}
	rt.AddPod(fakeruntime.Pod{UID: "1", Namespace: "default", Name: "web",
		Containers: map[string]fakeruntime.ContainerConfig{
			"app": {Program: fakeruntime.Program{Rules: []fakeruntime.Rule{failing}}}}})

	var now virtual.Time
	call := func(c fakeruntime.Call) *fakeruntime.Op {
		op := rt.Submit(now, c)
		for !op.Done {
			at, ok := rt.Next()
			if !ok {
				panic("the call does not end")
			}
			now = at
			rt.Advance(now)
		}
		return op
	}
	sandbox := call(fakeruntime.Call{Method: fakeruntime.RunPodSandbox, PodUID: "1"}).ID
	app := call(fakeruntime.Call{Method: fakeruntime.CreateContainer, SandboxID: sandbox, Name: "app"}).ID
	call(fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: app})
	started := now
	for _, at := range []time.Duration{2 * time.Second, 6 * time.Second} {
		now = started.Add(at)
		op := call(fakeruntime.Call{Method: fakeruntime.ExecSync, ContainerID: app, Probe: trace.Liveness})
		fmt.Println("exit code", op.ExitCode, "after", now.Sub(op.Start))
	}
	// Output:
	// exit code 0 after 20ms
	// exit code 1 after 20ms
}
