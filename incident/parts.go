package incident

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/trace"
)

// podPart has the fields of the status of a pod, of its spec, and of the status of a container.
type podPart struct {
	v1.PodStatus
	Containers, InitContainers                  []v1.Container
	InitContainerStatuses                       []containerStatus `json:"initContainerStatuses"`
	ContainerStatuses                           []containerStatus `json:"containerStatuses"`
	LivenessProbe, ReadinessProbe, StartupProbe *v1.Probe
	RestartCount, State, LastState              json.RawMessage
	Spec, Status, Template                      json.RawMessage
}

// part uses an object that is a part of a pod: its status, its spec, the status of a container, a probe. It returns false for others.
func (r *reader) part(o *object, depth int) bool {
	var part podPart
	json.Unmarshal(o.raw(), &part) // what does not fit is not there
	statuses := slices.Concat(part.InitContainerStatuses, part.ContainerStatuses)
	if part.RestartCount != nil || part.LastState != nil || bytes.HasPrefix(part.State, []byte("{")) {
		var own containerStatus
		json.Unmarshal(o.raw(), &own)
		statuses = append(statuses, own)
	}
	found := len(statuses) > 0 || len(part.Conditions) > 0 || phases[string(part.Phase)] || len(part.Containers) > 0
	if found {
		p := r.text.ofText(o.at)
		if p == nil {
			return true
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}, Spec: v1.PodSpec{Containers: part.Containers, InitContainers: part.InitContainers}, Status: part.PodStatus}
		if p.Object == nil || len(p.Object.Spec.Containers) == 0 {
			r.setObject(p, pod, true)
		}
		facts := podFacts(pod)
		for _, s := range statuses {
			p.addContainer(s.Name)
			facts = append(facts, s.facts()...)
		}
		r.addStatus(p, facts, o.at, FromPod, Moment{})
	}
	for _, inner := range []json.RawMessage{part.Spec, part.Status, part.Template} {
		if inner != nil && depth < maxDepth {
			found = r.part(&object{whole: inner, at: o.at}, depth+1) || found
		}
	}
	for i, p := range []*v1.Probe{part.LivenessProbe, part.ReadinessProbe, part.StartupProbe} {
		if p == nil {
			continue
		}
		if found = true; r.text.asked != "" {
			r.text.ofText(o.at)
		}
		r.lateProbes = append(r.lateProbes, lateProbe{o.at, []trace.Probe{trace.Liveness, trace.Readiness, trace.Startup}[i], p, r.file})
	}
	return found
}

// roles are what the keys of an object mean that a tool has condensed, without their digits and case.
var roles = func() map[string]string {
	m := map[string]string{}
	for role, keys := range map[string]string{
		"reason": "reason event eventreason", "message": "message msg note eventmessage", "type": "type eventtype", "count": "count times",
		"pod": "pod podname name object objectname involvedobject involvedobjectname", "container": "container containername", "namespace": "namespace ns",
		"first": "first firstseen firsttimestamp", "last": "last lastseen lasttimestamp time timestamp eventtime date ts age",
	} {
		for _, key := range strings.Fields(keys) {
			m[key] = role
		}
	}
	return m
}()

// condensed uses what a tool has condensed: any object with a message and a reason is an event, and one with a pod may have lists of events. The pod is that
// of the object around it if it has none. It returns false for others.
func (r *reader) condensed(o *object, namespace, pod string, depth int) (used bool) {
	values := map[string]string{}
	keys := slices.Sorted(maps.Keys(o.fields))
	for _, key := range keys {
		role := roles[strings.Map(func(c rune) rune {
			if c < 'a' || c > 'z' {
				return -1
			}
			return c
		}, strings.ToLower(key))]
		var text string
		var about reference
		switch raw := o.fields[key]; {
		case role == "" || values[role] != "":
		case json.Unmarshal(raw, &text) == nil:
			values[role] = text
		case raw[0] != '{' && raw[0] != '[':
			values[role] = string(raw)
		case role == "pod" && json.Unmarshal(raw, &about) == nil:
			values["pod"], values["container"], values["kind"] = about.Name, containerOf(about.FieldPath), about.Kind
			values["namespace"] = or(values["namespace"], about.Namespace)
		}
	}
	if kind, name, slash := strings.Cut(values["pod"], "/"); slash {
		values["pod"] = name
		if !isPodKind(kind) {
			values["namespace"] = or(values["namespace"], kind)
		}
	}
	namespace, pod = or(values["namespace"], namespace), or(values["pod"], pod)
	switch reason := values["reason"]; {
	case o.fields["status"] != nil || values["kind"] != "" && values["kind"] != "Pod" || depth > maxDepth:
		return false
	case isCamel(reason) && values["message"] != "" && o.fields["phase"] == nil && o.fields["state"] == nil && (pod != "" || terms[reason]):
		r.condensedEvent(values, namespace, pod, o.at)
		return true
	case pod == "":
		return false
	}
	for _, key := range keys {
		if raw := o.fields[key]; raw[0] == '[' {
			for _, i := range (item{raw, func(int) Place { return o.at }}).parse().items {
				used = r.condensed(i.parse(), namespace, pod, depth+1) || used
			}
		}
	}
	return used
}

func (r *reader) condensedEvent(values map[string]string, namespace, pod string, at Place) {
	count := strings.TrimPrefix(values["count"], "x")
	f := &Fact{Place: at, Type: values["type"], Reason: values["reason"], Message: values["message"], Container: values["container"],
		Count: max(count0(count), 1), CountShown: isNumber(count), AtLeast: !isNumber(count)}
	left := fields{namespace: namespace, name: pod}
	for _, role := range []string{"first", "last"} {
		if at, err := time.Parse(time.RFC3339, values[role]); err == nil && plausible(at) {
			left.dates = append(left.dates, at.UTC())
		} else if isAge(values[role]) {
			left.ages = append(left.ages, parseAge(values[role]))
		}
	}
	r.text.place(f, left)
	r.text.event = nil
}
