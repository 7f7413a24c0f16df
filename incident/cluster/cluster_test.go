package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// written returns the events of a recording of events of one pod.
func written(t *testing.T, records []trace.Record) []map[string]any {
	t.Helper()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app"}}}}
	var b bytes.Buffer
	if err := Write(&b, []*v1.Pod{pod}, records, virtual.Max); err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(b.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func warning(at time.Duration, typ, message string) trace.Record {
	return trace.Record{T: virtual.At(at), Kind: trace.Event, Pod: "default/web", Container: "app", Type: typ, Reason: "Unhealthy", Message: message}
}

// TestCounts checks that equal events are one object, with the time of the first in its name and times in whole seconds.
func TestCounts(t *testing.T) {
	items := written(t, []trace.Record{warning(900*time.Millisecond, "Warning", "a"), warning(10*time.Second, "Warning", "a"), warning(11*time.Second, "Warning", "b")})
	want := fmt.Sprintf("web.%x", Zero.Add(900*time.Millisecond).UnixNano())
	e := items[0]
	if len(items) != 2 || e["count"] != 2.0 || e["metadata"].(map[string]any)["name"] != want || e["firstTimestamp"] != "2024-05-18T21:00:01Z" || e["lastTimestamp"] != "2024-05-18T21:00:10Z" {
		t.Errorf("the events are %v, want the name %s", items, want)
	}
}

// TestNames checks that events at one instant have different names, as those of a real clock have.
func TestNames(t *testing.T) {
	items := written(t, []trace.Record{warning(time.Second, "Warning", "a"), warning(time.Second, "Warning", "b")})
	if len(items) != 2 {
		t.Errorf("the events are %v", items)
	}
}

// TestSpamFilter checks that 25 warnings are sent, and one more after five minutes with the count of all of them. Normal events have a
// bucket of their own.
func TestSpamFilter(t *testing.T) {
	var records []trace.Record
	for i := range 40 {
		records = append(records, warning(time.Duration(i)*time.Second, "Warning", "a"))
	}
	records = append(records, warning(40*time.Second, "Normal", "n"))
	items := written(t, records)
	if len(items) != 2 || items[0]["count"] != 25.0 || items[0]["lastTimestamp"] != "2024-05-18T21:00:24Z" {
		t.Fatalf("the events are %v", items)
	}
	items = written(t, append(records, warning(6*time.Minute, "Warning", "a")))
	if items[0]["count"] != 41.0 || items[0]["lastTimestamp"] != "2024-05-18T21:06:00Z" {
		t.Errorf("after five minutes the event is %v", items[0])
	}
}

// TestCombined checks that the tenth different message, and those after it, are combined.
func TestCombined(t *testing.T) {
	var records []trace.Record
	for i := range 12 {
		records = append(records, warning(time.Duration(i)*time.Second, "Warning", fmt.Sprint("message ", i)))
	}
	items := written(t, records)
	if len(items) != 10 || items[9]["message"] != "(combined from similar events): message 11" || items[9]["count"] != 3.0 {
		t.Errorf("the events are %v", items)
	}
}

// TestForgets checks that a kubelet that restarts forgets its events.
func TestForgets(t *testing.T) {
	records := []trace.Record{warning(time.Second, "Warning", "a"), {T: virtual.At(2 * time.Second), Kind: trace.KubeletStarted}, warning(3*time.Second, "Warning", "a")}
	if items := written(t, records); len(items) != 2 {
		t.Errorf("the events are %v", items)
	}
}

// TestUnknownEnd checks that a container whose end the kubelet did not see has no times.
func TestUnknownEnd(t *testing.T) {
	const key = "default/web"
	status := &trace.PodStatus{Phase: "Failed", Containers: []trace.ContainerStatus{{Name: "app", State: "terminated", Reason: "ContainerStatusUnknown", ExitCode: 137, RestartCount: 1}}}
	items := written(t, []trace.Record{
		{T: virtual.At(time.Second), Kind: trace.PodAdded, Pod: key},
		{T: virtual.At(2 * time.Second), Kind: trace.ContainerStarted, Pod: key, Container: "app"},
		{T: virtual.At(9 * time.Second), Kind: trace.ContainerExited, Pod: key, Container: "app", ExitCode: 137},
		{T: virtual.At(10 * time.Second), Kind: trace.StatusPatched, Pod: key, Status: status},
	})
	text := fmt.Sprint(items[0]["status"].(map[string]any)["containerStatuses"])
	if !strings.Contains(text, "ContainerStatusUnknown") || strings.Contains(text, "2024-05-18") {
		t.Errorf("the container is %s", text)
	}
}
