package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/pod"

	"probesim.dev/internal/world/apiserver/admission"
)

// answer is the API server's response to a manifest.
type answer struct {
	decodeErr error    // the decoding error
	errs      []string // validation errors of the object or its pod, each as path: message
	pod       *v1.Pod  // the pod that the object creates
}

func (a *answer) accepts() bool { return a.decodeErr == nil && len(a.errs) == 0 }

// ask creates a workload from a manifest in JSON, and then its first pod with the given name, with
// the API server's own code for strict decoding, defaults, preparation and validation. It leaves
// out storage and admission plugins.
func ask(t *testing.T, manifest []byte, podName string) *answer {
	t.Helper()
	object, err := decode(manifest)
	if err != nil {
		return &answer{decodeErr: err}
	}
	m, err := meta.Accessor(object)
	if err != nil {
		t.Fatal(err)
	}
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(admission.GeneratedName(m.GetGenerateName(), 0))
	}
	a := &answer{errs: create(t, object, "")}
	if p, ok := object.(*core.Pod); ok {
		a.pod = versioned(t, p)
		return a
	}
	p, path := podOf(object)
	p.Name, p.GenerateName = podName, ""
	if p.Namespace = ""; len(a.errs) == 0 {
		p.Namespace = m.GetNamespace()
	}
	again := versioned(t, p)
	legacyscheme.Scheme.Default(again)
	p = internal(t, again)
	a.errs = append(a.errs, create(t, p, path+".")...)
	a.pod = versioned(t, p)
	return a
}

var strategies = map[string]rest.RESTCreateStrategy{
	"Pod": pod.Strategy, "Deployment": deployment.Strategy, "StatefulSet": statefulset.Strategy,
	"DaemonSet": daemonset.Strategy, "ReplicaSet": replicaset.Strategy, "Job": job.Strategy,
	"CronJob": cronjob.Strategy,
}

// decode decodes a manifest like a request with strict field validation, which kubectl uses by
// default.
func decode(manifest []byte) (runtime.Object, error) {
	for _, info := range legacyscheme.Codecs.SupportedMediaTypes() {
		if info.MediaType == runtime.ContentTypeJSON {
			hub := schema.GroupVersions{
				{Version: runtime.APIVersionInternal}, {Group: "apps", Version: runtime.APIVersionInternal},
				{Group: "batch", Version: runtime.APIVersionInternal},
			}
			return runtime.Decode(legacyscheme.Codecs.DecoderToVersion(info.StrictSerializer, hub), manifest)
		}
	}
	return nil, errors.New("no codec for JSON")
}

// create creates an object and returns the errors. prefix is prepended to their paths.
func create(t *testing.T, object runtime.Object, prefix string) []string {
	t.Helper()
	capabilities.Setup(true, 0) // like the API server's flag --allow-privileged
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	m, err := meta.Accessor(object)
	if err != nil {
		t.Fatal(err)
	}
	m.SetUID("00000000-0000-0000-0000-000000000000")
	m.SetCreationTimestamp(metav1.Unix(1, 0))
	if m.GetNamespace() == "" {
		m.SetNamespace(v1.NamespaceDefault) // clients put it into the path of the request
	}
	ctx := genericapirequest.WithNamespace(context.Background(), m.GetNamespace())
	ctx = genericapirequest.WithRequestInfo(ctx,
		&genericapirequest.RequestInfo{APIGroup: kinds[0].Group, APIVersion: "v1"})
	err = rest.BeforeCreate(strategies[kinds[0].Kind], ctx, object)
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		t.Fatal(err)
	}
	var list []string
	for _, cause := range status.Status().Details.Causes {
		list = append(list, strings.TrimSuffix(prefix+cause.Field, ".")+": "+cause.Message)
	}
	return list
}

// podOf returns the pod that the controller of a workload creates from its template, and the path
// of the template.
func podOf(object runtime.Object) (pod *core.Pod, path string) {
	of := func(t core.PodTemplateSpec) *core.Pod {
		return &core.Pod{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: t.Spec}
	}
	switch o := object.(type) {
	case *apps.Deployment:
		return of(o.Spec.Template), "spec.template"
	case *apps.StatefulSet:
		pod := of(o.Spec.Template)
		pod.Spec.Hostname, pod.Spec.Subdomain = "", "" // the controller sets its own names
		pod.Spec.Volumes = slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v core.Volume) bool {
			return slices.ContainsFunc(o.Spec.VolumeClaimTemplates,
				func(c core.PersistentVolumeClaim) bool { return c.Name == v.Name })
		})
		for i, c := range o.Spec.VolumeClaimTemplates {
			source := core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{
				ClaimName: c.Name}}
			pod.Spec.Volumes = slices.Insert(pod.Spec.Volumes, i, core.Volume{Name: c.Name, VolumeSource: source})
		}
		return pod, "spec.template"
	case *apps.DaemonSet:
		return of(o.Spec.Template), "spec.template"
	case *apps.ReplicaSet:
		return of(o.Spec.Template), "spec.template"
	case *batch.Job:
		return of(o.Spec.Template), "spec.template"
	}
	return of(object.(*batch.CronJob).Spec.JobTemplate.Spec.Template), "spec.jobTemplate.spec.template"
}

func versioned(t *testing.T, in *core.Pod) *v1.Pod {
	t.Helper()
	out := &v1.Pod{}
	if err := corev1.Convert_core_Pod_To_v1_Pod(in, out, nil); err != nil {
		t.Fatal(err)
	}
	return out.DeepCopy()
}

func internal(t *testing.T, in *v1.Pod) *core.Pod {
	t.Helper()
	out := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(in, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}
