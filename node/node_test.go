package node_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/limit"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// at runs do on a new node at 20 s, after the pod default/web was added at t=0, and lets a minute
// pass. It returns the records.
func at(t *testing.T, do func(*node.Node)) []trace.Record {
	t.Helper()
	n := node.New(node.Options{})
	defer n.Close()
	n.At(0, func() {
		if err := n.AddPod(web(), fakeruntime.Pod{}); err != nil {
			t.Error(err)
		}
	})
	n.At(virtual.At(20*time.Second), func() { do(n) })
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return n.Trace().Records()
}

func count(records []trace.Record, kind trace.Kind) int {
	number := 0
	for _, r := range records {
		if r.Kind == kind {
			number++
		}
	}
	return number
}

// AddPod sets the defaults in a copy: a pod without any default becomes Ready.
func TestAddPodWithoutDefaults(t *testing.T) {
	pod := web()
	before := pod.DeepCopy()
	n := node.New(node.Options{})
	defer n.Close()
	n.At(0, func() {
		if err := n.AddPod(pod, fakeruntime.Pod{}); err != nil {
			t.Error(err)
		}
	})
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ready := false
	for r := range n.Trace().All() {
		if r.Kind == trace.StatusPatched {
			ready = r.Status.Ready
		}
	}
	if !ready || pod.Spec.RestartPolicy != before.Spec.RestartPolicy || pod.UID != "" {
		t.Errorf("ready: %t; the pod is now %+v", ready, pod)
	}
}

