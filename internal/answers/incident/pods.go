package incident

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/trace"
)

// part is an object with a pod, or with a part of one: a pod, a workload, the spec of a pod, a
// container, a probe.
type part struct {
	Metadata metav1.ObjectMeta
	v1.PodSpec
	LivenessProbe, ReadinessProbe, StartupProbe *v1.Probe
	Spec, Template, JobTemplate                 *part
}

// podStatus is the status of a pod, or a part of it.
type podStatus struct {
	v1.PodStatus
	InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
	ContainerStatuses     []containerStatus `json:"containerStatuses"`
}

// podSpec returns the part with the spec of the pod: that of the template of a workload, or of the
// pod.
func (p *part) podSpec(depth int) *part {
	for _, inner := range []*part{p.JobTemplate, p.Template, p.Spec} {
		if inner != nil && depth < maxDepth {
			return inner.podSpec(depth + 1)
		}
	}
	return p
}

// part uses an object with a pod, or with a part of one. It returns false for others.
func (r *reader) part(o *object, kind, change string) bool {
	var part part
	var status podStatus
	var own containerStatus
	raw, isWhole := o.fields["status"]
	if !isWhole {
		raw = o.whole
	}
	raw, o.whole = noTime.ReplaceAll(raw, []byte("${1}null")), noTime.ReplaceAll(o.whole, []byte("${1}null"))
	// what does not fit is not there
	err := cmp.Or(json.Unmarshal(o.whole, &part), json.Unmarshal(raw, &status), json.Unmarshal(o.whole, &own))
	whole := kind == "Pod" || kind == "" && isWhole && o.fields["metadata"] != nil && o.fields["spec"] != nil
	spec := part.podSpec(0)
	pod := &v1.Pod{ObjectMeta: part.Metadata, Spec: spec.PodSpec, Status: status.PodStatus}
	statuses := slices.Concat(status.InitContainerStatuses, status.ContainerStatuses, o.ownStatus(own))
	var p *Pod
	switch {
	case whole:
		if p = r.wholePod(o, pod, err); p == nil {
			return true
		}
	case part.Spec != nil && spec != part.Spec && r.template(o.at, kind, pod):
		return true
	case kind != "":
		return false
	case len(statuses)+len(pod.Status.Conditions)+len(pod.Spec.Containers) > 0, phases[string(pod.Status.Phase)]:
		if p = r.text.ofText(o.at); p != nil {
			pod.Name, pod.Namespace = p.Name, p.Namespace
		}
	default:
		return r.probes(&part, o.at)
	}
	if p == nil {
		return true
	}
	r.setObject(p, pod, !whole || o.cut)
	facts := podFacts(pod, change)
	for _, s := range statuses {
		p.addContainer(s.Name)
		facts = append(facts, s.facts()...)
	}
	r.addStatus(p, facts, o.at, FromPod, Moment{})
	r.probes(&part, o.at)
	return true
}

// noTime matches a time in whose place a person wrote something else: it would end the object.
var noTime = regexp.MustCompile(`("\w+(?:Time|At|Timestamp)":\s*)"[^"]{0,19}"`)

// dockerEnd uses the end of a container in the output of docker inspect, or of podman. It returns
// false for others.
func (r *reader) dockerEnd(o *object) bool {
	var s struct {
		Running, OOMKilled    bool
		ExitCode              *int32
		StartedAt, FinishedAt metav1.Time
	}
	if json.Unmarshal(o.fields["State"], &s) != nil || s.ExitCode == nil {
		return false
	}
	f := &Fact{Kind: Terminated, ExitCode: *s.ExitCode, ExitKnown: true, When: second(s.StartedAt),
		Last: second(s.FinishedAt), Count: -1, Instance: -1, Reason: map[bool]string{true: "OOMKilled"}[s.OOMKilled]}
	if p := r.text.ofText(o.at); p != nil && !s.Running {
		r.addStatus(p, []*Fact{f}, o.at, FromPod, Moment{})
	}
	return true
}

