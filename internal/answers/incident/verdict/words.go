package verdict

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// writer puts a ruling into words.
type writer struct {
	e       *evidence
	r       *ruling
	v       *Verdict
	failure *failure // the main one of the probe, or nil
	values  *strings.Replacer
}

// aboutProbe are the causes that failures of a probe explain.
var aboutProbe = []Cause{LivenessProbe, StartupProbe, NotReady, Failing, Changed}

func write(e *evidence, r *ruling) Verdict {
	v := Verdict{Pod: e.pod, Container: e.name, Cause: r.cause, Or: r.others, Evidence: []Evidence{},
		Advice: []string{}, Probe: r.probe, Restarts: e.restarts, Kills: e.count(byProbe(r.probe)), Life: e.life,
		readyNow: e.ready == "true"}
	if e.exits {
		v.ExitCode = &e.end.ExitCode
	}
	e.unname(r, &v)
	v.Sure = r.sure
	w := &writer{e: e, r: r, v: &v, failure: main(e.failed(r.probe))}
	if w.failure != nil {
		v.Class = w.failure.class
	}
	if r.cause == Image {
		w.whyImage()
	} else if r.words == "" {
		r.words = problem(r.cause, w.said())
	}
	w.setValues()
	p := cmp.Or(phrases[r.words], phrases[string(r.cause)+" "+string(r.sure)], phrases[string(r.cause)])
	if old := r.past(); old > 0 {
		p.sentence = strings.Replace(p.sentence, " cannot ", " could not ", 1)
		r.detail = fmt.Sprintf("The last such event is %s old: it may be over.", round(old))
	}
	v.Sentence = w.values.Replace(p.sentence)
	if strings.HasPrefix(v.Sentence, "the ") || strings.HasPrefix(v.Sentence, "an ") {
		v.Sentence = strings.ToUpper(v.Sentence[:1]) + v.Sentence[1:]
	}
	if w.failure != nil && slices.Contains(aboutProbe, r.cause) {
		v.Because = w.values.Replace(e.means(w.failure).sentence)
	}
	v.Details = w.details()
	v.generic = slices.Contains([]Cause{Image, Configuration, Removed}, r.cause) &&
		slices.Contains([]string{"", "image open", "configuration open", "terminating"}, r.words)
	p = w.action(p)
	if p.advice != "" {
		v.Advice = append(v.Advice, w.values.Replace(p.advice))
	}
	if p.question != "" {
		v.Question = &Question{w.values.Replace(p.question), w.values.Replace(p.command)}
	}
	if w.failure != nil && !slices.Contains(r.proof, w.failure.fact) {
		r.proof = append(r.proof, w.failure.fact)
	}
	for _, f := range r.proof {
		if at := (Evidence{f.Place, lineOf(f)}); !slices.Contains(v.Evidence, at) {
			v.Evidence = append(v.Evidence, at)
		}
	}
	if v.Cause == LivenessProbe || v.Cause == StartupProbe {
		e.tuneNext(&v)
	}
	return v
}

// past returns the age of the event that proves why a container or a pod cannot start, if it would
// have come again since: each retry comes within five minutes (MaxContainerBackOff in
// pkg/kubelet/kubelet.go at v1.37.2), and so does the next event of a pod that has many.
func (r *ruling) past() time.Duration {
	fresh := func(f *incident.Fact) bool { return f.Kind != incident.Event || f.Age < 2*refill }
	if len(r.proof) == 0 || !slices.Contains(stops, r.cause) || slices.ContainsFunc(r.proof, fresh) {
		return 0
	}
	return r.proof[0].Age
}

