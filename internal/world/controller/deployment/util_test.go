package deployment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// update returns a Deployment with replicas, maxSurge and maxUnavailable.
func update(replicas int32, surge, unavailable string) *appsv1.Deployment {
	return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: ptr.To(intstr.Parse(surge)), MaxUnavailable: ptr.To(intstr.Parse(unavailable)),
			}},
	}}
}

// sets returns ReplicaSets web-1, web-2 and so on with these sizes, each a minute younger than the
// one before, as a Deployment has scaled them.
func sets(d *appsv1.Deployment, sizes ...int32) []*appsv1.ReplicaSet {
	var list []*appsv1.ReplicaSet
	for i, size := range sizes {
		rs := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i+1),
				CreationTimestamp: metav1.NewTime(time.Unix(int64(60*i), 0))},
			Spec: appsv1.ReplicaSetSpec{Replicas: &size},
		}
		setReplicasAnnotations(rs, d)
		list = append(list, rs)
	}
	return list
}

// maxSurge is rounded up and maxUnavailable down; if both are 0, one pod may be missing
// (TestResolveFenceposts in util/deployment_util_test.go, and the documentation of the defaults).
func TestResolveFenceposts(t *testing.T) {
	for _, c := range []struct {
		replicas           int32
		surge, unavailable string
		want               string
	}{
		{3, "25%", "25%", "1 0"}, {4, "25%", "25%", "1 1"}, {10, "25%", "25%", "3 2"}, {1, "25%", "25%", "1 0"},
		{2, "0%", "1%", "0 1"},
		{10, "0", "0%", "0 1"}, {10, "2", "3", "2 3"}, {20, "10%", "0", "2 0"}, {5, "100%", "100%", "5 5"},
	} {
		surge, unavailable := ResolveFenceposts(update(c.replicas, c.surge, c.unavailable).Spec.Strategy.RollingUpdate,
			c.replicas)
		if got := fmt.Sprint(surge, " ", unavailable); got != c.want {
			t.Errorf("%d replicas, %s and %s: got %s, want %s", c.replicas, c.surge, c.unavailable, got, c.want)
		}
	}
}

// The new ReplicaSet grows until all have replicas plus maxSurge, and not beyond replicas
// (TestNewRSNewReplicas, and TestDeploymentController_reconcileNewReplicaSet in rolling_test.go).
func TestNewReplicas(t *testing.T) {
	for _, c := range []struct{ replicas, surge, old, new, want int32 }{
		{10, 0, 10, 0, 0}, {10, 2, 10, 0, 2}, {10, 2, 5, 0, 7}, {10, 2, 10, 2, 2}, {1, 1, 5, 5, 5}, {6, 10, 5, 2, 6},
	} {
		d := update(c.replicas, fmt.Sprint(c.surge), "1")
		all := sets(d, c.old, c.new)
		if got := newReplicas(d, all, all[1]); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}

// A changed number of replicas is spread in proportion to the sizes, and what is left over goes to
// the largest ReplicaSet (TestScale in sync_test.go).
func TestProportions(t *testing.T) {
	for _, c := range []struct {
		from, to int32
		surges   string // before and after
		sizes    []int32
		want     []int32
	}{
		{5, 10, "0 0", []int32{3, 2}, []int32{6, 4}},
		{5, 3, "0 0", []int32{3, 2}, []int32{2, 1}},
		{9, 4, "0 0", []int32{1, 8}, []int32{0, 4}},
		{7, 10, "0 0", []int32{2, 3, 2}, []int32{3, 4, 3}},
		{13, 8, "0 0", []int32{3, 8, 2}, []int32{2, 5, 1}},
		{3, 4, "0 0", []int32{1, 1, 1}, []int32{1, 1, 2}},
		{3, 2, "0 0", []int32{1, 1, 1}, []int32{0, 1, 1}},
		{6, 0, "0 0", []int32{1, 2, 3}, []int32{0, 0, 0}},
		{10, 20, "2 2", []int32{6, 6}, []int32{11, 11}},
		{10, 50, "3 6", []int32{8, 5}, []int32{34, 22}},
		{10, 14, "0 0", []int32{3, 7}, []int32{4, 10}},
	} {
		before, after, _ := strings.Cut(c.surges, " ")
		old := sets(update(c.from, before, "1"), c.sizes...)
		all, sizes := proportions(update(c.to, after, "1"), old)
		got := map[string]int32{}
		for i, rs := range all {
			got[rs.Name] = sizes[i]
		}
		for i, rs := range old {
			if got[rs.Name] != c.want[i] {
				t.Errorf("%v from %d to %d: %s gets %d, want %d", c.sizes, c.from, c.to, rs.Name, got[rs.Name],
					c.want[i])
			}
		}
	}
}

// A ReplicaSet that is used again gets the next revision, and keeps the old one in its history,
// which has a greatest length.
func TestRevisions(t *testing.T) {
	d := update(3, "1", "0")
	d.Annotations = map[string]string{"note": "a", revisionAnnotation: "7"}
	rs := sets(d, 3)[0]
	set := func(next int64) (changed bool) {
		rs.Annotations, changed = annotationsOf(d, rs, next)
		return changed
	}
	if !set(1) || rs.Annotations["note"] != "a" || rs.Annotations[revisionAnnotation] != "1" ||
		rs.Annotations[historyAnnotation] != "" {
		t.Errorf("a new ReplicaSet has %v", rs.Annotations)
	}
	if set(1) {
		t.Error("the same revision changes something")
	}
	if !set(3) || rs.Annotations[revisionAnnotation] != "3" || rs.Annotations[historyAnnotation] != "1" {
		t.Errorf("a ReplicaSet that is used again has %v", rs.Annotations)
	}
	long := history(strings.Repeat("1000,", 399)+"1000", "1001")
	if len(long) > historyLength || !strings.HasSuffix(long, ",1001") {
		t.Errorf("a long history has %d characters and ends with %q", len(long), long[len(long)-10:])
	}
}

// More new, Ready or available replicas are progress, and so are fewer old ones
// (TestDeploymentProgressing in util/deployment_util_test.go).
func TestMadeProgress(t *testing.T) {
	status := func(replicas, updated, ready, available int32) *appsv1.DeploymentStatus {
		return &appsv1.DeploymentStatus{Replicas: replicas, UpdatedReplicas: updated, ReadyReplicas: ready,
			AvailableReplicas: available}
	}
	for _, c := range []struct {
		name        string
		before, now *appsv1.DeploymentStatus
		want        bool
	}{
		{"nothing", status(10, 4, 4, 4), status(10, 4, 4, 4), false},
		{"fewer Ready", status(10, 4, 8, 8), status(10, 4, 7, 7), false},
		{"a new one", status(10, 4, 4, 4), status(10, 6, 4, 4), true},
		{"one old less", status(10, 4, 4, 4), status(8, 4, 4, 4), true},
		{"a new one more and one less in all", status(10, 5, 5, 5), status(6, 3, 5, 5), true},
		{"one more Ready", status(10, 10, 9, 8), status(10, 10, 10, 8), true},
		{"one more available", status(10, 10, 10, 8), status(10, 10, 10, 9), true},
	} {
		if got := madeProgress(c.before, c.now); got != c.want {
			t.Errorf("%s: got %t", c.name, got)
		}
	}
}
