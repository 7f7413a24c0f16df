package manifest

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/scenarios/format"
)

// Deployment returns the Deployment to create. set is the number of the ReplicaSet that the cluster
// makes of it, and step the one of Part.
func (s *Stage) Deployment(of *appsv1.Deployment, set, step int) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Name(of.Name), Labels: s.labelsOf(nil)}}
	part := s.Part
	part.Pod, part.Set, part.Step = of.Namespace+"/"+of.Name, set, step
	template, err := s.spec(&of.Spec.Template.Spec, &part)
	d.Spec = appsv1.DeploymentSpec{
		Replicas: of.Spec.Replicas, Strategy: of.Spec.Strategy, MinReadySeconds: of.Spec.MinReadySeconds,
		ProgressDeadlineSeconds: of.Spec.ProgressDeadlineSeconds, RevisionHistoryLimit: of.Spec.RevisionHistoryLimit,
		Paused: of.Spec.Paused, Selector: s.selector(of.Spec.Selector),
		Template: v1.PodTemplateSpec{Spec: template,
			ObjectMeta: metav1.ObjectMeta{Labels: s.labelsOf(of.Spec.Template.Labels)}},
	}
	if at, restarted := of.Spec.Template.Annotations[format.RestartedAt]; restarted {
		d.Spec.Template.Annotations = map[string]string{format.RestartedAt: at}
	}
	return d, err
}

// Change returns the merge patch that makes a Deployment what the scenario makes of it.
func (s *Stage) Change(of *appsv1.Deployment, set, step int) ([]byte, error) {
	d, err := s.Deployment(of, set, step)
	if err != nil {
		return nil, err
	}
	// a merge patch leaves what it does not name
	strategy := map[string]any{"type": d.Spec.Strategy.Type, "rollingUpdate": d.Spec.Strategy.RollingUpdate}
	spec := map[string]any{"replicas": d.Spec.Replicas, "minReadySeconds": d.Spec.MinReadySeconds,
		"progressDeadlineSeconds": d.Spec.ProgressDeadlineSeconds, "revisionHistoryLimit": d.Spec.RevisionHistoryLimit,
		"paused": d.Spec.Paused, "strategy": strategy, "template": d.Spec.Template}
	return json.Marshal(map[string]any{"spec": spec})
}

// selector returns a selector for the labels that played objects have.
func (s *Stage) selector(of *metav1.LabelSelector) *metav1.LabelSelector {
	own := &metav1.LabelSelector{MatchLabels: s.labelsOf(of.MatchLabels)}
	for _, e := range of.MatchExpressions {
		e.Key = labelKey(e.Key)
		own.MatchExpressions = append(own.MatchExpressions, e)
	}
	return own
}

// Service returns the Service to create. It has an IP inside the cluster only.
func (s *Stage) Service(of *v1.Service) *v1.Service {
	service := &v1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Name(of.Name), Labels: s.labelsOf(nil)},
		Spec: v1.ServiceSpec{Selector: s.labelsOf(of.Spec.Selector),
			PublishNotReadyAddresses: of.Spec.PublishNotReadyAddresses}}
	for _, p := range of.Spec.Ports {
		p.NodePort = 0
		service.Spec.Ports = append(service.Spec.Ports, p)
	}
	return service
}