// unname corrects the container of a verdict whose events may be about another one.
func (e *evidence) unname(r *ruling, v *Verdict) {
	hook := e.events[PostStartHook].oldest
	switch {
	case r.cause == Image && e.count("Started") > 0:
		v.Container = "" // the events do not name it
	case r.cause != PostStartHook || hook == nil:
	case e.name == "", e.spec.Name == "" && !strings.Contains(hook.Message, e.name) &&
		!strings.Contains(hook.Text, "{"+e.name+"}"):
		if v.Container = e.startedBefore(hook); len(e.pod.Containers()) > 1 {
			r.likely() // the text may lack the newest start
		}
	}
}

// startedBefore returns the container that started last before an event.
func (e *evidence) startedBefore(hook *incident.Fact) (name string) {
	var at time.Time
	for _, f := range e.pod.Facts {
		if f.Kind == incident.Event && f.Reason == "Started" && f.Container != "" &&
			strings.Contains(f.Message, f.Container) && !f.When.At.After(hook.When.At) && !f.When.At.Before(at) {
			name, at = f.Container, f.When.At
		}
	}
	return name
}

// lineOf returns a fact in a line.
func lineOf(f *incident.Fact) string {
	if f.Text != "" {
		return f.Text
	}
	parts := []string{f.Container, string(f.Kind), f.Reason, string(f.Probe), string(f.Result), f.Value,
		firstLine(f.Message, 120)}
	if f.ExitKnown {
		parts = append(parts, fmt.Sprintf("exit code %d", f.ExitCode))
	}
	if f.Count > 1 && f.Kind == incident.Event {
		parts = append(parts, fmt.Sprintf("(x%d)", f.Count))
	}
	return strings.Join(slices.DeleteFunc(parts,
		func(p string) bool { return p == "" || p == string(incident.Event) }), " ")
}

// firstLine returns the first line of a text, up to some bytes.
func firstLine(s string, most int) string {
	s, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	s = strings.TrimSpace(s)
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	if more && s != "" {
		s += " …"
	}
	return s
}

// kubernetesName matches the names that a command may have. Other texts stay out of it.
var kubernetesName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// setValues computes what the words in braces stand for.
func (w *writer) setValues() {
	e, v := w.e, w.v
	name, code, after := "", "", ""
	if !e.pod.Unnamed {
		name = e.pod.Name
	}
	if e.exits {
		code = fmt.Sprint(" with exit code ", e.end.ExitCode, signals[e.end.ExitCode])
	}
	if e.life != nil {
		if after = " after " + round(e.life.middle()); e.life.Greatest < 2*time.Second {
			after = " at once"
		}
	}
	option := func(flag, name string, needed bool) string {
		if !needed || name != "" && !kubernetesName.MatchString(name) {
			return ""
		}
		return " " + flag + name
	}
	namespace := option("-n ", e.pod.Namespace, e.pod.Namespace != "" && e.pod.Namespace != "default")
	several := e != e.of || e.init || e.row != nil && e.row.Value != "" && !strings.HasSuffix(e.row.Value, "/1")
	container := option("-c ", v.Container, v.Container != "" && several)
	before := e.restarted() || e.end != nil && e.end.Previous
	previous := option("--previous", "", before && w.r.cause != NotReady && w.r.cause != Changed)
	who := w.who(name)
	list := []string{"{name}", who, "{pod}", cmp.Or(name, "the pod"), "{probe}", string(w.r.probe),
		"{by}", e.suspect(w.r.probe), "{what}", w.r.what,
		"{kills}", times(v.Kills), "{restarts}", times(e.restarts), "{often}", w.howOften(),
		"{code}", code, "{after}", after, "{message}", w.message(), "{state}", e.state,
		"{of}", strings.TrimSuffix(" of "+name, " of "), "{podName}", cmp.Or(kubernetesName.FindString(name), "POD"),
		"{namespace}", namespace, "{container}", container, "{previous}", previous}
	limit := ""
	if q, has := e.spec.Resources.Limits[v1.ResourceMemory]; has {
		limit = "; its limit is " + q.String()
	}
	waits, hook, probeOr := "", "", e.suspect("")+" killed it, "
	if e.probeless() {
		probeOr = ""
	}
	if m := hookExit.FindStringSubmatch(cmp.Or(e.hook(), &incident.Fact{}).Message); m != nil {
		hook = " with exit code " + m[1] + ": " + firstLine(strings.TrimSpace(m[2]), 120)
	}
	if e.state == "CrashLoopBackOff" {
		waits = " and waits to start again (CrashLoopBackOff)"
	}
	list = append(list, "{limit}", limit, "{waits}", waits, "{hook}", strings.TrimSuffix(hook, ": "), "{probeOr}",
		probeOr)
	if w.failure != nil {
		list = append(append(list, "{ago}", round(w.failure.fact.Age)), e.parts(w.failure)...)
	}
	w.values = strings.NewReplacer(append(list, w.imageValues(who)...)...)
}

