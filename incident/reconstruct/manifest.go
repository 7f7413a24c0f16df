package reconstruct

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/incident"
	"probesim.dev/internal/printable"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// usualSandbox is the default of runPodSandbox.
const usualSandbox = 211 * time.Millisecond

func newModel(rec *incident.Recording, pod *incident.Pod) (*model, error) {
	m := &model{rec: rec, pod: pod, version: newest(pod.Version()), sandbox: usualSandbox, since: slack, rejected: map[claimKey]string{}}
	if !m.tells() {
		return nil, ErrNothing
	}
	for _, name := range append([]string{pod.Name}, pod.Containers()...) {
		if !validName.MatchString(name) {
			return nil, fmt.Errorf("%s is not a valid name of a pod or a container", printable.Text(strconv.Quote(name)))
		}
	}
	if name, why := m.neverCreated(); name != "" {
		return nil, fmt.Errorf("the kubelet never created container %s (%s), and a run creates all containers", name, printable.Text(why))
	}
	m.manifest()
	m.uptime = m.old()
	m.findEnd()
	m.findStart()
	m.findPull()
	m.findImages()
	m.findDeletion()
	m.parts = append(m.parts, &part{what: "node", try: tryNode})
	deletion := &part{what: "deletion", try: tryDeletion}
	if !m.deleted.IsZero() {
		m.parts = append(m.parts, deletion)
	}
	m.parts = append(m.parts, []*part{{what: "kubelet", try: tryKubelet}, {what: "runtime", try: tryRuntime}, {what: "patch", try: tryPatch}}...)
	for _, add := range []func(c *v1.Container){m.addStart, m.addParts} {
		for _, list := range [][]v1.Container{m.object.Spec.InitContainers, m.object.Spec.Containers} {
			for i := range list {
				add(&list[i])
			}
		}
	}
	if m.doubt > time.Second {
		m.parts = append(m.parts, &part{what: "start", try: tryStart})
	}
	if m.deleted.IsZero() { // the containers more likely ended for another reason
		m.parts = append(m.parts, deletion)
	}
	m.parts = append(m.parts, &part{what: "phase", try: tryPhase}, &part{what: "end", try: tryEnd})
	if len(m.object.Spec.ReadinessGates) > 0 {
		m.parts = append(m.parts, &part{what: "gates", try: tryGates})
	}
	m.parts = append(m.parts, &part{what: "sync", try: trySync}, &part{what: hidden, try: tryHidden})
	m.claims(m.zero(0)) // finds what is beyond the simulator
	return m, nil
}

// validName matches names that can stand in a scenario without quotes.
var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// tells reports whether the facts are about containers or probes.
func (m *model) tells() bool {
	return slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool {
		switch f.Kind {
		case incident.Running, incident.Terminated, incident.Waiting, incident.ProbeRun:
			return true
		case incident.Event:
			return f.Container != "" && f.When.Known()
		}
		return false
	})
}

