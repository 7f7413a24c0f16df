package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"probesim.dev/kube/profile"
)

// valid returns a pod that the API server creates.
func valid() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "web:1"}}},
	}
}

func TestDefault(t *testing.T) {
	pod := valid()
	pod.Spec.HostNetwork = true
	c := &pod.Spec.Containers[0]
	c.Ports = []v1.ContainerPort{{ContainerPort: 80}}
	c.LivenessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{}}}
	c.ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 1}}, PeriodSeconds: 7,
		SuccessThreshold: 2}
	Default(pod)

	want := valid()
	want.Namespace, want.UID = "default", "uid-default-web"
	want.Spec = v1.PodSpec{
		HostNetwork: true, RestartPolicy: v1.RestartPolicyAlways, DNSPolicy: v1.DNSClusterFirst,
		SchedulerName:                 "default-scheduler",
		TerminationGracePeriodSeconds: ptr.To[int64](30), EnableServiceLinks: ptr.To(true),
		SecurityContext: &v1.PodSecurityContext{},
		Containers: []v1.Container{{
			Name: "app", Image: "web:1", ImagePullPolicy: v1.PullIfNotPresent,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
			Ports: []v1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolTCP}},
			LivenessProbe: &v1.Probe{
				ProbeHandler:   v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Scheme: v1.URISchemeHTTP}},
				TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
			},
			ReadinessProbe: &v1.Probe{
				ProbeHandler:   v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 1, Service: ptr.To("")}},
				TimeoutSeconds: 1, PeriodSeconds: 7, SuccessThreshold: 2, FailureThreshold: 3,
			},
		}},
	}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestDefaultKeepsWhatIsSet(t *testing.T) {
	pod := valid()
	pod.Namespace, pod.UID = "prod", "own"
	pod.Spec.RestartPolicy = v1.RestartPolicyNever
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
	Default(pod)
	if pod.Namespace != "prod" || pod.UID != "own" || pod.Spec.RestartPolicy != v1.RestartPolicyNever ||
		*pod.Spec.TerminationGracePeriodSeconds != 0 {
		t.Errorf("Default changed a value that was set: %+v", pod)
	}
	pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](-5)
	if Default(pod); *pod.Spec.TerminationGracePeriodSeconds != 1 {
		t.Errorf("the default of a negative grace period is %d, want 1", *pod.Spec.TerminationGracePeriodSeconds)
	}
}

func TestPullPolicy(t *testing.T) {
	hash := strings.Repeat("0", 64)
	for image, want := range map[string]v1.PullPolicy{
		"web": v1.PullAlways, "web:latest": v1.PullAlways, "host:5000/web": v1.PullAlways,
		"web:1": v1.PullIfNotPresent, "host:5000/web:1": v1.PullIfNotPresent, "web@sha256:" + hash: v1.PullIfNotPresent,
		"web:latest@sha256:" + hash: v1.PullAlways, "web:latest@sha256:0": v1.PullIfNotPresent,
		"We b": v1.PullIfNotPresent, hash: v1.PullIfNotPresent,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("the pull policy of %s is %s, want %s", image, got, want)
		}
	}
}

func restart(c *v1.Container, rules ...v1.ContainerRestartRule) {
	c.RestartPolicy, c.RestartPolicyRules = ptr.To(v1.ContainerRestartPolicyNever), rules
}

func restartRule(action v1.ContainerRestartRuleAction, op v1.ContainerRestartRuleOnExitCodesOperator,
	codes ...int32) v1.ContainerRestartRule {
	return v1.ContainerRestartRule{Action: action,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: op, Values: codes}}
}

