package fakeruntime

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Random runs: pods with random programs, and calls at random times on a coarse grid, which makes
// many events share an instant.

const grid = 250 * time.Millisecond

type randomRun struct {
	options Options
	pods    []Pod
	calls   []timedCall
}

type timedCall struct {
	at   virtual.Time
	pod  string
	call Call
}

func genTime(most int) *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.IntRange(0, most), func(n int) time.Duration { return time.Duration(n) * grid })
}

func genDraw(most int) *rapid.Generator[Draw] {
	return rapid.Custom(func(t *rapid.T) Draw {
		low := genTime(most).Draw(t, "low")
		if rapid.Bool().Draw(t, "exact") {
			return Exactly(low)
		}
		return Draw{low, low + genTime(most).Draw(t, "span")}
	})
}

func genSeries(t *rapid.T) *Series {
	if rapid.IntRange(0, 2).Draw(t, "has") == 0 {
		return nil
	}
	item := rapid.Custom(func(t *rapid.T) Item {
		a := Answer{Word: rapid.SampledFrom([]Word{Answers, Answers, Refuses, Hangs, Stalls, Breaks}).Draw(t, "word")}
		a.Code = rapid.Int32Range(0, 2).Draw(t, "code")
		a.IgnoreTimeout = rapid.Bool().Draw(t, "ignoreTimeout")
		a.Latency = rapid.Ptr(genDraw(8), true).Draw(t, "latency")
		return Item{a, rapid.IntRange(1, 3).Draw(t, "count")}
	})
	return &Series{rapid.SliceOfN(item, 1, 3).Draw(t, "items"), rapid.Bool().Draw(t, "repeat")}
}

var genRule = rapid.Custom(func(t *rapid.T) Rule {
	r := Rule{Clock: Clock(rapid.IntRange(0, 2).Draw(t, "clock")), From: genDraw(20).Draw(t, "from")}
	if rapid.Bool().Draw(t, "later instances only") {
		r.Instance = Range{1, 9, true}
	}
	if rapid.IntRange(0, 3).Draw(t, "exit") == 0 {
		r.Exit = &Exit{rapid.Int32Range(0, 3).Draw(t, "code"), r.Clock == AfterSigterm && rapid.Bool().Draw(t, "never")}
		return r
	}
	r.For, r.Every = rapid.Ptr(genDraw(10), true).Draw(t, "for"), rapid.Ptr(genDraw(20), true).Draw(t, "every")
	r.Chance = rapid.Ptr(rapid.Float64Range(0, 1), true).Draw(t, "chance")
	r.Liveness, r.Probes = genSeries(t), genSeries(t)
	if r.Chance == nil {
		r.Listens = rapid.Ptr(rapid.Bool(), true).Draw(t, "listens")
	}
	return r
})

var genCall = rapid.Custom(func(t *rapid.T) Call {
	uid, name := rapid.SampledFrom(podNames).Draw(t, "pod"), rapid.SampledFrom(containerNames).Draw(t, "container")
	attempt := rapid.IntRange(0, 1).Draw(t, "attempt")
	c := Call{
		Method: rapid.SampledFrom([]Method{
			ExecSync, ExecSync, ExecSync, HTTPGet, HTTPGet, TCPSocket, GRPC, StopContainer, StopContainer,
			StartContainer, RemoveContainer, CreateContainer,
			StopPodSandbox, RemovePodSandbox, ListContainers, ListPodSandbox, ContainerStatus, PodSandboxStatus, Status,
			ListImages,
		}).Draw(t, "method"),
		PodUID: uid, SandboxID: uid + "_0", ContainerID: idOf(uid, name, attempt),
		GraceSeconds: rapid.Int64Range(0, 4).Draw(t, "grace"),
		Probe:        rapid.SampledFrom([]trace.Probe{trace.Liveness, trace.Readiness}).Draw(t, "probe"),
		Timeout:      time.Duration(rapid.IntRange(0, 3).Draw(t, "timeout")) * time.Second,
		Retry:        rapid.Bool().Draw(t, "retry"),
	}
	if !c.Method.IsNetwork() {
		c.Deadline = c.Timeout + time.Duration(rapid.IntRange(0, 8).Draw(t, "deadline"))*500*time.Millisecond
	}
	switch {
	case c.Method == CreateContainer:
		c.Name, c.ContainerID = name, ""
	case c.Method.IsNetwork():
		c.Name, c.Followed = name, rapid.Bool().Draw(t, "followed")
		c.Handshake = time.Duration(rapid.IntRange(0, 3).Draw(t, "handshake")) * time.Second
	}
	return c
})

func idOf(uid, name string, attempt int) string { return fmt.Sprintf("%s_%s_%d", uid, name, attempt) }

var podNames, containerNames = []string{"a", "b"}, []string{"x", "y"}

var genRun = rapid.Custom(func(t *rapid.T) randomRun {
	var run randomRun
	run.options.Seed = rapid.Ptr(rapid.Int64(), true).Draw(t, "seed")
	for _, d := range []**Draw{
		&run.options.Delays.RunPodSandbox, &run.options.Delays.CreateContainer, &run.options.Delays.StartContainer,
		&run.options.Delays.StopContainer, &run.options.Delays.ListContainers, &run.options.Delays.Exec,
	} {
		*d = rapid.Ptr(genDraw(2), true).Draw(t, "delay")
	}
	for _, uid := range podNames {
		p := Pod{UID: uid, Namespace: "default", Name: uid, Containers: map[string]ContainerConfig{}}
		run.calls = append(run.calls, timedCall{0, uid, Call{Method: RunPodSandbox, PodUID: uid}})
		for _, name := range containerNames {
			rules := rapid.SliceOfN(genRule, 0, 4).Draw(t, "rules")
			p.Containers[name] = ContainerConfig{Program: Program{Rules: rules, Init: rapid.Bool().Draw(t, "init")}}
			for attempt := range 2 {
				at := virtual.Time(1+5*attempt) * virtual.Time(time.Second)
				run.calls = append(run.calls,
					timedCall{at, uid, Call{Method: CreateContainer, SandboxID: uid + "_0", Name: name,
						Attempt: attempt}},
					timedCall{at.Add(time.Second), uid,
						Call{Method: StartContainer, ContainerID: idOf(uid, name, attempt)}})
			}
		}
		run.pods = append(run.pods, p)
	}
	for i := range rapid.IntRange(0, 40).Draw(t, "calls") {
		c := genCall.Draw(t, "call")
		if c.Method == CreateContainer {
			c.Attempt = 2 + i // no attempt twice
		}
		run.calls = append(run.calls, timedCall{virtual.At(genTime(60).Draw(t, "at")), c.PodUID, c})
	}
	slices.SortStableFunc(run.calls, func(a, b timedCall) int { return int(a.at.Sub(b.at)) })
	return run
})
