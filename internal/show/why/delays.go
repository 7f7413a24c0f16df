package why

import (
	"fmt"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// noticeable is the longest delay that needs no explanation: noticing an exit and starting the next
// instance take less.
const noticeable = 2 * time.Second

// startDelay explains a long delay between an exit, or the end of a back-off, and the start that
// follows it.
func (r *Run) startDelay(start, cause *trace.Record) string {
	from := cause.T
	if delay, ok := r.backOff[cause.Step]; ok {
		if exit := r.lastExit(cause); exit != nil {
			from = exit.T.Add(delay)
		}
	}
	if cause.Kind == trace.PodAdded && start.T.Sub(from) <= noticeable {
		// of which a scenario may not know the time
		return appended(r.postStartHooks(-1, containerOf(start), from, start.T))
	}
	if start.T.Sub(from) <= noticeable {
		return r.withoutBackOff(start, cause) + r.forgottenBackOff(start, cause)
	}
	reasons := r.obstacles(containerOf(start), from, start.T)
	if len(reasons) == 0 && cause.Kind == trace.Event {
		return fmt.Sprintf(", %s after its back-off ended, when the kubelet next synced the pod",
			r.span(start.T.Sub(from)))
	}
	return appended(reasons)
}

// withoutBackOff says why a restart after the stop of a probe had no back-off: the sync that stops
// an instance also starts the next one, with the status from before, so it counts the back-off from
// an earlier exit (doBackOff in kuberuntime/kuberuntime_manager.go).
func (r *Run) withoutBackOff(start, exit *trace.Record) string {
	stop := r.cause(exit)
	if exit.Kind != trace.ContainerExited || start.Instance == 0 || stop == nil ||
		stop.Kind != trace.ContainerStopping || !strings.HasSuffix(stop.Reason, "Probe") {
		return ""
	}
	earlier := r.lastExit(exit)
	if earlier == nil {
		return ", first restart: no back-off"
	}
	return ", without a back-off: the kubelet counts it from the earlier exit at " + r.at(earlier.T)
}

// forgottenBackOff says that a crash has no back-off because the kubelet has restarted since the
// last one. The kubelet keeps its back-offs in memory.
func (r *Run) forgottenBackOff(start, exit *trace.Record) string {
	kubelet, earlier := r.kubeletStart(start.Step), r.lastExit(exit)
	if exit.Kind != trace.ContainerExited || !exitsOnItsOwn(r.cause(exit)) || kubelet == nil || earlier == nil ||
		earlier.Step > kubelet.Step {
		return ""
	}
	return fmt.Sprintf(", without a back-off: the kubelet restarted at %s, and it keeps its back-offs in memory",
		r.at(kubelet.T))
}

// obstacles lists what kept the kubelet from starting a container between two moments.
func (r *Run) obstacles(c subject, from, to virtual.Time) []string {
	reasons := append(r.outages(from, to, false), r.postStartHooks(noticeable, c, from, to)...)
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
				reasons = append(reasons, fmt.Sprintf("the pod worker was busy stopping %s until %s",
					printable.Text(rec.Container), r.at(rec.T)))
			}
		case rec.Kind == trace.Event && rec.Reason == "Pulled":
			image := "its image"
			if rec.Container != c.container { // the pod worker starts the containers one after the other
				image = "the image of " + printable.Text(rec.Container)
			}
			if pulling := r.pullStart(rec); pulling != nil && rec.T.Sub(pulling.T) > time.Second {
				reasons = append(reasons, fmt.Sprintf("%s was being pulled from %s to %s", image, r.at(pulling.T),
					r.at(rec.T)))
			}
		case rec.Kind == trace.VolumeWaitEnded && rec.Reason == "mount" && rec.Took > time.Second:
			reasons = append(reasons, fmt.Sprintf("the kubelet waited for the volumes of the pod from %s to %s",
				r.at(rec.T.Add(-rec.Took)), r.at(rec.T)))
		}
	}
	return reasons
}

// postStartHooks lists the postStart hooks of other containers that kept the pod worker busy
// between two moments for longer than a time.
func (r *Run) postStartHooks(least time.Duration, c subject, from, to virtual.Time) []string {
	var reasons []string
	for _, rec := range r.records {
		if rec.Kind != trace.HookStarted || rec.Reason != "postStart" || rec.Pod != c.pod ||
			rec.Container == c.container || rec.T >= to {
			continue
		}
		h, name := r.hook(rec), printable.Text(rec.Container)
		switch {
		case min(h.end, to).Sub(max(rec.T, from)) <= least:
		case h.end <= to:
			reasons = append(reasons, fmt.Sprintf("the pod worker was running the postStart hook of %s until %s", name,
				r.at(h.end)))
		default:
			reasons = append(reasons, fmt.Sprintf("the pod worker has been running the postStart hook of %s since %s",
				name, r.at(rec.T)))
		}
	}
	return reasons
}

// outageWords describe outages: who has it, and the words for one that has ended and for one that
// goes on.
var outageWords = map[string]struct{ who, past, present string }{
	"kubelet":     {"the kubelet", "was down", "has been down"},
	"runtimeDown": {"the container runtime", "was unhealthy", "has been unhealthy"},
	"apiDown":     {"the kubelet", "could not reach the API server", "has not reached the API server"},
}

// outages lists what the kubelet lacked between two moments: the kubelet itself, the container
// runtime or the API server. The API server counts for status writes, and for a restarted kubelet,
// which does not know its pods yet.
func (r *Run) outages(from, to virtual.Time, writes bool) []string {
	var reasons []string
	begun := map[string]*trace.Record{}
	restarted := false // the kubelet, during an outage of the API server
	over := func(what string, end *trace.Record) {
		begin, words := begun[what], outageWords[what]
		delete(begun, what)
		if what == "apiDown" && restarted {
			words.who = "the restarted kubelet"
		}
		switch {
		case begin == nil || words.who == "" || end != nil && end.T <= from:
		case what == "apiDown" && !writes && !restarted:
		case end == nil:
			reasons = append(reasons, fmt.Sprintf("%s %s since %s", words.who, words.present, r.at(begin.T)))
		default:
			reasons = append(reasons, fmt.Sprintf("%s %s from %s to %s", words.who, words.past, r.at(begin.T),
				r.at(end.T)))
		}
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
			over("kubelet", rec)
		case rec.Kind == trace.Step && rec.Message == trace.StepOver:
			over(rec.Reason, rec)
		case rec.Kind == trace.Step:
			begun[rec.Reason] = rec
			restarted = restarted && rec.Reason != "apiDown"
		}
	}
	for _, what := range []string{"kubelet", "runtimeDown", "apiDown"} {
		over(what, nil)
	}
	return reasons
}

// pullStart returns the Pulling event of the pull that ends with the given Pulled event, or nil.
func (r *Run) pullStart(pulled *trace.Record) *trace.Record {
	event := last(r.about[topic{lives, containerOf(pulled)}], func(rec *trace.Record) bool {
		return rec.Kind == trace.Event && rec.Step < pulled.Step && (rec.Reason == "Pulling" || rec.Reason == "Pulled")
	})
	if event == nil || event.Reason == "Pulled" {
		return nil
	}
	return event
}
