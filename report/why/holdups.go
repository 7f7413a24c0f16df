package why

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/trace"
)

// soon is how long it may take to see that a container has ended and to start the next one, without anything in the way.
const soon = 2 * time.Second

// holdUps says what was in the way between an exit, or the end of a back-off, and the start that followed it.
func (r *Run) holdUps(start, cause *trace.Record) string {
	from := cause.T
	if delay, ok := r.backOff[cause.Step]; ok {
		if exit := r.lastExit(cause); exit != nil {
			from = exit.T + delay
		}
	}
	if cause.Kind == trace.PodAdded || start.T-from <= soon {
		return ""
	}
	what := r.inTheWay(subject{start.Pod, start.Container}, from, start.T)
	if len(what) == 0 && cause.Kind == trace.Event {
		return fmt.Sprintf(", %s after the end of its back-off, when the kubelet looked at the pod again", span(start.T-from))
	}
	return listed(what)
}

// inTheWay says what kept the kubelet from starting a container in a part of the run.
func (r *Run) inTheWay(c subject, from, to time.Duration) []string {
	what := append(r.outages(from, to, false), r.postStart(c, from, to)...)
	for _, rec := range r.records {
		if rec.T > to {
			break
		}
		if rec.Pod != c.pod || rec.T < from {
			continue
		}
		switch {
		case rec.Kind == trace.ContainerExited && rec.Container != c.container && rec.T > from:
			if stop := r.cause(rec); stop != nil && stop.Kind == trace.ContainerStopping {
				what = append(what, fmt.Sprintf("the pod's worker was stopping %s until %s", trace.Clean(rec.Container), at(rec.T)))
			}
		case rec.Kind == trace.Event && rec.Container == c.container && rec.Reason == "Pulled":
			if pulling := r.pulling(rec); pulling != nil && rec.T-pulling.T > time.Second {
				what = append(what, fmt.Sprintf("its image was pulled from %s to %s", at(pulling.T), at(rec.T)))
			}
		}
	}
	return what
}

// postStart says for the hook of which other container the pod's worker waited, if it began nothing else for so long.
func (r *Run) postStart(c subject, from, to time.Duration) []string {
	syncs := r.syncs[c.pod]
	i, _ := slices.BinarySearch(syncs, from+1)
	next, over := to, i < len(syncs) && syncs[i] <= to
	if over {
		next = syncs[i]
	}
	if i == 0 || next-from <= soon {
		return nil
	}
	var what []string
	for _, rec := range r.records {
		if rec.T < syncs[i-1] || rec.T > next || rec.Kind != trace.ContainerStarted || rec.Pod != c.pod || rec.Container == c.container {
			continue
		}
		other := r.spec(subject{rec.Pod, rec.Container})
		switch {
		case other == nil || other.Lifecycle == nil || other.Lifecycle.PostStart == nil:
		case over:
			what = append(what, fmt.Sprintf("the pod's worker was in the postStart hook of %s until %s", trace.Clean(rec.Container), at(next)))
		default:
			what = append(what, fmt.Sprintf("the pod's worker has been in the postStart hook of %s since %s", trace.Clean(rec.Container), at(rec.T)))
		}
	}
	return what
}

// outages says what was down in a part of the run that a kubelet needs to start a container: itself, the runtime, and the
// API server if it has not said yet which pods there are, or if a status is to be written.
func (r *Run) outages(from, to time.Duration, writes bool) []string {
	var what []string
	begun := map[string]*trace.Record{}
	restarted := false // while it does not reach the API server
	add := func(name, text string, end *trace.Record) {
		begin := begun[name]
		delete(begun, name)
		switch {
		case begin == nil || end != nil && end.T <= from:
		case end == nil:
			what = append(what, fmt.Sprintf("%s since %s", text, at(begin.T)))
		default:
			what = append(what, fmt.Sprintf("%s from %s to %s", text, at(begin.T), at(end.T)))
		}
	}
	api := func(end *trace.Record) {
		if writes || restarted {
			text := "the kubelet could not reach the API server"
			if restarted {
				text = "the kubelet had been started again and could not reach the API server"
			}
			add("apiDown", text, end)
		}
		delete(begun, "apiDown")
	}
	for _, rec := range r.records {
		if rec.T > to {
			break
		}
		switch {
		case rec.Kind == trace.KubeletStopped:
			begun["kubelet"] = rec
		case rec.Kind == trace.KubeletStarted:
			restarted = begun["apiDown"] != nil
			add("kubelet", "the kubelet did not run", rec)
		case rec.Kind != trace.Step:
		case rec.Message != trace.StepOver:
			begun[rec.Reason] = rec
			restarted = restarted && rec.Reason != "apiDown"
		case rec.Reason == "runtimeDown":
			add(rec.Reason, "the container runtime was not well", rec)
		case rec.Reason == "apiDown":
			api(rec)
		}
	}
	add("kubelet", "the kubelet has not run", nil)
	add("runtimeDown", "the container runtime has not been well", nil)
	api(nil)
	return what
}

// pulling returns the beginning of a pull that ends with an event, or nil.
func (r *Run) pulling(pulled *trace.Record) *trace.Record {
	var begin *trace.Record
	for _, rec := range r.lives[subject{pulled.Pod, pulled.Container}] {
		if rec.Kind == trace.Event && rec.Step < pulled.Step && (rec.Reason == "Pulling" || rec.Reason == "Pulled") {
			begin = rec
		}
	}
	if begin != nil && begin.Reason == "Pulling" {
		return begin
	}
	return nil
}
