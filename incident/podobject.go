package incident

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (r *reader) podObject(o *object, change string) {
	var pod v1.Pod
	if err := json.Unmarshal(o.raw(), &pod); err != nil || pod.Name == "" {
		r.problem(o.at, true, "the pod was not used: it has no name, or %v", err)
		return
	}
	r.objects++
	p := r.pod(pod.Namespace, pod.Name, string(pod.UID), o.at)
	if p == nil {
		return
	}
	r.setObject(p, &pod, o.cut)
	var facts []*Fact
	if !pod.CreationTimestamp.IsZero() {
		facts = append(facts, &Fact{Kind: Created, When: second(pod.CreationTimestamp)})
	}
	if at := pod.DeletionTimestamp; at != nil {
		f := &Fact{Kind: Deleted, When: second(*at)}
		if grace := pod.DeletionGracePeriodSeconds; grace != nil && f.When.Known() {
			f.Count = int(min(max(*grace, 0), 1<<31-1))
			f.When.At = f.When.At.Add(-time.Duration(f.Count) * time.Second)
		}
		facts = append(facts, f)
	} else if change == "DELETED" {
		facts = append(facts, &Fact{Kind: Deleted})
	}
	facts = append(facts, podFacts(&pod)...)
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		s := containerStatus{c, &c.RestartCount, &c.Ready}
		facts = append(facts, s.facts()...)
	}
	r.addStatus(p, facts, o.at, FromPod, Moment{})
}

// setObject gives a pod its newest object, whose status and names it has. A text does not replace an object.
func (r *reader) setObject(p *Pod, pod *v1.Pod, partial bool) {
	if p.Object == nil || p.Partial || !partial {
		p.Object, p.Partial = pod, partial
	}
	p.Node = or(pod.Spec.NodeName, p.Node)
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		p.addContainer(c.Name)
	}
}

// podFacts returns the facts about a pod as a whole in its status.
func podFacts(pod *v1.Pod) (facts []*Fact) {
	if s := pod.Status; s.Phase != "" {
		facts = append(facts, &Fact{Kind: Phase, Value: string(s.Phase), Reason: s.Reason, Message: s.Message})
	}
	for _, c := range pod.Status.Conditions {
		facts = append(facts, &Fact{Kind: Condition, Reason: string(c.Type), Value: string(c.Status), Message: c.Message, When: second(c.LastTransitionTime)})
	}
	return facts
}

// containerStatus is the status of a container, in which a part of a text may leave out the count and the readiness.
type containerStatus struct {
	v1.ContainerStatus
	RestartCount *int32 `json:"restartCount"`
	Ready        *bool  `json:"ready"`
}

func (s *containerStatus) facts() []*Fact {
	c := containerFacts{name: s.Name, previous: stateFact(&s.LastTerminationState), state: stateFact(&s.State)}
	if c.previous != nil {
		c.previous.Previous = true
	}
	if s.RestartCount != nil && *s.RestartCount >= 0 {
		c.restarts = &Fact{Kind: Restarts, Count: int(*s.RestartCount)}
	}
	if s.Ready != nil {
		c.ready = &Fact{Kind: Ready, Value: strconv.FormatBool(*s.Ready)}
	}
	if s.Started != nil {
		c.started = &Fact{Kind: Started, Value: strconv.FormatBool(*s.Started)}
	}
	return c.list()
}

func stateFact(s *v1.ContainerState) *Fact {
	switch {
	case s.Terminated != nil:
		return &Fact{Kind: Terminated, Reason: s.Terminated.Reason, Message: s.Terminated.Message, ExitCode: s.Terminated.ExitCode, ExitKnown: true,
			When: second(s.Terminated.StartedAt), Last: second(s.Terminated.FinishedAt)}
	case s.Running != nil:
		return &Fact{Kind: Running, When: second(s.Running.StartedAt)}
	case s.Waiting != nil:
		return &Fact{Kind: Waiting, Reason: s.Waiting.Reason, Message: s.Waiting.Message}
	}
	return nil
}

// containerFacts are the facts in the status of a container. Those that are unknown are nil.
type containerFacts struct {
	name                                      string
	previous, state, restarts, ready, started *Fact
}

// list returns the facts. The life that ended last is that of the instance with the number of restarts if the container waits for its next one.
func (c *containerFacts) list() (facts []*Fact) {
	for _, f := range []*Fact{c.previous, c.state} {
		if f == nil {
			continue
		}
		if f.Count = -1; c.restarts != nil {
			f.Count = c.restarts.Count
		}
		if f.instance = f.Count; f.Previous && (c.state == nil || c.state.Kind != Waiting) {
			f.instance = max(f.Count-1, -1)
		}
	}
	for _, f := range []*Fact{c.previous, c.state, c.restarts, c.ready, c.started} {
		if f != nil {
			f.Container = c.name
			facts = append(facts, f)
		}
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

// workload remembers the pod template of a workload. It returns false for other objects.
func (r *reader) workload(o *object) bool {
	type spec struct{ Template *v1.PodTemplateSpec }
	var w struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			spec
			JobTemplate struct{ Spec spec }
		}
	}
	if o.fields["spec"] == nil || json.Unmarshal(o.raw(), &w) != nil {
		return false
	}
	t := w.Spec.Template
	if t == nil {
		t = w.Spec.JobTemplate.Spec.Template
	}
	if t == nil || len(t.Spec.Containers) == 0 || w.Metadata.Name == "" {
		return false
	}
	r.rec.templates = append(r.rec.templates, template{o.at, w.Metadata.Namespace, w.Metadata.Name, &v1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}})
	return true
}

// fromTemplate returns the template of a pod without an object: that of the workload with the longest name that begins the pod's name.
func (r *Recording) fromTemplate(p *Pod) *template {
	var found *template
	for i := range r.templates {
		t := &r.templates[i]
		same := t.namespace == "" || p.Namespace == "" || t.namespace == p.Namespace
		if same && strings.HasPrefix(p.Name, t.name+"-") && (found == nil || len(t.name) > len(found.name)) {
			found = t
		}
	}
	return found
}