// neverCreated returns a container that the kubelet tried to create in vain, for a reason other than its image, and the reason.
func (m *model) neverCreated() (name, why string) {
	reasons, created := map[string]string{}, map[string]bool{}
	for _, f := range m.pod.Facts {
		switch {
		case f.Container == "" || noImage(f):
		case strings.Contains(f.Message, "unable to find target container"): // of an ephemeral container
		case runtimeGone(f.Message) || f.Message == "Error: ImageInspectError": // as in a run without a runtime
		case f.Kind == incident.Event && f.Reason == "Failed", f.Kind == incident.Waiting && notCreated[f.Reason]:
			reasons[f.Container] = cmp.Or(reasons[f.Container], strings.TrimPrefix(f.Message, "Error: "), f.Reason)
		case f.Kind == incident.Running, f.Kind == incident.Terminated, f.Kind == incident.Restarts && f.Count > 0,
			f.Kind == incident.Event && (f.Reason == "Created" || f.Reason == "Started" || f.Reason == "Unhealthy"):
			created[f.Container] = true
		}
	}
	names := m.pod.Containers()
	if m.pod.Object != nil && !m.pod.Partial { // without ephemeral containers, which no run has
		names = nil
		for c := range podutil.Containers(&m.pod.Object.Spec) {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		if reasons[name] != "" && !created[name] {
			return name, reasons[name]
		}
	}
	return "", ""
}

// notCreated are the reasons of containers that wait because they cannot be created (pkg/kubelet/kuberuntime/kuberuntime_container.go and
// pkg/kubelet/images/types.go at v1.37.0).
var notCreated = map[string]bool{"CreateContainerConfigError": true, "CreateContainerError": true, "PreCreateHookError": true, "InvalidImageName": true,
	"ErrImageNeverPull": true}

// manifest takes the parts of the pod on which its containers and probes depend. Other fields have no effect on a run.
func (m *model) manifest() {
	name, namespace := m.pod.Name, m.pod.Namespace
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	m.object = pod
	if old := m.pod.Object; old != nil && len(old.Spec.Containers) > 0 {
		pod.Finalizers = old.Finalizers // which keep a deleted pod
		s := &pod.Spec
		s.RestartPolicy, s.TerminationGracePeriodSeconds, s.ReadinessGates = old.Spec.RestartPolicy, old.Spec.TerminationGracePeriodSeconds, old.Spec.ReadinessGates
		s.ActiveDeadlineSeconds, s.HostNetwork = old.Spec.ActiveDeadlineSeconds, old.Spec.HostNetwork
		for _, c := range old.Spec.InitContainers {
			s.InitContainers = append(s.InitContainers, m.container(&c))
		}
		for _, c := range old.Spec.Containers {
			s.Containers = append(s.Containers, m.container(&c))
		}
		return
	}
	m.assumed = append(m.assumed, "The recording does not have the pod: its probes and settings are inferred from its events")
	for _, name := range m.pod.Containers() {
		c := v1.Container{Name: name, Image: "unknown"}
		for _, probe := range trace.ProbeTypes {
			m.assumeProbe(&c, probe)
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
	}
}

func (m *model) container(old *v1.Container) v1.Container {
	c := v1.Container{Name: old.Name, Image: old.Image, ImagePullPolicy: old.ImagePullPolicy, Command: old.Command, Args: old.Args,
		LivenessProbe: old.LivenessProbe, ReadinessProbe: old.ReadinessProbe, StartupProbe: old.StartupProbe,
		Lifecycle: old.Lifecycle, RestartPolicy: old.RestartPolicy, RestartPolicyRules: old.RestartPolicyRules}
	if c.Image == "" || strings.ContainsAny(c.Image, " \n") {
		c.Image = "unknown"
	}
	for _, p := range old.Ports {
		c.Ports = append(c.Ports, v1.ContainerPort{Name: p.Name, ContainerPort: p.ContainerPort, Protocol: p.Protocol})
	}
	if m.pod.Partial {
		m.addPorts(&c)
		for _, probe := range trace.ProbeTypes {
			if incident.ProbeOf(&c, probe) == nil {
				m.assumeProbe(&c, probe)
			}
		}
	}
	return c
}

// addPorts adds the named ports of probes to a container from an incomplete text, which may lack them.
func (m *model) addPorts(c *v1.Container) {
	for _, probe := range trace.ProbeTypes {
		p := incident.ProbeOf(c, probe)
		if p == nil {
			continue
		}
		var port intstr.IntOrString
		switch {
		case p.HTTPGet != nil:
			port = p.HTTPGet.Port
		case p.TCPSocket != nil:
			port = p.TCPSocket.Port
		}
		has := slices.ContainsFunc(c.Ports, func(o v1.ContainerPort) bool { return o.Name == port.StrVal })
		if port.StrVal != "" && !has {
			c.Ports = append(c.Ports, v1.ContainerPort{Name: port.StrVal, ContainerPort: int32(8080 + len(c.Ports))})
			m.assumed = append(m.assumed, fmt.Sprintf("the port %s of %s has a number: the text does not have it", port.StrVal, c.Name))
		}
	}
}

// findEnd sets the end of the recording of the pod: its last fact.
func (m *model) findEnd() {
	for _, f := range m.pod.Facts {
		for _, at := range []incident.Moment{f.When, f.Last} {
			if at.Known() && at.End().After(m.end) {
				m.end = at.End()
			}
		}
	}
}

// findStart finds the first start of a container that the facts tell: the earliest that is known exactly, or else the earliest. If none is
// known to the second, the start time of the pod is more exact.
func (m *model) findStart() {
	var exact, rough incident.Moment
	var of [2]string
	for _, f := range m.pod.Facts {
		starts := f.Kind == incident.Event && f.Reason == "Started" && f.Container != "" || f.Kind == incident.Running && f.Count == 0 ||
			f.Kind == incident.Terminated && (!f.Previous && f.Count == 0 || f.Previous && f.Count == 1)
		if !starts || !f.When.Known() {
			continue
		}
		at := incident.Moment{At: f.When.At.Add(f.When.Within / 2)}
		switch {
		case f.When.Within <= time.Millisecond && (!exact.Known() || at.At.Before(exact.At)):
			exact, of[0] = at, f.Container
		case !rough.Known() || at.At.Before(rough.At):
			rough, of[1] = at, f.Container
			m.earliest, m.doubt = f.When.At, f.When.Within
		}
	}
	m.first, m.starter = rough, of[1]
	if exact.Known() {
		m.first, m.starter = exact, of[0]
		m.doubt = 0
	}
	if start := m.pod.StartTime(); start.Known() && (m.doubt > time.Second || !m.first.Known() && m.end.Sub(start.At) < maxDuration) {
		m.first, m.starter, m.anchor = incident.Moment{At: start.At.Add(start.Within / 2)}, "", podStart
	}
	for _, f := range m.pod.Facts { // the recording ends before the first container has started
		if !m.first.Known() && f.Kind == incident.Event && steps[f.Reason] && f.Container != "" && f.When.Known() && !f.AtLeast {
			m.first, m.starter, m.anchor = incident.Moment{At: f.When.At.Add(f.When.Within / 2)}, f.Container, f.Reason
		}
	}
	if pull := m.vainPull(); pull != nil && (!m.first.Known() || pull.When.At.Before(m.first.At)) {
		m.first, m.starter, m.anchor = incident.Moment{At: pull.When.At.Add(pull.When.Within / 2)}, pull.Container, pull.Reason
		m.earliest, m.doubt = pull.When.At, pull.When.Within
	}
	if !m.first.Known() && !m.rec.Start.IsZero() {
		m.guessStart()
	}
	if m.end.Sub(m.first.At) > maxDuration {
		m.first.At = m.end.Add(-maxDuration)
	}
}

// guessStart sets the first start to a time before all facts.
func (m *model) guessStart() {
	for _, f := range m.pod.Facts {
		probe := cmp.Or(f.Probe, incident.ParseUnhealthy(f.Message).Probe)
		if !f.When.Known() || f.Kind != incident.Event && f.Kind != incident.ProbeRun {
			continue
		}
		if at := f.When.Best().Add(-m.beforeFirst(f)); !m.first.Known() || at.Before(m.first.At) {
			m.first.At = at
		}
		if m.guessed == nil && probe != "" {
			m.guessed = f
		}
	}
	for _, f := range m.pod.Facts {
		if !m.first.Known() && f.When.Known() {
			m.first.At = f.When.Best().Add(-time.Second)
		}
	}
}

// beforeFirst returns how long before the first fact about a pod its container started at least, if the recording has no start: long
// enough for some runs of the probe that the fact is about.
func (m *model) beforeFirst(f *incident.Fact) time.Duration {
	probe := f.Probe
	if f.Kind == incident.Event {
		probe = incident.ParseUnhealthy(f.Message).Probe
	}
	c := m.spec(f.Container)
	if c == nil || probe == "" || incident.ProbeOf(c, probe) == nil {
		return time.Second
	}
	p := incident.ProbeOf(c, probe)
	return min(time.Duration(p.InitialDelaySeconds)*time.Second+3*period(p), time.Hour)
}

// findDeletion adds a step if the pod was deleted. The kubelet can be busy with the pod when somebody deletes it, so a recorded time of the
// request counts if it is before the first stop. A stop in the same second is known more exactly. A later time is that of another request, or
// of the removal.
func (m *model) findDeletion() {
	var stopped time.Time
	var request incident.Moment
	for _, f := range m.pod.Facts {
		switch {
		case !f.When.Known():
		case f.Kind == incident.Deleted && !request.Known():
			request = f.When
		case f.Kind == incident.Event && f.Reason == "Killing" && incident.ParseKilling(f.Message) == incident.ByDeletion && (stopped.IsZero() || f.When.Within == 0):
			stopped = f.When.Best().Add(-5 * time.Millisecond)
		}
	}
	m.requested = stopped
	if request.Known() && (stopped.IsZero() || stopped.After(request.End())) {
		m.requested = request.At.Add(request.Within / 2)
	}
	// A pod that still exists, and is not being deleted, ended for another reason.
	facts := func(kind incident.Kind) bool {
		return slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool { return f.Kind == kind && f.Source == incident.FromPod })
	}
	ends := slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool {
		return f.Kind == incident.Event && (f.Reason == "Evicted" || f.Reason == "DeadlineExceeded")
	})
	if (!facts(incident.Created) && !ends) || facts(incident.Deleted) {
		m.deleted = m.requested
	}
	if m.pod.Object != nil && m.pod.Object.DeletionGracePeriodSeconds != nil && !m.deleted.IsZero() {
		m.grace = ptr(int(min(max(*m.pod.Object.DeletionGracePeriodSeconds, 0), 86400)))
	}
}

// document returns an object as a YAML document.
func document(object any) string {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // a pod can always be marshaled
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		panic(err) // it was marshaled just now
	}
	delete(fields, "status")
	clean(fields)
	text, err := yaml.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// clean removes fields without a value.
func clean(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"creationTimestamp", "resources"} {
			delete(v, k)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			item := v[k]
			if f, ok := item.(float64); ok && f == math.Trunc(f) {
				v[k] = int64(f)
			}
			clean(item)
		}
	case []any:
		for _, item := range v {
			clean(item)
		}
	}
}
