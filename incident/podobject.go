package incident

import (
	"encoding/json"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (r *reader) podObject(o *object, change string) {
	var pod v1.Pod
	if err := json.Unmarshal(o.raw(), &pod); err != nil {
		r.problem(o.at, true, "the pod was not used: %s", jsonError(err))
		return
	}
	if pod.Name == "" {
		r.problem(o.at, true, "the pod was not used: it has no name")
		return
	}
	r.objects++
	r.snapshot(&pod, o.at, FromPod, change == "DELETED")
}

// snapshot adds the facts in the status of a pod.
func (r *reader) snapshot(pod *v1.Pod, at Place, source Source, gone bool) {
	p := r.pod(pod.Namespace, pod.Name, string(pod.UID), at)
	if p != nil {
		r.snapshotOf(p, pod, at, source, gone)
	}
}

func (r *reader) snapshotOf(p *Pod, pod *v1.Pod, at Place, source Source, gone bool) {
	if p.Object == nil || p.Partial || source != FromDescribe {
		p.Object, p.Partial = pod, source == FromDescribe
	}
	if pod.Spec.NodeName != "" {
		p.Node = pod.Spec.NodeName
	}
	for _, c := range pod.Spec.InitContainers {
		p.addContainer(c.Name)
	}
	for _, c := range pod.Spec.Containers {
		p.addContainer(c.Name)
	}
	add := func(f Fact) {
		f.Place, f.Source, f.Pod = at, source, p
		r.add(&f)
	}
	seen := latest(pod) // the snapshot is not older than this
	for _, t := range []*metav1.Time{&pod.CreationTimestamp, pod.DeletionTimestamp} {
		if t != nil && !t.IsZero() && !plausible(t.Time) {
			r.problem(at, true, "a time of the pod was not used: %s is no time of a cluster", t.UTC().Format(time.RFC3339))
		}
	}
	if !pod.CreationTimestamp.IsZero() {
		add(Fact{Kind: Created, When: second(pod.CreationTimestamp)})
	}
	if pod.DeletionTimestamp != nil {
		grace := int64(0)
		if pod.DeletionGracePeriodSeconds != nil {
			grace = *pod.DeletionGracePeriodSeconds
		}
		when := second(*pod.DeletionTimestamp)
		when.At = when.At.Add(-time.Duration(min(max(grace, 0), 1<<31)) * time.Second)
		add(Fact{Kind: Deleted, When: when, Count: int(min(grace, 1<<31-1))})
	} else if gone {
		add(Fact{Kind: Deleted, When: seen})
	}
	if pod.Status.Phase != "" {
		add(Fact{Kind: Phase, Value: string(pod.Status.Phase), Reason: pod.Status.Reason, Message: pod.Status.Message, When: seen})
	}
	for _, c := range pod.Status.Conditions {
		add(Fact{Kind: Condition, Reason: string(c.Type), Value: string(c.Status), Message: c.Message, When: second(c.LastTransitionTime), Last: seen})
	}
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range list {
			containerFacts(&list[i], seen, add)
		}
	}
}

func containerFacts(c *v1.ContainerStatus, seen Moment, add func(Fact)) {
	states := []struct {
		v1.ContainerState
		previous bool
	}{{c.LastTerminationState, true}, {c.State, false}}
	for _, s := range states {
		f := Fact{Container: c.Name, Previous: s.previous, Count: int(c.RestartCount)}
		switch {
		case s.Terminated != nil:
			f.Kind, f.Reason, f.Message, f.ExitCode = Terminated, s.Terminated.Reason, s.Terminated.Message, s.Terminated.ExitCode
			f.When, f.Last = second(s.Terminated.StartedAt), second(s.Terminated.FinishedAt)
		case s.Running != nil:
			f.Kind, f.When = Running, second(s.Running.StartedAt)
		case s.Waiting != nil:
			f.Kind, f.Reason, f.Message, f.When = Waiting, s.Waiting.Reason, s.Waiting.Message, seen
		default:
			continue
		}
		add(f)
	}
	add(Fact{Kind: Restarts, Container: c.Name, Count: int(c.RestartCount), When: seen})
	add(Fact{Kind: Ready, Container: c.Name, Value: yesNo(c.Ready), When: seen})
	if c.Started != nil {
		add(Fact{Kind: Started, Container: c.Name, Value: yesNo(*c.Started), When: seen})
	}
}