// Each case changes a valid pod in one place.
func TestValidate(t *testing.T) {
	exec := v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"true"}}}
	app := func(pod *v1.Pod) *v1.Container { return &pod.Spec.Containers[0] }
	for _, test := range []struct {
		want string // empty: the pod stays valid
		spec func(*v1.Pod)
	}{
		{"", func(p *v1.Pod) {}},
		{`metadata.name: Required value: name or generateName is required`, func(p *v1.Pod) { p.Name = "" }},
		{`metadata.annotations: Invalid value: "?": name part must consist of alphanumeric characters, '-', '_' or ` +
			"'.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or " +
			"'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
			func(p *v1.Pod) { p.Annotations = map[string]string{"?": ""} }},
		{`spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"`,
			func(p *v1.Pod) { p.Spec.RestartPolicy = "Sometimes" }},
		{`spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive`,
			func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](0) }},
		{"", func(p *v1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](1) }},
		{`spec.containers: Required value`, func(p *v1.Pod) { p.Spec.Containers = nil }},
		{`spec.containers[0].image: Required value`, func(p *v1.Pod) { app(p).Image = "" }},
		{`spec.containers[0].restartPolicy: Unsupported value: "X": supported values: "Always", "Never", "OnFailure"`,
			func(p *v1.Pod) { app(p).RestartPolicy = ptr.To[v1.ContainerRestartPolicy]("X") }},
		{`spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used`,
			func(p *v1.Pod) {
				app(p).RestartPolicyRules = []v1.ContainerRestartRule{restartRule("Restart", "In", 1)}
			}},
		{"", func(p *v1.Pod) { restart(app(p), restartRule("Restart", "In", 1)) }},
		{"", func(p *v1.Pod) { restart(app(p), restartRule("RestartAllContainers", "NotIn", 0)) }},
		{`spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", ` +
			`"RestartAllContainers"`,
			func(p *v1.Pod) { restart(app(p), restartRule("Stop", "In", 1)) }},
		{`spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified`,
			func(p *v1.Pod) { restart(app(p), v1.ContainerRestartRule{Action: "Restart"}) }},
		{`spec.containers[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: "Out": supported values: ` +
			`"In", "NotIn"`,
			func(p *v1.Pod) { restart(app(p), restartRule("Restart", "Out", 1)) }},
		{`spec.containers[0].restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items`,
			func(p *v1.Pod) { restart(app(p), restartRule("Restart", "In", make([]int32, 256)...)) }},
		{`spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items`,
			func(p *v1.Pod) {
				restart(app(p), slices.Repeat([]v1.ContainerRestartRule{restartRule("Restart", "In", 1)}, 21)...)
			}},
		{`spec.containers[0].livenessProbe: Required value: must specify a handler type`,
			func(p *v1.Pod) { app(p).LivenessProbe = &v1.Probe{} }},
		{"", func(p *v1.Pod) { app(p).LivenessProbe = &v1.Probe{ProbeHandler: exec} }},
		{`spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1`,
			func(p *v1.Pod) { app(p).LivenessProbe = &v1.Probe{ProbeHandler: exec, SuccessThreshold: 2} }},
		{"", func(p *v1.Pod) { app(p).ReadinessProbe = &v1.Probe{ProbeHandler: exec, SuccessThreshold: 2} }},
		{`spec.containers[0].startupProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
			func(p *v1.Pod) { app(p).StartupProbe = &v1.Probe{ProbeHandler: exec, PeriodSeconds: -1} }},
		{`spec.containers[0].startupProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
			func(p *v1.Pod) {
				app(p).StartupProbe = &v1.Probe{ProbeHandler: exec, TerminationGracePeriodSeconds: ptr.To[int64](0)}
			}},
		{`spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for ` +
			`readinessProbes`,
			func(p *v1.Pod) {
				app(p).ReadinessProbe = &v1.Probe{ProbeHandler: exec, TerminationGracePeriodSeconds: ptr.To[int64](5)}
			}},
		{`spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
			func(p *v1.Pod) {
				app(p).ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{}}}
			}},
		{`spec.containers[0].readinessProbe.httpGet.port: Invalid value: "80": must contain at least one letter (a-z)`,
			func(p *v1.Pod) {
				app(p).ReadinessProbe = &v1.Probe{
					ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromString("80")}}}
			}},
		{`spec.containers[0].readinessProbe.httpGet.httpHeaders: Invalid value: "X A": a valid HTTP header must ` +
			`consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`,
			func(p *v1.Pod) {
				app(p).ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
					Port: intstr.FromInt32(1), HTTPHeaders: []v1.HTTPHeader{{Name: "X A"}},
				}}}
			}},
		{`spec.containers[0].readinessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"`,
			func(p *v1.Pod) {
				app(p).ReadinessProbe = &v1.Probe{
					ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(1), Scheme: "FTP"}}}
			}},
		{`spec.containers[0].lifecycle.preStop: Required value: must specify a handler type`,
			func(p *v1.Pod) { app(p).Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{}} }},
		{`spec.containers[0].lifecycle.postStart.sleep: Invalid value: 6: must be non-negative and less than ` +
			`terminationGracePeriodSeconds (5)`,
			func(p *v1.Pod) {
				p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](5)
				app(p).Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 6}}}
			}},
		{`spec.containers[0].ports[1].name: Duplicate value: "a"`, func(p *v1.Pod) {
			app(p).Ports = []v1.ContainerPort{{Name: "a", ContainerPort: 1}, {Name: "a", ContainerPort: 2}}
		}},
		{`spec.containers[0].ports[0].containerPort: Required value`,
			func(p *v1.Pod) { app(p).Ports = []v1.ContainerPort{{}} }},
		{`spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always`,
			func(p *v1.Pod) {
				p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "x",
					StartupProbe: &v1.Probe{ProbeHandler: exec}}}
			}},
		{"", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Name: "i", Image: "x",
				RestartPolicy: ptr.To(v1.ContainerRestartPolicyAlways), StartupProbe: &v1.Probe{ProbeHandler: exec}}}
		}},
		{`spec.initContainers[0].name: Duplicate value: "app"`,
			func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{{Name: "app", Image: "x"}} }},
	} {
		pod := valid()
		test.spec(pod)
		Default(pod)
		errs, got := Validate(pod), ""
		if len(errs) > 0 {
			got = errs[0].Error()
		}
		if got != test.want || len(errs) > 1 {
			t.Errorf("got %v, want %s", errs, test.want)
		}
	}
}

func TestAdmitUnsupported(t *testing.T) {
	for _, test := range []struct {
		want string // empty: none
		pod  func(*v1.Pod)
	}{
		{"only the kubelet creates mirror pods",
			func(p *v1.Pod) { p.Annotations = map[string]string{"kubernetes.io/config.mirror": ""} }},
		{"", func(p *v1.Pod) { // a pod from a cluster, without its mirror annotation
			p.Annotations = map[string]string{"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": "a",
				"kubernetes.io/config.seen": "b"}
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "node", UID: "a",
				Controller: ptr.To(true)}}
		}},
		{"spec.schedulingGates: Forbidden",
			func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "a"}} }},
		{"spec.os: Forbidden", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} }},
		{"", func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Linux} }},
	} {
		pod := valid()
		test.pod(pod)
		_, err := Admit(profile.Newest(), pod)
		if test.want == "" && err != nil ||
			test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}
