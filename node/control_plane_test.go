package node_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/node"
	"probesim.dev/sim/virtual"
)

func webDeployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "web:1"}}},
			},
		},
	}
}

func TestX(t *testing.T) {
	n := node.New(node.Options{ControlPlane: &node.ControlPlane{}})
	defer n.Close()
	n.At(0, func() {
		if err := n.AddWorkload(webDeployment(3), nil); err != nil {
			t.Error(err)
		}
		if err := n.AddService(&v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []v1.ServicePort{{Port: 80}}}}); err != nil {
			t.Error(err)
		}
	})
	n.At(virtual.At(90*time.Second), func() {
		if err := n.PatchWorkload("default", "web", []byte(`{"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "web:2"}]}}}}`)); err != nil {
			t.Error(err)
		}
	})
	start := time.Now()
	if err := n.RunUntil(virtual.At(4 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, time.Since(start))
	for r := range n.Trace().All() {
		fmt.Println(r.T, r.Step, r.Cause, r.Subject(), r.Summary())
	}
}