// imageValues returns the images that cannot be pulled, and how often that was tried.
func (w *writer) imageValues(who string) []string {
	images, all := w.e.images()
	all = cmp.Or(all, w.e.events[Image])
	image, tries := " of "+who, ""
	if all.fact != nil && len(images) < 2 { // the count is that of all
		took, _ := span(all.fact)
		tries = often(all.count, took)
	}
	if m := imageName.FindStringSubmatch(w.said()); w.r.cause == Sandbox && m != nil {
		image = " " + m[1]
	} else if len(images) > 0 {
		image = "s"[:min(len(images)-1, 1)] + " " + printable.And(images)
	}
	return []string{"{image}", image, "{tries}", tries}
}

// who names the container, or the pod, that a verdict is about.
func (w *writer) who(name string) string {
	row := w.e.row
	switch {
	case w.e.init && w.v.Container != "":
		return "the init container " + w.v.Container
	case row != nil && w.e.from == row && strings.HasPrefix(row.Reason, "Init:") && w.r.words != "waits for init":
		return "an init container of " + cmp.Or(name, "the pod")
	}
	return cmp.Or(w.v.Container, name, "the container")
}

// signals has what exit codes say about signals: 128 plus the number, on Linux.
var signals = map[int32]string{132: " (SIGILL)", 134: " (SIGABRT)", 135: " (SIGBUS)", 136: " (SIGFPE)",
	139: " (SIGSEGV)", controlC: " (Windows told it to stop)"}

// hookExit matches the exit code of a hook, with its output.
var hookExit = regexp.MustCompile(`lifecycle hook .* exited with (\d+)(?:: ([^",]*))?`)

// hook returns the event of a hook that failed, other than a postStart hook, or nil.
func (e *evidence) hook() *incident.Fact {
	return cmp.Or(e.events["FailedPreStopHook"].fact, e.events["FailedHook"].fact)
}

// suspect names the probe that may have killed the container.
func (e *evidence) suspect(known trace.Probe) string {
	for _, of := range slices.Backward(killers) {
		if e.probe(of) != nil || e.killer != nil && e.killer.probe == of || known == of {
			return "its " + string(of) + " probe"
		}
	}
	return "a probe"
}

// images returns the images that cannot be pulled, each once, and the tries: each has an event that
// names the image, and another that does not.
func (e *evidence) images() (names []string, tries tally) {
	for _, f := range e.pod.Facts {
		m := imageName.FindStringSubmatch(f.Message)
		if m == nil || !e.about(f) || kindOf(f) != Image {
			continue
		}
		same := func(name string) bool { return strings.HasSuffix("/"+name, "/"+m[1]) }
		if len(names) < 5 && !slices.ContainsFunc(names, same) {
			names = append(names, m[1])
		}
		if f.Kind == incident.Event && f.Reason == "Failed" {
			tries = tally{tries.count + max(f.Count, 1), f, f}
		}
	}
	return names, tries
}

var imageName = regexp.MustCompile(`image "?([^\s":,]+(?::[^\s":,]+)*)"?`)

