package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// Broken says which probe of a container can never run or does not ask it, and why, if one of the
// rows has no meaning then. It returns an empty string otherwise.
func (a *Admitted) Broken(container string, rows []RowID) string {
	s := &simulation{Admitted: a, container: container}
	broken := s.brokenProbes()
	for _, p := range trace.ProbeTypes {
		if broken[p] != "" && slices.ContainsFunc(rows, func(id RowID) bool { return id.needs(p, s.spec()) }) {
			return fmt.Sprintf("The %s probe %s.", p, broken[p])
		}
	}
	return ""
}

// findBroken finds probes that can never run, such as one of a named port that does not exist: a
// healthy program gets no request. The figures are those without them.
func findBroken(c *v1.Container, broken map[trace.Probe]string) (list []Finding) {
	for _, p := range trace.ProbeTypes {
		if because := broken[p]; strings.HasPrefix(because, neverRuns) { // otherHost finds the others
			list = append(list, Finding{ID: BrokenProbe, Severity: Error, Field: string(p) + "Probe",
				Fix:     correctPort(c, p),
				Summary: fmt.Sprintf("its %s probe %s", p, because),
				Message: fmt.Sprintf("The %s probe %s. %s", p, because, consequence[p])})
		}
	}
	return list
}

// correctPort says how to correct the unknown name of a port of a probe. It returns an empty string
// if the probe can never run for another reason.
func correctPort(c *v1.Container, p trace.Probe) string {
	for _, port := range program.UnknownPorts(c) {
		switch meant := strict.Nearest(port.Name, port.Known); {
		case !slices.Contains(port.Keys, string(p)):
		case meant != "":
			return fmt.Sprintf("%sProbe.%s.port %s -> %s", p,
				podutil.HandlerOf(&prober.ProbeOf(c, p).ProbeHandler).Field, port.Name, meant)
		default:
			return fmt.Sprintf("add the port %s to the ports of the container, or ask a port by its number",
				strict.Quote(port.Name))
		}
	}
	return ""
}

// What brokenProbes says of a probe begins with neverRuns or asksOthers. It ends with unfilled if
// the host is no name.
const (
	neverRuns  = "can never run: "
	asksOthers = "does not ask the container: "
	unfilled   = "which is no host: a placeholder is not filled in"
)

// asksElsewhere says whom a probe or a hook asks, if that is not its container.
func asksElsewhere(h *v1.ProbeHandler, pod *v1.PodSpec) string {
	switch host := podutil.HandlerOf(h).Host; {
	case host == "", program.IsNode(host) && pod.HostNetwork:
		return ""
	case program.IsNode(host):
		return "it asks " + host + ", which is the node and not the pod"
	case len(validation.IsValidIP(nil, host)) > 0 && len(validation.IsDNS1123Subdomain(strings.ToLower(host))) > 0:
		return "it asks " + host + ", " + unfilled
	default:
		return "it asks " + host + ", which is another machine"
	}
}

// harms say what a probe or a hook does that the node always refuses, and while another machine
// is down.
var harms = map[string]struct{ always, down string }{
	"startup":   {"the container is killed in each start", "no container starts while that is down"},
	"liveness":  {"the container is killed after each start", "the container is killed while that is down"},
	"readiness": {"the container never becomes ready", "the container is not ready while that is down"},
	"postStart": {"the kubelet kills the container, in each start", "no container starts while that is down"},
	"preStop":   {"the hook fails at once, and SIGTERM comes without a wait", "SIGTERM comes at once if that is down"},
}

// otherHost finds probes and hooks that do not ask their container. The kubelet makes the request
// on the node, so localhost is the node. The figures are those without them.
func otherHost(r *result) (list []Finding) {
	for _, asked := range podutil.Requests(r.spec()) {
		elsewhere := asksElsewhere(asked.ProbeHandler, &r.simulation.Pod.Spec)
		if elsewhere == "" {
			continue
		}
		h, harm, who := podutil.HandlerOf(asked.ProbeHandler), harms[asked.Key], asked.Key+" probe"
		if asked.IsHook {
			who = asked.Key + " hook"
		}
		if asked.Key == string(r.killer()) && len(r.StartCases()) > 0 {
			harm.always += " (after " + between(r.Start(bounds.FirstInstance)) + ")"
		}
		field := asked.Field + "." + h.Field + ".host"
		f := Finding{ID: ProbeHost, Severity: Error, Field: field, Fix: "remove " + field}
		switch {
		case strings.HasSuffix(elsewhere, unfilled):
			f.Fix, f.Summary = "", fmt.Sprintf("the host of its %s is a placeholder", who)
			f.Message = fmt.Sprintf("The %s cannot run as it is: %s. Check what is rendered.", who, elsewhere)
		case program.IsNode(h.Host):
			f.Summary = fmt.Sprintf("its %s asks %s, which is the node", who, h.Host)
			f.Message = fmt.Sprintf("The %s asks %s: the kubelet runs it on the node, so that is the node and not the "+
				"pod. Nothing listens there unless another program does: %s.", who, h.Host, harm.always)
		default:
			f.Severity, f.Summary = Warning, fmt.Sprintf("its %s asks %s, another machine", who, h.Host)
			f.Message = fmt.Sprintf("The %s asks %s, another machine: its answers say nothing about this container, "+
				"and %s.", who, h.Host, harm.down)
		}
		if asked.Key == "preStop" {
			f.Severity = Warning
		}
		list = append(list, f)
	}
	return list
}

// brokenProbes says of the probes that can never run or do not ask the container why.
func (s *simulation) brokenProbes() map[trace.Probe]string {
	broken, spec := map[trace.Probe]string{}, s.spec()
	for _, p := range trace.ProbeTypes {
		for _, port := range program.UnknownPorts(spec) {
			if slices.Contains(port.Keys, string(p)) {
				broken[p] = neverRuns + "the container has no port named " + strict.Quote(port.Name) +
					strict.DidYouMean(port.Name, port.Known).String()
			}
		}
		probe := prober.ProbeOf(spec, p)
		if probe == nil {
			continue
		}
		if elsewhere := asksElsewhere(&probe.ProbeHandler, &s.Pod.Spec); elsewhere != "" {
			broken[p] = asksOthers + elsewhere
		}
	}
	return broken
}

