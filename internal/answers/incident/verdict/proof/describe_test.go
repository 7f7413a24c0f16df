package proof

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// printer writes what a cluster has as kubectl does.
type printer struct {
	*cluster
	release
	without map[part]bool
}

// part is a part of the output that people leave out.
type part string

// The parts.
const (
	killings part = "Killing"  // the rows of events about a kill
	settings part = "settings" // the lines of probes
	events   part = "events"
	status   part = "status" // all but the events
	headers  part = "headers"
)

// ago returns an age as the release prints it.
func (p *printer) ago(t time.Time) string {
	switch {
	case t.IsZero():
		return "<unknown>"
	case p.minor < 12:
		return duration.ShortHumanDuration(p.now.Sub(t))
	}
	return duration.HumanDuration(p.now.Sub(t))
}

// tabs returns a writer of columns, as those of kubectl describe.
func (p *printer) tabs(b *bytes.Buffer) *tabwriter.Writer {
	if p.minor < 8 {
		return tabwriter.NewWriter(b, 0, 8, 1, '\t', 0)
	}
	return tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
}

// describe writes a pod as kubectl describe pod does (describePod in pkg/describe/describe.go of
// k8s.io/kubectl v0.37.2). Older releases have other tables of events, and other parts that say
// nothing about containers.
func (p *printer) describe(pod *v1.Pod) string {
	var b bytes.Buffer
	if !p.without[status] {
		w := p.tabs(&b)
		fmt.Fprintf(w, "Name:\t%s\nNamespace:\t%s\n", pod.Name, pod.Namespace)
		fmt.Fprintf(w, "Node:\t%s/%s\n", pod.Spec.NodeName, pod.Status.HostIP)
		if pod.Status.StartTime != nil {
			fmt.Fprintf(w, "Start Time:\t%s\n", pod.Status.StartTime.Format(time.RFC1123Z))
		}
		fmt.Fprintf(w, "Labels:\tapp=%s\nAnnotations:\t<none>\n", pod.Name)
		if pod.DeletionTimestamp != nil && pod.Status.Phase != v1.PodFailed && pod.Status.Phase != v1.PodSucceeded {
			fmt.Fprintf(w, "Status:\tTerminating (lasts %s)\nTermination Grace Period:\t%ds\n",
				p.ago(pod.DeletionTimestamp.Time), *pod.DeletionGracePeriodSeconds)
		} else {
			fmt.Fprintf(w, "Status:\t%s\n", pod.Status.Phase)
		}
		if pod.Status.Reason != "" {
			fmt.Fprintf(w, "Reason:\t%s\n", pod.Status.Reason)
		}
		fmt.Fprintf(w, "IP:\t%s\n", pod.Status.PodIP)
		if len(pod.Spec.InitContainers) > 0 {
			fmt.Fprint(w, "Init Containers:\n")
			p.containers(w, pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
		}
		fmt.Fprint(w, "Containers:\n")
		p.containers(w, pod.Spec.Containers, pod.Status.ContainerStatuses)
		if len(pod.Status.Conditions) > 0 {
			fmt.Fprint(w, "Conditions:\n  Type\tStatus\n")
			for _, c := range pod.Status.Conditions {
				fmt.Fprintf(w, "  %s \t%s \n", c.Type, c.Status)
			}
		}
		fmt.Fprint(w, "Volumes:\n  kube-api-access-x2b7l:\n    Type:\tProjected (a volume that contains injected "+
			"data from multiple sources)\n")
		fmt.Fprint(w, "QoS Class:\tBestEffort\nNode-Selectors:\t<none>\n"+
			"Tolerations:\tnode.kubernetes.io/not-ready:NoExecute op=Exists for 300s\n")
		fmt.Fprint(w, "\tnode.kubernetes.io/unreachable:NoExecute op=Exists for 300s\n")
		w.Flush()
	}
	if !p.without[events] {
		p.describeEvents(&b, pod)
	}
	return b.String()
}

func (p *printer) containers(w *tabwriter.Writer, list []v1.Container, statuses []v1.ContainerStatus) {
	for i := range list {
		c := &list[i]
		fmt.Fprintf(w, "  %s:\n", c.Name)
		var status *v1.ContainerStatus
		if at := slices.IndexFunc(statuses, func(s v1.ContainerStatus) bool { return s.Name == c.Name }); at >= 0 {
			status = &statuses[at]
			fmt.Fprintf(w, "    Container ID:\t%s\n", status.ContainerID)
		}
		fmt.Fprintf(w, "    Image:\t%s\n", c.Image)
		if status != nil {
			fmt.Fprintf(w, "    Image ID:\t%s\n", status.ImageID)
		}
		fmt.Fprint(w, "    Port:\t8080/TCP\n    Host Port:\t0/TCP\n")
		if status != nil {
			p.state(w, "State", status.State)
			if status.LastTerminationState.Terminated != nil {
				p.state(w, "Last State", status.LastTerminationState)
			}
			fmt.Fprintf(w, "    Ready:\t%s\n    Restart Count:\t%d\n", capital(status.Ready), status.RestartCount)
		}
		if p.minor >= 2 && !p.without[settings] {
			for _, probe := range []struct {
				name string
				*v1.Probe
			}{{"Liveness", c.LivenessProbe}, {"Readiness", c.ReadinessProbe}, {"Startup", c.StartupProbe}} {
				if probe.Probe != nil {
					fmt.Fprintf(w, "    %s:\t%s\n", probe.name, p.setting(probe.Probe))
				}
			}
		}
		fmt.Fprint(w, "    Environment:\t<none>\n    Mounts:\n      /var/run/secrets/kubernetes.io/serviceaccount "+
			"from kube-api-access-x2b7l (ro)\n")
	}
}

func capital(yes bool) string {
	if yes {
		return "True"
	}
	return "False"
}

func (p *printer) state(w *tabwriter.Writer, name string, s v1.ContainerState) {
	switch {
	case s.Running != nil:
		fmt.Fprintf(w, "    %s:\tRunning\n      Started:\t%s\n", name, s.Running.StartedAt.Format(time.RFC1123Z))
	case s.Terminated != nil:
		fmt.Fprintf(w, "    %s:\tTerminated\n", name)
		if s.Terminated.Reason != "" {
			fmt.Fprintf(w, "      Reason:\t%s\n", s.Terminated.Reason)
		}
		fmt.Fprintf(w, "      Exit Code:\t%d\n      Started:\t%s\n      Finished:\t%s\n", s.Terminated.ExitCode,
			s.Terminated.StartedAt.Format(time.RFC1123Z), s.Terminated.FinishedAt.Format(time.RFC1123Z))
	default:
		fmt.Fprintf(w, "    %s:\tWaiting\n", name)
		if s.Waiting != nil && s.Waiting.Reason != "" {
			fmt.Fprintf(w, "      Reason:\t%s\n", s.Waiting.Reason)
		}
	}
}

// setting returns the line of a probe (DescribeProbe).
func (v release) setting(p *v1.Probe) string {
	success, failure := "#success", "#failure"
	if v.minor >= 37 {
		success, failure = "successThreshold", "failureThreshold"
	}
	numbers := fmt.Sprintf("delay=%ds timeout=%ds period=%ds %s=%d %s=%d", p.InitialDelaySeconds, p.TimeoutSeconds,
		p.PeriodSeconds, success, p.SuccessThreshold, failure, p.FailureThreshold)
	switch {
	case p.Exec != nil:
		return fmt.Sprintf("exec %v %s", p.Exec.Command, numbers)
	case p.HTTPGet != nil:
		u := url.URL{Scheme: strings.ToLower(string(p.HTTPGet.Scheme)),
			Host: net.JoinHostPort(p.HTTPGet.Host, p.HTTPGet.Port.String()), Path: p.HTTPGet.Path}
		return fmt.Sprintf("http-get %s %s", &u, numbers)
	case p.TCPSocket != nil:
		return fmt.Sprintf("tcp-socket %s:%s %s", p.TCPSocket.Host, p.TCPSocket.Port.String(), numbers)
	case p.GRPC != nil:
		service := ""
		if p.GRPC.Service != nil {
			service = *p.GRPC.Service
		}
		return fmt.Sprintf("grpc <pod>:%d %s %s", p.GRPC.Port, service, numbers)
	}
	return "unknown " + numbers
}

// of returns the events of a pod, or of all, without those that are left out.
func (p *printer) of(pod *v1.Pod) (list []v1.Event) {
	for _, e := range p.events {
		if (pod == nil || e.InvolvedObject.UID == pod.UID) && !(p.without[killings] && e.Reason == "Killing") {
			list = append(list, e)
		}
	}
	return list
}

func (p *printer) describeEvents(b *bytes.Buffer, pod *v1.Pod) {
	list := p.of(pod)
	if len(list) == 0 {
		fmt.Fprint(b, "Events:  <none>\n")
		return
	}
	slices.SortStableFunc(list, func(a, b v1.Event) int { return sorted(&a).Compare(sorted(&b)) })
	w := p.tabs(b)
	switch {
	case p.without[headers]:
	case p.minor >= 8:
		fmt.Fprint(w, "Events:\n  Type\tReason\tAge\tFrom\tMessage\n  ----\t------\t----\t----\t-------\n")
	case p.minor >= 2:
		fmt.Fprint(w, "Events:\n  FirstSeen\tLastSeen\tCount\tFrom\tSubObjectPath\tType\tReason\tMessage\n  "+
			"---------\t--------\t-----\t----\t-------------\t--------\t------\t-------\n")
	default:
		fmt.Fprint(w, "Events:\n  FirstSeen\tLastSeen\tCount\tFrom\tSubobjectPath\tReason\tMessage\n")
	}
	for i := range list {
		e := &list[i]
		switch {
		case p.minor >= 8:
			message := e.Message
			if p.minor >= 36 && e.InvolvedObject.FieldPath != "" {
				message = e.InvolvedObject.FieldPath + ": " + message
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", e.Type, e.Reason, p.interval(e), p.from(e), message)
		case p.minor >= 2:
			fmt.Fprintf(w, "  %s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", p.ago(first(e)), p.ago(last(e)), max(e.Count, 1),
				p.from(e), e.InvolvedObject.FieldPath, e.Type, e.Reason, e.Message)
		default:
			fmt.Fprintf(w, "  %s\t%s\t%d\t%s\t%s\t%s\t%s\n", first(e).Format(time.RFC1123Z),
				last(e).Format(time.RFC1123Z), max(e.Count, 1), p.from(e), e.InvolvedObject.FieldPath, p.reason(e),
				e.Message)
		}
	}
	w.Flush()
}

// reason returns the reason of an event; those of 2015 begin with a small letter.
func (p *printer) reason(e *v1.Event) string {
	if p.minor < 2 {
		return strings.ToLower(e.Reason[:1]) + e.Reason[1:]
	}
	return e.Reason
}

// first returns the time of the first occurrence of an event, and last that of the last one.
func first(e *v1.Event) time.Time {
	if !e.EventTime.IsZero() {
		return e.EventTime.Time
	}
	return e.FirstTimestamp.Time
}

func last(e *v1.Event) time.Time {
	if !e.EventTime.IsZero() {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}

// sorted returns the time by which kubectl describe sorts: that of the older API, which the events
// of the scheduler do not have.
func sorted(e *v1.Event) time.Time {
	if !e.EventTime.IsZero() {
		return time.Time{}
	}
	return e.LastTimestamp.Time
}

// interval returns the column Age.
func (p *printer) interval(e *v1.Event) string {
	if e.Count > 1 {
		return fmt.Sprintf("%s (x%d over %s)", p.ago(last(e)), e.Count, p.ago(first(e)))
	}
	return p.ago(first(e))
}

// from returns the source of an event in kubectl describe.
func (p *printer) from(e *v1.Event) string {
	if p.minor >= 19 {
		return cmp.Or(e.Source.Component, e.ReportingController)
	}
	return p.source(e)
}

// source returns the source of an event in kubectl get events.
func (p *printer) source(e *v1.Event) string {
	component := cmp.Or(e.Source.Component, e.ReportingController)
	switch {
	case p.minor >= 6 && e.Source.Host == "":
		return component
	case p.minor >= 6:
		return component + ", " + e.Source.Host
	}
	return strings.TrimSuffix("{"+component+" "+e.Source.Host, " ") + "}"
}
