package verdict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/incident"
	"probesim.dev/internal/value"
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

func write(e *evidence, r *ruling) Verdict {
	v := Verdict{Pod: e.pod, Container: e.name, Cause: r.cause, Or: r.or, Sure: r.sure, Probe: r.probe, Restarts: e.restarts, Kills: e.kills[r.probe].count}
	v.Life = e.life
	if e.exits {
		v.ExitCode = &e.end.ExitCode
	}
	if r.cause == Image && e.count("Started") > 0 {
		v.Container = "" // it is another one, which the events do not name
	}
	if r.cause == PostStartHook && e.hook != nil && (e.name == "" || e.spec == nil && !strings.Contains(e.hook.Message, e.name)) {
		v.Container = e.startedBefore(e.hook)
	}
	v.readyNow = e.ready != nil && *e.ready
	w := &writer{e: e, r: r, v: &v, failure: main(e.failed(r.probe))}
	if w.failure != nil {
		v.Class = w.failure.class
	}
	w.setValues()
	w.sentence()
	w.addDetails()
	w.next()
	for _, f := range r.proof {
		v.Evidence = append(v.Evidence, Evidence{f.Place, says(f)})
	}
	return v
}

// startedBefore returns the container that started last before an event.
func (e *evidence) startedBefore(hook *incident.Fact) (name string) {
	for _, f := range e.pod.Facts {
		if f.Kind == incident.Event && f.Reason == "Started" && f.Container != "" && strings.Contains(f.Message, f.Container) && !f.When.At.After(hook.When.At) {
			name = f.Container
		}
	}
	return name
}