// consequence says what a probe that can never run means.
var consequence = map[trace.Probe]string{
	trace.Startup:   "The container never becomes ready, and its other probes never run.",
	trace.Liveness:  "Nothing stops a program that hangs.",
	trace.Readiness: "The container never becomes ready.",
}

// startKilled compares the known length of starts with the limit.
func startKilled(r *result) []Finding {
	start := r.container.start()
	if start == nil || len(r.rows[Start]) == 0 {
		return nil
	}
	limit, killer, measured := r.all(Start), r.killer(), r.container.measured()
	p := r.Probe(killer)
	period := time.Duration(p.PeriodSeconds) * time.Second
	always, longest := FormatDown(limit.Least), seconds(start.Max)
	runs := fmt.Sprintf("%d x %ds", p.FailureThreshold, p.PeriodSeconds)
	f := Finding{ID: StartKilled, Severity: Error, Field: string(killer) + "Probe.failureThreshold",
		fixes: r.allowStart(start.Max, limit.Least), App: []string{r.app("start %s", start)}}
	switch tooLong := limit.Least < start.Max; {
	case tooLong && measured != nil && measured.Used && measured.Slowest <= value.Seconds(limit.Least):
		f.ID, f.Severity = StartTight, Warning
		f.Message = fmt.Sprintf("The slowest measured start took %s to %s, and %s always allows only %s.",
			FormatDown(measured.Slowest), longest, runs, always)
		f.Summary = fmt.Sprintf("its slowest measured start took up to %s, and a start of over %s can be killed",
			longest, always)
	// no node of the sample kills one, and a limit below the longest start says that others do
	case tooLong && r.share != nil && *r.share == 1:
		f.Message = fmt.Sprintf("%s: on nearly all nodes, each start of %s comes up. On some nodes, a start of over "+
			"%s is killed.", runs, start, always)
		f.Summary = fmt.Sprintf("on some nodes, a start of over %s is killed, and yours take up to %s", always, longest)
	case tooLong && r.share != nil:
		f.weight = 1 - *r.share
		f.Message = fmt.Sprintf("%s of the starts that take %s are killed: %s always allows a start of up to %s, and "+
			"never one of over %s.%s", Percent(f.weight), start, runs, always, FormatUp(limit.Greatest),
			wrongFormula(p, limit))
		f.Summary = fmt.Sprintf("%s of starts are killed: a start of up to %s always survives, and yours take "+
			"up to %s", Percent(f.weight), always, longest)
	case limit.Least-start.Max < period:
		margin := FormatDown(limit.Least - start.Max)
		f.ID, f.Severity = StartTight, Warning
		f.Message = fmt.Sprintf("%s: all starts of %s come up, but the longest has a margin of only %s.", runs, start,
			margin)
		f.Summary = "its longest start has a margin of only " + margin
	default:
		return nil
	}
	return []Finding{f}
}

// allowStart returns changes that let a start of some length come up with a margin. The longest
// start that always comes up today is least.
func (r *result) allowStart(longest, least time.Duration) []fix {
	killer := r.killer()
	if killer == trace.Liveness {
		return []fix{r.startupProbeFor(longest)}
	}
	p := r.Probe(killer)
	period := time.Duration(p.PeriodSeconds) * time.Second
	return []fix{change(killer, "failureThreshold", p.FailureThreshold, p.FailureThreshold+
		periodsFor(withMargin(longest, period)-least, period))}
}

// periodsFor returns the least number of periods that are as long as a time.
func periodsFor(d, period time.Duration) int32 { return int32(max(0, (d+period-1)/period)) }

// usualFormula is the usual formula for the limit of a start.
func usualFormula(p *v1.Probe) time.Duration {
	return time.Duration(int64(p.InitialDelaySeconds)+int64(p.PeriodSeconds)*int64(p.FailureThreshold)) * time.Second
}

// wrongFormula says what the usual formula gives, if a start that it allows can be killed.
func wrongFormula(p *v1.Probe, limit bounds.Range) string {
	if limit.Least >= usualFormula(p) {
		return ""
	}
	return fmt.Sprintf(" The formula initialDelaySeconds + periodSeconds x failureThreshold gives %s.",
		format(usualFormula(p)))
}

// startIsShort is the time in which many programs do not start.
const startIsShort = 30 * time.Second

// noStartupProbe finds containers whose starts the liveness probe can stop. If it is known how long
// a start takes, startKilled knows better.
func noStartupProbe(r *result) []Finding {
	limit := r.all(Start)
	if r.container.start() != nil || r.Probe(trace.Startup) != nil || len(r.rows[Start]) == 0 ||
		limit.Least == bounds.Never {
		return nil
	}
	longest := max(100*time.Second, limit.Least) // two minutes with the margin
	blind := ""
	if delay := time.Duration(r.Probe(trace.Liveness).InitialDelaySeconds) * time.Second; delay >= startIsShort {
		blind = fmt.Sprintf(" It first runs %s after the start: nothing stops a program that hangs before.",
			format(delay))
	}
	return []Finding{{ID: NoStartupProbe, Severity: Note,
		Message: fmt.Sprintf("There is no startup probe: the liveness probe can stop a start that takes more than %s, "+
			"and always stops one of over %s.%s", FormatDown(limit.Least), FormatUp(limit.Greatest), blind),
		Summary: fmt.Sprintf("a start of over %s can be killed", FormatDown(limit.Least)),
		weight:  -limit.Least.Seconds(), fixes: []fix{r.startupProbeFor(longest)},
		Field: "livenessProbe", App: []string{r.app("start %s", seconds(limit.Greatest+time.Millisecond))}}}
}

