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

// Random returns the scenario of a seed: up to three Deployments of up to twenty pods with any strategy, up to three Services, and up to six
// steps at any time. The control plane of one scenario in three has the standard latencies, and that of the others random ones.
func Random(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 1))
	s := Scenario{Deployment: randomDeployment(r, "web"), Duration: time.Duration(180+r.IntN(300)) * time.Second}
	if r.IntN(3) > 0 {
		s.DelaySeed = seed
	}
	for _, name := range []string{"api", "db"} {
		if r.IntN(6) == 0 {
			s.Others = append(s.Others, randomDeployment(r, name))
		}
	}
	for _, labels := range []map[string]string{{"app": "web"}, {"team": "shop"}, {"app": "api"}} {
		if r.IntN(5) > 0 && (len(s.Services) == 0 || r.IntN(3) == 0) {
			s.Services = append(s.Services, randomService(r, fmt.Sprintf("service-%d", len(s.Services)), labels))
		}
	}
	var at time.Duration
	for range 1 + r.IntN(6) {
		if at == 0 || r.IntN(2) == 0 {
			at = time.Duration(r.Int64N(int64(s.Duration / time.Microsecond)))
		} else { // while the step before is under way
			at += time.Duration(r.Int64N(int64(30 * time.Second / time.Microsecond)))
		}
		step := Step{At: at * time.Microsecond, Patch: randomPatch(r), Of: "web"}
		if len(s.Others) > 0 && r.IntN(2) == 0 {
			step.Of = s.Others[r.IntN(len(s.Others))].Name
		}
		if r.IntN(8) == 0 {
			step.Delete = fmt.Sprintf("%s-%d-%d", step.Of, 1+r.IntN(2), r.IntN(5))
		}
		s.Steps = append(s.Steps, step)
	}
	s.Steps = slices.DeleteFunc(s.Steps, func(step Step) bool { return step.At >= s.Duration })
	slices.SortFunc(s.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return s
}

func randomService(r *rand.Rand, name string, selector map[string]string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.ServiceSpec{
			Selector: selector, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{{Port: 80}},
			PublishNotReadyAddresses: r.IntN(6) == 0,
		},
	}
}

func randomDeployment(r *rand.Rand, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name, "team": "shop"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(1 + r.IntN(10+10*r.IntN(2)))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: randomImage(r, 0)}}},
			},
		},
	}
	randomStrategy(r, &d.Spec)
	return d
}

func randomStrategy(r *rand.Rand, s *appsv1.DeploymentSpec) {
	switch r.IntN(6) {
	case 0:
		s.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	case 1, 2, 3:
		s.Strategy.RollingUpdate = randomRollingUpdate(r)
	}
	if r.IntN(3) == 0 {
		s.MinReadySeconds = int32(1 + r.IntN(20))
	}
	if r.IntN(3) == 0 {
		s.ProgressDeadlineSeconds = ptr.To(s.MinReadySeconds + 1 + int32(r.IntN(120)))
	}
	if r.IntN(3) == 0 {
		s.RevisionHistoryLimit = ptr.To(int32(r.IntN(3)))
	}
}

// randomRollingUpdate returns a surge and an unavailability, each a number or a percentage, not both 0.
func randomRollingUpdate(r *rand.Rand) *appsv1.RollingUpdateDeployment {
	amount := func() intstr.IntOrString {
		switch r.IntN(4) {
		case 0:
			return intstr.FromInt32(0)
		case 1:
			return intstr.FromString(fmt.Sprintf("%d%%", 1+r.IntN(100)))
		}
		return intstr.FromInt32(int32(1 + r.IntN(5)))
	}
	surge, unavailable := amount(), amount()
	if surge == intstr.FromInt32(0) && unavailable == intstr.FromInt32(0) {
		unavailable = intstr.FromInt32(1)
	}
	return &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable}
}

// randomImage returns an image whose pods start within 40 s, or with a chance in ten never. One image in six restarts its pods again and again.
func randomImage(r *rand.Rand, never int) string {
	image := fmt.Sprintf("app:stop-%dms", 1+r.IntN(5000))
	if r.IntN(10) < never {
		return image + "-start-never"
	}
	image += fmt.Sprintf("-start-%dms", 100+r.IntN(40000))
	if r.IntN(2) == 0 {
		image += fmt.Sprintf("-boot-%dms", 100+r.IntN(3000))
	}
	if r.IntN(6) == 0 {
		image += fmt.Sprintf("-flap-%dms", 8000+r.IntN(40000))
	}
	return image
}

// randomPatch returns what a user changes. An empty patch undoes the last rollout.
func randomPatch(r *rand.Rand) string {
	template := `"template": {"spec": {"containers": [{"name": "app", "image": "` + randomImage(r, 2) + `"}]}}`
	switch r.IntN(14) {
	case 0, 1:
		return ""
	case 2, 3:
		return fmt.Sprintf(`{"spec": {"replicas": %d}}`, r.IntN(21))
	case 4, 5:
		return fmt.Sprintf(`{"spec": {"paused": %t}}`, r.IntN(2) == 0)
	case 6:
		return fmt.Sprintf(`{"spec": {"minReadySeconds": %d}}`, r.IntN(20))
	case 7:
		return fmt.Sprintf(`{"metadata": {"annotations": {"a": "%d"}}}`, r.IntN(3))
	case 8:
		u := randomRollingUpdate(r)
		return fmt.Sprintf(`{"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": %s, "maxUnavailable": %s}}}}`, amountText(u.MaxSurge), amountText(u.MaxUnavailable))
	case 9:
		return fmt.Sprintf(`{"spec": {"replicas": %d, %s}}`, r.IntN(21), template)
	case 10:
		return fmt.Sprintf(`{"spec": {"paused": %t, %s}}`, r.IntN(2) == 0, template)
	}
	return `{"spec": {` + template + `}}`
}

// amountText returns an amount in JSON.
func amountText(a *intstr.IntOrString) string {
	if a.Type == intstr.String {
		return `"` + a.StrVal + `"`
	}
	return a.String()
}
