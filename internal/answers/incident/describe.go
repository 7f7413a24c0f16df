package incident

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/prober"
	"probesim.dev/trace"
)

// describeReader reads the fields of kubectl describe pod (describePod of
// k8s.io/kubectl/pkg/describe/describe.go), whole or in part, with or without indentation: the
// names of the fields are the anchors.
type describeReader struct {
	pod        v1.Pod
	at         Place
	base       int    // indentation of the text
	section    string // a title, such as Containers
	field      string // the field before, whose value may have more lines
	change     string // DELETED, as in a watch
	other      bool   // the text is about a workload or a node
	containers []*describedContainer
	described  []string // as in Pod
	c          *describedContainer
	state      *Fact
}

// describedContainer is what the text says about a container.
type describedContainer struct {
	facts containerFacts
	spec  v1.Container
	init  bool
}

var (
	describeField = regexp.MustCompile(`^([A-Z][A-Za-z ()-]{1,30}):(?:\s+(.*))?$`)
	conditionRow  = regexp.MustCompile(`^([A-Z][A-Za-z.-]*|[a-z0-9.-]+/[A-Za-z0-9._-]+)(?:\s+(True|False|Unknown))?$`)
	probeField    = pattern("probeField")
	probeOpen     = regexp.MustCompile(`^\s*(Liveness|Readiness|Startup):\s+(exec|http-get|tcp-socket|grpc)\s`)
	// inLine matches the fields of a state that a person wrote on the line of the state.
	inLine = regexp.MustCompile(`[,;]?\s+(Reason|Exit Code|Started|Finished|Last State|Ready|Restart Count):\s+`)
)

// memoryLimit matches a row below Limits.
var memoryLimit = regexp.MustCompile(`^memory:\s+(\d{1,15}(?:\.\d{1,6})?[kKMGTP]?i?)$`)

// The fields that are read, or end what is before. Others are ignored.
var (
	sections = wordSet(`Containers|Init Containers|Ephemeral Containers|Conditions|Volumes|Events|QoS Class` +
		`|Node-Selectors|Tolerations`)
	podFields       = wordSet(`Namespace|Node|Start Time|Labels|Annotations|Status|Reason|Message|IPs`)
	containerFields = wordSet(`Container ID|Image|Command|Args|State|Last State|Ready|Restart Count|Limits|Requests` +
		`|Environment|Mounts|Reason|Message|Exit Code|Signal|Started|Finished`)
	// longFields are the fields whose values go on in the next lines.
	longFields = wordSet(`Labels|Annotations|Command|Args|Limits|Requests|Environment|Mounts|Volumes|Tolerations` +
		`|Node-Selectors|IPs|Message`)
	// otherFields are fields of workloads and nodes.
	otherFields = wordSet(`Roles|Replicas|Selector|Pod Template|StrategyType|Capacity|Allocatable|Parallelism` +
		`|Desired Number of Nodes Scheduled|Update Strategy`)
	phases = wordSet(`Pending|Running|Succeeded|Failed|Unknown`)
)

// beginning matches the fields with which a part of a text can begin, with the values that kubectl
// writes there.
var beginning = pattern("beginning")

// ofEvent matches the field below the name of the pod in a list of events.
var ofEvent = regexp.MustCompile(`^\s*(?:Type:\s+(?:Normal|Warning)$|Reason:|Message:)`)

// ofNamed matches the first fields of a container.
var ofNamed = regexp.MustCompile(`^\s*(?:(?:Last )?State|Container ID|Restart Count):`)

