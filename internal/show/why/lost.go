package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Race explains a loss of requests: a pod stopped accepting them, or became a target too early,
// before a router knew better. Both have causes, which mostly come from one record.
type Race struct {
	Number  int          `json:"number"` // among the losses of the run, in the order in which they begin
	Of      int          `json:"of"`
	Service string       `json:"service"` // namespace/name
	Router  string       `json:"router"`
	Pod     string       `json:"pod,omitempty"` // namespace/name; empty: the router had no target
	From    virtual.Time `json:"from"`          // in nanoseconds
	To      virtual.Time `json:"to"`
	Lost    float64      `json:"lost"` // requests

	Text    string `json:"text"`              // what was lost, a sentence without a period
	Cause   string `json:"cause,omitempty"`   // the rule of the scenario that made a probe fail first; a sentence
	Longest string `json:"longest,omitempty"` // which step took longest, and why; a sentence
	// Fork is the record from which the causes of the begin and the end come, followed by its own
	// causes up to the root. It is empty if they have nothing in common.
	Fork  []Link `json:"fork"`
	Begin Arm    `json:"begin"`
	End   Arm    `json:"end"`

	end virtual.Time // of the run
}

// At formats a time of the run.
func (r *Race) At(t virtual.Time) string { return trace.FormatTimeOf(r.end, t) }

// Arm is one of the two chains of causes of a loss, from the fork on, the oldest step first.
type Arm struct {
	Text  string `json:"text"` // what it leads to
	Steps []Hop  `json:"steps"`
}

// Hop is a step of an arm.
type Hop struct {
	Link
	Took    time.Duration `json:"took"`              // since the step before
	Longest bool          `json:"longest,omitempty"` // of the steps that lead to the end of the loss
}

// loss is a time in which requests are lost that one pod gets, or all requests. Its share changes
// with the number of targets, and its reason when the program exits: the trace then has the end of
// a loss and the start of the next.
type loss struct {
	first, last *trace.Record // last is nil, or has no cause, if the loss goes on at the end of the run
	from, to    virtual.Time
	open        bool
	lost        float64
}

// inFlight is the reason of requests that a program had when it ended (package traffic).
const inFlight = "inFlight"

// losses returns the losses of the run.
func (r *Run) losses() []*loss {
	type place struct{ service, router, pod string }
	var list []*loss
	latest := map[place]*loss{}
	for _, span := range trace.Losses(r.raw, r.end) {
		first, last := r.records[span.First], r.records[span.Last]
		at := place{first.Object.Name, first.Object.Loss.Router, first.Pod}
		l := latest[at]
		if l == nil || l.to < span.From {
			l = &loss{first: first, from: span.From}
			latest[at], list = l, append(list, l)
		}
		l.lost, l.to = l.lost+span.Lost, max(l.to, span.To)
		switch {
		case last.Kind == trace.LossStarted, first == last && last.Took > 0:
			l.open, l.last = true, nil
		case last.Reason != inFlight && !l.open:
			l.last = last
		}
	}
	return slices.DeleteFunc(list, func(l *loss) bool { return l.lost == 0 })
}

// Losses returns the number of losses of the run.
func (r *Run) Losses() int { return len(r.losses()) }

// GreatestLoss returns the number of the loss of most requests that begins at a time or later, or 0
// if there is none.
func (r *Run) GreatestLoss(since virtual.Time) int {
	greatest, most := 0, 0.0
	for i, l := range r.losses() {
		if l.lost > most && l.from >= since {
			greatest, most = i+1, l.lost
		}
	}
	return greatest
}

// Lost explains the loss with a number, from 1 on. It reports false if there is no such loss.
func (r *Run) Lost(number int) (Race, bool) {
	list := r.losses()
	if number < 1 || number > len(list) {
		return Race{}, false
	}
	l := list[number-1]
	race := Race{
		Number: number, Of: len(list), Service: strings.TrimPrefix(l.first.Object.Name, "Service "),
		Router: l.first.Object.Loss.Router,
		Pod:    l.first.Pod, From: l.from, To: l.to, Lost: l.lost, Fork: []Link{}, end: r.end,
	}
	race.Text = r.lostText(&race, l)
	begin, end := r.ancestors(l.first), []*trace.Record(nil)
	if l.last != nil {
		end = r.ancestors(l.last)
	}
	i, j := fork(begin, end)
	if isOutage(begin) && i == 1 && j < len(end) {
		i, end = 0, append(end[:j:j], begin...)
	}
	if i < len(begin) && j < len(end) {
		race.Fork = r.upwards(begin[i:], race.Pod)
	}
	race.Begin = Arm{r.beginText(l, begin), r.hops(begin, i, race.Pod)}
	race.End = Arm{r.endText(l, end), r.hops(end, j, race.Pod)}
	for _, rec := range slices.Backward(begin[:i]) {
		if rule := r.Failing(rec); rule != "" {
			race.Cause = fmt.Sprintf("The cause: %s at %s, because %s.", r.stepText(rec, race.Pod), r.at(rec.T), rule)
			race.since(rec.T)
			break
		}
	}
	r.markLongest(&race, append(slices.Clone(begin[:i]), end[:j]...))
	return race, true
}

