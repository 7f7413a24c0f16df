package verdict

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// Of returns the verdicts of a recording.
func Of(rec *incident.Recording) *Report {
	report, log := &Report{}, logOf(rec)
	for _, p := range rec.Pods {
		if len(p.Facts) == 0 {
			continue
		}
		list := slices.DeleteFunc(ofPod(p, log), func(v Verdict) bool { return p.Replaced && v.Cause == Removed })
		if len(list) == 0 && !p.Replaced {
			report.Quiet = append(report.Quiet, p)
		}
		report.Verdicts = append(report.Verdicts, list...)
	}
	if report.Verdicts = nameUnnamed(report.Verdicts); len(report.Verdicts) == 0 {
		report.Verdicts = []Verdict{nothing(rec)}
	}
	ofNode := func(v Verdict) bool { return v.Cause == Node && v.Sure == Certain }
	if r := nodesDown(rec); r != nil && !slices.ContainsFunc(report.Verdicts, ofNode) {
		report.Verdicts = append(report.Verdicts, ofNoPod(rec, r))
	}
	waitTogether(report.Verdicts)
	addSign(rec, report.Verdicts)
	addNext(rec, report.Verdicts)
	slices.SortStableFunc(report.Verdicts, func(a, b Verdict) int { return slices.Compare(a.order(), b.order()) })
	if r := nodeShort(rec); r != nil && r.cause == OutOfMemory && !slices.ContainsFunc(report.Verdicts,
		func(v Verdict) bool { return v.Cause == OutOfMemory }) {
		report.Verdicts = append(report.Verdicts, ofNoPod(rec, r))
	}
	return report
}

// logOf returns what the logs, the lists and the nodes of a recording show of all pods.
func logOf(rec *incident.Recording) (log kubeletLog) {
	forgetful := 0
	for _, p := range rec.Pods {
		if forgotten(p) != nil {
			forgetful++
		}
		log.probes = log.probes || slices.ContainsFunc(p.Facts,
			func(f *incident.Fact) bool { return f.Kind == incident.ProbeRun && f.Result == trace.Failure })
	}
	log.restarted, log.down = forgetful > 1, map[string]*incident.Fact{}
	log.partial = rec.Abridged
	for _, s := range rec.Signs {
		log.partial = log.partial || strings.HasPrefix(s.Proves, string(Unknown))
		if s.Proves == string(Nothing)+" well" {
			log.well = &incident.Fact{Place: s.Place, Text: s.Text}
		}
	}
	for _, f := range rec.Facts {
		switch {
		case f.Pod == nil && f.Reason == incident.NodeNotReady:
			log.down[f.Message] = f
		case f.Pod == nil && f.Reason == "SystemOOM":
			log.starved = append(log.starved, f)
		case f.Kind == incident.Row:
			log.rows = append(log.rows, f)
		case f.Reason == "Evicted" && f.Pod != nil && f.Pod.Unnamed:
			log.evicted = f
		}
	}
	return log
}

// nameUnnamed gives a verdict on events that name no pod to the only pod whose rows or objects show
// the same cause.
// A failure that events about a named pod have, too, is a quote of them.
func nameUnnamed(list []Verdict) []Verdict {
	all := slices.Clone(list)
	list = slices.DeleteFunc(list, func(v Verdict) bool {
		return v.Pod.Unnamed && slices.ContainsFunc(all, func(o Verdict) bool {
			quoted := calm[v.Cause] == calm[Failing] && o.Probe == v.Probe && o.Class == v.Class
			shared := v.Cause == Removed && o.Cause == Removed && slices.Contains(o.Evidence, v.Evidence[0])
			return !o.Pod.Unnamed && (quoted || shared)
		})
	})
	for i := range list {
		v := &list[i]
		if !v.Pod.Unnamed {
			continue
		}
		same := func(o Verdict) bool { return !o.Pod.Unnamed && o.Cause == v.Cause }
		if j := slices.IndexFunc(list, same); j >= 0 && !slices.ContainsFunc(list[j+1:], same) {
			v.Pod, v.Container, v.Restarts = list[j].Pod, cmp.Or(v.Container, list[j].Container),
				max(v.Restarts, list[j].Restarts)
			return slices.Delete(list, j, j+1)
		}
	}
	return list
}

// generated matches the end of the name of a pod that its workload adds.
var generated = regexp.MustCompile(`(?:-[bcdfghjklmnpqrstvwxz2456789]{6,10})?-(?:[bcdfghjklmnpqrstvwxz2456789]{5}|\d+)$`)

// workloadOf returns the name of a pod without what its workload adds.
func workloadOf(p *incident.Pod) string {
	return p.Namespace + "/" + generated.ReplaceAllString(p.Name, "")
}

// stops are the causes for which a pod does not start.
var stops = []Cause{Image, Configuration, CannotStart, Volume, Sandbox, Unschedulable}