// times formats how often something happened.
func times(n int) string {
	switch {
	case n <= 1:
		return ""
	case n == 2:
		return " twice"
	}
	return fmt.Sprintf(" %s times", printable.Thousands(n))
}

// round formats a duration as kubectl does, with fewer digits if it is long.
func round(d time.Duration) string { return duration.HumanDuration(d.Round(time.Second)) }

// often formats a number of occurrences and the time that they took.
func often(n int, in Span) string {
	switch {
	case n <= 1:
		return ""
	case in.middle() < time.Second:
		return fmt.Sprintf(" (%s times)", printable.Thousands(n))
	}
	return fmt.Sprintf(" (%s times in %s)", printable.Thousands(n), round(in.middle()))
}

// howOften says how many failures of the class of the main one there are, and in which time.
func (w *writer) howOften() string {
	var longest Span
	list := slices.DeleteFunc(w.e.failed(w.r.probe), func(f failure) bool { return f.class != w.v.Class })
	for _, f := range list {
		if s, known := span(f.fact); known && s.Greatest > longest.Greatest {
			longest = s
		}
	}
	return often(total(list), longest)
}

// beforeWhy matches what is before the reason in a message of a controller, or about an image.
var beforeWhy = regexp.MustCompile(`^(?:.*?pods "[^"]*" is forbidden: |Error creating: |Failed to pull image "[^"]*": )`)

// rpcCode matches what a client of gRPC writes before the words of an error.
var rpcCode = regexp.MustCompile(`^(?:rpc error: )?code = \w+ desc = `)

// message returns the words of the event or the status that proves a cause, behind a colon.
func (w *writer) message() (message string) {
	if message = w.said(); message == "" {
		return ""
	}
	message, _, _ = strings.Cut(message, " preemption: ") // which repeats the reason
	message, _, _ = strings.Cut(message, " (pod: \"")
	if _, output, is := strings.Cut(message, "\nOutput: "); is { // of mount
		message = output
	}
	if first, _, _ := strings.Cut(message, "\n"); w.r.cause == Rejected || strings.HasSuffix(first, ":") ||
		strings.HasSuffix(first, ",") { // wrapped
		message = strings.Join(strings.Fields(message), " ")
	}
	message = beforeWhy.ReplaceAllString(message, "")
	if w.r.cause == CannotStart { // what follows is a guess of Docker
		message, _, _ = strings.Cut(message, ": unknown")
	}
	message = strings.TrimPrefix(firstLine(message, 4000), "Error: ")
	message = rpcCode.ReplaceAllString(message, "")
	if !strings.HasPrefix(w.r.words, "evicted") && w.r.cause != Rejected && w.r.cause != Unschedulable {
		message = lastError(message)
	}
	if strings.Count(message, `"`)%2 == 1 { // the beginning is cut off
		message = strings.TrimRight(message, `"]`)
	}
	return ": " + strings.TrimRight(shortened(message), ".:")
}

// shortened returns the first line of a text without the middle of a long one: the end says why.
func shortened(s string) string {
	if s = firstLine(s, 4000); len(s) > 200 {
		s = strings.ToValidUTF8(s[:120], "") + "…" + strings.ToValidUTF8(s[len(s)-70:], "")
	}
	return s
}

// said returns the message that proves a cause. Of several of one reason, the longest: others may
// be cut. The reason of a state may be a sentence.
func (w *writer) said() (message string) {
	for _, f := range w.r.proof {
		if strings.Contains(f.Reason, " ") {
			return strings.TrimSuffix(f.Reason+": "+f.Message, ": ")
		}
		if f.Kind == incident.Row || strings.TrimSpace(f.Message) == "" {
			continue
		}
		message = f.Message
		for _, o := range w.e.pod.Facts {
			if o.Kind == f.Kind && o.Reason == f.Reason && o.Container == f.Container && kindOf(o) == kindOf(f) &&
				len(o.Message) > len(message) {
				message = o.Message
			}
		}
		return message
	}
	return ""
}

