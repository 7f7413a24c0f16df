package incident

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/trace"
)

// describeReader reads the fields of kubectl describe pod into a pod object (describePod of
// k8s.io/kubectl/pkg/describe/describe.go).
type describeReader struct {
	pod       *v1.Pod
	at        Place
	section   string // a title at the margin, such as Containers
	container *v1.Container
	init      bool
	status    *v1.ContainerStatus
	state     *v1.ContainerState
	in        string   // Command or Args
	told      []string // containers with a status
}

var (
	describeField = regexp.MustCompile(`^( *)([A-Z][A-Za-z ()-]*):(?:\s+(.*))?$`)
	describeName  = regexp.MustCompile(`^  ([a-z0-9][-a-z0-9]*):$`)
	conditionRow  = regexp.MustCompile(`^  ([A-Z][A-Za-z.-]*)\s+(True|False|Unknown)\s*$`)
	probeField    = regexp.MustCompile(`(?s)^\s*(Liveness|Readiness|Startup):\s+(exec|http-get|tcp-socket|grpc|unknown)\s*(.*?)\s+delay=(\w+) timeout=(\w+) period=(\w+) #success=(\d+) #failure=(\d+)`)
	probeOpen     = regexp.MustCompile(`^\s*(Liveness|Readiness|Startup):\s+(exec|http-get|tcp-socket|grpc)\s`)
)

// describeLine reads a line of kubectl describe pod.
func (t *textReader) describeLine(line string, at Place) bool {
	if probeOpen.MatchString(line) {
		t.open = &openLine{text: line, at: at, last: t.raw, done: probeField.MatchString, use: t.probeLine}
		if probeField.MatchString(line) {
			t.open = nil
			t.probeLine(line, at)
		}
		return true
	}
	if describeStart.MatchString(line) {
		t.flush()
		name := strings.TrimSpace(strings.TrimPrefix(line, "Name:"))
		t.describe = &describeReader{pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}, at: at}
		t.pod = t.reader.pod("", name, "", at)
		return t.pod != nil
	}
	d := t.describe
	if d == nil {
		if m := describeField.FindStringSubmatch(line); m == nil || !partOfDescribe[m[2]] && !strings.HasPrefix(m[1], "  ") {
			return false
		}
		d = &describeReader{pod: &v1.Pod{}, at: at, section: "Containers"}
		t.describe = d
	}
	return d.line(line, t)
}

// partOfDescribe has titles and fields at the margin of kubectl describe pod, and of its containers, with which a part of it can begin.
var partOfDescribe = map[string]bool{"Namespace": true, "Containers": true, "Init Containers": true, "Conditions": true, "Events": true,
	"Node": true, "Start Time": true, "Status": true, "State": true, "Last State": true, "Restart Count": true, "Labels": true}

func (d *describeReader) line(line string, t *textReader) bool {
	if m := describeName.FindStringSubmatch(line); m != nil && strings.HasSuffix(d.section, "Containers") {
		d.begin(m[1], d.section == "Init Containers")
		return true
	}
	if m := conditionRow.FindStringSubmatch(line); m != nil && d.section == "Conditions" {
		d.pod.Status.Conditions = append(d.pod.Status.Conditions, v1.PodCondition{Type: v1.PodConditionType(m[1]), Status: v1.ConditionStatus(m[2])})
		return true
	}
	m := describeField.FindStringSubmatch(line)
	switch {
	case m == nil && d.in != "" && indent(line) >= 6 && d.container != nil:
		list := &d.container.Command
		if d.in == "Args" {
			list = &d.container.Args
		}
		*list = append(*list, strings.TrimSpace(line))
		return true
	case m == nil:
		return indent(line) > 0 && d.section != "Events"
	case m[1] == "":
		d.section, d.container, d.in = m[2], nil, ""
		d.field(m[2], m[3], t)
		return true
	}
	d.in = ""
	d.containerField(m[2], m[3], len(m[1]))
	return true
}