// describeLine reads a line of kubectl describe pod.
func (t *textReader) describeLine(line string, at Place) bool {
	if probeOpen.MatchString(line) {
		t.probeLine(t.joined(line, at, probeField.MatchString), at)
		return true
	}
	trimmed, d := strings.TrimSpace(line), t.describe
	key, value := "", ""
	if m := describeField.FindStringSubmatch(trimmed); m != nil {
		key, value = m[1], m[2]
	}
	title := strings.TrimSuffix(trimmed, ":")
	named := isContainer(title) && (d == nil || !longFields[d.field]) && ofNamed.MatchString(t.reader.line(t.next))
	switch {
	case key == "Name" && ofEvent.MatchString(t.reader.line(t.next)):
		t.endDescribe()
		return false
	case key == "Name" && isName(value) && (d == nil || indent(line) <= d.base && d.section != "Volumes"):
		t.flush()
		t.asked, t.askedAt = value, at
		t.describe = &describeReader{pod: v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: value}}, at: at,
			base: indent(line)}
		return true
	case speaks(trimmed), d == nil && !named && (key == "" || !beginning.MatchString(trimmed)):
		return false
	case d != nil && key == "Status" && d.pod.Name == "" && d.pod.Status.Phase != "" && beginning.MatchString(trimmed):
		t.endDescribe()
		t.pod, t.unnamed = nil, nil // the next pod
		d = nil
	}
	if d != nil && d.other && key == "Pods Statuses" && !strings.HasSuffix(value, " 0 Failed") { // of a Job
		if p := t.reader.pod(d.pod.Namespace, d.pod.Name, "", at); p != nil {
			t.add(&Fact{Place: at, Source: FromText, Kind: Event, Reason: "PodsFailed", Count: 1, Text: brief(line),
				Pod: p})
		}
	}
	switch {
	case d == nil:
		d = &describeReader{at: at, base: indent(line), section: "Containers"}
		t.describe = d
	case otherFields[key] && indent(line) <= d.base && d.section == "" && d.pod.Name != "":
		d.other, d.section, t.asked = true, key, ""
		return true
	}
	if named {
		d.begin(title)
		return true
	}
	return d.line(trimmed, key, value, indent(line), at)
}

// line reads a line whose field, if it has one, is the key with its value.
func (d *describeReader) line(trimmed, key, value string, depth int, at Place) bool {
	long := longFields[d.field]
	name, title := strings.CutSuffix(trimmed, ":")
	switch {
	case title && isContainer(name) && strings.HasSuffix(d.section, "Containers") && !(long && depth > d.base+2):
		d.begin(name)
	case d.section == "Conditions" && d.conditionField(trimmed):
	// the fields Reason and Message of a pod follow its Status
	case containerFields[key] && !(podFields[key] && d.c == nil && (d.section == "" || d.pod.Status.Phase != "")):
		d.field = key
		d.containerField(key, value, at)
	case podFields[key] || sections[key]:
		if d.field = key; sections[key] {
			for _, c := range d.containers { // kubectl describes them first
				c.init = c.init || key == "Containers"
			}
			d.section, d.c, d.state = key, nil, nil
		}
		d.podField(key, value)
	case d.field == "Limits" && d.c != nil && memoryLimit.MatchString(trimmed):
		if q, err := resource.ParseQuantity(memoryLimit.FindStringSubmatch(trimmed)[1]); err == nil {
			d.c.spec.Resources.Limits = v1.ResourceList{v1.ResourceMemory: q}
		}
	case long || d.section == "Volumes":
	default:
		return d.section != "Events" && (depth > d.base || key != "")
	}
	return true
}

// conditionField reads a row of the conditions of a pod.
func (d *describeReader) conditionField(trimmed string) bool {
	m := conditionRow.FindStringSubmatch(trimmed)
	if m == nil || m[2] == "" && !strings.Contains(m[1], "/") {
		return false
	}
	condition := v1.PodCondition{Type: v1.PodConditionType(m[1]), Status: v1.ConditionStatus(m[2])}
	d.pod.Status.Conditions = append(d.pod.Status.Conditions, condition)
	return true
}