// noReadinessProbe finds containers whose pods get traffic before the known start has ended. The
// verdict names the other pods without a readiness probe. The pods of a Job serve nothing, and a
// sidecar has no probe of its own to have.
func noReadinessProbe(r *result) []Finding {
	w := r.container.workload
	asked := slices.ContainsFunc(w.ordinary(), func(c v1.Container) bool { return c.ReadinessProbe != nil })
	if asked || w.terms.sidecars[r.container.spec.Name] != "" ||
		r.simulation.Pod.Spec.RestartPolicy != v1.RestartPolicyAlways {
		return nil
	}
	early := r.all(Early)
	if early.Greatest <= 0 {
		return nil
	}
	start := r.container.start()
	var app []string
	if hasProbes(r.container.spec) { // nothing asks another one while it starts
		app = []string{r.app("start %s", start)}
	}
	return []Finding{{ID: NoReadiness, Severity: Warning, App: app,
		Message: fmt.Sprintf("There is no readiness probe: the pod gets traffic %s before the program is up, for a "+
			"start of %s.", between(early), start),
		Summary: fmt.Sprintf("without a readiness probe, it gets traffic %s before it is up", between(early)),
		Fix:     "add a readiness probe"}}
}

// noProbes finds workloads without any probe that asks its program, except of sidecars. It belongs
// to the first ordinary container. If it is known how long a start takes, noReadinessProbe says
// more.
func noProbes(r *result) []Finding {
	w := r.container.workload
	ordinary := w.ordinary()
	asks := func(c v1.Container) bool {
		return slices.ContainsFunc(trace.ProbeTypes, func(p trace.Probe) bool { return notices(prober.ProbeOf(&c, p)) })
	}
	if slices.ContainsFunc(ordinary, asks) || r.container.spec.Name != ordinary[0].Name ||
		r.simulation.Pod.Spec.RestartPolicy != v1.RestartPolicyAlways || len(noReadinessProbe(r)) > 0 {
		return nil
	}
	who, when := "no container has a probe", "as soon as it runs"
	if slices.ContainsFunc(ordinary, func(c v1.Container) bool { return hasProbes(&c) }) {
		who, when = "no container has a probe that asks its program", "whatever that does"
	} else if slices.ContainsFunc(w.containers, func(c *container) bool { return c.spec.ReadinessProbe != nil }) {
		who, when = "except sidecars, no container has a probe", "as soon as its sidecars are"
	}
	severity, requests := Note, "requests come"
	if w.service != "" {
		severity, requests = Warning, "Service "+w.service+" sends requests"
	}
	return []Finding{{ID: NoProbes, Severity: severity,
		Fix: "add a readiness probe, and a liveness probe if a restart helps a program that hangs", Summary: who,
		Message: fmt.Sprintf("%s: the pod is Ready %s, so %s before the program is up, and nothing "+
			"restarts it when it hangs.", upper(who), when, requests)}}
}

