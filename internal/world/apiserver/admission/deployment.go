package admission

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/kube/profile"
)

// The kinds in the errors about objects.
var (
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind()
	serviceKind    = v1.SchemeGroupVersion.WithKind("Service").GroupKind()
)

// AdmitDeployment returns a copy of a new Deployment as the API server stores it: with defaults,
// also in its template. It returns an Invalid error that lists all fields the API server rejects,
// or that are not supported in its pods.
func AdmitDeployment(p profile.Profile, d *appsv1.Deployment) (*appsv1.Deployment, error) {
	d = d.DeepCopy()
	setDefault(&d.Namespace, v1.NamespaceDefault)
	defaultDeployment(&d.Spec)
	pod := templatePod(d)
	Default(pod)
	DropDisabled(p, &pod.Spec)
	d.Spec.Template.Spec = pod.Spec
	errs := append(ValidateController("Deployment", &d.ObjectMeta, d.Spec.Replicas, d.Spec.Selector, &d.Spec.Template),
		errorsIn(field.NewPath("spec"), func(s scope) { validateRollout(s, &d.Spec) })...)
	for _, e := range slices.Concat(Validate(pod), ValidateGated(p, pod), ValidateSupported(pod)) {
		if e.Field != "metadata.name" { // the name of the Deployment, which is checked
			e.Field = "spec.template." + e.Field
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(deploymentKind, d.Name, errs)
	}
	return d, nil
}

// templatePod returns a pod of the template of a Deployment.
func templatePod(d *appsv1.Deployment) *v1.Pod {
	t := d.Spec.Template.DeepCopy()
	t.ObjectMeta.Namespace, t.ObjectMeta.Name = d.Namespace, d.Name
	return &v1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
}

// defaultDeployment sets the defaults of the spec (SetDefaults_Deployment in
// pkg/apis/apps/v1/defaults.go at v1.37.0).
func defaultDeployment(spec *appsv1.DeploymentSpec) {
	setDefaultPointer(&spec.Replicas, 1)
	setDefaultPointer(&spec.RevisionHistoryLimit, 10)
	setDefaultPointer(&spec.ProgressDeadlineSeconds, 600)
	setDefault(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	update := appsv1.RollingUpdateDeployment{}
	if spec.Strategy.RollingUpdate != nil {
		update = *spec.Strategy.RollingUpdate
	}
	setDefaultPointer(&update.MaxUnavailable, intstr.FromString("25%"))
	setDefaultPointer(&update.MaxSurge, intstr.FromString("25%"))
	spec.Strategy.RollingUpdate = &update
}

// validateRollout checks how a Deployment replaces its pods (ValidateDeploymentSpec and
// ValidateDeploymentStrategy in pkg/apis/apps/validation/validation.go at v1.37.0). The defaults
// must be set.
func validateRollout(s scope, spec *appsv1.DeploymentSpec) {
	deadline := s.at("progressDeadlineSeconds")
	validateStrategy(s.at("strategy"), &spec.Strategy)
	nonNegative(s.at("minReadySeconds"), &spec.MinReadySeconds)
	nonNegative(s.at("revisionHistoryLimit"), spec.RevisionHistoryLimit)
	nonNegative(deadline, spec.ProgressDeadlineSeconds)
	deadline.invalid(*spec.ProgressDeadlineSeconds <= spec.MinReadySeconds, *spec.ProgressDeadlineSeconds,
		"must be greater than minReadySeconds")
}

func validateStrategy(s scope, strategy *appsv1.DeploymentStrategy) {
	oneOf(s.at("type"), strategy.Type, appsv1.RecreateDeploymentStrategyType,
		appsv1.RollingUpdateDeploymentStrategyType)
	if s = s.at("rollingUpdate"); strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		s.forbid(strategy.Type == appsv1.RecreateDeploymentStrategyType && strategy.RollingUpdate != nil,
			"may not be specified when strategy `type` is 'Recreate'")
		return
	}
	most, before := strategy.RollingUpdate.MaxUnavailable, len(*s.errs)
	unavailable := s.at("maxUnavailable")
	validateIntOrPercent(unavailable, most)
	validateIntOrPercent(s.at("maxSurge"), strategy.RollingUpdate.MaxSurge)
	if len(*s.errs) > before {
		return
	}
	unavailable.invalid(numberOf(most) == 0 && numberOf(strategy.RollingUpdate.MaxSurge) == 0, most,
		"may not be 0 when `maxSurge` is 0")
	unavailable.invalid(most.Type == intstr.String && numberOf(most) > 100, most, "must not be greater than 100%")
}

func validateIntOrPercent(s scope, value *intstr.IntOrString) {
	if value.Type == intstr.Int {
		nonNegative(s, &value.IntVal)
	} else {
		s.invalidFor(value, validation.IsValidPercent(value.StrVal))
	}
}

// numberOf returns a number, or the number of percent.
func numberOf(value *intstr.IntOrString) int {
	if value.Type == intstr.Int {
		return int(value.IntVal)
	}
	n := 0
	fmt.Sscanf(strings.TrimSuffix(value.StrVal, "%"), "%d", &n)
	return n
}

// PatchDeployment returns what a strategic merge patch of a user makes of a Deployment, with the
// errors of AdmitDeployment. The patch cannot change the selector or the status.
func PatchDeployment(p profile.Profile, d *appsv1.Deployment, patch []byte) (*appsv1.Deployment, error) {
	patched, err := Merge(d, patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if !equality.Semantic.DeepEqual(patched.Spec.Selector, d.Spec.Selector) {
		path := field.NewPath("spec", "selector")
		return nil, apierrors.NewInvalid(deploymentKind, d.Name,
			field.ErrorList{field.Invalid(path, patched.Spec.Selector, apivalidation.FieldImmutableErrorMsg)})
	}
	patched.Status = d.Status
	return AdmitDeployment(p, patched)
}

// AdmitService returns a copy of a new Service with the defaults that the simulator and the real
// controllers read, or an Invalid error that lists the fields of the metadata and the numbers and
// names of ports that the API server rejects. The cluster has IPv4 alone (initIPFamilyFields in
// pkg/registry/core/service/storage/alloc.go at v1.37.0).
func AdmitService(s *v1.Service) (*v1.Service, error) {
	s = s.DeepCopy()
	setDefault(&s.Namespace, v1.NamespaceDefault)
	setDefault(&s.Spec.Type, v1.ServiceTypeClusterIP)
	if len(s.Spec.IPFamilies) == 0 && s.Spec.Type != v1.ServiceTypeExternalName {
		s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	}
	for i := range s.Spec.Ports {
		port := &s.Spec.Ports[i]
		setDefault(&port.Protocol, v1.ProtocolTCP)
		if port.TargetPort.IntVal == 0 && port.TargetPort.StrVal == "" {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	errs := errorsIn(nil, func(at scope) {
		validateMeta(at, &s.ObjectMeta, apivalidation.NameIsDNS1035Label)
		for i, p := range s.Spec.Ports { // validateServicePort in pkg/apis/core/validation/validation.go at v1.37.0
			port := at.at("spec", "ports").index(i)
			port.at("port").invalidFor(p.Port, validation.IsValidPortNum(int(p.Port)))
			wrong := validation.IsValidPortNum(int(p.TargetPort.IntVal))
			if p.TargetPort.Type == intstr.String {
				wrong = validation.IsValidPortName(p.TargetPort.StrVal)
			}
			port.at("targetPort").invalidFor(p.TargetPort.String(), wrong)
		}
	})
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(serviceKind, s.Name, errs)
	}
	return s, nil
}