// lastError returns the last part of a long chain of errors, which says what is wrong.
func lastError(message string) string {
	for len(message) > 110 {
		_, rest, more := strings.Cut(message, ": ")
		if !more || len(rest) < 20 || !strings.Contains(rest, " ") {
			break
		}
		message = rest
	}
	return message
}

// means returns the words for the class of a failure.
func (e *evidence) means(f *failure) phrase {
	key, of := "failure "+string(f.class), ""
	switch {
	case f.class == Credentials && statusIn.FindString(f.output) != "" && strings.Contains(f.output, "403"):
		key = "failure forbidden"
	case strings.Contains(f.output, "server gave HTTP response to HTTPS"):
		key = "failure plain"
	case f.class == NoCommand && !ownFault.MatchString(f.output):
		key = "failure runtime"
	}
	switch p := e.probe(f.probe); {
	case tool.MatchString(f.output) && known[f.class].Answer == No && strings.Contains(f.output, "awaiting headers") &&
		loopback.MatchString(f.output):
		key = "failure loopback"
	case tool.MatchString(f.output):
		of = " of tool"
	case p != nil && p.Exec != nil, strings.Contains(f.output, "command"):
		of = " of command"
	}
	if served := e.served(f); served != "" && phrases[key+served] != (phrase{}) {
		of = served
	}
	return cmp.Or(phrases[key+of], phrases[key])
}

// What the output of a failed probe names.
var (
	localHost = regexp.MustCompile(`^Get ["“<]*https?://(localhost|127\.0\.0\.1|\[::1\])\b`)
	loopback  = regexp.MustCompile(`://(?:localhost|127\.0\.0\.1|\[::1\])\b`)
	pathIn    = regexp.MustCompile(`Get "?https?://[^/\s"]*(/[^\s"]*)`)
	portIn    = regexp.MustCompile(`(?:dial tcp \S*|Get "?https?://[^/\s"]*|service "[^"]*):(\d+)\b|\bport (\d+)\b`)
	statusIn  = regexp.MustCompile(status + `(\d{3})`)
	// tool matches the messages of programs that commands call.
	tool = regexp.MustCompile(`(?m)^(?:curl|wget|nc): |^[^"\n]+: Get "?https?://|^Connecting to |^failed: Connection|^Read error \(`)
	// plain matches a path that a command may have.
	plain      = regexp.MustCompile(`^[\w./-]*$`)
	timedOutIn = regexp.MustCompile(`timed out after (\d+m?s)|timeout (\d+m?s) exceeded`)
)

// parts returns what the words about a failure stand for: values of the settings of the probe, or
// else of its output.
func (e *evidence) parts(f *failure) []string {
	path, port, within := "", "", ""
	if p := e.probe(f.probe); p != nil {
		within = fmt.Sprintf("%ds", p.TimeoutSeconds)
		if h := podutil.HandlerOf(&p.ProbeHandler); h.Port != nil {
			port = h.Port.String()
		}
		if p.HTTPGet != nil {
			path = p.HTTPGet.Path
		}
	}
	part := func(known string, in *regexp.Regexp, format, otherwise string) string {
		if m := in.FindStringSubmatch(f.output); known == "" && m != nil {
			known = cmp.Or(m[1:]...)
		}
		if known == "" {
			return otherwise
		}
		return fmt.Sprintf(format, known)
	}
	address := " and the address: 127.0.0.1 is not that of the pod"
	if localHost.MatchString(f.output) { // which the probe asks, too
		address = ""
	}
	url := "http://127.0.0.1:PORT/PATH"
	if at := part(port, portIn, "%s", "PORT") + part(path, pathIn, "%s", "/"); plain.MatchString(at) {
		url = "http://127.0.0.1:" + at
	}
	return []string{"{url}", url, "{address}", address, "{path}", part(path, pathIn, " for %s", ""),
		"{port}", part(port, portIn, " on port %s", ""),
		"{status}", part("", statusIn, "%s", ""),
		"{within}", part(within, timedOutIn, " within %s (timeoutSeconds)", " in time (timeoutSeconds)"), "{output}",
		decisive(f.output)}
}