// since leaves out what was before the cause of the loss.
func (r *Race) since(cause virtual.Time) {
	r.Fork = []Link{}
	for _, arm := range []*Arm{&r.Begin, &r.End} {
		arm.Steps = slices.DeleteFunc(arm.Steps, func(h Hop) bool { return h.T < cause })
		if len(arm.Steps) > 0 {
			arm.Steps[0].Took = arm.Steps[0].T.Sub(cause)
		}
	}
}

// isOutage reports whether a chain begins with a program that has run for a while and stops
// listening by itself. What follows counts from then on.
func isOutage(chain []*trace.Record) bool {
	return len(chain) > 1 && chain[0].Kind == trace.ListenerChanged && chain[0].Reason == "closed" &&
		chain[1].Kind == trace.ContainerStarted && chain[1].T < chain[0].T
}

// ancestors returns the observable causes of a record up to the root, the nearest first.
func (r *Run) ancestors(rec *trace.Record) (list []*trace.Record) {
	for c := r.cause(rec); c != nil; c = r.cause(c) {
		list = append(list, c)
	}
	return list
}

// fork returns the places in two chains of their first common record, or their lengths.
func fork(a, b []*trace.Record) (int, int) {
	for i, rec := range a {
		if j := slices.Index(b, rec); j >= 0 {
			return i, j
		}
	}
	return len(a), len(b)
}

// upwards returns a record and its causes as links.
func (r *Run) upwards(chain []*trace.Record, pod string) (links []Link) {
	for i, rec := range chain {
		if rec.Kind == trace.WorkloadChanged && rec.Reason == "spec" && i > 0 && i < len(chain)-1 {
			continue // what changed it says more
		}
		link := r.link(rec, pod)
		if i == len(chain)-1 {
			link.Root = cmp.Or(roots[rec.Kind], Program)
		}
		links = append(links, link)
	}
	return links
}

func (r *Run) link(rec *trace.Record, pod string) Link {
	return Link{T: rec.T, Step: rec.Step, Kind: rec.Kind, Text: r.stepText(rec, pod)}
}

// hops returns the first n records of a chain of causes, the oldest first.
func (r *Run) hops(chain []*trace.Record, n int, pod string) []Hop {
	hops := []Hop{}
	for i := n - 1; i >= 0; i-- {
		h := Hop{Link: r.link(chain[i], pod)}
		if i+1 < len(chain) {
			h.Took = h.T.Sub(chain[i+1].T)
		}
		hops = append(hops, h)
	}
	return hops
}

// lostText says what was lost.
func (r *Run) lostText(race *Race, l *loss) string {
	requests := "request"
	if race.Lost >= 1.5 {
		requests += "s"
	}
	if slices.ContainsFunc(r.losses(),
		func(other *loss) bool { return other.first.Object.Name != l.first.Object.Name }) {
		requests += " to Service " + nameOf(race.Service)
	}
	who := "Service " + nameOf(race.Service) + " has no pod to send them to"
	if race.Pod != "" {
		who = nameOf(race.Pod) + " " + map[string]string{
			"refused": "refuses them", "exited": "has exited", "notListening": "does not listen",
			inFlight: "exits while it has them",
		}[l.first.Reason]
	}
	text := fmt.Sprintf("Loss %d of %d: %s %s, because %s, ", race.Number, race.Of, requestsLost(race.Lost), requests,
		who)
	if race.To == race.From {
		return text + "at " + r.at(race.From)
	}
	return text + fmt.Sprintf("from %s to %s (%s)", r.at(race.From), r.at(race.To), r.span(race.To.Sub(race.From)))
}