// undeclaredPort finds probes of a port that no container of the pod declares, although one
// declares others. It is no error: a program may listen on it. It is one finding for all of a
// container.
func undeclaredPort(r *result) []Finding {
	var declared []string
	for c := range podutil.Containers(&r.container.workload.Pod.Spec) {
		for _, p := range c.Ports {
			declared = append(declared, strconv.Itoa(int(p.ContainerPort)))
		}
	}
	var kinds []trace.Probe
	port := ""
	for _, p := range trace.ProbeTypes {
		probe := r.Probe(p)
		if probe == nil || probe.Exec != nil || len(declared) == 0 {
			continue
		}
		own := strconv.Itoa(int(prober.ProbePort(r.container.spec, probe)))
		if !slices.Contains(declared, own) && (port == "" || own == port) {
			kinds, port = append(kinds, p), own
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	asks := probesOf(kinds, "asks", "ask") + " port " + port + ", which no container"
	return []Finding{{ID: UndeclaredPort, Severity: Note, Field: string(kinds[0]) + "Probe",
		Summary: "its " + asks + " declares",
		Message: fmt.Sprintf("The %s of the pod declares. The containers declare %s.", asks, printable.And(declared))}}
}

// otherEndpoint finds startup probes that ask another port, or in another way, than the probe that
// follows: the liveness probe, or else the readiness probe. The time of a start is then that of the
// startup probe alone.
func otherEndpoint(r *result) []Finding {
	startup, next, follows := r.Probe(trace.Startup), r.Probe(trace.Liveness), trace.Liveness
	if next == nil {
		next, follows = r.Probe(trace.Readiness), trace.Readiness
	}
	if startup == nil || next == nil || startup.Exec != nil || next.Exec != nil ||
		sameFamily(r.container.spec, startup, next) {
		return nil
	}
	then := "the container is ready only later"
	if follows == trace.Liveness {
		then = "the liveness probe counts from then on, and can stop a program that is not up there yet"
	}
	first, second := podutil.Asks(&startup.ProbeHandler), podutil.Asks(&next.ProbeHandler)
	return []Finding{{ID: OtherEndpoint, Severity: Note, Field: "startupProbe", Fix: "let both probes ask the same",
		Summary: fmt.Sprintf("its startup probe asks %s, and its %s probe %s", first, follows, second),
		Message: fmt.Sprintf("The startup probe asks %s, and the %s probe %s: once the first succeeds, %s.", first,
			follows, second, then)}}
}

// sameFamily reports whether two probes over the network ask one port in one way: of HTTP, both
// paths are about health, or neither is. To connect is less than to ask.
func sameFamily(c *v1.Container, a, b *v1.Probe) bool {
	if prober.ProbePort(c, a) != prober.ProbePort(c, b) {
		return false
	}
	switch {
	case a.HTTPGet != nil && b.HTTPGet != nil:
		return aboutHealth(a.HTTPGet.Path) == aboutHealth(b.HTTPGet.Path)
	case a.TCPSocket != nil: // it succeeds as soon as the program listens
		return b.TCPSocket != nil
	case a.GRPC != nil:
		return b.HTTPGet == nil
	}
	return b.TCPSocket != nil
}

// aboutHealth reports whether a path is one that programs have for probes, such as /healthz, /livez
// or /actuator/health.
func aboutHealth(path string) bool {
	path = strings.ToLower(path)
	return strings.HasSuffix(path, "/up") ||
		slices.ContainsFunc([]string{"health", "live", "ready", "readiness", "startup", "started", "status", "ping",
			"alive"}, func(word string) bool {
			return strings.Contains(path, word)
		})
}

// readinessGate finds pods that are not Ready although their containers are. It belongs to the
// first container of the pod.
func readinessGate(r *result) []Finding {
	spec := &r.container.workload.Pod.Spec
	if len(spec.ReadinessGates) == 0 || r.container.spec.Name != spec.Containers[0].Name {
		return nil
	}
	var names []string
	for _, g := range spec.ReadinessGates {
		names = append(names, string(g.ConditionType))
	}
	all := strings.Join(names, " and ")
	return []Finding{{ID: ReadinessGate, Severity: Note, Field: "spec.readinessGates",
		Summary: "it is Ready only once somebody sets " + all,
		Message: fmt.Sprintf("The pod is Ready only once its containers are and somebody has set %s to True: no probe "+
			"does. The time until Ready leaves this out.", all)}}
}

// between formats the range of a time for people.
func between(a bounds.Range) string {
	least, greatest := FormatDown(a.Least), FormatUp(a.Greatest)
	if least == greatest {
		return greatest
	}
	return least + " to " + greatest
}

// shortRestart finds restarts that have much less time than the first start. A container in
// back-off has crashed again and again, which is a greater problem than a short start.
func shortRestart(r *result) []Finding {
	first := r.all(Start)
	for _, v := range r.rows[Restart] {
		if !muchShorter(v.Least, first.Least) {
			continue
		}
		severity, when := Warning, ""
		switch which := bounds.StartCase(v.Case); {
		case which == bounds.AfterCrash && !muchShorter(r.LeastAfterOneCrash(), first.Least):
			if len(noStartupProbe(r)) > 0 && first.Least < startIsShort { // the lack of a startup probe is the finding
				continue
			}
			severity, when = Note, " if the container has crashed before"
		case which == bounds.AfterLivenessKill && r.KilledAtTickOnly(): // seldom on a real node
			severity, when = Note, " if the liveness probe runs before everything else at its tick"
		}
		return []Finding{{ID: ShortRestart, Severity: severity,
			Message: fmt.Sprintf("%s, the next start can have only %s%s, and the first one always has %s.",
				upper(v.Case), FormatDown(v.Least), when, FormatDown(first.Least)),
			Summary: fmt.Sprintf("%s, the next start can have only %s, not %s", v.Case, FormatDown(v.Least),
				FormatDown(first.Least)),
			fixes: r.lengthenRestart(v, first.Least), weight: -v.Least.Seconds(),
			Field: string(r.killer()) + "Probe", App: r.appRestart(bounds.StartCase(v.Case), first.Least)}}
	}
	return nil
}

// lengthenRestart returns changes that give a restart the time that the first start has today:
// none if the startup probe does not limit it.
func (r *result) lengthenRestart(restart Value, first time.Duration) []fix {
	killer := r.killer()
	switch {
	case killer == trace.Liveness:
		return []fix{r.startupProbeFor(first)}
	case bounds.StartCase(restart.Case) == bounds.AfterLivenessKill:
		return nil
	}
	p := r.Probe(killer)
	return []fix{change(killer, "failureThreshold", p.FailureThreshold, p.FailureThreshold+
		periodsFor(first-restart.Least, time.Duration(p.PeriodSeconds)*time.Second))}
}

// muchShorter reports whether a limit is much shorter than another one.
func muchShorter(limit, than time.Duration) bool {
	return limit <= than/3*2 && than-limit >= time.Second/2
}

// noTimeToRecover finds containers whose liveness probe can act before their readiness probe: if
// both ask the same endpoint, or in every phase, since a program that is down answers neither.
func noTimeToRecover(r *result) []Finding {
	liveness, readiness := r.Probe(trace.Liveness), r.Probe(trace.Readiness)
	if !notices(liveness) || readiness == nil {
		return nil
	}
	same := r.sameEndpoint(trace.Liveness, trace.Readiness)
	slack := readiness.PeriodSeconds*(readiness.FailureThreshold-1) - liveness.PeriodSeconds*liveness.FailureThreshold
	begins := r.UntilStopBegins(bounds.Refuse) // the kubelet stops the container even if it recovers during the hook
	unready := r.UntilReadinessFails(bounds.Refuse).Greatest
	x, behind := r.readinessFirst(unready-begins), ", also of a database behind the endpoint,"
	if liveness.Exec != nil {
		behind = ", also of what the command needs,"
	}
	switch {
	case same && begins > unready-tenth: // hardly ever
		return nil
	case same:
	case liveness.Exec != nil || readiness.Exec != nil || slack < 0:
		return nil
	default:
		x, behind = r.morePatient(time.Duration(slack+1)*time.Second), ""
	}
	return []Finding{{ID: NoTimeToRecover, Severity: Note, fixes: []fix{x},
		Message: fmt.Sprintf("%s%s can %s the container before the readiness probe takes it out of its Service, which "+
			"needs up to %s.", upper(outageOf(begins)), behind, r.afterFailures(), FormatUp(unready)),
		Summary: fmt.Sprintf("%s can %s it before it leaves its Service", outageOf(begins), r.afterFailures()),
		Field:   "livenessProbe", weight: -begins.Seconds(),
		App: []string{r.app("down 2m at %s", value.Format(r.warm()))}}}
}

// morePatient returns a liveness probe that acts later by some time.
func (r *result) morePatient(by time.Duration) fix {
	p := r.Probe(trace.Liveness)
	return change(trace.Liveness, "failureThreshold", p.FailureThreshold,
		p.FailureThreshold+max(1, periodsFor(by, time.Duration(p.PeriodSeconds)*time.Second)))
}

// readinessFirst returns a change of two probes that ask the same: the liveness probe acts later by
// some time, less what the readiness probe gains. That needs no more failures than the liveness
// probe survives today.
func (r *result) readinessFirst(later time.Duration) fix {
	p, period := r.Probe(trace.Readiness), time.Duration(r.Probe(trace.Readiness).PeriodSeconds)*time.Second
	failures := 1 + periodsFor(r.Survives(bounds.Refuse).Least, period)
	if failures >= p.FailureThreshold {
		return r.morePatient(later)
	}
	sooner := time.Duration(p.FailureThreshold-failures) * period
	return change(trace.Readiness, "failureThreshold", p.FailureThreshold, failures).and(r.morePatient(later - sooner))
}

// outageOf says how long an outage is.
func outageOf(d time.Duration) string {
	if d < tenth {
		return "the shortest outage"
	}
	return "an outage of " + FormatDown(d)
}

// warm returns a time after the start of a healthy container at which all its probes run.
func (r *result) warm() time.Duration {
	delay := int32(0)
	for _, p := range trace.ProbeTypes {
		if probe := r.Probe(p); probe != nil {
			delay += probe.InitialDelaySeconds + probe.PeriodSeconds*max(1, probe.SuccessThreshold)
		}
	}
	return max(5*time.Minute, time.Duration(delay)*time.Second+time.Minute)
}

// unnoticed finds what no probe notices: a program that hangs, and HTTP errors of a command.
func unnoticed(r *result) (list []Finding) {
	liveness := r.Probe(trace.Liveness)
	f := Finding{ID: UnnoticedFailure, Severity: Note, Field: "livenessProbe",
		Fix: "let the liveness probe ask the program over HTTP or gRPC, or run a command that does"}
	switch {
	case liveness == nil:
	case liveness.TCPSocket != nil && r.all(Stall).Least == bounds.Never:
		f.Summary = "its liveness probe only connects"
		f.Message = "The liveness probe only connects. The kernel of the node accepts the connection for a program " +
			"that hangs, in a deadlock for example, so nothing restarts it. The probe notices a program that does " +
			"not listen, and connections that are lost: the time until SIGTERM is about these."
	case !notices(liveness) && len(noProbes(r)) == 0:
		f.Summary = "the command of its liveness probe does not ask it"
		f.Message = "The command of the liveness probe does not ask the program: nothing restarts it when it hangs."
	}
	if f.Message != "" {
		f.Summary = "nothing restarts it when it hangs: " + f.Summary
		f.App = []string{r.app("stall 10m at %s", value.Format(r.warm()))}
		list = append(list, f)
	}
	var kinds []trace.Probe
	for _, p := range []trace.Probe{trace.Liveness, trace.Readiness, trace.Startup} {
		if line := commandOf(r.Probe(p)); curl.MatchString(line) && !curlFails.MatchString(line) {
			kinds = append(kinds, p)
		}
	}
	if len(kinds) > 0 {
		takes := probesOf(kinds, "takes", "take")
		list = append(list, Finding{ID: UnnoticedFailure, Severity: Note, Field: string(kinds[0]) + "Probe.exec",
			Message: fmt.Sprintf("The %s an answer with an HTTP error for a success: curl has no -f.", takes),
			Summary: fmt.Sprintf("its %s an HTTP error for a success", takes), Fix: "add -f to curl", NoRun: true})
	}
	return list
}

func execTimeout(r *result) []Finding {
	var list []Finding
	for _, p := range trace.ProbeTypes {
		probe := r.Probe(p)
		if probe == nil || probe.Exec == nil || probe.TimeoutSeconds > 1 || alwaysSucceeds(probe) {
			continue
		}
		severity, at := Warning, r.warm()
		switch p {
		case trace.Startup:
			at = 0
		case trace.Readiness:
			severity = Note
		}
		list = append(list, Finding{ID: ExecTimeout, Severity: severity,
			Message: fmt.Sprintf("The command of the %s probe has the default timeout of 1s. If it takes longer, on a "+
				"busy node for example, the probe fails.", p),
			Summary: fmt.Sprintf("its %s probe fails if its command takes over 1s", p),
			fixes:   r.longerTimeouts([]trace.Probe{p}, 5),
			Field:   string(p) + "Probe", App: []string{r.app("%s ok in 1.5s at %s", r.asked(p),
				value.Format(at))}})
	}
	return list
}

// A command of a probe, or a line of a shell: a call of curl alone, its options that make it fail
// for an HTTP error, one that does nothing and succeeds, and one that looks for a process.
var (
	curl      = commands(`curl (?:[^|;&$\n]|>&)*(?:\|\| ?exit \d+ *)?`)
	curlFails = regexp.MustCompile(` (?:-\w*f|--fail)`)
	idle      = commands(`(?:true|:|exit 0|echo [^;&|$>]*)`)
	looks     = commands(`(?:pgrep|pidof|ps|kill(?:all)? -0) (?:[^;&]|>&)*`)
)

func commands(words string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:/bin/)?(?:ba|da|a)?sh -[eux]*c )?(?:(?:/usr)?/s?bin/)?` + words + `\s*$`)
}

// commandOf returns the command of a probe as a line, or nothing.
func commandOf(p *v1.Probe) string {
	if p == nil || p.Exec == nil {
		return ""
	}
	return strings.Join(p.Exec.Command, " ")
}

// notices reports whether there is a probe that asks its program.
func notices(p *v1.Probe) bool {
	return p != nil && !alwaysSucceeds(p) && !looks.MatchString(commandOf(p))
}

// alwaysSucceeds reports whether a probe runs a command that does nothing, so it takes no time and
// notices nothing.
func alwaysSucceeds(p *v1.Probe) bool { return idle.MatchString(commandOf(p)) }

// longerTimeouts returns changes that give probes more than the default timeout: as much as wanted,
// but less than the period, or else with a period that is longer.
func (r *result) longerTimeouts(kinds []trace.Probe, want int32) []fix {
	within := func(p trace.Probe) fix {
		probe := r.Probe(p)
		if timeout := min(want, probe.PeriodSeconds-1); timeout > 1 {
			return change(p, "timeoutSeconds", probe.TimeoutSeconds, timeout)
		}
		return change(p, "timeoutSeconds", probe.TimeoutSeconds, 5).
			and(change(p, "periodSeconds", probe.PeriodSeconds, 10))
	}
	x := within(kinds[0])
	for _, p := range kinds[1:] {
		x = x.and(within(p))
	}
	return []fix{x}
}

// answerTimeout finds probes over the network with the default timeout. It is one finding for all
// of a container.
func answerTimeout(r *result) []Finding {
	var kinds []trace.Probe
	for _, p := range []trace.Probe{trace.Liveness, trace.Readiness, trace.Startup} {
		probe := r.Probe(p)
		if probe == nil || probe.HTTPGet == nil && probe.GRPC == nil || probe.TimeoutSeconds > 1 {
			continue
		}
		if p == trace.Liveness && probe.FailureThreshold == 1 { // oneFailure says more
			continue
		}
		kinds = append(kinds, p)
	}
	if len(kinds) == 0 || kinds[0] == trace.Startup { // it has many failures
		return nil
	}
	first := r.Probe(kinds[0])
	verb, object, of := r.afterFailures(), "the container", "it"
	if kinds[0] == trace.Readiness {
		verb, object, of = "take", "the pod out of its Service", "it out of its Service"
	}
	slow := fmt.Sprintf("%d answers in a row that take longer %s %s", first.FailureThreshold, verb, object)
	if first.FailureThreshold == 1 {
		slow = fmt.Sprintf("one answer that takes longer %ss %s", verb, object)
	}
	if len(kinds) > 1 {
		slow = fmt.Sprintf("for the %s probe, %s", kinds[0], slow)
	}
	return []Finding{{ID: AnswerTimeout, Severity: Note, Field: string(kinds[0]) + "Probe",
		Message: fmt.Sprintf("The %s the default timeout of 1s: %s.", probesOf(kinds, "has", "have"), slow),
		Summary: fmt.Sprintf("%s in a row of over 1s can %s %s", printable.Count(int(first.FailureThreshold), "answer"),
			verb, of),
		fixes: r.longerTimeouts(slices.DeleteFunc(slices.Clone(kinds),
			func(p trace.Probe) bool { return p == trace.Startup }), 3),
		App: []string{r.app("%s ok in 1.5s at %s", r.asked(kinds[0]), value.Format(r.warm()))}}}
}

// probesOf names probes as the subject of a sentence, with its verb.
func probesOf(kinds []trace.Probe, one, several string) string {
	names := printable.And(printable.Words(kinds, func(p trace.Probe) string { return string(p) }))
	if len(kinds) == 1 {
		return names + " probe " + one
	}
	return names + " probes " + several
}

// oneFailure finds liveness probes that restart a container because of a single failure.
func oneFailure(r *result) []Finding {
	p := r.Probe(trace.Liveness)
	if p == nil || p.FailureThreshold > 1 {
		return nil
	}
	failure, app := fmt.Sprintf("a single answer of over %ds is enough", p.TimeoutSeconds),
		r.app("%s ok in %s at %s", r.asked(trace.Liveness),
			seconds(time.Duration(p.TimeoutSeconds)*time.Second+500*time.Millisecond), value.Format(r.warm()))
	if p.TCPSocket != nil {
		failure, app = "a single lost connection is enough",
			r.app("down %s at %s", seconds(time.Duration(p.PeriodSeconds+1)*time.Second), value.Format(r.warm()))
	}
	return []Finding{{ID: OneFailure, Severity: Warning,
		Message: fmt.Sprintf("One failure of the liveness probe %ss the container: %s.", r.afterFailures(), failure),
		Summary: fmt.Sprintf("one failure of its liveness probe %ss it: %s", r.afterFailures(), failure),
		fixes:   []fix{change(trace.Liveness, "failureThreshold", 1, 3)},
		Field:   "livenessProbe.failureThreshold", App: []string{app}}}
}

// asked returns the target of an event about what a probe asks: its endpoint if another probe asks
// it too, or else the probe.
func (r *result) asked(p trace.Probe) string {
	for _, e := range program.Endpoints(r.container.spec) {
		text := strings.Join(strings.Fields(e.Text), " ")
		if _, found := program.FindEndpoint(r.container.spec, text); found && len(e.Keys) > 1 &&
			slices.Contains(e.Keys, string(p)) {
			return text
		}
	}
	return string(p)
}

// longTimeout finds probes that run less often while their program hangs: each run lasts until its
// timeout, and the next one follows.
func longTimeout(r *result) []Finding {
	var list []Finding
	for _, p := range trace.ProbeTypes {
		probe := r.Probe(p)
		// the first run that fails stops the container
		if probe == nil || p != trace.Readiness && probe.FailureThreshold == 1 {
			continue
		}
		period, apart := time.Duration(probe.PeriodSeconds)*time.Second, r.RunsApart(p)
		if apart <= period {
			continue
		}
		at, severity := r.warm(), Warning
		if p == trace.Startup { // it only allows more time
			at, severity = 0, Note
		}
		runs := fmt.Sprintf("%s probe runs every %s, not every %s", p, format(apart), format(period))
		list = append(list, Finding{ID: LongTimeout, Severity: severity,
			Message: "timeoutSeconds is not less than periodSeconds: while the program hangs, the " + runs + ".",
			Summary: "while it hangs, its " + runs,
			fixes:   []fix{change(p, "timeoutSeconds", probe.TimeoutSeconds, max(1, probe.PeriodSeconds-1))},
			Field:   string(p) + "Probe.timeoutSeconds", App: []string{r.app("hang 2m at %s", value.Format(at))}})
	}
	return list
}

// readyIsSlow is the time that the settings of a container may make it wait until it becomes ready
// although it is up.
const readyIsSlow = 15 * time.Second

func slowReady(r *result) []Finding {
	if len(r.rows[Ready]) == 0 {
		return nil
	}
	atMost, who := r.UntilReady(true), "A container that is up at once becomes ready only after up to %s. %s"
	start := r.container.start()
	if start != nil {
		atMost = max(r.UntilReady(false), atMost-start.Min)
		who = "A container that takes " + start.String() + " to start becomes ready only up to %s after that. %s"
	}
	waits, longest := r.waitsForReady(atMost)
	if waits < readyIsSlow {
		return nil
	}
	var app []string
	if start != nil {
		app = []string{r.app("start %s", start)}
	}
	return []Finding{{ID: SlowReady, Severity: Note, fixes: longest.fixes, Field: longest.field, App: app,
		Message: fmt.Sprintf(who, FormatUp(atMost), longest.advice),
		Summary: fmt.Sprintf("it waits up to %s to become Ready, although it is up", FormatUp(atMost))}}
}

// wait is a part of the time that a container waits until it is ready once it is up, and what would
// help. The changes keep how long a start may take, and how long the program may be away.
type wait struct {
	time.Duration
	field, advice string
	fixes         []fix
}

// waitsForReady returns how long the settings make a container wait until it is ready once it is
// up, and the greatest part. The container takes some time at most. A period counts only if it is
// known how long a start takes: most programs are up before the first tick.
func (r *result) waitsForReady(atMost time.Duration) (waits time.Duration, longest wait) {
	var delay, successes, periods, start time.Duration
	known := r.container.start()
	if known != nil {
		start = known.Min
	}
	consider := func(d time.Duration, field, advice string, fixes ...fix) {
		if d > longest.Duration {
			longest = wait{d, field, advice, fixes}
		}
	}
	seconds := func(s int32) time.Duration { return time.Duration(s) * time.Second }
	if p := r.Probe(trace.Startup); p != nil {
		delay, periods = max(0, seconds(p.InitialDelaySeconds)-start), seconds(p.PeriodSeconds)
		consider(delay, "startupProbe.initialDelaySeconds",
			"Without its delay, the startup probe would find it sooner; its failureThreshold can allow for long "+
				"starts.",
			change(trace.Startup, "initialDelaySeconds", p.InitialDelaySeconds, 0).
				and(change(trace.Startup, "failureThreshold", p.FailureThreshold,
					p.FailureThreshold+periodsFor(seconds(p.InitialDelaySeconds), periods))))
	}
	if p := r.Probe(trace.Readiness); p != nil {
		own, period := max(0, seconds(p.InitialDelaySeconds)-start), seconds(p.PeriodSeconds)
		consider(own, "readinessProbe.initialDelaySeconds",
			"Without its delay, the readiness probe would find it sooner; its failures during a start do no harm.",
			change(trace.Readiness, "initialDelaySeconds", p.InitialDelaySeconds, 0))
		delay, periods, successes = max(delay, own), periods+period, time.Duration(p.SuccessThreshold-1)*period
		consider(successes, "readinessProbe.successThreshold",
			fmt.Sprintf("The readiness probe needs %d successes, %ds apart.", p.SuccessThreshold, p.PeriodSeconds),
			change(trace.Readiness, "successThreshold", p.SuccessThreshold, 1))
		if known != nil && p.PeriodSeconds > 10 {
			consider(periods, "readinessProbe.periodSeconds",
				fmt.Sprintf("The readiness probe runs every %ds: a program that is up waits for its next run.",
					p.PeriodSeconds),
				change(trace.Readiness, "periodSeconds", p.PeriodSeconds, 10).
					and(change(trace.Readiness, "failureThreshold", p.FailureThreshold,
						1+((p.FailureThreshold-1)*p.PeriodSeconds+9)/10)))
			waits, periods = periods, 0
		}
	}
	waits += delay + successes
	hook := func(c v1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PostStart != nil }
	if slices.ContainsFunc(r.Container.Pod().Spec.Containers, hook) {
		at := ""
		if hook(*r.container.spec) {
			at = "lifecycle.postStart"
		}
		hooks := atMost - waits - periods
		waits += max(0, hooks)
		consider(hooks, at, "The kubelet probes no container of the pod until all postStart hooks have ended.")
	}
	return waits, longest
}

// hookIsLong is the time from which a preStop hook is a reason for a short grace period.
const hookIsLong = time.Second

func shortGrace(r *result) []Finding {
	if stop := r.container.stop(); stop != nil {
		return killedInStop(r, stop)
	}
	hook := r.container.spec.Lifecycle
	stopped, left := time.Duration(r.deleted.SIGTERM), time.Duration(r.deleted.SIGKILL-r.deleted.SIGTERM)
	if hook == nil || hook.PreStop == nil || left >= workloads.ShortGrace || stopped < hookIsLong {
		return nil
	}
	message := fmt.Sprintf("%s of the grace period: the program has only %s between SIGTERM and SIGKILL.",
		r.untilSIGTERM(), FormatDown(left))
	if grace := time.Duration(*r.simulation.Pod.Spec.TerminationGracePeriodSeconds) * time.Second; stopped >= grace {
		message = fmt.Sprintf("The preStop hook uses the whole grace period of %s: the program has only the %s "+
			"between SIGTERM and SIGKILL that the kubelet always leaves.", format(grace), FormatDown(left))
	}
	return []Finding{{ID: ShortGrace, Severity: Warning, Message: message,
		Summary: fmt.Sprintf("its preStop hook leaves it %s of its grace period", FormatDown(left)),
		fixes:   r.raiseGrace(stopped + 30*time.Second),
		Field:   "lifecycle.preStop", App: r.appDeleted(left + time.Second)}}
}

// untilSIGTERM says what takes a part of the grace period before the stop signal. A restartable
// init container also waits for the exit of the others.
func (r *result) untilSIGTERM() string {
	took := format(time.Duration(r.deleted.SIGTERM).Round(tenth))
	if len(r.stops) > 0 && r.container.workload.terms.sidecars[r.container.spec.Name] == workloads.Restartable {
		return fmt.Sprintf("The preStop hook and the exit of the other containers take %s", took)
	}
	return fmt.Sprintf("The preStop hook takes %s", took)
}

// StopMargin is how much earlier than SIGKILL a program must exit: the kubelet counts the time of a
// preStop hook in whole seconds (killContainer in pkg/kubelet/kuberuntime at v1.37.0).
const StopMargin = time.Second

// killedInStop compares the known time from SIGTERM to the exit with the time until SIGKILL.
func killedInStop(r *result, stop *value.Interval) []Finding {
	left := time.Duration(r.deleted.SIGKILL - r.deleted.SIGTERM)
	if stop.Max+StopMargin <= left {
		return nil
	}
	severity, kills := Error, "and gets SIGKILL after "+FormatDown(left)
	if stop.Max <= left {
		severity, kills = Warning, "and SIGKILL comes after "+FormatDown(left)+": timing decides which is first"
	}
	field, because := "", ""
	if hook := r.container.spec.Lifecycle; hook != nil && hook.PreStop != nil {
		field, because = "lifecycle.preStop", fmt.Sprintf(" %s of the grace period.", r.untilSIGTERM())
		if strings.Contains(r.deleted.Condition, "preStop") {
			because = " The preStop hook also takes a part of the grace period, and nobody knows how long."
		}
	}
	return []Finding{{ID: ShortGrace, Severity: severity, Field: field,
		Message: fmt.Sprintf("The program takes %s to exit after SIGTERM, %s.%s", stop, kills, because),
		Summary: fmt.Sprintf("SIGKILL comes %s after SIGTERM, and it takes up to %s to exit", FormatDown(left),
			seconds(stop.Max)),
		fixes: r.raiseGrace(time.Duration(r.deleted.SIGTERM) + withMargin(stop.Max, StopMargin)),
		App:   r.appDeleted(stop.Max)}}
}

// kubeletRestart finds healthy containers that a restart of the kubelet makes not ready: a kubelet
// with ChangeContainerStatusOnKubeletRestart forgets the results of their probes.
func kubeletRestart(r *result) []Finding {
	readiness := r.Probe(trace.Readiness)
	outage := r.UnreadyAtKubeletRestart()
	if outage < time.Second { // too short to matter
		return nil
	}
	needs := ""
	if readiness.SuccessThreshold > 1 {
		needs = fmt.Sprintf(", and the readiness probe needs %d successes again", readiness.SuccessThreshold)
	}
	return []Finding{{ID: KubeletRestart, Severity: Note,
		Message: fmt.Sprintf("A restart of the kubelet makes the healthy container not ready, for up to %s: the "+
			"kubelet of %s forgets the results of its probes%s.", FormatUp(outage), r.profile.Version, needs),
		Summary: fmt.Sprintf("a restart of the kubelet makes it not Ready for up to %s", FormatUp(outage)),
		Fix:     "take Kubernetes v1.35 or later", Field: "readinessProbe",
		App: []string{"kubelet down 3s at " + value.Format(r.warm())}}}
}

// afterFailures says what the kubelet does with the container if its liveness probe fails.
func (r *result) afterFailures() string {
	if podutil.RestartPolicyOf(&r.simulation.Pod.Spec, r.container.spec) == v1.RestartPolicyNever {
		return "kill"
	}
	return "restart"
}

// sayWhatFollows adds to the findings about a container that is killed that it does not start
// again, if so: a restart rule can start it again, since the kill gives it an exit code.
func (r *result) sayWhatFollows() {
	if r.afterFailures() == "restart" || len(podutil.RestartPolicyRules(r.container.spec)) > 0 {
		return
	}
	text := " The kubelet does not start a killed container again (restartPolicy Never): the pod fails"
	if len(r.simulation.Pod.Spec.Containers) > 1 {
		text += " once its other containers have ended"
	}
	if kind := r.container.workload.Kind; kind == "Job" || kind == "CronJob" {
		text += ", and its Job can make another one, up to backoffLimit"
	}
	for i := range r.findings {
		f := &r.findings[i]
		kills := []FindingID{StartKilled, NoStartupProbe, OneFailure, NoTimeToRecover}
		if slices.Contains(kills, f.ID) || f.ID == AnswerTimeout && r.Probe(trace.Liveness) != nil {
			f.Message += text + "."
		}
	}
}

// killer is the probe that stops a container which does not come up.
func (r *result) killer() trace.Probe {
	if r.Probe(trace.Startup) != nil {
		return trace.Startup
	}
	return trace.Liveness
}

// sameEndpoint reports whether two probes ask the program the same. The port of one can be a name,
// and that of the other its number.
func (r *result) sameEndpoint(a, b trace.Probe) bool {
	return slices.ContainsFunc(program.Endpoints(r.container.spec), func(e program.Endpoint) bool {
		return slices.Contains(e.Keys, string(a)) && slices.Contains(e.Keys, string(b))
	})
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Percent formats a share for people. It is 0% or 100% only if nothing or everything is meant.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.01:
		return "under 1%"
	case share < 1 && share > 0.99:
		return "over 99%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// seconds formats a duration for a flag, rounded up to a tenth of a second.
func seconds(d time.Duration) string {
	return value.Format((d + tenth - 1).Truncate(tenth))
}
