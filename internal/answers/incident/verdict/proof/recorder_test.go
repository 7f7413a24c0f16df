package proof

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// recorded returns what a cluster has of one pod after seven minutes, and written its events.
func recorded(records []trace.Record) *cluster {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}}
	return record([]*v1.Pod{pod}, records, virtual.At(7*time.Minute), newest)
}

func written(records []trace.Record) []v1.Event { return recorded(records).events }

func clock(t metav1.Time) string { return t.UTC().Format(time.TimeOnly) }

func warning(at time.Duration, typ, message string) trace.Record {
	return trace.Record{T: virtual.At(at), Kind: trace.Event, Pod: "default/web", Container: "app", Type: typ,
		Reason: "Unhealthy", Message: message}
}

// TestCounts checks that equal events are one object, with the time of the first in its name and
// times in whole seconds.
func TestCounts(t *testing.T) {
	events := written([]trace.Record{warning(900*time.Millisecond, "Warning", "a"),
		warning(10*time.Second, "Warning", "a"), warning(11*time.Second, "Warning", "b")})
	want := fmt.Sprintf("web.%x", zero.Add(900*time.Millisecond).UnixNano())
	if e := events[0]; len(events) != 2 || e.Count != 2 || e.Name != want || clock(e.FirstTimestamp) != "21:00:01" ||
		clock(e.LastTimestamp) != "21:00:10" {
		t.Errorf("the events are %v, want the name %s", events, want)
	}
}

// TestNames checks that events at one instant have different names, as those of a real clock have.
func TestNames(t *testing.T) {
	events := written([]trace.Record{warning(time.Second, "Warning", "a"), warning(time.Second, "Warning", "b")})
	if len(events) != 2 {
		t.Errorf("the events are %v", events)
	}
}

// TestSpamFilter checks that 25 warnings are sent, and one more after five minutes with the count
// of all of them. Normal events have a bucket of their own.
func TestSpamFilter(t *testing.T) {
	var records []trace.Record
	for i := range 40 {
		records = append(records, warning(time.Duration(i)*time.Second, "Warning", "a"))
	}
	records = append(records, warning(40*time.Second, "Normal", "n"))
	events := written(records)
	if len(events) != 2 || events[0].Count != 25 || clock(events[0].LastTimestamp) != "21:00:24" {
		t.Fatalf("the events are %v", events)
	}
	events = written(append(records, warning(6*time.Minute, "Warning", "a")))
	if events[0].Count != 41 || clock(events[0].LastTimestamp) != "21:06:00" {
		t.Errorf("after five minutes the event is %v", events[0])
	}
}

// TestCombined checks that the tenth different message, and those after it, are combined.
func TestCombined(t *testing.T) {
	var records []trace.Record
	for i := range 12 {
		records = append(records, warning(time.Duration(i)*time.Second, "Warning", fmt.Sprint("message ", i)))
	}
	events := written(records)
	if len(events) != 10 || events[9].Message != "(combined from similar events): message 11" || events[9].Count != 3 {
		t.Errorf("the events are %v", events)
	}
}

// TestForgets checks that a kubelet that restarts forgets its events.
func TestForgets(t *testing.T) {
	records := []trace.Record{warning(time.Second, "Warning", "a"),
		{T: virtual.At(2 * time.Second), Kind: trace.KubeletStarted}, warning(3*time.Second, "Warning", "a")}
	if events := written(records); len(events) != 2 {
		t.Errorf("the events are %v", events)
	}
}

// TestUnknownEnd checks that a container whose end the kubelet did not see has no times.
func TestUnknownEnd(t *testing.T) {
	const key = "default/web"
	status := &trace.PodStatus{Phase: "Failed",
		Containers: []trace.ContainerStatus{{Name: "app", State: "terminated", Reason: "ContainerStatusUnknown",
			ExitCode: 137, RestartCount: 1}}}
	c := recorded([]trace.Record{
		{T: virtual.At(time.Second), Kind: trace.PodAdded, Pod: key},
		{T: virtual.At(2 * time.Second), Kind: trace.ContainerStarted, Pod: key, Container: "app"},
		{T: virtual.At(9 * time.Second), Kind: trace.ContainerExited, Pod: key, Container: "app", ExitCode: 137},
		{T: virtual.At(10 * time.Second), Kind: trace.StatusPatched, Pod: key, Status: status},
	})
	end := c.pods[0].Status.ContainerStatuses[0].State.Terminated
	if end == nil || end.Reason != "ContainerStatusUnknown" || !end.StartedAt.IsZero() || !end.FinishedAt.IsZero() {
		t.Errorf("the end is %v", end)
	}
}

// killedTwice has a container that its liveness probe kills twice.
func killedTwice(r release) *cluster {
	var records []trace.Record
	add := func(at time.Duration, kind trace.Kind, instance int, reason, typ, message string) {
		records = append(records, trace.Record{T: virtual.At(at), Kind: kind, Pod: "default/web", Container: "app",
			Instance: instance, Reason: reason, Type: typ, Message: message})
	}
	add(0, trace.PodAdded, 0, "", "", "")
	for i := range 2 {
		at := time.Duration(i) * 30 * time.Second
		add(at+time.Second, trace.Event, i, "Created", "Normal", "Container created")
		add(at+29*time.Second, trace.Event, i, "Unhealthy", "Warning",
			`Liveness probe failed: Get "http://10.64.0.1:80/": dial tcp 10.64.0.1:80: connect: connection refused`)
		add(at+29*time.Second, trace.Event, i, "Killing", "Normal",
			"Container app failed liveness probe, will be restarted")
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}}
	return record([]*v1.Pod{pod}, records, virtual.At(2*time.Minute), r)
}

// TestLayouts checks the row of a kill in the layouts of the releases, which are those of texts
// that people published.
func TestLayouts(t *testing.T) {
	for minor, want := range map[int][3]string{
		37: {" Normal Killing 61s (x2 over 91s) kubelet spec.containers{app}: Container app failed liveness probe, " +
			"will be restarted",
			"61s Normal Killing pod/web Container app failed liveness probe, will be restarted",
			"61s Normal Killing pod/web spec.containers{app} kubelet, node-1 Container app failed liveness probe, " +
				"will be restarted 91s 2 web.17d0b0f61dd37642"},
		28: {" Normal Killing 61s (x2 over 91s) kubelet Container app failed liveness probe, will be restarted"},
		13: {" Normal Killing 61s (x2 over 91s) kubelet, node-1 Killing container with id docker://app:Container " +
			"failed liveness probe.. Container will be killed and recreated.",
			"61s Normal Killing Pod Killing container with id docker://app:Container failed liveness probe.. " +
				"Container will be killed and recreated."},
		7: {` 1m 1m 2 kubelet, node-1 spec.containers{app} Normal Killing Killing container with id docker://app: ` +
			`pod "web_default(00000000-0000-4000-8000-000000000001)" container "app" is unhealthy, it will be killed and re-created.`},
		0: {" Sat, 18 May 2024 21:00:59 +0000 Sat, 18 May 2024 21:00:59 +0000 1 {kubelet node-1} " +
			"spec.containers{app} killing Killing with docker id f67abea4580e"},
	} {
		c := killedTwice(release{minor})
		p := &printer{c, release{minor}, nil}
		for i, got := range []string{p.describe(c.pods[0]), p.getEvents(false), p.getEvents(true)} {
			if want[i] != "" && !strings.Contains("\n"+spaces.ReplaceAllString(got, " "), "\n"+want[i]+"\n") {
				t.Errorf("v1.%d: no row %q in\n%s", minor, want[i], got)
			}
		}
	}
}