// decisive returns the part of the output of a command that says why it failed: of a trace of a
// shell (set -x) its last commands, of Python's the last line, of others the first line.
func decisive(output string) string {
	output = strings.TrimSpace(output)
	lines := strings.Split(output, "\n")
	switch last := len(lines) - 1; {
	case strings.HasPrefix(output, "Traceback ("):
		return "… " + firstLine(lines[last], 120)
	case strings.HasPrefix(output, "+ "):
		return "… " + firstLine(strings.Join(lines[max(0, last-4):], "; "), 200)
	}
	return firstLine(output, 120)
}

// details returns the arithmetic, and what the other facts have to do with the cause.
func (w *writer) details() []string {
	if w.r.cause == Nothing || w.r.cause == NoFacts {
		return []string{}
	}
	first, result, hook := "", "", ""
	if w.r.cause == OwnExit && w.e.ready == "true" {
		first = "It runs again, and is ready."
	} else if w.failure != nil && localHost.MatchString(w.failure.output) {
		first = "The probe goes to localhost. That is the node, which is the pod only with hostNetwork."
	}
	switch liveness, startup := w.e.count(LivenessProbe), w.e.count(StartupProbe); {
	case w.r.cause == OwnExit && w.e.unready != nil && w.r.sure != Open && w.e.unready.dead() &&
		(w.e.name != "" || w.e.row != nil && strings.HasSuffix(w.e.row.Value, "/1")):
		result = "Its readiness failures are a result."
	case w.r.words == "node not ready":
	case (w.r.cause == Removed || w.r.cause == Node) && len(w.e.failures) > 0:
		result = "The failed probes around it are a result: probes go on while a pod stops."
	case w.r.cause != OutOfMemory && w.e.survived() != nil:
		result = "Its state says OOMKilled: a process of it was out of memory, and it ran on."
	case w.r.cause == OutOfMemory && liveness+startup > 0:
		result = fmt.Sprintf("Its probes have killed it%s, too.", times(liveness+startup))
	}
	cut := w.e.events["PreStopTimeout"].fact
	switch {
	case strings.HasPrefix(w.r.words, "preStop"), w.r.cause == PostStartHook, w.r.words == "hook failed":
	case cut != nil:
		hook = "Its preStop hook did not end within the grace period (" + cut.Message + ")."
	case w.e.hook() != nil:
		hook = w.values.Replace("A lifecycle hook of it failed{hook}.")
	}
	return slices.DeleteFunc([]string{first, hook, w.readiness(), w.restarts(), w.counts(), w.arithmetic(), w.r.detail,
		result, w.also(), w.finding()}, func(s string) bool {
		return s == ""
	})
}

// also quotes what holds a pod that is being deleted, or another trouble, after which nothing has
// started.
func (w *writer) also() string {
	e, finalizers := w.e, w.e.object.Finalizers
	if w.r.cause == Removed && e.object.DeletionTimestamp != nil && len(finalizers) > 0 {
		return "It is there until its finalizers are gone: " + firstLine(printable.And(finalizers), 160) + "."
	}
	for _, f := range slices.Backward(e.pod.Facts) {
		switch kind := kindOf(f); {
		case f.Kind != incident.Event || f.Message == "" || slices.Contains(w.r.proof, f) || e.startedAfter(f):
		case slices.Contains(stops, kind) && (w.r.cause == Removed || w.r.words == "open restarts"):
			return "The text also says: " + firstLine(lastError(f.Message), 160)
		case f.Type == "Warning" && w.r.sure == Open && kind == Cause(f.Reason) && ordinary[f.Reason] == "":
			w.v.Because = cmp.Or(w.v.Because, "One event of it may say why: "+shortened(f.Message))
			w.r.proof = append(w.r.proof, f)
			return ""
		}
	}
	return ""
}

