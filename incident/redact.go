package incident

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Redact replaces the names, UIDs, images, addresses, commands and messages of the recording, each by the same text everywhere: the
// first pod becomes pod-1. Of the messages only those of the kubelet keep their words. The names of files stay.
func (r *Recording) Redact() {
	x := &redactor{names: map[string]string{}, counts: map[string]int{}}
	for _, p := range r.Pods {
		x.learn(p.Namespace, "ns")
		x.learn(p.Name, "pod")
		x.learn(p.UID, "uid")
		x.learn(p.Node, "node")
		for _, c := range p.containers {
			x.learn(c, "app")
		}
	}
	for _, p := range r.Pods {
		x.pod(p)
	}
	for _, f := range r.Facts {
		f.Container = x.names[f.Container]
		f.Message = x.message(f)
		f.Type, f.Reason, f.Value = x.term(f.Type), x.term(f.Reason), x.term(f.Value)
	}
	for i := range r.Problems {
		r.Problems[i].Message = x.problem(r.Problems[i].Message)
	}
	for i := range r.templates {
		r.templates[i].namespace, r.templates[i].name = "", x.replace(r.templates[i].name, "workload")
	}
}

type redactor struct {
	names  map[string]string
	counts map[string]int
}

// learn chooses the replacement of a name.
func (x *redactor) learn(name, kind string) { x.replace(name, kind) }

func (x *redactor) replace(name, kind string) string {
	if name == "" {
		return ""
	}
	if x.names[name] == "" {
		x.counts[kind]++
		x.names[name] = fmt.Sprintf("%s-%d", kind, x.counts[kind])
	}
	return x.names[name]
}

// terms are the types, reasons, phases, conditions and states of Kubernetes. Controllers, webhooks and runtimes have others, which may tell
// names.
var terms = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`Normal Warning True False Unknown true false started unhealthy ready
		Pending Running Succeeded Failed Completed Error Terminating Evicted NodeLost OutOfcpu OutOfmemory OutOfpods NodeAffinity UnexpectedAdmissionError
		Ready ContainersReady Initialized PodScheduled PodReadyToStartContainers DisruptionTarget PodResizePending PodResizeInProgress
		CrashLoopBackOff ContainerCreating PodInitializing ErrImagePull ImagePullBackOff ErrImageNeverPull InvalidImageName ImageInspectError RegistryUnavailable
		CreateContainerConfigError CreateContainerError RunContainerError PreCreateHookError PreStartHookError PostStartHookError KillContainerError ConfigPodSandboxError
		ContainerCannotRun OOMKilled DeadlineExceeded ContainerStatusUnknown StartError Preempting Preempted Shutdown Init Signal ExitCode
		Scheduled FailedScheduling Pulling Pulled Created Started Killing BackOff FailedSync FailedValidation Unhealthy ProbeWarning InspectFailed
		FailedPostStartHook FailedPreStopHook ExceededGracePeriod TaintManagerEviction NodeControllerEviction NodeNotReady SandboxChanged FailedCreatePodSandBox
		FailedKillPod FailedCreatePodContainer NetworkNotReady SuccessfulMountVolume FailedMount FailedAttachVolume SuccessfulAttachVolume VolumeResizeFailed
		DNSConfigForming MissingClusterDNS FailedToUpdateEndpoint SuccessfulCreate SuccessfulDelete FailedCreate ScalingReplicaSet
		ContainerStarted ContainerDied ContainerRemoved ContainerChanged PodSync SyncLoop ADD UPDATE DELETE REMOVE RECONCILE PLEG probe (PLEG) (probe)`) {
		m[w] = true
	}
	return m
}()

// ratio is the column READY of kubectl get pods, and a part of the column STATUS.
var ratio = regexp.MustCompile(`^\d{1,6}(?:/\d{1,6})?$`)

// term returns a term of Kubernetes, such as Init:CrashLoopBackOff, and the replacement of another one.
func (x *redactor) term(s string) string {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == ' ' }) {
		if !terms[part] && !ratio.MatchString(part) {
			return x.replace(s, "reason")
		}
	}
	return s
}

func (x *redactor) pod(p *Pod) {
	p.Namespace, p.Name, p.UID, p.Node = x.names[p.Namespace], x.names[p.Name], x.names[p.UID], x.names[p.Node]
	for i, c := range p.containers {
		p.containers[i] = x.names[c]
	}
	if p.Object != nil {
		p.Object = x.object(p)
	}
}