// ownStatus returns what an object has of the status of a container: all of it, or its state alone.
func (o *object) ownStatus(own containerStatus) []containerStatus {
	switch {
	case o.fields["restartCount"] != nil, o.fields["lastState"] != nil, bytes.HasPrefix(o.fields["state"], []byte("{")):
	case bytes.HasPrefix(o.fields["terminated"], []byte("{")):
		json.Unmarshal(o.whole, &own.LastTerminationState) // what does not fit is not there
	default:
		return nil
	}
	return []containerStatus{own}
}

// wholePod returns the pod of an object, or nil. An error tells that the object has a field of the
// wrong type.
func (r *reader) wholePod(o *object, pod *v1.Pod, err error) *Pod {
	if pod.Name == "" {
		r.problem(o.at, true, "the pod was not used: it has no name")
		return nil
	}
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		_, field, _ := cutLast("."+wrong.Field, ".")
		r.problem(o.at, true, "a part of the pod was not used: %s has the wrong type: %s", field, wrong.Value)
	} else if err != nil {
		r.problem(o.at, true, "a part of the pod was not used: %v", err)
	}
	r.objects++
	return r.pod(pod.Namespace, pod.Name, string(pod.UID), o.at)
}

// template remembers the pod template of a workload, with its name. It returns false if it has
// none.
func (r *reader) template(at Place, kind string, pod *v1.Pod) bool {
	if pod.Name == "" || len(pod.Spec.Containers) == 0 {
		return false
	}
	r.rec.templates = append(r.rec.templates, template{at, kind, pod})
	return true
}

// probes remembers the probes of a container whose name the object does not have. It returns
// whether there are any.
func (r *reader) probes(part *part, at Place) (found bool) {
	for i, p := range []*v1.Probe{part.LivenessProbe, part.ReadinessProbe, part.StartupProbe} {
		if p == nil || *p == (v1.Probe{}) { // of another kind
			continue
		}
		if found = true; r.text.asked != "" {
			r.text.ofText(at)
		}
		r.lateProbes = append(r.lateProbes,
			lateProbe{at, []trace.Probe{trace.Liveness, trace.Readiness, trace.Startup}[i], p})
	}
	return found
}

// setObject gives a pod its newest object, whose status and names it has. A text does not replace
// an object, nor a text without containers another.
func (r *reader) setObject(p *Pod, pod *v1.Pod, partial bool) {
	if p.Object == nil || !partial ||
		p.Partial && (len(pod.Spec.Containers) > 0 || len(p.Object.Spec.Containers) == 0) {
		p.Object, p.Partial = pod, partial
	}
	p.Node = cmp.Or(pod.Spec.NodeName, p.Node)
	p.addContainers(&pod.Spec)
}

// podFacts returns the facts about a pod as a whole. Change is that of a watch.
func podFacts(pod *v1.Pod, change string) (facts []*Fact) {
	if !pod.CreationTimestamp.IsZero() {
		facts = append(facts, &Fact{Kind: Created, When: second(pod.CreationTimestamp)})
	}
	gone := map[bool]string{true: change}[change == "DELETED"]
	if at := pod.DeletionTimestamp; at != nil {
		f := &Fact{Kind: Deleted, When: second(*at), Value: gone}
		if grace := pod.DeletionGracePeriodSeconds; grace != nil && f.When.Known() {
			f.When.At = f.When.At.Add(-time.Duration(min(max(*grace, 0), 1<<31-1)) * time.Second)
		}
		facts = append(facts, f)
	} else if gone != "" {
		facts = append(facts, &Fact{Kind: Deleted, Value: gone})
	}
	if s := pod.Status; s.Phase != "" {
		facts = append(facts, &Fact{Kind: Phase, Value: string(s.Phase), Reason: s.Reason, Message: s.Message})
	}
	for _, c := range pod.Status.Conditions {
		facts = append(facts, &Fact{Kind: Condition, Reason: string(c.Type), Value: string(c.Status),
			Message: c.Message, When: second(c.LastTransitionTime)})
	}
	return facts
}