func TestAddPodErrors(t *testing.T) {
	for _, test := range []struct {
		name    string
		pod     func() *v1.Pod
		program fakeruntime.Pod
		is      func(error) bool
		texts   []string
	}{
		{name: "nil", pod: func() *v1.Pod { return nil }, texts: []string{"nil"}},
		{
			name: "all field errors", is: apierrors.IsInvalid,
			pod: func() *v1.Pod {
				pod := web()
				pod.Name = "Web"
				pod.Spec.Containers[0].Image = ""
				pod.Spec.Containers[0].ReadinessProbe.FailureThreshold = -1
				return pod
			},
			texts: []string{
				`Pod "Web" is invalid`, "metadata.name: Invalid value", "spec.containers[0].image: Required value",
				"spec.containers[0].readinessProbe.failureThreshold: Invalid value: -1: must be greater than or " +
					"equal to 0",
			},
		},
		{
			name: "a mirror pod", is: apierrors.IsInvalid, pod: func() *v1.Pod {
				pod := web()
				pod.Annotations = map[string]string{"kubernetes.io/config.mirror": "3ed8"}
				return pod
			},
			texts: []string{"metadata.annotations[kubernetes.io/config.mirror]: Forbidden: only the kubelet creates " +
				"mirror pods"},
		},
		{
			name: "an invalid image reference", is: apierrors.IsInvalid, pod: func() *v1.Pod {
				pod := web()
				pod.Spec.Containers[0].Image = "We b"
				return pod
			},
			texts: []string{"spec.containers[0].image", `"We b"`},
		},
		{
			name: "a program for an unknown container", pod: web,
			program: fakeruntime.Pod{Containers: map[string]fakeruntime.ContainerConfig{"db": {}}},
			texts:   []string{`container "db"`, "pod web"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := node.New(node.Options{})
			defer n.Close()
			n.At(0, func() {
				err := n.AddPod(test.pod(), test.program)
				if err == nil || test.is != nil && !test.is(err) {
					t.Fatalf("error %v", err)
				}
				for _, text := range test.texts {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("the error does not say %q: %v", text, err)
					}
				}
			})
			if err := n.RunUntil(virtual.At(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if records := n.Trace().Records(); count(records, trace.PodAdded) != 0 {
				t.Errorf("the pod was added: %+v", records)
			}
		})
	}
}

func TestAddPodTwice(t *testing.T) {
	records := at(t, func(n *node.Node) {
		if err := n.AddPod(web(), fakeruntime.Pod{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("a second pod of the same name: error %v", err)
		}
		if err := n.DeletePod("default", "web", new(int64)); err != nil {
			t.Error(err)
		}
		if err := n.AddPod(web(), fakeruntime.Pod{}); err != nil {
			t.Errorf("after the first pod was removed: %v", err)
		}
	})
	if added, started := count(records, trace.PodAdded), count(records, trace.ContainerStarted); added != 2 ||
		started != 2 {
		t.Errorf("%d pods were added and %d containers started; want 2 and 2", added, started)
	}
}

// Errors about a pod that the API does not have add no record.
func TestUnknownPod(t *testing.T) {
	records := at(t, func(n *node.Node) {
		for name, err := range map[string]error{
			"DeletePod":      n.DeletePod("default", "db", nil),
			"PatchPod":       n.PatchPod("default", "db", []byte(`{}`)),
			"PatchPodStatus": n.PatchPodStatus("default", "db", []byte(`{}`)),
			"AddEphemeralContainer": n.AddEphemeralContainer("default", "db", v1.EphemeralContainer{},
				fakeruntime.ContainerConfig{}),
			"EvictPod": n.EvictPod("default", "db"),
		} {
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if n.KillContainer(fakeruntime.Kill{PodUID: "x", Container: "app"}) {
			t.Error("KillContainer found a container of an unknown pod")
		}
	})
	if count(records, trace.Step)+count(records, trace.PodDeleteRequested) != 0 {
		t.Errorf("records were added: %+v", records)
	}
}

// AddEphemeralContainer adds nothing if it returns an error.
func TestAddEphemeralContainer(t *testing.T) {
	container := func(name, image string) v1.EphemeralContainer {
		return v1.EphemeralContainer{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name, Image: image}}
	}
	exits := fakeruntime.ContainerConfig{Program: fakeruntime.Program{Rules: []fakeruntime.Rule{{
		From: fakeruntime.Exactly(time.Second), Exit: &fakeruntime.Exit{Code: 3},
	}}}}
	invalid := fakeruntime.ContainerConfig{
		Program: fakeruntime.Program{Rules: []fakeruntime.Rule{{For: new(fakeruntime.Exactly(-1))}}}}
	records := at(t, func(n *node.Node) {
		probed := container("probed", "debug:1")
		probed.LivenessProbe = &v1.Probe{}
		for _, test := range []struct {
			container v1.EphemeralContainer
			program   fakeruntime.ContainerConfig
		}{{container("app", "debug:1"), exits}, {container("", "debug:1"), exits}, {probed, exits},
			{container("a", "X"), exits}, {container("a", "debug:1"), invalid}} {
			if err := n.AddEphemeralContainer("default", "web", test.container, test.program); err == nil {
				t.Errorf("%q was added", test.container.Name)
			}
		}
		if err := n.AddEphemeralContainer("default", "web", container("debugger", "debug:1"), exits); err != nil {
			t.Error(err)
		}
		if err := n.AddEphemeralContainer("default", "web", container("debugger", "debug:1"),
			exits); !apierrors.IsInvalid(err) {
			t.Errorf("the same name again: error %v", err)
		}
	})
	if count(records, trace.Step) != 1 || count(records, trace.ContainerStarted) != 2 ||
		count(records, trace.ContainerExited) != 1 {
		t.Errorf("want one step, two starts and one exit: %+v", records)
	}
}

func TestPatchErrors(t *testing.T) {
	records := at(t, func(n *node.Node) {
		for _, test := range []struct {
			patch string
			is    func(error) bool
		}{
			{`{"spec"`, apierrors.IsBadRequest},
			{`{"spec": {"restartPolicy": "Never"}}`, apierrors.IsInvalid},
			{`{"spec": {"containers": [{"name": "app", "image": ""}]}}`, apierrors.IsInvalid},
			{`{"spec": {"containers": [{"name": "db", "image": "db:1"}]}}`, apierrors.IsInvalid},
		} {
			if err := n.PatchPod("default", "web", []byte(test.patch)); !test.is(err) {
				t.Errorf("%s: error %v", test.patch, err)
			}
		}
		if err := n.PatchPodStatus("default", "web",
			[]byte(`{"status": {"phase": "Failed"}}`)); !apierrors.IsInvalid(err) {
			t.Errorf("a patch of the phase: error %v", err)
		}
	})
	if count(records, trace.Step) != 0 || count(records, trace.ContainerStarted) != 1 {
		t.Errorf("a patch had an effect: %+v", records)
	}
}

// A patch takes the record that Record has added for it as its cause, and adds one if there is
// none.
func TestRecordIsCause(t *testing.T) {
	image := []byte(`{"spec": {"containers": [{"name": "app", "image": "web:2"}]}}`)
	for _, recorded := range []bool{false, true} {
		var step int64
		records := at(t, func(n *node.Node) {
			n.Record(trace.Record{Kind: trace.Step, Pod: "default/db", Reason: "patch", Message: "of another pod"})
			if recorded {
				step = n.Record(trace.Record{Kind: trace.Step, Pod: "default/web", Reason: "patch",
					Message: "a new image"})
			}
			if err := n.PatchPod("default", "web", image); err != nil {
				t.Error(err)
			}
		})
		if got := count(records, trace.Step); got != 2 {
			t.Errorf("recorded %t: %d steps, want 2", recorded, got)
		}
		for _, r := range records {
			switch {
			case r.Kind == trace.Step && r.Pod == "default/web" && !recorded:
				if step = r.Step; r.Message != string(image) {
					t.Errorf("the record says %q", r.Message)
				}
			case r.Kind == trace.ContainerStopping && (step == 0 || r.Cause != step):
				t.Errorf("recorded %t: the container stops because of step %d, want %d", recorded, r.Cause, step)
			}
		}
	}
}

func TestEvictPod(t *testing.T) {
	records := at(t, func(n *node.Node) {
		if err := n.EvictPod("default", "web"); err != nil {
			t.Error(err)
		}
		n.At(virtual.At(30*time.Second), func() {
			if err := n.EvictPod("default", "web"); err == nil {
				t.Error("a pod that has terminated was evicted again")
			}
		})
		n.At(virtual.At(40*time.Second), func() {
			n.StopKubelet()
			if err := n.EvictPod("default", "web"); !errors.Is(err, node.ErrKubeletStopped) {
				t.Errorf("while the kubelet is stopped: error %v", err)
			}
		})
	})
	if got := count(records, trace.Step); got != 1 {
		t.Errorf("%d steps, want 1", got)
	}
}

func TestStopKubeletTwice(t *testing.T) {
	records := at(t, func(n *node.Node) {
		n.StartKubelet() // it runs already
		if !n.StopKubelet() || n.StopKubelet() {
			t.Error("StopKubelet does not report whether the kubelet ran")
		}
		n.StartKubelet()
		n.StartKubelet()
	})
	if stopped, started := count(records, trace.KubeletStopped), count(records, trace.KubeletStarted); stopped != 1 ||
		started != 1 {
		t.Errorf("%d stops and %d starts, want one each", stopped, started)
	}
}

// PowerOff stops the kubelet and ends the containers. They start again after the kubelet starts.
func TestPowerOff(t *testing.T) {
	records := at(t, func(n *node.Node) {
		n.PowerOff(virtual.At(30 * time.Second))
		n.At(virtual.At(30*time.Second), n.StartKubelet)
	})
	if stopped, exited, started := count(records, trace.KubeletStopped), count(records, trace.ContainerExited),
		count(records, trace.ContainerStarted); stopped != 1 || exited != 1 || started != 2 {
		t.Errorf("%d stops, %d exits, %d starts; want 1, 1 and 2", stopped, exited, started)
	}
}

// A run ends with an error when it exceeds a limit.
func TestLimits(t *testing.T) {
	n := node.New(node.Options{Limits: limit.Limits{Events: 100, Processes: 100, AtOneInstant: 100,
		Time: virtual.At(time.Hour)}})
	defer n.Close()
	var reached *limit.Error
	if err := n.RunUntil(virtual.At(time.Minute)); !errors.As(err, &reached) {
		t.Errorf("error %v", err)
	}
	if err := n.RunUntil(virtual.At(2 * time.Minute)); !errors.As(err, &reached) {
		t.Errorf("after a limit was reached: error %v", err)
	}
}