// object returns the parts of a pod on which its probes depend, with other names.
func (x *redactor) object(p *Pod) *v1.Pod {
	old := p.Object
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: types.UID(p.UID), CreationTimestamp: old.CreationTimestamp}}
	s := &pod.Spec
	s.RestartPolicy, s.TerminationGracePeriodSeconds, s.NodeName = old.Spec.RestartPolicy, old.Spec.TerminationGracePeriodSeconds, p.Node
	s.ActiveDeadlineSeconds, s.HostNetwork = old.Spec.ActiveDeadlineSeconds, old.Spec.HostNetwork
	for _, g := range old.Spec.ReadinessGates {
		s.ReadinessGates = append(s.ReadinessGates, v1.PodReadinessGate{ConditionType: v1.PodConditionType(x.term(string(g.ConditionType)))})
	}
	for _, c := range old.Spec.InitContainers {
		s.InitContainers = append(s.InitContainers, x.container(&c))
	}
	for _, c := range old.Spec.Containers {
		s.Containers = append(s.Containers, x.container(&c))
	}
	return pod
}

func (x *redactor) container(old *v1.Container) v1.Container {
	c := v1.Container{Name: x.replace(old.Name, "app"), Image: x.replace(old.Image, "image"), ImagePullPolicy: old.ImagePullPolicy,
		RestartPolicy: old.RestartPolicy, RestartPolicyRules: old.RestartPolicyRules}
	for _, p := range old.Ports {
		c.Ports = append(c.Ports, v1.ContainerPort{Name: x.replace(p.Name, "port"), ContainerPort: p.ContainerPort, Protocol: p.Protocol})
	}
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = x.probe(old.LivenessProbe), x.probe(old.ReadinessProbe), x.probe(old.StartupProbe)
	if l := old.Lifecycle; l != nil {
		c.Lifecycle = &v1.Lifecycle{PostStart: x.hook(l.PostStart), PreStop: x.hook(l.PreStop)}
	}
	return c
}

func (x *redactor) hook(old *v1.LifecycleHandler) *v1.LifecycleHandler {
	if old == nil {
		return nil
	}
	p := x.probe(&v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: old.Exec, HTTPGet: old.HTTPGet, TCPSocket: old.TCPSocket}})
	return &v1.LifecycleHandler{Exec: p.Exec, HTTPGet: p.HTTPGet, TCPSocket: p.TCPSocket, Sleep: old.Sleep}
}

func (x *redactor) probe(old *v1.Probe) *v1.Probe {
	if old == nil {
		return nil
	}
	p := old.DeepCopy()
	switch {
	case p.Exec != nil:
		p.Exec.Command = []string{x.replace(strings.Join(p.Exec.Command, " "), "command")}
	case p.HTTPGet != nil:
		p.HTTPGet.Path, p.HTTPGet.Host, p.HTTPGet.HTTPHeaders = "/"+x.replace(p.HTTPGet.Path, "path"), "", nil
		p.HTTPGet.Port.StrVal = x.replace(p.HTTPGet.Port.StrVal, "port")
	case p.TCPSocket != nil:
		p.TCPSocket.Host = ""
		p.TCPSocket.Port.StrVal = x.replace(p.TCPSocket.Port.StrVal, "port")
	case p.GRPC != nil && p.GRPC.Service != nil && *p.GRPC.Service != "":
		p.GRPC.Service = ptr(x.replace(*p.GRPC.Service, "service"))
	}
	return p
}

// ends are the reasons of the network for the failure of a request.
const ends = `(?:connect: connection refused|connect: no route to host|i/o timeout|getsockopt: connection refused|connection refused|EOF|read: connection reset by peer|(?:net/http: request canceled(?: while waiting for connection)? |context deadline exceeded )?\(?Client\.Timeout exceeded while awaiting headers\)?|context deadline exceeded)`

// health matches the states of a gRPC health check.
var health = regexp.MustCompile(`^(?:NOT_SERVING|UNKNOWN|SERVICE_UNKNOWN)$`)

var (
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	address = regexp.MustCompile(`\[[0-9a-fA-F:]+\](?::\d+)?|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`)
	link    = regexp.MustCompile(`\b(https?|tcp)://[^\s"]+`)
	// kept are the words of the kubelet and its probers, after names, addresses and quoted text have been replaced. Any other output is
	// replaced as a whole.
	kept = regexp.MustCompile(`^(?:|HTTP probe failed with statuscode: \d+|(?:Get (?:QUOTE|LINK): .*|dial tcp ADDRESS: )` + ends + `|` + ends +
		`|command QUOTE timed out|command timed out(?:: QUOTE timed out after [\d.a-zµ]{1,20})?` +
		`|timeout: failed to connect service QUOTE within [\d.a-zµ]{1,20}(?:: context deadline exceeded)?|timeout: health rpc did not complete within [\d.a-zµ]{1,20}` +
		`|service unhealthy \(responded with QUOTE\)|rpc error: code = [A-Za-z]{1,20} desc = (?:context deadline exceeded|failed to exec in container: timeout [\d.a-zµ]{1,20} exceeded: context deadline exceeded))$`)
	// tail is the end of a message about a request: the reason that the network gives.
	tail = regexp.MustCompile(`(?:dial tcp ADDRESS: )?` + ends + `$`)
	// plainMessage are other messages of the kubelet, in which only names and images vary.
	plainMessage = regexp.MustCompile(`^(?:Created container:?|Started container|Container created|Container started|Stopping container|Pulling image|Successfully pulled image|Container image|Back-off restarting failed container|back-off \S+ restarting failed container|Successfully assigned|Killing container|Container \S+ failed (?:liveness|startup) probe|Error syncing pod|back-off \S+$|grace period)`)
)

