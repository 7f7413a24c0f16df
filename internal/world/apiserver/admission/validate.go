package admission

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/podutil"
)

// uidPattern is the format of the UID in a pod. The API server generates UIDs and has no rule for
// their format; the kubelet uses them as names of directories.
var uidPattern = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// Validate returns the errors with which the API server rejects a new pod. The defaults must be
// set. It checks the fields that the simulator reads. Paths start with metadata and spec.
// (ValidatePodCreate)
func Validate(pod *v1.Pod) field.ErrorList {
	return errorsIn(nil, func(s scope) {
		validatePod(s, pod)
		s.at("spec", "ephemeralContainers").forbid(len(pod.Spec.EphemeralContainers) > 0, "cannot be set on create")
	})
}

// validatePod checks a new or updated pod. (validatePodMetadataAndSpec)
func validatePod(s scope, pod *v1.Pod) {
	s.add(apivalidation.ValidateObjectMeta(&pod.ObjectMeta, true, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))...)
	s.at("metadata", "uid").invalid(
		pod.UID != UID(pod.Namespace, pod.Name) && !uidPattern.MatchString(string(pod.UID)), pod.UID,
		"must consist of lower case alphanumeric characters, '-' or '.'")
	validateSpec(s.at("spec"), &pod.Spec)
}

// validateSpec is ValidatePodSpec.
func validateSpec(s scope, spec *v1.PodSpec) {
	for i, gate := range spec.ReadinessGates { // validateReadinessGates
		s.at("readinessGates").index(i).at("conditionType").invalidFor(string(gate.ConditionType),
			validation.IsQualifiedName(string(gate.ConditionType)))
	}
	oneOf(s.at("restartPolicy"), spec.RestartPolicy, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure,
		v1.RestartPolicyNever)
	if deadline := spec.ActiveDeadlineSeconds; deadline != nil {
		s.at("activeDeadlineSeconds").invalid(*deadline < 1 || *deadline > math.MaxInt32, *deadline,
			validation.InclusiveRangeError(1, math.MaxInt32))
	}
	s.at("containers").require(len(spec.Containers) > 0, "")
	s.at("terminationGracePeriodSeconds").require(spec.TerminationGracePeriodSeconds != nil, "")
	grace, names := ptr.Deref(spec.TerminationGracePeriodSeconds, math.MaxInt64), sets.New[string]()
	eachContainer(s, spec, func(s scope, c *v1.Container, init bool) {
		if init {
			validateInitContainer(s, c, names, grace)
		} else {
			validateContainer(s, c, names, grace)
		}
		validateResizePolicy(s.at("resizePolicy"), c, spec.RestartPolicy)
	})
}

// unsupported are the fields of a pod that change the behavior of the API server or the kubelet and
// that the simulator does not simulate.
var unsupported = []struct {
	path *field.Path
	what string
	used func(*v1.Pod) bool
}{
	{mirrorPath, "only the kubelet creates mirror pods: remove this annotation to simulate an ordinary pod",
		podutil.IsMirror},
	{field.NewPath("metadata", "finalizers"), "finalizers is not supported yet", func(p *v1.Pod) bool {
		return slices.Contains(p.Finalizers, metav1.FinalizerOrphanDependents) ||
			slices.Contains(p.Finalizers, metav1.FinalizerDeleteDependents)
	}},
	{field.NewPath("spec", "schedulingGates"), "schedulingGates is not supported yet",
		func(p *v1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 }},
	{field.NewPath("spec", "resourceClaims"), "resourceClaims is not supported yet",
		func(p *v1.Pod) bool { return len(p.Spec.ResourceClaims) > 0 }},
	{field.NewPath("spec", "os"), "os is not supported yet",
		func(p *v1.Pod) bool { return p.Spec.OS != nil && p.Spec.OS.Name != v1.Linux }},
}

// ValidateSupported returns an error for each field of a new pod that the API server accepts and
// that the simulator does not simulate. The other annotations of static pods have no effect: the
// kubelet replaces config.source and config.seen in its copy of a pod, and compares config.hash
// only with a mirror pod (pkg/kubelet/config/config.go and pkg/kubelet/pod/mirror_client.go at
// v1.37.0).
func ValidateSupported(pod *v1.Pod) field.ErrorList {
	return errorsIn(nil, func(s scope) {
		for _, u := range unsupported {
			scope{u.path, s.errs}.forbid(u.used(pod), u.what)
		}
		eachContainer(s.at("spec"), &pod.Spec, func(s scope, c *v1.Container, _ bool) { validateSupported(s, c) })
	})
}

// validateSupported reports the image of a container if it is no reference, and what the simulator
// cannot send in its probes and hooks.
func validateSupported(s scope, c *v1.Container) {
	if c.Image != "" && !IsImage(c.Image) {
		what := fmt.Sprintf("the image %q is not supported yet: its name is not a valid reference", c.Image)
		if strings.ContainsAny(c.Image, "$<{") {
			what = "an image name with a placeholder, which is not filled in, is not supported yet"
		}
		s.at("image").forbid(true, what)
	}
	for at, get := range httpGets(c, s.path) {
		isASCII := !strings.ContainsFunc(get.Host, func(c rune) bool { return c >= utf8.RuneSelf })
		host, headers := scope{at.Child("host"), s.errs}, scope{at.Child("httpHeaders"), s.errs}
		host.forbid(!isASCII, "a host with characters outside ASCII is not supported yet") // net/http sends Punycode
		headers.forbid(slices.ContainsFunc(get.HTTPHeaders, isUnsendable),
			"a header that cannot be sent unchanged is not supported yet")
		headers.forbid(podutil.IsHTTP2(get) && slices.ContainsFunc(get.HTTPHeaders, isConnectionHeader),
			"a header that HTTP/2 forbids is not supported yet")
	}
}

// isUnsendable reports whether net/http rejects this header or changes it.
func isUnsendable(h v1.HTTPHeader) bool {
	isControl := func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
	isHost := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.ContainsRune("-.:[]", c)
	}
	return strings.ContainsFunc(h.Value, isControl) ||
		strings.EqualFold(h.Name, "Host") && strings.ContainsFunc(h.Value, func(c rune) bool { return !isHost(c) })
}

// isConnectionHeader reports whether an HTTP/2 client may refuse to send this header, instead of
// leaving it out.
func isConnectionHeader(h v1.HTTPHeader) bool {
	name, value := strings.ToLower(h.Name), strings.ToLower(h.Value)
	return name == "upgrade" || name == "transfer-encoding" ||
		name == "connection" && value != "close" && value != "keep-alive"
}

var mirrorPath = field.NewPath("metadata", "annotations").Key(v1.MirrorPodAnnotationKey)