func yesNo(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// second returns the time of an object, which is truncated to seconds.
func second(t metav1.Time) Moment {
	if !plausible(t.Time) { // the runtime writes 1970 if it does not know a time
		return Moment{}
	}
	return Moment{At: t.UTC(), Within: time.Second}
}

// latest returns the latest time in a pod: the object is at least as new.
func latest(pod *v1.Pod) Moment {
	var last Moment
	see := func(t metav1.Time) {
		if m := second(t); m.Known() && m.At.After(last.At) {
			last = m
		}
	}
	see(pod.CreationTimestamp)
	for _, c := range pod.Status.Conditions {
		see(c.LastTransitionTime)
	}
	for _, list := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range list {
			for _, s := range []v1.ContainerState{c.State, c.LastTerminationState} {
				if s.Running != nil {
					see(s.Running.StartedAt)
				}
				if s.Terminated != nil {
					see(s.Terminated.FinishedAt)
				}
			}
		}
	}
	return last
}

// workload remembers the pod template of a workload. It returns false for other objects.
func (r *reader) workload(o *object, kind string) bool {
	var w struct {
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			Template    *v1.PodTemplateSpec
			JobTemplate struct {
				Spec struct{ Template *v1.PodTemplateSpec }
			}
		}
	}
	if json.Unmarshal(o.raw(), &w) != nil {
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

// condensed uses a pod in the form of reports that list pods with their events in snake case.
func (r *reader) condensed(o *object) {
	var c struct {
		PodName    string `json:"pod_name"`
		Namespace  string
		Phase      string
		NodeName   string `json:"node_name"`
		Conditions []struct {
			Type, Status string
			Last         stamp `json:"last_transition_time"`
		}
		States []struct {
			Container string
			Ready     bool
			Restarts  int `json:"restart_count"`
			State     string
			Reason    string
			Message   string
			ExitCode  int32 `json:"exit_code"`
		} `json:"container_states"`
		Events []struct {
			Type, Reason, Message string
			Count                 int
			First                 stamp `json:"first_timestamp"`
			Last                  stamp `json:"last_timestamp"`
		}
	}
	if err := json.Unmarshal(o.raw(), &c); err != nil || c.PodName == "" {
		r.problem(o.at, true, "the pod in a report was not used: %v", err)
		return
	}
	p := r.pod(c.Namespace, c.PodName, "", o.at)
	if p == nil {
		return
	}
	p.Node = c.NodeName
	only := ""
	if len(c.States) == 1 {
		only = c.States[0].Container
	}
	var seen Moment
	for _, e := range c.Events {
		f := &Fact{Place: o.at, Source: FromEvent, Kind: Event, Pod: p, Type: e.Type, Reason: e.Reason, Message: e.Message,
			Count: max(e.Count, 1), When: e.First.Moment, Last: e.Last.Moment}
		if e.Reason != "Scheduled" {
			f.Container = only
		}
		if !f.Last.Known() {
			f.Last = f.When
		}
		f.Points = []Point{{1, f.When}}
		if f.Count > 1 {
			f.Points = append(f.Points, Point{f.Count, f.Last})
		}
		if f.Last.At.After(seen.At) {
			seen = f.Last
		}
		r.add(f)
	}
	for _, k := range c.Conditions {
		r.add(&Fact{Place: o.at, Source: FromPod, Kind: Condition, Pod: p, Reason: k.Type, Value: k.Status, When: k.Last.Moment, Last: seen})
	}
	for _, s := range c.States {
		kind := map[string]Kind{"running": Running, "terminated": Terminated}[s.State]
		if kind == "" {
			kind = Waiting
		}
		r.add(&Fact{Place: o.at, Source: FromPod, Kind: kind, Pod: p, Container: s.Container, Reason: s.Reason, Message: s.Message, ExitCode: s.ExitCode, Count: s.Restarts, When: seen})
		r.add(&Fact{Place: o.at, Source: FromPod, Kind: Restarts, Pod: p, Container: s.Container, Count: s.Restarts, When: seen})
		r.add(&Fact{Place: o.at, Source: FromPod, Kind: Ready, Pod: p, Container: s.Container, Value: yesNo(s.Ready), When: seen})
	}
}