// ordinary has the reasons of warnings that do not say why something does not run, or that other
// words of a verdict are about.
var ordinary = byReason[string]("ordinary ")

// readiness says what the readiness probe has to do with a kill by the liveness probe.
func (w *writer) readiness() string {
	of, other, unready := w.e.probe(w.r.probe), w.e.probe(trace.Readiness), w.e.unready
	switch {
	case w.r.words == "open restarts" && unready != nil:
		return "Its readiness probe fails. " + w.meaning(unready)
	case w.r.probe != trace.Liveness:
	case of != nil && other != nil && of.HTTPGet != nil && other.HTTPGet != nil &&
		of.HTTPGet.Path == other.HTTPGet.Path && of.HTTPGet.Port == other.HTTPGet.Port:
		return "The readiness probe asks the same: what makes the container not ready restarts it, too."
	case unready != nil && (w.failure == nil || w.r.words == "failing both" && unready.class != w.failure.class):
		return "The readiness probe failed, too. " + w.meaning(unready)
	case w.r.cause == Failing && unready != nil && w.r.words != "failing both":
		return "The readiness probe failed, too."
	}
	return ""
}

// meaning returns what a failure means.
func (w *writer) meaning(f *failure) string {
	return strings.NewReplacer(w.e.parts(f)...).Replace(w.e.means(f).sentence)
}

// burst is the number of events about a pod that a kubelet sends before it drops some. It then
// sends one in each refill, so a shorter silence tells nothing (defaultSpamBurst and defaultSpamQPS
// in tools/record/events_cache.go of client-go v0.37.1).
const (
	burst  = 25
	refill = 300 * time.Second
)

// restarts compares kills with restarts.
func (w *writer) restarts() string {
	kills, restarts, row := w.v.Kills, w.e.restarts, w.e.row
	switch {
	case kills == 0 || strings.HasPrefix(w.r.words, "killed and"):
	case kills == restarts && restarts > 1:
		return fmt.Sprintf("Each of its %d restarts was such a kill.", restarts)
	case kills < restarts && restarts > 1 && row != nil && row.AgeWithin > 0 && row.Age < time.Hour:
		return fmt.Sprintf("It has restarted %s times. The text has no kill for the others: it may have ended by "+
			"itself, which the exit codes and its log tell.", printable.Thousands(restarts))
	case kills < restarts && restarts > 1:
		return fmt.Sprintf("It has restarted %s times. For the others the text has no event: events expire after "+
			"an hour.", printable.Thousands(restarts))
	}
	return ""
}

// counts compares failures with kills, or with the runs of the probe.
func (w *writer) counts() string {
	kills, failures, p := w.v.Kills, total(w.e.failed(w.r.probe)), w.e.probe(w.r.probe)
	switch {
	case kills > 1 && p != nil && failures == kills*int(p.FailureThreshold) && total(w.e.failures) < burst:
		return fmt.Sprintf("%d failures / %d kills = %d, so no run succeeded in between.", failures, kills,
			failures/kills)
	case w.r.cause == NotReady && p != nil && w.failure != nil && w.failure.count > 2:
		if s, known := span(w.failure.fact); known && time.Duration(w.failure.count)*w.e.period(w.r.probe) >= s.Least {
			return "Every run fails."
		}
	}
	return ""
}

