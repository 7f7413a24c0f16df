package expect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// parseTrace reads a trace in short form, one record per line:
//
//	0s   web        PodAdded
//	1s   web        status Running ready | app running started ready 1 | b waiting:CrashLoopBackOff
//	2s   web/app#0  ProbeExecuted liveness failure some message
//	3s   web/app#0  ContainerStopping 30 LivenessProbe
//	4s   web/app#0  ContainerExited 143
//	5s   -          KubeletStopped
//
// A status has the fields that are written as words; all others are false. A number is the restart
// count. The word PodScheduled=1s is a condition that is True since 1s, and last=3 is the exit code
// of a container's last state. A status with such a word has details.
func parseTrace(t *testing.T, text string) []trace.Record {
	t.Helper()
	var rec trace.Recorder
	rec.Internal = true
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 {
			t.Fatalf("a record has a time, a subject and a kind: %q", line)
		}
		r, err := parseRecord(words)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rec.Add(r)
	}
	return rec.Records()
}

func parseRecord(words []string) (r trace.Record, err error) {
	t, err := time.ParseDuration(words[0])
	if err != nil {
		return r, err
	}
	r.T = virtual.At(t)
	if err := parseSubject(&r, words[1]); err != nil {
		return r, err
	}
	r.Kind = trace.Kind(words[2])
	args := words[3:]
	switch r.Kind {
	case "status":
		r.Kind, r.Status = trace.StatusPatched, parseStatus(args)
	case trace.ProbeExecuted:
		r.Probe, r.Result, r.Message = trace.Probe(args[0]), trace.Result(args[1]), strings.Join(args[2:], " ")
	case trace.ContainerStopping:
		r.Reason = args[1]
		r.GraceSeconds, err = strconv.ParseInt(args[0], 10, 64)
	case trace.ContainerExited:
		var code int
		code, err = strconv.Atoi(args[0])
		r.ExitCode = int32(code)
	case trace.Event:
		r.Type, r.Reason, r.Message = args[0], args[1], strings.Join(args[2:], " ")
	default:
		if len(args) > 0 {
			r.Reason = args[0]
		}
	}
	return r, err
}

func parseSubject(r *trace.Record, subject string) error {
	if subject == "-" {
		return nil
	}
	pod, container, isContainer := strings.Cut(subject, "/")
	r.Pod = "default/" + pod
	if !isContainer {
		return nil
	}
	name, instance, _ := strings.Cut(container, "#")
	r.Container = name
	n, err := strconv.Atoi(instance)
	r.Instance = n
	return err
}

func parseStatus(words []string) *trace.PodStatus {
	s := &trace.PodStatus{}
	text := strings.Split(strings.Join(words, " "), "|")
	pod := strings.Fields(text[0])
	s.Phase = pod[0]
	s.Initialized = s.Phase != "Pending"
	s.Ready = slices.Contains(pod, "ready")
	s.ContainersReady = s.Ready || slices.Contains(pod, "containersReady")
	for _, word := range pod {
		if condition, since, ok := strings.Cut(word, "="); ok {
			d, _ := time.ParseDuration(since)
			s.Details = &trace.PodDetails{Conditions: []trace.Condition{{Type: condition, Status: "True",
				Since: virtual.At(d)}}}
		}
	}
	for _, c := range text[1:] {
		words := strings.Fields(c)
		cs := trace.ContainerStatus{Name: words[0], Ready: slices.Contains(words, "ready"),
			Started: slices.Contains(words, "started")}
		cs.State, cs.Reason, _ = strings.Cut(words[1], ":")
		last := words[len(words)-1]
		fmt.Sscan(last, &cs.RestartCount)
		if code, ok := strings.CutPrefix(last, "last="); ok {
			cs.Details = &trace.ContainerDetails{LastState: &trace.Termination{}}
			fmt.Sscan(code, &cs.Details.LastState.ExitCode)
		}
		s.Containers = append(s.Containers, cs)
	}
	return s
}
