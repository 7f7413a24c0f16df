package realcontrollers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Random returns the scenario of a seed: a Deployment of up to ten pods with any strategy, and up to five steps at any time.
func Random(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(1 + r.IntN(10))), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: randomImage(r, 0)}}},
			},
		},
	}
	randomStrategy(r, &d.Spec)
	s := Scenario{Deployment: d, Duration: time.Duration(180+r.IntN(300)) * time.Second}
	if r.IntN(5) > 0 {
		s.Service = &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       v1.ServiceSpec{Selector: labels, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{{Port: 80}}},
		}
	}
	for range 1 + r.IntN(5) {
		at := time.Duration(r.Int64N(int64(s.Duration/time.Microsecond))) * time.Microsecond
		s.Steps = append(s.Steps, Step{At: at, Patch: randomPatch(r)})
	}
	slices.SortFunc(s.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return s
}

func randomStrategy(r *rand.Rand, s *appsv1.DeploymentSpec) {
	switch r.IntN(6) {
	case 0:
		s.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	case 1, 2, 3:
		surge := intstr.FromInt32(int32(r.IntN(4)))
		unavailable := intstr.FromInt32(int32(r.IntN(4)))
		if r.IntN(2) == 0 {
			surge = intstr.FromString(fmt.Sprintf("%d%%", r.IntN(101)))
		}
		if surge.IntVal == 0 && (surge.StrVal == "" || surge.StrVal == "0%") && unavailable.IntVal == 0 {
			unavailable = intstr.FromInt32(1)
		}
		s.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable}
	}
	if r.IntN(3) == 0 {
		s.MinReadySeconds = int32(1 + r.IntN(20))
	}
	if r.IntN(3) == 0 {
		s.ProgressDeadlineSeconds = ptr.To(int32(21 + r.IntN(100)))
	}
	if r.IntN(3) == 0 {
		s.RevisionHistoryLimit = ptr.To(int32(r.IntN(3)))
	}
}

// randomImage returns an image whose pods start within 40 s, or never.
func randomImage(r *rand.Rand, never int) string {
	if r.IntN(10) < never {
		return fmt.Sprintf("app:start-never-stop-%dms", 1+r.IntN(5000))
	}
	return fmt.Sprintf("app:start-%dms-stop-%dms", 100+r.IntN(40000), 1+r.IntN(5000))
}

func randomPatch(r *rand.Rand) string {
	switch r.IntN(10) {
	case 0:
		return "" // undo
	case 1, 2:
		return fmt.Sprintf(`{"spec": {"replicas": %d}}`, r.IntN(13))
	case 3:
		return fmt.Sprintf(`{"spec": {"paused": %t}}`, r.IntN(2) == 0)
	case 4:
		return fmt.Sprintf(`{"spec": {"minReadySeconds": %d}}`, r.IntN(20))
	case 5:
		return fmt.Sprintf(`{"metadata": {"annotations": {"a": "%d"}}}`, r.IntN(3))
	}
	return `{"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "` + randomImage(r, 2) + `"}]}}}}`
}
