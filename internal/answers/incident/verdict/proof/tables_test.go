package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// table returns a writer of columns as those of kubectl get.
func table(b *bytes.Buffer) *tabwriter.Writer { return tabwriter.NewWriter(b, 6, 4, 3, ' ', 0) }

// head writes the header of a table.
func (p *printer) head(w *tabwriter.Writer, columns string) {
	if !p.without[headers] {
		fmt.Fprintln(w, strings.ReplaceAll(columns, ",", "\t"))
	}
}

// getEvents writes events as kubectl get events does (printEvent in
// pkg/printers/internalversion/printers.go; the columns are those of the releases).
func (p *printer) getEvents(wide bool) string {
	var b bytes.Buffer
	w := table(&b)
	switch {
	case p.minor >= 14 && wide:
		p.head(w, "LAST SEEN,TYPE,REASON,OBJECT,SUBOBJECT,SOURCE,MESSAGE,FIRST SEEN,COUNT,NAME")
	case p.minor >= 14:
		p.head(w, "LAST SEEN,TYPE,REASON,OBJECT,MESSAGE")
	case p.minor >= 12:
		p.head(w, "LAST SEEN,TYPE,REASON,KIND,MESSAGE")
	case p.minor >= 8:
		p.head(w, "LAST SEEN,FIRST SEEN,COUNT,NAME,KIND,SUBOBJECT,TYPE,REASON,SOURCE,MESSAGE")
	case p.minor >= 4:
		p.head(w, "LASTSEEN,FIRSTSEEN,COUNT,NAME,KIND,SUBOBJECT,TYPE,REASON,SOURCE,MESSAGE")
	case p.minor >= 2:
		p.head(w, "FIRSTSEEN,LASTSEEN,COUNT,NAME,KIND,SUBOBJECT,TYPE,REASON,SOURCE,MESSAGE")
	default:
		p.head(w, "FIRSTSEEN,LASTSEEN,COUNT,NAME,KIND,SUBOBJECT,REASON,SOURCE,MESSAGE")
	}
	for _, e := range p.of(nil) {
		p.eventRow(w, &e, wide)
	}
	w.Flush()
	return b.String()
}

func (p *printer) eventRow(w *tabwriter.Writer, e *v1.Event, wide bool) {
	o, message := &e.InvolvedObject, strings.TrimSpace(e.Message)
	name, kind := e.Name, "Pod"
	if p.minor < 8 {
		name = o.Name
	}
	switch {
	case p.minor >= 14 && wide:
		fmt.Fprintf(w, "%s\t%s\t%s\tpod/%s\t%s\t%s\t%s\t%s\t%d\t%s\n", p.ago(last(e)), e.Type, e.Reason, o.Name,
			o.FieldPath, p.source(e), message, p.ago(first(e)), max(e.Count, 1), e.Name)
	case p.minor >= 14:
		fmt.Fprintf(w, "%s\t%s\t%s\tpod/%s\t%s\n", p.ago(last(e)), e.Type, e.Reason, o.Name, message)
	case p.minor >= 12:
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.ago(last(e)), e.Type, e.Reason, kind, message)
	case p.minor >= 4:
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.ago(last(e)), p.ago(first(e)), max(e.Count, 1),
			name, kind, o.FieldPath, e.Type, e.Reason, p.source(e), message)
	case p.minor >= 2:
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.ago(first(e)), p.ago(last(e)), max(e.Count, 1),
			name, kind, o.FieldPath, e.Type, e.Reason, p.source(e), message)
	default:
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", first(e).Format(time.RFC1123Z),
			last(e).Format(time.RFC1123Z), max(e.Count, 1), name, kind, o.FieldPath, p.reason(e), p.source(e), message)
	}
}

// kubectlEvents writes events as kubectl events does, which exists since v1.23. With watch, it
// writes each update as it comes.
func (p *printer) kubectlEvents(watch bool) string {
	var b bytes.Buffer
	w := table(&b)
	p.head(w, "LAST SEEN,TYPE,REASON,OBJECT,MESSAGE")
	list := p.of(nil)
	slices.SortStableFunc(list, func(a, b v1.Event) int { return last(&a).Compare(last(&b)) })
	then := *p.cluster
	if watch {
		list = slices.DeleteFunc(slices.Clone(p.updates),
			func(e v1.Event) bool { return p.without[killings] && e.Reason == "Killing" })
	}
	for _, e := range list {
		if watch {
			then.now = last(&e)
		}
		q := printer{&then, p.release, p.without}
		fmt.Fprintf(w, "%s\t%s\t%s\tPod/%s\t%s\n", q.interval(&e), e.Type, e.Reason, e.InvolvedObject.Name, e.Message)
	}
	w.Flush()
	return b.String()
}

