package html

import (
	"cmp"
	"fmt"
	"slices"

	"probesim.dev/report"
	"probesim.dev/report/why"
	"probesim.dev/trace"
)

// happening is a row of what happened, and why.
type happening struct {
	Record *trace.Record
	What   string
	Tone   string // good, bad, warn or nothing
	Cause  *trace.Record
	Why    string
	Chain  []why.Link // from the nearest cause to the first; in sentences
	plain  bool       // nothing can be said in sentences
}

// tell picks from a trace what an engineer wants to know first: what was done to the pods, when containers
// started, were killed and exited, and each change of Started and Ready.
func tell(records []trace.Record) []happening {
	t := teller{known: map[string]bool{}}
	var story []happening
	for i := range records {
		r := &records[i]
		for _, h := range t.tell(r) {
			h.Record = r
			if h.Cause = byStep(records, r.Cause); h.Cause != nil {
				title, message := report.Describe(h.Cause)
				h.Why = title
				if message != "" && h.Cause.Kind != trace.StatusPatched {
					h.Why += ": " + trace.Clean(message)
				}
			}
			story = append(story, h)
		}
	}
	return story
}

// explain says in sentences what led to what happened, where the run can be asked.
func explain(run *report.Run, story []happening) {
	if run.Why == nil {
		return
	}
	for i := range story {
		h := &story[i]
		chain := run.Why.Chain(h.Record.Step)
		if len(chain) < 2 || h.plain || h.Record.Kind == trace.ContainerStarted && h.Record.Instance == 0 {
			continue
		}
		h.Why, h.Cause = "", byStep(run.Records, chain[1].Step)
		h.Chain = chain[1:]
	}
}

// byStep returns the record of a step; nil if there is none. Steps rise.
func byStep(records []trace.Record, step int64) *trace.Record {
	i, found := slices.BinarySearchFunc(records, step, func(r trace.Record, step int64) int { return cmp.Compare(r.Step, step) })
	if !found {
		return nil
	}
	return &records[i]
}

type teller struct {
	known map[string]bool // of conditions, by whom they are about
}

func (t *teller) tell(r *trace.Record) []happening {
	title, message := report.Describe(r)
	switch r.Kind {
	case trace.ContainerStarted, trace.PodAdded, trace.KubeletStarted, trace.PodRemoved:
		return []happening{{What: title}}
	case trace.ContainerStopping, trace.KubeletStopped:
		return []happening{{What: join(title, message), Tone: "warn"}}
	case trace.ContainerExited:
		tone := "bad"
		if r.ExitCode == 0 {
			tone = ""
		}
		return []happening{{What: title, Tone: tone}}
	case trace.PodDeleteRequested, trace.Step:
		return []happening{{What: join(title, trace.Clean(message)), Tone: "warn"}}
	case trace.StatusPatched:
		return t.status(r)
	}
	return nil
}

func join(title, message string) string {
	if message == "" {
		return title
	}
	return title + ", " + message
}

// status tells what is new in a status.
func (t *teller) status(r *trace.Record) []happening {
	var news []happening
	if r.Status == nil {
		return nil
	}
	for i := range r.Status.Containers {
		c := &r.Status.Containers[i]
		name, key := trace.Clean(c.Name), r.Pod+"/"+c.Name
		if t.turned(key+" started", c.Started) {
			started := condition(name+" Started", c.Started)
			started.plain = true
			news = append(news, started)
		}
		if len(r.Status.Containers) > 1 && t.turned(key+" ready", c.Ready) {
			news = append(news, condition(name+" Ready", c.Ready))
		}
		if c.Reason == "CrashLoopBackOff" != t.known[key+" backoff"] {
			if t.known[key+" backoff"] = !t.known[key+" backoff"]; t.known[key+" backoff"] {
				news = append(news, happening{What: fmt.Sprintf("%s waits: CrashLoopBackOff", name), Tone: "bad", plain: true})
			}
		}
	}
	if t.turned(r.Pod, r.Status.Ready) {
		news = append(news, condition("Ready", r.Status.Ready))
	}
	return news
}

// turned reports whether a condition, false before it is known, has another value.
func (t *teller) turned(key string, on bool) bool {
	if t.known[key] == on {
		return false
	}
	t.known[key] = on
	return true
}

func condition(name string, on bool) happening {
	if on {
		return happening{What: name + " is true", Tone: "good"}
	}
	return happening{What: name + " is false", Tone: "bad"}
}