// waitTogether says of pods that wait for what most likely stops another pod of their workload,
// of which a text has the reason.
func waitTogether(list []Verdict) {
	for i := range list {
		v := &list[i]
		j := slices.IndexFunc(list, func(o Verdict) bool {
			return slices.Contains(stops, o.Cause) && o.Cause != CannotStart && o.Sure == Certain &&
				workloadOf(o.Pod) == workloadOf(v.Pod)
		})
		waits, bare := strings.CutSuffix(v.Sentence, ", and the text does not say for what.")
		if v.Cause == Waiting && bare && !v.Pod.Unnamed && j >= 0 {
			v.Cause, v.Sure = list[j].Cause, Likely
			v.Sentence = waits + ", most likely for the same as " + list[j].Pod.Name + "."
		}
	}
}

// calm says how little trouble a cause is. Others are the most.
var calm = map[Cause]int{NotReady: 1, ReadinessGate: 1, Failing: 1, Waiting: 2, Removed: 2, Nothing: 3, NoFacts: 3}

// order returns what orders verdicts, the worst first: the trouble, of which a pod that is ready
// now has less; how sure it is; whether a class explains it; and the restarts.
func (v *Verdict) order() []int {
	trouble := calm[v.Cause]
	if v.readyNow && (v.Sure == Open || v.Cause == Node) {
		trouble = max(trouble, 2)
	}
	return []int{trouble, slices.Index([]Sure{Certain, Likely, Open}, v.Sure), -min(len(v.Class), 1), -v.Restarts}
}

// warns matches messages that speak of trouble.
var warns = regexp.MustCompile(`(?i)unhealthy|probe (failed|errored)|back-off|oomkilled|exit code`)

// resourceOf returns the resource that a node is short of.
func resourceOf(f *incident.Fact) string {
	switch text := f.Reason + f.Text; {
	case strings.Contains(text, "emory"):
		return "memory"
	case strings.Contains(text, "PID") || strings.Contains(text, "pid"):
		return "process IDs"
	}
	return "disk"
}

// addSign adds the last line that may say why to the verdicts that do not know it.
func addSign(rec *incident.Recording, list []Verdict) {
	for i := range list {
		v := &list[i]
		open := v.Cause == OwnExit && v.Sure != Certain ||
			v.Sure == Open && slices.Contains([]Cause{Unknown, Waiting, NotReady}, v.Cause)
		late := v.Cause == Volume && strings.Contains(v.Sentence, "time")
		if v.Pod == nil || v.readyNow && !v.generic && v.Restarts < 1 || v.Because != "" {
			continue
		}
		for _, sign := range slices.Backward(rec.Signs) {
			cause, _, _ := strings.Cut(sign.Proves, " ")
			same := v.generic && cause == string(v.Cause)
			other := slices.Contains([]Cause{Unknown, Removed, Image, Nothing, "vague"}, Cause(cause))
			if !same && (other || !open) && !(late && cause == string(Configuration)) {
				continue
			}
			v.Because = "One line that is no event may say why: " + shortened(sign.Text)
			if p := phrases[sign.Proves]; same && p.advice != "" {
				v.Advice, v.Question = []string{p.advice}, nil
			}
			v.Evidence = append(v.Evidence, Evidence{sign.Place, firstLine(sign.Text, 200)})
			break
		}
	}
}

// ofSign returns the ruling on a recording without facts that has a line that says why: the first
// one, and rather one that names a cause, an error, or at least what it is about.
func ofSign(rec *incident.Recording) *ruling {
	r, best := certain(NoFacts).open(), 0
	for _, sign := range rec.Signs {
		cause, _, _ := strings.Cut(sign.Proves, " ")
		rank := 3 - slices.Index([]Cause{Unknown, OwnExit, "vague"}, Cause(cause))
		if name := "sign " + sign.Proves; rank > best && phrases[name] != (phrase{}) {
			r = certain(Cause(cause), &incident.Fact{Place: sign.Place, Text: sign.Text}).likely().saying(name)
			if r.what, best = shortened(sign.Text), rank; rank < 4 {
				r.cause = Unknown
				r.open()
			}
		}
	}
	return r
}

// waited has the signs that say that not all is well, whatever the facts show.
var waited = map[string]bool{"sign unknown progress": true, "sign unknown rollout": true, "sign unknown wait": true,
	"sign vague hang": true}

// created matches the message of a Job, whose pods have its name and five letters.
var created = regexp.MustCompile(`^Created pod: ([a-z0-9][-a-z0-9.]*)-[a-z0-9]{5}$`)

