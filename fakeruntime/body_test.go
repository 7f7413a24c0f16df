package fakeruntime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The end of a body comes after its header, unless the program exits or the client gives up first.
func TestHTTPBody(t *testing.T) {
	after := fakeruntime.Exactly(2 * time.Second)
	late, open := fakeruntime.Answer{Word: fakeruntime.Answers, BodyEnd: &after},
		fakeruntime.Answer{Word: fakeruntime.Answers, BodyOpen: true}
	noContent := fakeruntime.Answer{Word: fakeruntime.Answers, Code: 204, BodyOpen: true}
	for _, c := range []struct {
		name          string
		answer        fakeruntime.Answer
		timeout, exit time.Duration // exit: from the start; 0: none
		want          string
	}{
		{"in time", late, 3 * time.Second, 0, "2s answered"},
		{"at the timeout", late, 2 * time.Second, 0, "2s timed out"},
		{"never", open, time.Second, 0, "1s timed out"},
		{"exit", open, 0, 4 * time.Second, "3s hung up"},
		{"no body", noContent, time.Second, 0, "no body"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := []fakeruntime.Rule{{Liveness: &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: c.answer}}}}}
			if c.exit > 0 {
				rules = append(rules, fakeruntime.Rule{From: fakeruntime.Exactly(c.exit),
					Exit: &fakeruntime.Exit{Code: 1}})
			}
			rt := fakeruntime.New(fakeruntime.Options{})
			rt.AddPod(fakeruntime.Pod{UID: "a", Name: "a",
				Containers: map[string]fakeruntime.ContainerConfig{"x": {Program: fakeruntime.Program{Rules: rules}}}})
			now := virtual.Time(0)
			do := func(call fakeruntime.Call) *fakeruntime.Op {
				op := rt.Submit(now, call)
				for !op.Done {
					next, ok := rt.Next()
					if !ok {
						t.Fatalf("%s does not end", call.Method)
					}
					now = next
					rt.Advance(now)
				}
				return op
			}
			do(fakeruntime.Call{Method: fakeruntime.RunPodSandbox, PodUID: "a"})
			id := do(fakeruntime.Call{Method: fakeruntime.CreateContainer, SandboxID: "a_0", Name: "x"}).ID
			do(fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: id})
			now = now.Add(time.Second)
			header := do(fakeruntime.Call{Method: fakeruntime.HTTPGet, PodUID: "a", Name: "x", Probe: trace.Liveness})
			if !header.Answer.Respond(nil).BodyPending {
				if c.want != "no body" {
					t.Fatal("the body is not pending")
				}
				return
			}
			call := fakeruntime.Call{Method: fakeruntime.HTTPBody, Ref: header.Ref(), Answer: header.Answer,
				Probe: trace.Liveness, Timeout: c.timeout}
			op := do(call)
			how := map[fakeruntime.Reply]string{fakeruntime.Answered: "answered",
				fakeruntime.HungUp: "hung up"}[op.Reply]
			if op.TimedOut {
				how = "timed out"
			}
			got := fmt.Sprint(op.End.Sub(op.Start).Round(100*time.Millisecond), " ", how)
			if got != c.want {
				t.Errorf("the body ends after %s, want %s", got, c.want)
			}
			if strings.HasSuffix(c.want, "hung up") {
				if again := do(call); again.Reply != fakeruntime.HungUp || again.End != again.Start {
					t.Errorf("the body of a program that has ended: %+v", again)
				}
			}
		})
	}
}