func requestsLost(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.1f", n)
	}
	return printable.Thousands(int(math.Round(n)))
}

// beginText says what the first arm leads to.
func (r *Run) beginText(l *loss, chain []*trace.Record) string {
	router, pod := printable.Text(l.first.Object.Loss.Router), nameOf(l.first.Pod)
	switch {
	case l.first.Pod == "":
		return router + " has no target"
	case len(chain) > 0 && chain[0].Kind == trace.RoutesChanged:
		return router + " sends requests to " + pod
	}
	return pod + " stops accepting requests"
}

// endText says what the second arm leads to.
func (r *Run) endText(l *loss, chain []*trace.Record) string {
	router, pod := printable.Text(l.first.Object.Loss.Router), nameOf(l.first.Pod)
	switch {
	case l.last == nil || len(chain) == 0:
		if l.first.Reason == inFlight && l.last == nil && !l.open {
			return ""
		}
		return "the loss goes on until the end of the run"
	case l.first.Pod == "":
		return router + " has a target again"
	case chain[0].Kind == trace.RoutesChanged:
		return router + " drops " + pod
	}
	return pod + " accepts requests"
}

// stepText describes a record of a chain without its time. The pod is what the chain is about.
func (r *Run) stepText(rec *trace.Record, pod string) string {
	name, container := nameOf(rec.Pod), printable.Text(rec.Container)
	switch rec.Kind {
	case trace.Step, trace.PodDeleteRequested, trace.KubeletStopped, trace.PodAdded:
		return r.actionText(rec, name)
	case trace.PodRemoved:
		return name + " was removed"
	case trace.PodScheduled:
		return name + " was bound to the node"
	case trace.StatusPatched:
		switch {
		case !slices.Contains(r.flips(rec.Pod, rec.T), rec):
			return "the kubelet wrote the status of " + name
		case rec.Status.Ready:
			return name + " became Ready"
		}
		return name + " stopped being Ready"
	case trace.ContainerStarted:
		return container + " of " + name + " started"
	case trace.ContainerStopping:
		return container + " got SIGTERM" + r.afterHook(rec)
	case trace.ContainerExited:
		return fmt.Sprintf("%s exited with code %d", container, rec.ExitCode)
	case trace.ListenerChanged:
		return container + " " + rec.Reason + " its listener"
	case trace.ProbeExecuted:
		verb := "failed"
		if succeeded(rec) {
			verb = "succeeded"
		}
		return fmt.Sprintf("the %s probe of %s %s", rec.Probe, name, verb)
	}
	return r.objectText(rec, pod)
}

// actionText describes what somebody did.
func (r *Run) actionText(rec *trace.Record, pod string) string {
	text := ""
	switch rec.Kind {
	case trace.PodAdded:
		return pod + " was created"
	case trace.KubeletStopped:
		text = "the kubelet stopped"
	case trace.PodDeleteRequested:
		text = pod + " was deleted"
	default:
		if rec.Reason == "kill" && rec.Message == "SIGTERM" && r.cause(rec) != nil {
			return "the preStop hook sent SIGTERM to " + printable.Text(rec.Container)
		}
		object, change, _ := strings.Cut(rec.Message, ": ")
		text = fmt.Sprintf("Deployment %s was changed", nameOf(object))
		if change == "" {
			text = "the step " + rec.Reason + " ran"
		} else if change = printable.Text(change); len(change) <= 60 {
			text += ": " + change
		}
	}
	if r.cause(rec) != nil {
		return text
	}
	return text + around(" (", r.step(rec).Says, ")")
}

// afterHook says that a container ran its preStop hook before it got SIGTERM.
func (r *Run) afterHook(stopping *trace.Record) string {
	killing := r.killing(stopping)
	if killing == nil || r.preStopHook(killing) == nil {
		return ""
	}
	return " after its preStop hook"
}

// objectText describes a record about an object other than a pod.
func (r *Run) objectText(rec *trace.Record, pod string) string {
	if rec.Object == nil {
		return "there was the record " + string(rec.Kind) + around(" of ", printable.Text(rec.Container), "")
	}
	kind, key, _ := strings.Cut(rec.Object.Name, " ")
	object := kind + " " + nameOf(key)
	switch w := rec.Object.Workload; {
	case rec.Kind == trace.Scaled:
		return fmt.Sprintf("%s was scaled from %d to %d", object, rec.Object.From, rec.Object.To)
	case w != nil && rec.Reason == "spec":
		return object + " was stored"
	case w != nil:
		return fmt.Sprintf("the status of %s said %d of %d available", object, w.Available, w.Desired)
	case rec.Kind == trace.EndpointsWritten:
		return fmt.Sprintf("the EndpointSlice of %s %s", nameOf(key),
			shows(rec.Object.Endpoints, pod))
	case rec.Kind == trace.RoutesChanged:
		return r.routesText(rec, pod)
	}
	return "there was the record " + string(rec.Kind)
}