// nothing is the verdict on a recording without trouble, or without facts.
func nothing(rec *incident.Recording) Verdict {
	r := certain(Nothing)
	warning := slices.IndexFunc(rec.Facts, func(f *incident.Fact) bool {
		return f.Type == "Warning" && f.Kind == incident.Event || warns.MatchString(f.Message)
	})
	made := slices.IndexFunc(rec.Facts, func(f *incident.Fact) bool { return created.MatchString(f.Message) })
	sign, trouble := ofSign(rec), cmp.Or(nodesDown(rec), nodeShort(rec))
	switch {
	case len(rec.Facts) == 0, waited[sign.words]:
		r = sign
	case trouble != nil:
		r = trouble
	case len(rec.Pods) > 0 && !slices.ContainsFunc(rec.Pods, func(p *incident.Pod) bool {
		return len(p.Facts) > 0 && !p.Replaced && !allReady(p)
	}):
		r.saying("all well")
	case warning >= 0:
		r.saying("warning alone").open()
		f := rec.Facts[warning]
		if slices.ContainsFunc(rec.Facts, func(started *incident.Fact) bool {
			return started.Reason == "Started" && started.Pod == f.Pod && after(started, f)
		}) {
			r.saying("went on").likely()
		} else if f.Reason == "FailedScheduling" && slices.ContainsFunc(rec.Facts, func(o *incident.Fact) bool {
			return o.Reason == "Scheduled" && o.Pod == f.Pod
		}) { // which comes last
			r.saying("scheduled since").likely()
		}
		r.proof, r.what = []*incident.Fact{f}, firstLine(cmp.Or(f.Message, f.Reason), 160)
	case made >= 0:
		r.saying("made pods").open()
		r.what = created.FindStringSubmatch(rec.Facts[made].Message)[1]
	case slices.ContainsFunc(rec.Facts,
		func(f *incident.Fact) bool { return f.Kind == incident.Event && f.Reason == "Started" }):
		r.saying("no trouble").likely() // a probe or an exit would have left events
	default:
		r.saying("nothing told").open()
	}
	if (r.words == "no trouble" || r.words == "nothing told") && sign.cause != NoFacts {
		r = sign
	}
	return ofNoPod(rec, r)
}

// ofNoPod returns a verdict on no pod. Its words may name the workload of which the text speaks.
func ofNoPod(rec *incident.Recording, r *ruling) Verdict {
	p := &incident.Pod{Unnamed: true}
	if strings.HasPrefix(r.words, "sign ") {
		p.Namespace, p.Name = rec.WaitsFor()
		p.Unnamed = p.Name == ""
	}
	v := write(collect(p, kubeletLog{})[0], r)
	v.Pod = nil
	return v
}

// nodeShort returns the ruling on a process that a kernel killed for memory, or else on a node that
// is short of a resource, or nil.
func nodeShort(rec *incident.Recording) (r *ruling) {
	for _, f := range rec.Facts {
		words := map[string]string{incident.CgroupOOM: "cgroup out of memory", "SystemOOM": "node killed"}[f.Reason]
		switch {
		case f.Pod != nil:
		case words != "" && (r == nil || r.cause == Node || r.what == "a process"):
			r = certain(OutOfMemory, f).likely().saying(words)
			r.what = firstLine(f.Message, 160)
		case r == nil && f.Reason != incident.NodeNotReady:
			r = certain(Node, f).likely().saying("node pressure")
			r.what = resourceOf(f)
		}
	}
	return r
}

// nodesDown returns the ruling on the nodes that are not ready, or nil.
func nodesDown(rec *incident.Recording) *ruling {
	r := certain(Node).saying("nodes not ready")
	var names []string
	for _, f := range rec.Facts {
		if f.Reason == incident.NodeNotReady && f.Pod == nil {
			names, r.proof = append(names, f.Message), append(r.proof, f)
		}
	}
	if r.what = printable.Few(names); len(names) == 0 {
		return nil
	}
	return r
}

// allReady reports whether facts say that all containers of a pod are ready, or that it has
// completed.
func allReady(p *incident.Pod) bool {
	all := collect(p, kubeletLog{})
	return !slices.ContainsFunc(all, func(e *evidence) bool {
		return completed(e) == nil && e.ready != "true" && !e.init && (e != e.of || len(all) == 1)
	})
}

// runsMain reports whether the container runs, and is no init container.
func (e *evidence) runsMain() bool { return e.running() && !e.init }

// ofPod returns the verdicts on a pod: on its containers in trouble, and on the pod if the facts
// about trouble name no container. What is about the whole pod, such as its removal, is one
// verdict.
func ofPod(p *incident.Pod, log kubeletLog) []Verdict {
	var list, quiet []Verdict
	var seen []Cause
	all := collect(p, log)
	runs := slices.ContainsFunc(all, func(e *evidence) bool { return e.running() && e.ready == "true" })
	keep := func(e *evidence) {
		r := judge(e)
		switch {
		case r == nil, r.cause == Nothing && e.init && runs, // it has ended before the others started
			r.cause == Waiting && e.init && slices.ContainsFunc(all, (*evidence).runsMain):
		case r.cause == Nothing:
			quiet = append(quiet, write(e, r))
		case !slices.Contains(seen, r.cause) ||
			!slices.Contains([]Cause{Removed, Node, Waiting, Sandbox, Volume, Unschedulable}, r.cause):
			list, seen = append(list, write(e, r)), append(seen, r.cause)
		}
	}
	for _, e := range all {
		if e != e.of || len(list) == 0 || len(e.failures) > 0 || e.kills() > 0 || len(e.ends) > 0 {
			keep(e)
		}
	}
	if len(list) == 0 {
		return quiet[:min(len(quiet), 1)]
	}
	return list
}