// message returns the message of a fact in which everything but the words of the kubelet is replaced.
func (x *redactor) message(f *Fact) string {
	m := f.Message
	u := ParseUnhealthy(m)
	switch {
	case m == "":
		return ""
	case f.Kind == Lifecycle:
		return x.replace(m, "id")
	case f.Kind == ProbeRun:
		return x.output(m)
	case u.Probe != "":
		return strings.TrimSuffix(m, u.Output) + x.output(u.Output)
	case plainMessage.MatchString(m):
		return x.known(m)
	}
	return x.replace(m, "message")
}

// output returns the output of a probe without secrets.
func (x *redactor) output(s string) string {
	shape := quoted.ReplaceAllString(link.ReplaceAllString(s, "LINK"), "QUOTE")
	shape = address.ReplaceAllString(shape, "ADDRESS")
	if !kept.MatchString(shape) {
		return x.replace(s, "output")
	}
	if strings.HasPrefix(shape, "Get ") {
		if end := tail.FindString(address.ReplaceAllString(s, "ADDRESS")); end != "" {
			return `Get "http://` + x.replace("address of "+shape, "address") + `/": ` + x.addresses(end)
		}
		return x.replace(s, "output")
	}
	if strings.HasPrefix(shape, "service unhealthy") {
		return quoted.ReplaceAllStringFunc(s, func(q string) string {
			if word := strings.Trim(q, `"`); !health.MatchString(word) {
				return `"` + x.replace(word, "output") + `"`
			}
			return q
		})
	}
	if strings.HasPrefix(shape, "timeout: failed to connect") {
		return quoted.ReplaceAllStringFunc(s, func(q string) string { return `"` + x.replace(strings.Trim(q, `"`), "address") + `"` })
	}
	if strings.HasPrefix(shape, "command ") {
		return quoted.ReplaceAllStringFunc(s, func(q string) string { return `"` + x.replace(strings.Trim(q, `"`), "command") + `"` })
	}
	return x.addresses(s)
}

func (x *redactor) addresses(s string) string {
	s = strings.ReplaceAll(s, "ADDRESS", "192.0.2.1")
	return address.ReplaceAllStringFunc(s, func(a string) string {
		host, port, has := cutLast(a, ":")
		if !has || strings.HasSuffix(a, "]") {
			host, port = a, ""
		}
		host = strings.Trim(host, "[]")
		if _, err := netip.ParseAddr(host); err != nil {
			return x.replace(a, "address")
		}
		text := x.replace(host, "address")
		if port != "" {
			text += ":" + port
		}
		return text
	})
}

// token is a word of a message, such as a name.
var token = regexp.MustCompile(`[A-Za-z0-9][-A-Za-z0-9._]*`)

// figure is a number or a duration.
var figure = regexp.MustCompile(`^(?:[\d.]+(?:ns|µs|ms|s|m|h)?)+$`)

// known returns a message of the kubelet in which all words but those of the kubelet, and numbers, are replaced.
func (x *redactor) known(s string) string {
	s = quoted.ReplaceAllStringFunc(s, func(q string) string { return `"` + x.replace(strings.Trim(q, `"`), "image") + `"` })
	parts := quoted.Split(s, -1)
	kept := append(quoted.FindAllString(s, -1), "")
	for i, part := range parts {
		parts[i] = token.ReplaceAllStringFunc(part, func(w string) string {
			word := strings.TrimRight(w, ".")
			if dictionary[strings.ToLower(word)] || figure.MatchString(word) {
				return w
			}
			return x.replace(word, "name") + w[len(word):]
		}) + kept[i]
	}
	return strings.Join(parts, "")
}

// dictionary are the words of the messages that known returns.
var dictionary = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`created container started stopping pulling image successfully pulled already present on machine and can
		be accessed by the pod back-off restarting failed in assigned to killing with id docker liveness startup probe will be restarted killed
		recreated need error syncing skipping grace period including waiting size bytes of docker containerd cri-o is unhealthy it re-created`) {
		m[w] = true
	}
	return m
}()

// problem returns a problem without the names of the recording and without quoted text.
func (x *redactor) problem(s string) string {
	s = quoted.ReplaceAllStringFunc(s, func(q string) string { return `"` + x.replace(strings.Trim(q, `"`), "text") + `"` })
	return token.ReplaceAllStringFunc(s, func(w string) string {
		word := strings.TrimRight(w, ".")
		if to := x.names[word]; to != "" {
			return to + w[len(word):]
		}
		return w
	})
}
