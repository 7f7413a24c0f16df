package node_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// rollout is a Deployment behind a Service with 200 requests a second, which is restarted at 90 s.
type rollout struct {
	replicas, minReadySeconds int32
	preStop                   int64
	profile                   profile.Profile
	patches                   map[time.Duration]string
	strategy                  appsv1.DeploymentStrategyType
}

// program closes its listener at SIGTERM and exits a second later.
func program(*v1.Pod) fakeruntime.Pod {
	zero, second := fakeruntime.Exactly(0), fakeruntime.Exactly(time.Second)
	return fakeruntime.Pod{Containers: map[string]fakeruntime.ContainerConfig{
		"app": {Program: fakeruntime.Program{Rules: []fakeruntime.Rule{
			{Clock: fakeruntime.AfterStart, For: ptr.To(fakeruntime.Exactly(8 * time.Second)),
				Probes: &fakeruntime.Series{Items: []fakeruntime.Item{
					{Answer: fakeruntime.Answer{Word: fakeruntime.Refuses}}}}},
			{Clock: fakeruntime.AfterSigterm, From: zero, Refuse: true},
			{Clock: fakeruntime.AfterSigterm, From: second, Exit: &fakeruntime.Exit{}},
		}}}}}
}

func (o rollout) deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	container := v1.Container{Name: "app", Image: "web:1", ReadinessProbe: &v1.Probe{
		PeriodSeconds: 1, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}},
	}}
	if o.preStop > 0 {
		container.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: o.preStop}}}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &o.replicas, MinReadySeconds: o.minReadySeconds,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: o.strategy},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: v1.PodSpec{Containers: []v1.Container{container}}},
		},
	}
}

// run returns the trace of a run of five minutes.
func (o rollout) run(t testing.TB) []trace.Record {
	n := node.New(node.Options{Profile: o.profile, ControlPlane: &node.ControlPlane{Traffic: []traffic.Entry{{
		Service: "default/web", Router: "kube-proxy", Rate: 200, Least: 20 * time.Millisecond,
		Most: 80 * time.Millisecond,
	}}}})
	defer n.Close()
	try := func(err error) {
		if err != nil {
			t.Helper()
			t.Error(err)
		}
	}
	n.At(0, func() {
		try(n.AddWorkload(o.deployment(), program))
		try(n.AddService(&v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []v1.ServicePort{{Port: 80}}},
		}))
	})
	if o.patches == nil {
		o.patches = map[time.Duration]string{90 * time.Second: `{"spec": {"template": {"metadata": {"annotations": ` +
			`{"kubectl.kubernetes.io/restartedAt": "now"}}}}}`}
	}
	for at := range o.patches {
		n.At(virtual.At(at), func() { try(n.PatchWorkload("default", "web", []byte(o.patches[at]))) })
	}
	if err := n.RunUntil(virtual.At(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return n.Trace().Records()
}

// lost returns the number of requests that are lost.
func lost(records []trace.Record) float64 {
	n := 0.0
	for _, r := range records {
		if r.Kind == trace.LossEnded {
			n += r.Object.Loss.Lost
		}
	}
	return n
}

// A rollout loses about rate x window requests for each pod. With kube-proxy since v1.34, the
// change that a new Ready pod causes makes the next one wait for a second; minReadySeconds keeps
// them apart. The real controllers and limiters lose 179, 19, 0 and 29.
func TestRolloutLosesRequests(t *testing.T) {
	for _, c := range []struct {
		name string
		rollout
		want string
	}{
		{"the defaults", rollout{replicas: 3}, "178.6"},
		{"minReadySeconds", rollout{replicas: 3, minReadySeconds: 2}, "18.6"},
		{"a preStop sleep", rollout{replicas: 3, preStop: 2}, "0.0"},
		{"a kube-proxy with a burst", rollout{replicas: 3, profile: profile.V1_33}, "28.6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fmt.Sprintf("%.1f", lost(c.run(t))); got != c.want {
				t.Errorf("%s requests are lost, want %s", got, c.want)
			}
		})
	}
}