// containerStatus is the status of a container, in which a part of a text may leave out the count
// and the readiness.
type containerStatus struct {
	v1.ContainerStatus
	RestartCount *int32 `json:"restartCount"`
	Ready        *bool  `json:"ready"`
}

func (s *containerStatus) facts() []*Fact {
	c := containerFacts{}
	for field, state := range map[string]*v1.ContainerState{"Last State": &s.LastTerminationState, "State": &s.State} {
		switch {
		case state.Terminated != nil:
			t := state.Terminated
			c[field] = &Fact{Kind: Terminated, Reason: t.Reason, Message: t.Message, ExitCode: t.ExitCode,
				ExitKnown: true, When: second(t.StartedAt), Last: second(t.FinishedAt)}
		case state.Running != nil:
			c[field] = &Fact{Kind: Running, When: second(state.Running.StartedAt)}
		case state.Waiting != nil:
			c[field] = &Fact{Kind: Waiting, Reason: state.Waiting.Reason, Message: state.Waiting.Message}
		}
	}
	if s.RestartCount != nil && *s.RestartCount >= 0 {
		c["Restart Count"] = &Fact{Kind: Restarts, Count: int(*s.RestartCount)}
	}
	if s.Ready != nil {
		c["Ready"] = &Fact{Kind: Ready, Value: strconv.FormatBool(*s.Ready)}
	}
	if s.Started != nil {
		c["Started"] = &Fact{Kind: Started, Value: strconv.FormatBool(*s.Started)}
	}
	return c.of(s.Name)
}

// containerFacts are the facts in the status of a container, by the names that kubectl describe
// gives them. Those that are unknown are not there.
type containerFacts map[string]*Fact

// of returns the facts about a container. The life that ended last is that of the instance with the
// number of restarts if the container waits for its next one.
func (c containerFacts) of(name string) (facts []*Fact) {
	for _, field := range []string{"Last State", "State", "Restart Count", "Ready", "Started"} {
		f := c[field]
		if f == nil {
			continue
		}
		if f.Container = name; strings.HasSuffix(field, "State") {
			if f.Count = -1; c["Restart Count"] != nil {
				f.Count = c["Restart Count"].Count
			}
			f.Instance, f.Previous = f.Count, field == "Last State"
			if f.Previous && (c["State"] == nil || c["State"].Kind != Waiting) {
				f.Instance = max(f.Count-1, -1)
			}
		}
		facts = append(facts, f)
	}
	return facts
}

// addStatus adds the facts in a status. All of it is at least as new as the latest time in it.
func (r *reader) addStatus(p *Pod, facts []*Fact, at Place, source Source, seen Moment) {
	for _, f := range facts {
		for _, m := range []Moment{f.When, f.Last} {
			if m.At.After(seen.At) && f.Kind != Deleted {
				seen = m
			}
		}
	}
	for _, f := range facts {
		if f.Source, f.Pod = source, p; f.Place.Line == 0 {
			f.Place = at
		}
		switch f.Kind {
		case Condition:
			f.Last = seen
		case Waiting, Restarts, Ready, Started, Phase:
			f.When = seen
		case Deleted:
			if !f.When.Known() && source == FromPod {
				f.When = seen
			}
		}
		if r.add(f) && source == FromDescribe && r.text.section != nil {
			r.text.section.status = append(r.text.section.status, f)
		}
	}
}

// second returns the time of an object, which is truncated to seconds.
func second(t metav1.Time) Moment {
	if !plausible(t.Time) { // the runtime writes 1970 if it does not know a time
		return Moment{}
	}
	return Moment{At: t.UTC(), Within: time.Second}
}

// fromTemplate returns the template of a pod without an object: that of the workload with the
// longest name that begins the pod's name.
func (r *Recording) fromTemplate(p *Pod) *template {
	var found *template
	for i := range r.templates {
		t := &r.templates[i]
		same := t.pod.Namespace == "" || p.Namespace == "" || t.pod.Namespace == p.Namespace
		if same && strings.HasPrefix(p.Name, t.pod.Name+"-") && (found == nil ||
			len(t.pod.Name) > len(found.pod.Name)) {
			found = t
		}
	}
	return found
}