// arithmetic says when the probe can kill, and how long the container ran.
func (w *writer) arithmetic() string {
	e, of, instance, ran := w.e, w.r.probe, w.e.instance(), ""
	if w.v.Life == nil {
		instance = 0
	}
	for _, other := range killers {
		if w.r.sure == Open && of == "" && e.probe(other) != nil {
			of = other
		}
	}
	if w.r.sure != Open && (w.r.cause == LivenessProbe || w.r.cause == StartupProbe) && e.exits {
		ran = w.values.Replace(" The last instance ended{code}{after}.")
	}
	win := e.window(of, instance)
	if win == nil {
		return strings.TrimSpace(ran)
	}
	w.v.Window = &win.Span
	when := round(win.Least) + " to " + round(win.Greatest)
	switch {
	case win.Greatest == bounds.Never && win.Least < time.Second:
		return strings.TrimSpace(ran)
	case win.Greatest == bounds.Never || w.v.Life != nil && w.v.Life.Least > win.end:
		return fmt.Sprintf("The kill comes at the earliest %s after a start%s.%s", round(win.Least),
			settings(e.probe(of)), ran)
	case win.Least < time.Second:
		when = "up to " + round(win.Greatest)
	}
	return fmt.Sprintf("A container that never answers is killed %s after its start%s.%s", when, settings(e.probe(of)),
		ran)
}

// action returns a phrase with what to do: its own, or what an exit or the failures of a probe
// need.
func (w *writer) action(p phrase) phrase {
	class := string(w.v.Class)
	switch {
	case w.r.words == "failed before":
		p.advice = w.e.means(w.failure).advice
		return p
	case p.advice != "" || p.question != "":
		return p
	case w.r.cause == OwnExit && !w.e.exits:
		return phrases["exit unknown"]
	case w.r.cause == OwnExit:
		return cmp.Or(phrases[fmt.Sprint("exit ", w.e.end.ExitCode)], phrases["exit"])
	case w.r.probe == "", w.r.cause == Nothing:
		return phrase{}
	case w.failure == nil, class == "":
		return phrases["failure"]
	case w.r.cause == NotReady, w.v.Class == Refused && tool.MatchString(w.failure.output):
		return w.e.means(w.failure)
	case w.v.Class == NotServing || w.v.Class == Output:
		class = string(ServerError)
	}
	of := cmp.Or(w.e.served(w.failure), " "+string(w.r.probe))
	return cmp.Or(phrases["kill "+class+of], phrases["kill "+class], w.e.means(w.failure))
}

// served says what shows that the container has answered the request of a failed probe: its
// readiness probe, which asks the same and succeeds now, or its startup probe, before which no
// liveness probe runs. It returns nothing if the facts do not show it. If nothing listened, another
// request to the port tells as much.
func (e *evidence) served(f *failure) string {
	p, readiness := e.probe(f.probe), e.probe(trace.Readiness)
	same := p != nil && readiness != nil && (reflect.DeepEqual(p.ProbeHandler, readiness.ProbeHandler) ||
		f.dead() && prober.ProbePort(e.spec, p) == prober.ProbePort(e.spec, readiness))
	switch {
	case same && e.ready == "true":
		return " ready"
	case f.probe == trace.Liveness && e.probe(trace.Startup) != nil:
		return " started"
	}
	return ""
}

// whyImage puts the newest event, or state, that says why the image cannot be pulled before the
// others.
func (w *writer) whyImage() {
	var why *incident.Fact
	for _, f := range w.e.pod.Facts {
		if kindOf(f) == Image && w.e.about(f) && !dull.MatchString(f.Message) &&
			(why == nil || problem(Image, imageless(f.Message)) != "") {
			why = f
		}
	}
	if why != nil {
		w.r.words = cmp.Or(problem(Image, imageless(why.Message)), "image open")
		w.r.proof = append([]*incident.Fact{why},
			slices.DeleteFunc(w.r.proof, func(f *incident.Fact) bool { return f == why })...)
	}
}

// imageless returns a message without the name of the image, which can have any word.
func imageless(message string) string {
	if m := imageName.FindStringSubmatch(message); m != nil {
		return strings.ReplaceAll(message, m[1], "IMAGE")
	}
	return message
}

// dull matches messages about an image that do not say why.
var dull = regexp.MustCompile(`^(?:\s*|Back-off pulling image .*|Error: \w+)$`)