// getPods writes the pods as kubectl get pods does. With watch, it writes a row for each change
// that a row shows.
func (p *printer) getPods(watch bool) string {
	var b bytes.Buffer
	w := table(&b)
	p.head(w, "NAME,READY,STATUS,RESTARTS,AGE")
	list := p.pods
	if watch {
		list = p.changes
	}
	before := map[string]string{}
	for _, pod := range list {
		now := p.now
		if watch {
			now, _ = time.Parse(time.RFC3339Nano, pod.ResourceVersion)
		}
		key := p.podRow(pod, pod.CreationTimestamp.Time)
		if before[pod.Name] == key {
			continue
		}
		before[pod.Name] = key
		fmt.Fprintln(w, p.podRow(pod, now))
	}
	w.Flush()
	return b.String()
}

// podRow returns a row of kubectl get pods at a time.
func (p *printer) podRow(pod *v1.Pod, now time.Time) string {
	c := *p.cluster
	c.now = now
	q := printer{&c, p.release, nil}
	ready, all, restarts, restarted, word := summary(pod)
	count := fmt.Sprint(restarts)
	if restarts > 0 && p.minor >= 22 && !restarted.IsZero() {
		count += fmt.Sprintf(" (%s ago)", q.ago(restarted))
	}
	return fmt.Sprintf("%s\t%d/%d\t%s\t%s\t%s", pod.Name, ready, all, word, count, q.ago(pod.CreationTimestamp.Time))
}

// summary returns what a row shows (printPod in pkg/printers/internalversion/printers.go at
// v1.37.0).
func summary(pod *v1.Pod) (ready, all, restarts int, restarted time.Time, word string) {
	word = string(pod.Status.Phase)
	if pod.Status.Reason != "" {
		word = pod.Status.Reason
	}
	count := func(s *v1.ContainerStatus) {
		restarts += int(s.RestartCount)
		if end := s.LastTerminationState.Terminated; end != nil && end.FinishedAt.After(restarted) {
			restarted = end.FinishedAt.Time
		}
	}
	isSidecar := map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			isSidecar[c.Name] = true
		}
	}
	all = len(pod.Spec.Containers) + len(isSidecar)
	initializing := false
	for i := range pod.Status.InitContainerStatuses {
		s := &pod.Status.InitContainerStatuses[i]
		switch end := s.State.Terminated; {
		case end != nil && end.ExitCode == 0, isSidecar[s.Name] && s.Started != nil && *s.Started:
			if isSidecar[s.Name] {
				count(s)
				if s.Ready {
					ready++
				}
			}
			continue
		case end != nil:
			word = "Init:" + end.Reason
		case s.State.Waiting != nil && s.State.Waiting.Reason != "" && s.State.Waiting.Reason != "PodInitializing":
			word = "Init:" + s.State.Waiting.Reason
		default:
			word = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		count(s)
		initializing = true
		break
	}
	if !initializing {
		for i := range pod.Status.ContainerStatuses {
			c := &pod.Status.ContainerStatuses[i]
			if count(c); c.Ready && c.State.Running != nil {
				ready++
			}
		}
		word = wordOf(pod, word)
	}
	if pod.DeletionTimestamp != nil && pod.Status.Phase != v1.PodFailed && pod.Status.Phase != v1.PodSucceeded {
		word = "Terminating"
	}
	return ready, all, restarts, restarted, word
}

// wordOf returns what a row shows of the state of a pod without init containers that run: that of
// its first container in trouble.
func wordOf(pod *v1.Pod, word string) string {
	running := false
	for _, s := range slices.Backward(pod.Status.ContainerStatuses) {
		switch {
		case s.State.Waiting != nil && s.State.Waiting.Reason != "":
			word = s.State.Waiting.Reason
		case s.State.Terminated != nil && s.State.Terminated.Reason != "":
			word = s.State.Terminated.Reason
		case s.State.Terminated != nil:
			word = fmt.Sprintf("ExitCode:%d", s.State.Terminated.ExitCode)
		case s.Ready && s.State.Running != nil:
			running = true
		}
	}
	isReady := func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue }
	switch {
	case word != "Completed" || !running:
		return word
	case slices.ContainsFunc(pod.Status.Conditions, isReady):
		return "Running"
	}
	return "NotReady"
}

// objects writes the pods and the events as kubectl get -o json does.
func (p *printer) objects() string {
	var items []any
	for _, pod := range p.pods {
		if !p.without[status] {
			items = append(items, pod)
		}
	}
	for _, e := range p.of(nil) {
		if !p.without[events] {
			e.Kind, e.APIVersion = "Event", "v1"
			if !e.EventTime.IsZero() {
				e.LastTimestamp = metav1.Time{}
			}
			items = append(items, e)
		}
	}
	text, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, "", "    ")
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// yaml writes them as kubectl get -o yaml does.
func (p *printer) yaml() string {
	text, err := yaml.JSONToYAML([]byte(p.objects()))
	if err != nil {
		panic(err)
	}
	return string(text)
}