// shows says what an EndpointSlice says about a pod.
func shows(list []trace.Endpoint, pod string) string {
	if pod == "" {
		ready := slices.DeleteFunc(slices.Clone(list), func(e trace.Endpoint) bool { return !e.Ready })
		return "had " + plural(len(ready), "ready pod")
	}
	name := nameOf(pod)
	i := slices.IndexFunc(list, func(e trace.Endpoint) bool { return e.Pod == pod })
	switch {
	case i < 0:
		return "no longer had " + name
	case list[i].Ready:
		return "had " + name + " as ready"
	case list[i].Terminating:
		return "had " + name + " as terminating"
	}
	return "had " + name + " as not ready"
}

// routesText says what a router changed for a pod.
func (r *Run) routesText(rec *trace.Record, pod string) string {
	router := printable.Text(rec.Reason)
	if pod == "" {
		return fmt.Sprintf("%s had %s", router, plural(len(rec.Object.Endpoints), "target"))
	}
	verb := "dropped"
	if slices.ContainsFunc(rec.Object.Endpoints, func(e trace.Endpoint) bool { return e.Pod == pod }) {
		verb = "sent requests to"
	}
	text := fmt.Sprintf("%s %s %s", router, verb, nameOf(pod))
	if rec.Message != "" {
		text += "; it " + printable.Text(rec.Message)
	}
	return text
}

// markLongest finds the step that took longest of the arm that leads to the end of the loss: what
// leads to its begin, such as a preStop hook, makes it shorter. Records are those of the arms.
func (r *Run) markLongest(race *Race, records []*trace.Record) {
	var longest *Hop
	steps := race.End.Steps
	if len(steps) == 0 {
		steps = race.Begin.Steps
	}
	for i := range steps {
		if h := &steps[i]; h.Took > 0 && (longest == nil || h.Took > longest.Took) {
			longest = h
		}
	}
	if longest == nil {
		return
	}
	longest.Longest = true
	race.Longest = "The longest step takes " + r.span(longest.Took)
	for _, rec := range records {
		if rec.Step == longest.Step {
			race.Longest += r.whyLong(rec)
		}
	}
	race.Longest += "."
}

// whyLong says why a step took so long, if it is known.
func (r *Run) whyLong(rec *trace.Record) string {
	switch {
	case rec.Kind == trace.RoutesChanged && rec.Message != "" && rec.Reason != kubeProxy:
		return ": " + printable.Text(rec.Reason) + " waits for its next sync"
	case rec.Kind == trace.RoutesChanged && rec.Message != "":
		return ": kube-proxy waits for minSyncPeriod (1s) after a sync"
	case rec.Kind == trace.RoutesChanged && rec.Reason != kubeProxy:
		return ", that of " + printable.Text(rec.Reason)
	case rec.Kind == trace.EndpointsWritten:
		return r.sliceBackOff(rec)
	case rec.Kind == trace.RoutesChanged:
		return ", a sync of kube-proxy"
	case rec.Kind == trace.ListenerChanged && rec.Reason == "opened", rec.Kind == trace.ProbeExecuted && succeeded(rec):
		return ", that of the start of the program"
	}
	return ""
}

// sliceBackOff says whether the EndpointSlice controller failed to write a slice between a record
// and its cause, and waited.
func (r *Run) sliceBackOff(slice *trace.Record) string {
	since := virtual.Time(0)
	if cause := r.cause(slice); cause != nil {
		since = cause.T
	}
	for i := range r.raw {
		if f := &r.raw[i]; f.Kind == trace.SyncFailed && f.Reason == "endpointslice" && f.T >= since && f.T < slice.T &&
			"Service "+f.Object.Name == slice.Object.Name {
			return ": the EndpointSlice controller waits for its back-off, because it does not see its own last " +
				"write yet"
		}
	}
	return ", that of the EndpointSlice controller"
}

// kubeProxy is the router that has syncs (package router).
const kubeProxy = "kube-proxy"