// field reads a field of the pod.
func (d *describeReader) field(name, value string, t *textReader) {
	switch name {
	case "Namespace":
		d.pod.Namespace = value
		if t.pod != nil && t.pod.Namespace == "" {
			t.pod.Namespace = value
			t.byName[t.pod.Key()] = append(t.byName[t.pod.Key()], t.pod)
		}
	case "Node":
		d.pod.Spec.NodeName, _, _ = strings.Cut(value, "/")
	case "Start Time":
		if at := describeTime(value); at != nil {
			d.pod.Status.StartTime = at
		}
	case "Status":
		phase, _, _ := strings.Cut(value, " ")
		d.pod.Status.Phase = v1.PodPhase(phase)
		if strings.HasPrefix(phase, "Terminating") {
			d.pod.Status.Phase = ""
		}
	case "Reason":
		d.pod.Status.Reason = value
	case "UID":
		d.pod.UID = types.UID(value)
	case "Termination Grace Period":
		if s, err := time.ParseDuration(value); err == nil && s >= 0 {
			d.pod.Spec.TerminationGracePeriodSeconds = ptr(int64(s / time.Second))
		}
	}
}

func ptr[T any](v T) *T { return &v }

func describeTime(value string) *metav1.Time {
	t, err := time.Parse(time.RFC1123Z, value)
	if err != nil {
		return nil
	}
	return &metav1.Time{Time: t.UTC()}
}

func (d *describeReader) begin(name string, init bool) {
	containers, statuses := &d.pod.Spec.Containers, &d.pod.Status.ContainerStatuses
	if init {
		containers, statuses = &d.pod.Spec.InitContainers, &d.pod.Status.InitContainerStatuses
	}
	*containers = append(*containers, v1.Container{Name: name})
	*statuses = append(*statuses, v1.ContainerStatus{Name: name})
	d.container, d.status = &(*containers)[len(*containers)-1], &(*statuses)[len(*statuses)-1]
	d.init, d.state, d.in = init, nil, ""
}

func (d *describeReader) containerField(name, value string, depth int) {
	if d.container == nil {
		if d.section != "Containers" && d.section != "Init Containers" {
			return
		}
		d.begin("", false) // a part of the text, without the name of the container
	}
	s := d.status
	switch name {
	case "Image":
		d.container.Image = value
	case "Command", "Args":
		d.in = name
	case "Port", "Ports":
		number, _, _ := strings.Cut(value, "/")
		if n, err := strconv.ParseUint(number, 10, 16); err == nil && n > 0 {
			d.container.Ports = append(d.container.Ports, v1.ContainerPort{ContainerPort: int32(n)})
		}
	case "State":
		d.state = newState(&s.State, value)
	case "Last State":
		d.state = newState(&s.LastTerminationState, value)
	case "Ready":
		d.told = append(d.told, s.Name)
		s.Ready = value == "True"
		d.state = nil
	case "Restart Count":
		s.RestartCount = int32(min(count0(value), 1<<30))
	default:
		if d.state != nil {
			stateField(d.state, name, value)
		}
	}
}

func newState(s *v1.ContainerState, value string) *v1.ContainerState {
	switch value {
	case "Running":
		s.Running = &v1.ContainerStateRunning{}
	case "Waiting":
		s.Waiting = &v1.ContainerStateWaiting{}
	case "Terminated":
		s.Terminated = &v1.ContainerStateTerminated{}
	}
	return s
}

func stateField(s *v1.ContainerState, name, value string) {
	at := describeTime(value)
	if at == nil {
		at = &metav1.Time{}
	}
	switch {
	case name == "Started" && s.Running != nil:
		s.Running.StartedAt = *at
	case name == "Started" && s.Terminated != nil:
		s.Terminated.StartedAt = *at
	case name == "Finished" && s.Terminated != nil:
		s.Terminated.FinishedAt = *at
	case name == "Exit Code" && s.Terminated != nil:
		s.Terminated.ExitCode = int32(min(count0(value), 255))
	case name == "Reason" && s.Terminated != nil:
		s.Terminated.Reason = value
	case name == "Reason" && s.Waiting != nil:
		s.Waiting.Reason = value
	case name == "Message" && s.Terminated != nil:
		s.Terminated.Message = value
	case name == "Message" && s.Waiting != nil:
		s.Waiting.Message = value
	}
}

