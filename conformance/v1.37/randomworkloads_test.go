package main

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// workload generates an object of a random kind that creates pods.
func (r randomPods) workload() runtime.Object {
	p := r.pod()
	p.UID = ""
	meta := r.objectMeta()
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations},
		Spec: p.Spec}
	number := func() *int32 { return one(r, nil, nil, new(int32(2)), new(int32(0)), new(int32(-1))) }
	if r.rarely(3) {
		template.Name, template.Namespace = one(r, "t", "T"), one(r, "", "x", "X")
	}
	of := func(apiVersion, kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
	}
	switch r.IntN(7) {
	case 0:
		p.ObjectMeta = meta
		p.TypeMeta = of("v1", "Pod")
		return p
	case 1:
		return &appsv1.Deployment{TypeMeta: of("apps/v1", "Deployment"), ObjectMeta: meta,
			Spec: appsv1.DeploymentSpec{Replicas: number(), Selector: r.selector(&template),
				Template: r.always(template)}}
	case 2:
		return &appsv1.StatefulSet{TypeMeta: of("apps/v1", "StatefulSet"), ObjectMeta: meta,
			Spec: appsv1.StatefulSetSpec{Replicas: number(), Selector: r.selector(&template),
				Template:    r.always(template),
				ServiceName: one(r, "", "s")}}
	case 3:
		return &appsv1.DaemonSet{TypeMeta: of("apps/v1", "DaemonSet"), ObjectMeta: meta,
			Spec: appsv1.DaemonSetSpec{Selector: r.selector(&template), Template: r.always(template)}}
	case 4:
		return &appsv1.ReplicaSet{TypeMeta: of("apps/v1", "ReplicaSet"), ObjectMeta: meta,
			Spec: appsv1.ReplicaSetSpec{Replicas: number(), Selector: r.selector(&template),
				Template: r.always(template)}}
	case 5:
		return &batchv1.Job{TypeMeta: of("batch/v1", "Job"), ObjectMeta: meta, Spec: r.job(template)}
	}
	job := r.job(template)
	return &batchv1.CronJob{TypeMeta: of("batch/v1", "CronJob"), ObjectMeta: meta, Spec: batchv1.CronJobSpec{
		Schedule:          one(r, "*/5 * * * *", "@daily"),
		ConcurrencyPolicy: one[batchv1.ConcurrencyPolicy](r, "", "Forbid", "Replace", "forbid"),
		Suspend:           one(r, nil, new(true)),
		JobTemplate: batchv1.JobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: one(r, nil, map[string]string{"a": "b"})}, Spec: job},
	}}
}

func (r randomPods) objectMeta() metav1.ObjectMeta {
	meta := metav1.ObjectMeta{
		Name: one(r, "web", "web", "web", "", "Web", "a.b", "a.b", "9", "x-", strings.Repeat("a", 52),
			strings.Repeat("a", 53), strings.Repeat("a", 63),
			strings.Repeat("a", 64), strings.Repeat("a", 245), strings.Repeat("a", 253), strings.Repeat("a", 254)),
		GenerateName: one(r, "", "", "", "web-", "Web-", "."),
		Namespace:    one(r, "", "", "prod", "a.b", "X"),
	}
	if r.rarely(4) {
		meta.Labels = map[string]string{one(r, "a", "a/b", "a b"): one(r, "", "x", "-")}
	}
	if r.rarely(6) {
		meta.Annotations = map[string]string{one(r, "a", "?"): "b c"}
	}
	return meta
}

// always gives a template a restart policy that is valid for a workload that runs forever. If the
// draw is wild, it sets any policy.
func (r randomPods) always(template v1.PodTemplateSpec) v1.PodTemplateSpec {
	template.Spec.RestartPolicy = one[v1.RestartPolicy](r, "", "Always", "Always", "OnFailure", "Never", "never")
	template.Spec.ActiveDeadlineSeconds = one(r, nil, nil, nil, new(int64(5)))
	return template
}

// selector generates a selector that matches the template. If the draw is wild, it generates any
// selector.
func (r randomPods) selector(template *v1.PodTemplateSpec) *metav1.LabelSelector {
	template.Labels = one(r, map[string]string{"app": "web", "tier": "x"}, map[string]string{"app": "web"}, nil,
		map[string]string{"app": "-"}, template.Labels)
	s := &metav1.LabelSelector{MatchLabels: one(r, map[string]string{"app": "web"}, map[string]string{"app": "other"},
		nil,
		map[string]string{"a b": "web"}, map[string]string{"app": "-"}, map[string]string{"app": "web", "tier": "x"})}
	for range one(r, r.IntN(2), 0, 2) {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: one(r, "app", "tier", "a b", ""),
			Operator: one(r, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
				metav1.LabelSelectorOpDoesNotExist, "in"),
			Values: one(r, nil, []string{"web"}, []string{"x", "-"}),
		})
	}
	return one(r, s, s, nil, &metav1.LabelSelector{})
}

func (r randomPods) job(template v1.PodTemplateSpec) batchv1.JobSpec {
	number := func(values ...int32) *int32 {
		if !r.rarely(3) {
			return nil
		}
		return new(one(r, values...))
	}
	template.Spec.RestartPolicy = one[v1.RestartPolicy](r, "Never", "OnFailure", "", "Always", "never")
	s := batchv1.JobSpec{
		Template: template, Parallelism: number(2, 0, -1, 1), Completions: number(3, 0, 1, -1),
		BackoffLimit:          number(6, 0, -1),
		ActiveDeadlineSeconds: one(r, nil, nil, new(int64(60)), new(int64(-1))),
		BackoffLimitPerIndex:  one(r, nil, nil, new(int32(1))),
		CompletionMode:        one(r, nil, nil, new(batchv1.NonIndexedCompletion), new(batchv1.CompletionMode("x"))),
		Suspend:               one(r, nil, new(true)),
	}
	if r.rarely(6) && template.Spec.RestartPolicy == "Never" {
		s.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: one(r, batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore,
				batchv1.PodFailurePolicyActionFailIndex, "x"),
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				ContainerName: one(r, nil, new("a"), new("zz")),
				Operator: one(r, batchv1.PodFailurePolicyOnExitCodesOpIn,
					batchv1.PodFailurePolicyOnExitCodesOpNotIn, ""),
				Values: one(r, []int32{1, 2}, nil, []int32{0}, []int32{2, 1}),
			},
		}}}
	}
	return s
}