func (d *describeReader) podField(key, value string) {
	word, _, _ := strings.Cut(value, " ")
	switch key {
	case "Namespace":
		d.pod.Namespace = value
	case "Node":
		if name, _, _ := strings.Cut(value, "/"); isName(name) {
			d.pod.Spec.NodeName = name
		}
	case "Start Time":
		if at := describeTime(value); !at.IsZero() {
			d.pod.Status.StartTime = &at
		}
	case "Status":
		if phases[word] {
			d.pod.Status.Phase = v1.PodPhase(word)
		} else if word == "Terminating" {
			d.change = "DELETED"
		}
	case "Reason":
		d.pod.Status.Reason = value
	case "Message":
		d.pod.Status.Message = value
	}
}

func describeTime(value string) metav1.Time {
	t, err := time.Parse(time.RFC1123Z, strings.TrimSpace(value))
	if err != nil {
		t, _ = time.Parse(time.RFC1123, strings.TrimSpace(value)) // zero if it is no time
	}
	return metav1.Time{Time: t.UTC()}
}

// begin begins a container. An empty name is one that the text does not show.
func (d *describeReader) begin(name string) {
	d.c = &describedContainer{facts: containerFacts{}, init: d.section == "Init Containers",
		spec: v1.Container{Name: name}}
	d.containers = append(d.containers, d.c)
	d.state, d.field = nil, ""
}

// containerField reads a field of a container. A state, or an ID, that the container has already
// belongs to the next one, whose name is cut off.
func (d *describeReader) containerField(key, value string, at Place) {
	if c := d.c; c == nil || c.facts[key] != nil && key != "Ready" ||
		key == "Container ID" && (c.facts["State"] != nil || c.spec.Image != "") {
		d.begin("")
		d.field = key
	}
	if stateFields[key] {
		d.stateField(key, value, at)
		return
	}
	text := brief(key + ": " + value)
	word, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
	d.state = nil
	switch key {
	case "Environment", "Mounts":
		if d.c.facts["Restart Count"] != nil {
			d.described = append(d.described, d.c.spec.Name)
		}
	case "State", "Last State":
		d.beginState(key, word, rest, at)
	case "Image":
		d.c.spec.Image = value
	case "Ready":
		if value == "True" || value == "False" {
			d.c.facts[key] = &Fact{Place: at, Kind: Ready, Value: strings.ToLower(value), Text: text}
		}
	case "Restart Count":
		if isNumber(word) {
			d.c.facts[key] = &Fact{Place: at, Kind: Restarts, Count: count0(word), Text: text}
		}
	}
}

// beginState begins a state. A person can have written its fields on the same line.
func (d *describeReader) beginState(key, word, rest string, at Place) {
	kind := states[strings.Trim(word, ",;:")]
	if kind == "" {
		return
	}
	d.state = &Fact{Place: at, Kind: kind, Text: key + ": " + string(kind)}
	d.c.facts[key] = d.state
	parts := strings.Split(inLine.ReplaceAllString(" "+rest, "\n$1: "), "\n")
	if note := strings.Trim(parts[0], "() "); isCamel(note) { // Terminated (OOMKilled)
		d.state.Reason = note
	}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, ": ")
		d.containerField(key, value, at)
	}
}

// stateField reads a field of a state.
func (d *describeReader) stateField(key, value string, at Place) {
	if d.state == nil && key == "Exit Code" { // the line before it is cut off
		d.state = &Fact{Place: at, Kind: Terminated, Text: "Last State: Terminated"}
		d.c.facts["Last State"] = d.state
	}
	f := d.state
	if f == nil {
		return
	}
	f.Text = brief(f.Text + ", " + key + ": " + value)
	switch key {
	case "Reason":
		f.Reason = value
	case "Message":
		f.Message = value
	case "Exit Code":
		f.setExit(value)
	case "Started":
		f.When = second(describeTime(value))
	case "Finished":
		f.Last = second(describeTime(value))
	}
}

// states are the states of a container, and stateFields the fields of a state.
var (
	states      = map[string]Kind{"Running": Running, "Waiting": Waiting, "Terminated": Terminated}
	stateFields = wordSet(`Reason|Message|Exit Code|Started|Finished|Signal`)
)