// end adds the facts of the text.
func (d *describeReader) end(r *reader) {
	if len(d.pod.Spec.Containers) == 0 && len(d.pod.Status.Conditions) == 0 {
		return
	}
	untold := func(s v1.ContainerStatus) bool { return !slices.Contains(d.told, s.Name) }
	d.pod.Status.ContainerStatuses = slices.DeleteFunc(d.pod.Status.ContainerStatuses, untold)
	d.pod.Status.InitContainerStatuses = slices.DeleteFunc(d.pod.Status.InitContainerStatuses, untold)
	if d.pod.Name == "" { // a part of the text
		p := r.text.ofText(d.at)
		if p == nil {
			return
		}
		d.pod.Name, d.pod.Namespace = p.Name, p.Namespace
		r.snapshotOf(p, d.pod, d.at, FromDescribe, false)
		return
	}
	r.snapshot(d.pod, d.at, FromDescribe, false)
}

// probeLine reads a probe in the form of kubectl describe (DescribeProbe).
func (t *textReader) probeLine(text string, at Place) {
	m := probeField.FindStringSubmatch(text)
	if m == nil {
		t.problem(at, true, "this probe has no settings, such as delay=0s timeout=1s: was the text cut off?")
		return
	}
	p := &v1.Probe{}
	seconds := func(text string) int32 {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > 1<<31*time.Second-1 {
			return 0
		}
		return int32(d / time.Second)
	}
	p.InitialDelaySeconds, p.TimeoutSeconds, p.PeriodSeconds = seconds(m[4]), seconds(m[5]), seconds(m[6])
	p.SuccessThreshold, p.FailureThreshold = int32(min(count0(m[7]), 1<<30)), int32(min(count0(m[8]), 1<<30))
	p.ProbeHandler = describedHandler(m[2], strings.TrimSpace(m[3]))
	which := trace.Probe(strings.ToLower(m[1]))
	if d := t.describe; d != nil && d.container != nil {
		SetProbe(d.container, which, p)
		return
	}
	t.lateProbes = append(t.lateProbes, lateProbe{at, which, p, t.file})
}

// SetProbe sets the liveness, the readiness or the startup probe of a container.
func SetProbe(c *v1.Container, which trace.Probe, p *v1.Probe) {
	switch which {
	case trace.Liveness:
		c.LivenessProbe = p
	case trace.Readiness:
		c.ReadinessProbe = p
	case trace.Startup:
		c.StartupProbe = p
	}
}

// describedHandler returns the handler of a probe in the form of kubectl describe. The arguments of a command lose their limits
// there: all words count as arguments.
func describedHandler(kind, text string) v1.ProbeHandler {
	switch kind {
	case "exec":
		words := strings.Fields(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
		if len(words) == 0 {
			words = []string{"true"}
		}
		return v1.ProbeHandler{Exec: &v1.ExecAction{Command: words}}
	case "http-get":
		scheme, rest, _ := strings.Cut(text, "://")
		host, path, has := strings.Cut(rest, "/")
		if has {
			path = "/" + path
		}
		host, port, _ := cutLast(host, ":")
		return v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Scheme: v1.URIScheme(strings.ToUpper(scheme)), Host: host, Path: path, Port: intstr.Parse(port)}}
	case "tcp-socket":
		host, port, _ := cutLast(text, ":")
		return v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Host: host, Port: intstr.Parse(port)}}
	}
	address, service, _ := strings.Cut(strings.TrimPrefix(text, "<pod>:"), " ")
	port, _ := strconv.ParseUint(address, 10, 16)
	return v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: int32(port), Service: &service}}
}