// The losses of a pod name their reasons, and their causes lead back to the step that started the
// rollout.
func TestLossesHaveCauses(t *testing.T) {
	records := rollout{replicas: 3}.run(t)
	i := slices.IndexFunc(records, func(r trace.Record) bool { return r.Kind == trace.LossStarted })
	if i < 0 {
		t.Fatal("nothing is lost")
	}
	var got []string
	for r := &records[i]; ; r = &records[r.Cause-1] {
		got = append(got, string(r.Kind)+" "+r.Subject())
		if r.Cause == 0 {
			break
		}
	}
	for _, want := range []string{
		"ListenerChanged web-1-0/app#0", "ContainerStopping web-1-0/app#0", "PodDeleteRequested web-1-0",
		"Scaled ReplicaSet default/web-1",
		"StatusPatched web-2-0", "ContainerStarted web-2-0/app#0", "PodAdded web-2-0",
		"Scaled ReplicaSet default/web-2", "Step node",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("the causes do not have %s:\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// A rollout keeps the pods that its strategy asks for, and its pods and ReplicaSets have the names
// of their order.
func TestRollout(t *testing.T) {
	records := rollout{replicas: 3}.run(t)
	least, complete := int32(3), virtual.Time(0)
	var pods []string
	for _, r := range records {
		switch {
		case r.Kind == trace.PodAdded:
			pods = append(pods, trace.PodName(r.Pod))
		case r.Kind == trace.WorkloadChanged && r.Object.Name == "Deployment default/web" &&
			r.T > virtual.At(time.Minute):
			least = min(least, r.Object.Workload.Ready)
			if w := r.Object.Workload; w.Observed == 2 && w.Updated == 3 && w.Replicas == 3 && w.Available == 3 &&
				complete == 0 {
				complete = r.T
			}
		}
	}
	if want := []string{"web-1-0", "web-1-1", "web-1-2", "web-2-0", "web-2-1", "web-2-2"}; !slices.Equal(pods, want) {
		t.Errorf("the pods are %q, want %q", pods, want)
	}
	if least != 3 || complete == 0 || complete > virtual.At(2*time.Minute) {
		t.Errorf("at least %d pods are Ready, complete at %s", least, complete)
	}
}

// Methods of the control plane return the errors of the API server.
func TestControlPlaneErrors(t *testing.T) {
	plain := node.New(node.Options{})
	defer plain.Close()
	if err := plain.AddWorkload(rollout{replicas: 1}.deployment(), nil); !errors.Is(err, node.ErrNoControlPlane) {
		t.Errorf("without a control plane: %v", err)
	}
	n := node.New(node.Options{ControlPlane: &node.ControlPlane{}})
	defer n.Close()
	d := rollout{replicas: 1}.deployment()
	if err := n.AddWorkload(d, nil); err != nil {
		t.Fatal(err)
	}
	none := d.DeepCopy()
	none.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(0)),
		MaxUnavailable: ptr.To(intstr.FromString("0%"))}
	for _, c := range []struct {
		name string
		err  error
		is   func(error) bool
	}{
		{"a second Deployment of the name", n.AddWorkload(d, nil), apierrors.IsAlreadyExists},
		{"surge and unavailable 0", n.AddWorkload(none, nil), apierrors.IsInvalid},
		{"an unknown Deployment", n.PatchWorkload("default", "db", []byte(`{}`)), apierrors.IsNotFound},
		{"another selector", n.PatchWorkload("default", "web",
			[]byte(`{"spec": {"selector": {"matchLabels": {"app": "db"}}}}`)), apierrors.IsInvalid},
		{"an unreadable patch", n.PatchWorkload("default", "web", []byte(`{`)), apierrors.IsBadRequest},
		{"nothing to go back to", n.UndoWorkload("default", "web", 0), func(err error) bool { return err != nil }},
	} {
		if !c.is(c.err) {
			t.Errorf("%s: error %v", c.name, c.err)
		}
	}
}

// Requests can be added until a router has targets, since the traffic does not know earlier ones.
func TestSendRequests(t *testing.T) {
	n := node.New(node.Options{ControlPlane: &node.ControlPlane{}})
	defer n.Close()
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []v1.ServicePort{{Port: 80}}}}
	to := traffic.Entry{Service: "default/web", Router: "kube-proxy", Rate: 100}
	if err := errors.Join(n.AddService(service), n.SendRequests(to),
		n.AddWorkload(rollout{replicas: 1}.deployment(), program)); err != nil {
		t.Fatal(err)
	}
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := n.SendRequests(to); err == nil || !strings.Contains(err.Error(), "has targets already") {
		t.Errorf("later: %v", err)
	}
	if err := n.DeletePod("default", "web-1-0", nil); err != nil {
		t.Fatal(err)
	}
	if err := n.RunUntil(virtual.At(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if lost(n.Trace().Records()) == 0 {
		t.Error("the only pod is deleted, and no request is lost")
	}
}

// A pod that does not fit beside the others waits until one of them has left.
func TestPodThatDoesNotFitWaits(t *testing.T) {
	n := node.New(node.Options{ControlPlane: &node.ControlPlane{},
		Config: kubeletconfig.Config{Allocatable: kubeletconfig.Allocatable{MilliCPU: 2500}}})
	defer n.Close()
	d := rollout{replicas: 3}.deployment()
	if err := n.RunUntil(0); err != nil {
		t.Fatal(err)
	}
	d.Spec.Template.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	if err := n.AddWorkload(d, program); err != nil {
		t.Fatal(err)
	}
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := n.PatchWorkload("default", "web", []byte(`{"spec": {"replicas": 2}}`)); err != nil {
		t.Fatal(err)
	}
	if err := n.RunUntil(virtual.At(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := n.PatchWorkload("default", "web", []byte(`{"spec": {"replicas": 3}}`)); err != nil {
		t.Fatal(err)
	}
	n.At(virtual.At(3*time.Minute), func() {
		if err := n.DeletePod("default", "web-1-0", nil); err != nil {
			t.Error(err)
		}
	})
	if err := n.RunUntil(virtual.At(4 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range n.Trace().Records() {
		if r.Kind == trace.PodScheduled || r.Reason == "FailedScheduling" || r.Kind == trace.PodRemoved {
			got = append(got, fmt.Sprintf("%.0fm %s %s", r.T.Offset().Minutes(), r.Pod[len("default/"):], r.Kind))
		}
	}
	want := []string{
		"0m web-1-0 PodScheduled", "0m web-1-1 PodScheduled", "0m web-1-2 Event",
		"1m web-1-2 PodRemoved", "2m web-1-3 Event", // a pod that is not scheduled is deleted first
		"3m web-1-4 Event", "3m web-1-3 PodScheduled", "3m web-1-4 Event", // when web-1-0 has ended
		"3m web-1-0 PodRemoved", "3m web-1-4 Event",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pods are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func BenchmarkRollout(b *testing.B) {
	for _, replicas := range []int32{3, 50} {
		b.Run(fmt.Sprint(replicas), func(b *testing.B) {
			for b.Loop() {
				rollout{replicas: replicas}.run(b)
			}
		})
	}
}