// says returns a fact in a line.
func says(f *incident.Fact) string {
	if f.Text != "" {
		return f.Text
	}
	parts := []string{f.Container, string(f.Kind), f.Reason, string(f.Probe), string(f.Result), f.Value, firstLine(f.Message, 120)}
	if f.ExitKnown {
		parts = append(parts, fmt.Sprintf("exit code %d", f.ExitCode))
	}
	if f.Count > 1 && f.Kind == incident.Event {
		parts = append(parts, fmt.Sprintf("(x%d)", f.Count))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" || p == string(incident.Event) }), " ")
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

// sentence sets the answer, and what the failures of the probe mean.
func (w *writer) sentence() {
	w.v.Sentence = w.values.Replace(w.phrase().says)
	if rest, unnamed := strings.CutPrefix(w.v.Sentence, "the "); unnamed {
		w.v.Sentence = "The " + rest
	}
	switch w.r.cause {
	case LivenessProbe, StartupProbe, NotReady, Failing:
		if w.failure != nil && w.r.reason != errored {
			w.v.Because = w.values.Replace(classPhrases[w.failure.class].says)
		}
	}
}

// phrase returns the words for the ruling.
func (w *writer) phrase() phrase {
	if p, has := reasonPhrases[w.r.reason]; has {
		return p
	}
	key := string(w.r.cause)
	switch {
	case w.r.cause == StartupProbe:
		key = string(LivenessProbe)
	case w.r.cause == Removed && strings.HasPrefix(w.r.proof[0].Reason, "Preempt"):
		return causePhrases["removed Preempted"]
	case w.r.cause == Removed && (w.r.proof[0].Reason == "DeadlineExceeded" || w.r.proof[0].Reason == "NodeShutdown"):
		return causePhrases["removed Stopped"]
	case w.r.cause == Removed && evictions[w.r.proof[0].Reason]:
		return causePhrases["removed Evicted"]
	}
	switch {
	case w.r.sure == Likely:
		return causePhrases[key+" likely"]
	case w.r.sure != Open || w.r.cause == Waiting:
		return causePhrases[key]
	case slices.Contains(w.r.or, Node):
		return causePhrases["open node"]
	case slices.Contains(w.r.or, Removed):
		return causePhrases["open removed"]
	case w.e.exits:
		return causePhrases["open code"]
	case w.failure != nil:
		return causePhrases["open failed"]
	case w.e.restarts > 0:
		return causePhrases["open restarts"]
	}
	return causePhrases["open"]
}

// setValues computes what the words in braces stand for.
func (w *writer) setValues() {
	e, v := w.e, w.v
	name, pod, args := "", "POD", ""
	if !e.pod.Unnamed {
		name = e.pod.Name
	}
	if kubernetesName.MatchString(name) {
		pod = name
	}
	podName, namespace := pod, ""
	if kubernetesName.MatchString(e.pod.Namespace) && e.pod.Namespace != "default" {
		namespace = " -n " + e.pod.Namespace
	}
	pod += namespace
	if args = pod; e != e.of && kubernetesName.MatchString(v.Container) {
		args += " -c " + v.Container
	}
	log := "kubectl logs " + args
	if e.restarted() && w.r.cause != NotReady {
		log += " --previous"
	}
	code, after, gap := "", "", ""
	if v.ExitCode != nil {
		code = fmt.Sprint(" with exit code ", *v.ExitCode)
	}
	if v.Life != nil {
		after = " after " + round(v.Life.middle())
		if v.Life.Greatest < 2*time.Second {
			after = " at once"
		}
	}
	if w.r.reason == lateStart {
		gap = round(e.running.When.At.Sub(e.end.Last.At))
	}
	message := w.message()
	if message != "" {
		message = ": " + strings.TrimSuffix(message, ".")
	}
	state, _ := e.state()
	list := []string{"{name}", cmp.Or(v.Container, name, "the container"), "{pod}", cmp.Or(name, "the pod"), "{probe}", string(w.r.probe), "{by}", w.suspect(),
		"{kills}", times(v.Kills), "{restarts}", times(e.restarts), "{failures}", times(total(e.failed(w.r.probe))), "{often}", w.howOften(), "{gate}", w.r.gate,
		"{code}", code, "{after}", after, "{gap}", gap, "{message}", message, "{state}", state,
		"{podName}", podName, "{namespace}", namespace, "{podArgs}", pod, "{args}", args, "{log}", log}
	w.values = strings.NewReplacer(slices.Concat(list, w.imageValues(cmp.Or(v.Container, name, "the container")), w.failureValues())...)
}

// kubernetesName matches the names that a command may have. Other texts stay out of it.
var kubernetesName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// suspect returns the probe that may have killed the container.
func (w *writer) suspect() string {
	by := "a probe"
	for _, of := range killers {
		if w.e.probe(of) != nil || w.e.killer != nil && w.e.killer.probe == of || w.r.probe == of {
			by = "its " + string(of) + " probe"
		}
	}
	return by
}

// times formats how often something happened.
func times(n int) string {
	switch {
	case n <= 1:
		return ""
	case n == 2:
		return " twice"
	}
	return fmt.Sprintf(" %s times", thousands(n))
}

// thousands formats a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// round formats a duration for people, in whole seconds, or with fewer digits if it is long.
func round(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= 10*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= 10*time.Minute:
		d = d.Truncate(time.Minute)
	default:
		d = d.Round(time.Second)
	}
	return value.Format(d)
}

// often formats a number of occurrences and the time that they took.
func often(n int, in Span) string {
	if n <= 1 {
		return ""
	}
	if in.middle() < time.Second {
		return fmt.Sprintf(" (%s times)", thousands(n))
	}
	return fmt.Sprintf(" (%s times in %s)", thousands(n), round(in.middle()))
}

// howOften says how often the probe has failed, and in which time.
func (w *writer) howOften() string {
	var longest Span
	list := w.e.failed(w.r.probe)
	for _, f := range list {
		if s, known := span(f.fact); known && s.Greatest > longest.Greatest {
			longest = s
		}
	}
	return often(total(list), longest)
}

var imageName = regexp.MustCompile(`image "?([^\s":,]+(?::[^\s":,]+)*)"?`)

// imageValues returns the name of the image, and how often the kubelet tried to pull it.
func (w *writer) imageValues(of string) []string {
	name, tries := " of "+of, ""
	if t, has := w.e.events[imageFails]; has {
		if m := imageName.FindStringSubmatch(t.fact.Message); m != nil {
			name = " " + m[1]
		}
		s, _ := span(t.fact)
		tries = often(t.count, s)
	}
	return []string{"{image}", name, "{tries}", tries}
}

// message returns the words of the event or the status that proves a cause. Of several of one reason, the longest: others may be cut.
func (w *writer) message() (message string) {
	for _, f := range w.r.proof {
		if f.Kind == incident.Row || f.Message == "" {
			continue
		}
		for _, o := range w.e.pod.Facts {
			if o.Kind == f.Kind && o.Reason == f.Reason && o.Container == f.Container && len(o.Message) > len(message) {
				message = o.Message
			}
		}
		break
	}
	message, _, _ = strings.Cut(message, " preemption: ") // which repeats the reason
	message = strings.TrimPrefix(firstLine(message, 4000), "Error: ")
	for len(message) > 110 { // the last part of a chain of errors says what is wrong
		_, rest, more := strings.Cut(message, ": ")
		if !more || len(rest) < 20 {
			break
		}
		message = rest
	}
	return firstLine(message, 160)
}

var (
	localHost  = regexp.MustCompile(`^Get "?https?://(localhost|127\.0\.0\.1|\[::1\])\b`)
	address    = regexp.MustCompile(`Get "?(https?)://([^/\s"]*)(/[^\s"]*)?"?`)
	statusCode = regexp.MustCompile(`statuscode: (\d{3})`)
	dialed     = regexp.MustCompile(`dial tcp \S*:(\d+)\b`)
	timedOut   = regexp.MustCompile(`timed out after (\d+m?s)|timeout (\d+m?s) exceeded`)
)

// failureValues returns what the words about a failure of the probe stand for.
func (w *writer) failureValues() []string {
	if w.failure == nil {
		return nil
	}
	path, port, status, output := "", "", "", w.failure.output
	within, slow, answer := " in time (timeoutSeconds)", "The program took the connection and", "answer"
	if m := address.FindStringSubmatch(output); m != nil {
		path = m[3]
		if _, p, has := strings.Cut(m[2], ":"); has {
			port = p
		}
	}
	if m := dialed.FindStringSubmatch(output); m != nil {
		port = m[1]
	}
	if m := statusCode.FindStringSubmatch(output); m != nil {
		status = m[1]
	}
	if m := timedOut.FindStringSubmatch(output); m != nil {
		within = " within " + cmp.Or(m[1], m[2]) + " (timeoutSeconds)"
	}
	if strings.Contains(output, "command") {
		slow, answer = "Its command", "end"
	}
	if p := w.e.probe(w.failure.probe); p != nil {
		within = fmt.Sprintf(" within %ds (timeoutSeconds)", withDefaults(*p).TimeoutSeconds)
		switch {
		case p.HTTPGet != nil:
			path, port = p.HTTPGet.Path, p.HTTPGet.Port.String()
		case p.TCPSocket != nil:
			port = p.TCPSocket.Port.String()
		case p.GRPC != nil:
			port = fmt.Sprint(p.GRPC.Port)
		case p.Exec != nil:
			slow, answer = "Its command", "end"
		}
	}
	if path != "" {
		path = " for " + path
	}
	if port != "" {
		port = " on port " + port
	}
	return []string{"{path}", path, "{port}", port, "{status}", status, "{within}", within, "{slow}", slow, "{answer}", answer, "{output}", firstLine(output, 120)}
}

// addDetails adds the arithmetic, and what the other facts have to do with the cause.
func (w *writer) addDetails() {
	add := func(text string) {
		if text != "" {
			w.v.Details = append(w.v.Details, text)
		}
	}
	if w.r.cause == Nothing {
		return
	}
	if w.failure != nil && localHost.MatchString(w.failure.output) {
		add("The probe goes to localhost. That is the node, which is the pod only with hostNetwork.")
	}
	add(w.readiness())
	add(w.counts())
	add(w.arithmetic())
	if w.r.reason != noKilling || w.e.killer != nil {
		add(details[w.r.reason])
	}
	switch w.r.cause {
	case OwnExit:
		if w.e.unready != nil && w.r.sure != Open {
			add("Its readiness failures are a result.")
		}
	case Removed, Node:
		if len(w.e.failures) > 0 {
			add("The failed probes around it are a result: probes go on while a pod stops.")
		}
	case OutOfMemory:
		for _, of := range killers {
			if n := w.e.kills[of].count; n > 0 {
				add(fmt.Sprintf("Its %s probe has killed it, too%s.", of, times(n)))
			}
		}
	}
	if f := w.finding(); f != nil {
		first, _, _ := strings.Cut(f.Message, ". ")
		w.v.Finding = string(f.ID)
		add("check: " + strings.TrimSuffix(first, ".") + " (" + w.v.Finding + ").")
	}
}

// readiness says what the readiness probe has to do with a kill by the liveness probe.
func (w *writer) readiness() string {
	failed := w.e.unready
	of, other := w.e.probe(w.r.probe), w.e.probe(trace.Readiness)
	switch {
	case w.r.probe != trace.Liveness:
	case of != nil && other != nil && of.HTTPGet != nil && other.HTTPGet != nil && of.HTTPGet.Path == other.HTTPGet.Path && of.HTTPGet.Port == other.HTTPGet.Port:
		return "The readiness probe asks the same: what makes the container not ready restarts it, too."
	case w.failure == nil && failed != nil:
		other := &writer{e: w.e, r: w.r, v: w.v, failure: failed}
		return "The readiness probe failed, too. " + strings.NewReplacer(other.failureValues()...).Replace(classPhrases[failed.class].says)
	}
	return ""
}

// burst is the number of warnings about a pod that a kubelet sends before it drops some (defaultSpamBurst in tools/record/events_cache.go of client-go
// v0.37.0).
const burst = 25

// counts compares failures with kills, or with the runs of the probe.
func (w *writer) counts() string {
	kills, failures, warnings := w.v.Kills, total(w.e.failed(w.r.probe)), total(w.e.failures)
	p := w.e.probe(w.r.probe)
	switch {
	case kills > 1 && failures > 0 && failures%kills == 0 && warnings < burst && (p == nil || int(withDefaults(*p).FailureThreshold) == failures/kills):
		return fmt.Sprintf("%d failures / %d kills = %d, so no run succeeded in between.", failures, kills, failures/kills)
	case w.r.cause == NotReady && p != nil && w.failure != nil && w.failure.count > 2:
		period := time.Duration(withDefaults(*p).PeriodSeconds) * time.Second
		if s, known := span(w.failure.fact); known && time.Duration(w.failure.count)*period >= s.Least {
			return "Every run fails."
		}
	}
	return ""
}

// arithmetic says when the probe can kill, and how long the container ran.
func (w *writer) arithmetic() string {
	instance := instanceOf(w.e.end)
	if w.v.Life == nil {
		instance = 0
	}
	switch w.r.reason {
	case tooMany:
		return fmt.Sprintf("No probe did it: %d restarts by a probe take at least %s, and the pod is younger.", w.e.restarts, round(time.Duration(w.e.restarts)*w.e.earliest()))
	case tooEarly:
		var parts []string
		for _, of := range killers {
			if win := w.e.window(of, instance); win != nil {
				parts = append(parts, fmt.Sprintf("its %s probe cannot kill before %s%s", of, round(win.kill.Least), w.e.settings(of)))
			}
		}
		return "No probe did it: " + strings.Join(parts, ", and ") + "."
	}
	of := w.r.probe
	for _, other := range killers {
		if w.r.sure == Open && of == "" && w.e.probe(other) != nil {
			of = other
		}
	}
	ran := ""
	if w.r.sure != Open && (w.r.cause == LivenessProbe || w.r.cause == StartupProbe) && w.e.exits {
		ran = w.values.Replace(" The last instance ended{code}{after}.")
	} else if w.v.Life != nil && w.r.cause != OwnExit && w.r.cause != OutOfMemory {
		ran = " This instance ran " + round(w.v.Life.middle()) + "."
	}
	win := w.e.window(of, instance)
	if win == nil || of == trace.Readiness {
		return strings.TrimSpace(ran)
	}
	w.v.Window = &win.kill
	least, greatest := win.kill.Least, win.kill.Greatest
	switch between := round(least) + " to " + round(greatest); {
	case greatest == bounds.Never && least < time.Second:
		return ""
	case greatest == bounds.Never || w.v.Life != nil && w.v.Life.Least > win.end.Greatest:
		return fmt.Sprintf("The kill comes at the earliest %s after a start%s.%s", round(least), w.e.settings(of), ran)
	case least < time.Second:
		return fmt.Sprintf("A container that never answers is killed up to %s after its start%s.%s", round(greatest), w.e.settings(of), ran)
	default:
		return fmt.Sprintf("A container that never answers is killed %s after its start%s.%s", between, w.e.settings(of), ran)
	}
}

// settings names those that decide when a probe kills.
func (e *evidence) settings(of trace.Probe) string {
	p := withDefaults(*e.probe(of))
	return fmt.Sprintf(" (delay %ds, period %ds, threshold %d)", p.InitialDelaySeconds, p.PeriodSeconds, p.FailureThreshold)
}

// next sets the advice and the question.
func (w *writer) next() {
	p := w.phrase()
	if p.do == "" && p.asks == "" {
		p = w.action()
	}
	if w.r.cause == Image {
		p = w.imagePhrase(p)
	}
	if p.do != "" {
		w.v.Advice = []string{w.values.Replace(p.do)}
	}
	if p.asks != "" {
		w.v.Question = &Question{w.values.Replace(p.asks), w.values.Replace(p.run)}
	}
}

// action returns what to do about an exit or about failures of a probe.
func (w *writer) action() phrase {
	if w.r.cause == OwnExit {
		switch {
		case w.v.ExitCode == nil:
			return exitPhrases["unknown"]
		case *w.v.ExitCode == 0:
			return exitPhrases["0"]
		}
		return exitPhrases[""]
	}
	class := w.v.Class
	if class == NotServing || class == Output {
		class = ServerError
	}
	p, has := killPhrases[class]
	switch {
	case !has || w.r.cause == NotReady:
		return classPhrases[w.v.Class]
	case class == ServerError && w.r.probe == trace.Startup:
		return startupPhrase
	}
	return p
}

// imagePhrase says why the image cannot be pulled, if a message says so.
func (w *writer) imagePhrase(otherwise phrase) phrase {
	for _, i := range imagePhrases {
		for _, f := range w.e.pod.Facts {
			if kindOf(f) == imageFails && i.words.MatchString(f.Message) {
				return phrase{do: i.do}
			}
		}
	}
	return otherwise
}