// setExit sets the exit code, if a word is one.
func (f *Fact) setExit(code string) {
	if n, err := strconv.ParseInt(code, 10, 32); err == nil { // Windows has large and negative ones
		f.ExitCode, f.ExitKnown = int32(n), true
	}
}

// endDescribe adds the facts of the text. The description of a workload gives the settings of its
// pods.
func (t *textReader) endDescribe() {
	d := t.describe
	if d == nil {
		return
	}
	pod := &d.pod
	var facts []*Fact
	for _, c := range d.containers {
		list := &pod.Spec.Containers
		ended := c.facts["State"] != nil && c.facts["State"].Kind == Terminated
		// no other container that has ended is ready
		if c.init || ended && c.facts["Ready"] != nil && c.facts["Ready"].Value == "true" {
			list = &pod.Spec.InitContainers
		}
		*list, facts = append(*list, c.spec), append(facts, c.facts.of(c.spec.Name)...)
	}
	facts = append(facts, podFacts(pod, d.change)...)
	seen := startTime(pod) // the text is not older
	empty := len(d.containers)+len(facts) == 0 && !seen.Known()
	var p *Pod
	switch {
	case d.other:
		t.others["description of "+d.section]++
		t.template(d.at, d.section, pod)
	case !empty || pod.Name != "":
		if pod.Name == "" && pod.Status.Phase != "" && t.unnamed == t.withPhase { // the text has another pod
			t.unnamed = nil
		}
		p = t.ofText(d.at)
	}
	if t.describe = nil; p != nil && !empty {
		pod.Name, pod.Namespace = p.Name, p.Namespace
		if t.setObject(p, pod, true); pod.Status.Phase != "" {
			t.withPhase = p
		}
		p.Described = append(p.Described, d.described...)
		t.addStatus(p, facts, d.at, FromDescribe, seen)
	}
}

// probeLine reads a probe in the form of kubectl describe (DescribeProbe).
func (t *textReader) probeLine(text string, at Place) {
	m := probeField.FindStringSubmatch(text)
	if m == nil {
		text, _, _ = strings.Cut(text, "\n")
		t.skip(at, text) // it is cut off
		return
	}
	number := func(i int) int32 { return int32(min(count0(m[i]), 1<<30)) }
	p := &v1.Probe{ProbeHandler: describedHandler(m[2], strings.TrimSpace(m[3])),
		InitialDelaySeconds: number(4), TimeoutSeconds: number(5), PeriodSeconds: number(6),
		SuccessThreshold: number(7), FailureThreshold: number(8)}
	which := trace.Probe(strings.ToLower(m[1]))
	if d := t.describe; d != nil && d.c != nil {
		if prober.ProbeOf(&d.c.spec, which) != nil { // of the next container, whose name is cut off
			d.begin("")
		}
		prober.SetProbe(&d.c.spec, which, p)
		return
	}
	t.lateProbes = append(t.lateProbes, lateProbe{at, which, p})
}

// describedHandler returns the handler of a probe in the form of kubectl describe. The arguments of
// a command lose their limits there: all words count as arguments.
func describedHandler(kind, text string) v1.ProbeHandler {
	scheme, url, _ := strings.Cut(text, "://")
	address, path, hasPath := strings.Cut(url, "/")
	if kind != "http-get" {
		address, path, _ = strings.Cut(strings.TrimPrefix(text, "<pod>"), " ")
	}
	host, port, _ := cutLast(address, ":")
	switch kind {
	case "exec":
		return v1.ProbeHandler{Exec: &v1.ExecAction{
			Command: strings.Fields(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))}}
	case "http-get":
		if hasPath {
			path = "/" + path
		}
		return v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Scheme: v1.URIScheme(strings.ToUpper(scheme)), Host: host,
			Path: path, Port: intstr.Parse(port)}}
	case "tcp-socket":
		return v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Host: host, Port: intstr.Parse(port)}}
	}
	return v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: int32(min(count0(port), 1<<16-1)), Service: &path}}
}
