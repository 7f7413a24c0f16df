package program

import (
	"cmp"
	"slices"
	"strings"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// compileRule checks and compiles a rule.
func (b *behavior) compileRule(r *format.Rule, n *strict.Node) fakeruntime.Rule {
	r.Text = n.Text()
	b.checkReplica(r, n)
	b.checkHolds(r, n)
	checkWindow(r, n)
	b.checkEffect(r, n)
	rule := fakeruntime.Rule{
		Replica: intRange(r.Replica), Instance: intRange(r.Instance),
		From: fakeruntime.Draw(*cmp.Or(r.At, r.AfterSigterm, r.After, &value.Draw{})),
		For:  (*fakeruntime.Draw)(r.For), Every: (*fakeruntime.Draw)(r.Every), Chance: (*float64)(r.Chance),
		Exit: (*fakeruntime.Exit)(r.Exit), Refuse: r.Refuse,
	}
	switch {
	case r.At != nil:
		rule.Clock = fakeruntime.AtScenario
	case r.Holds != "":
		rule.Clock, rule.Moment = fakeruntime.AtMoment, b.Lease(r.Holds)
	case r.Since != nil:
		rule.Clock, rule.Moment = fakeruntime.AtMoment, b.Moment(Moment{r.Since, false}, n.Field("since"))
	case r.AfterSigterm != nil:
		rule.Clock = fakeruntime.AfterSigterm
	}
	if r.Until != nil {
		rule.Until = new(b.Moment(Moment{r.Until, true}, n.Field("until")))
	}
	if r.Handler != nil {
		b.compileHandler(&rule, r.Handler)
		return rule
	}
	b.compileProbes(&rule, r, n, b.compileEndpoints(r, n))
	return rule
}

func intRange(r *value.IntRange) fakeruntime.Range {
	if r == nil {
		return fakeruntime.Range{}
	}
	return fakeruntime.Range{Min: r.Min, Max: r.Max, Set: true}
}

// checkReplica reports a rule for a replica that does not exist.
func (b *behavior) checkReplica(r *format.Rule, n *strict.Node) {
	last := b.Replicas - 1
	n.Field("replica").ErrorIf(b.Replicas > 0 && r.Replica != nil && r.Replica.Min > last,
		"there is no replica %s: the last one is %d", r.Replica, last)
}

// checkHolds reports a rule that waits for a lease that the container does not take.
func (b *behavior) checkHolds(r *format.Rule, n *strict.Node) {
	switch field, lease := n.Field("holds"), b.Spec.Lease; {
	case !field.Written():
	case lease == nil:
		field.Errorf("needs a lease: write lease: {name: %s} beside behavior", r.Holds)
	case r.Holds != lease.Name:
		field.Errorf("the container has no lease %s: its lease is %s", strict.Quote(r.Holds), lease.Name)
	}
}

// checkWindow reports a window that cannot exist.
func checkWindow(r *format.Rule, n *strict.Node) {
	clocks, since, holds := n.WrittenOf("after", "at", "afterSigterm"), n.Field("since"), n.Field("holds")
	others := n.WrittenOf("at", "afterSigterm")
	since.ErrorIf(since.Written() && len(others) > 0,
		"cannot be used with %s: a window that counts from a moment opens after it", strings.Join(others, " and "))
	n.ErrorIf(!since.Written() && len(clocks) > 1, "has two clocks, %s: use only one", strings.Join(clocks, " and "))
	holds.ErrorIf(holds.Written() && (len(others) > 0 || r.Since != nil),
		"cannot be used with at, since or afterSigterm: the window opens when the program has taken the lease")
	n.Field("for").ErrorIf(r.For != nil && r.For.Min == 0, "must be longer than 0s, not %s", r.For)
	switch {
	case r.Every == nil:
	case r.For == nil:
		n.Field("every").Errorf("needs for: the time that each window stays open")
	case r.For.Max >= r.Every.Min:
		n.Field("every").Errorf("windows would overlap: every %s must be longer than for %s", r.Every, r.For)
	}
}

// checkEffect reports rules without an effect, and answers to probes and hooks that do not exist.
func (b *behavior) checkEffect(r *format.Rule, n *strict.Node) {
	b.checkHooks(n)
	b.checkProbes(r, n)
	answers := len(n.WrittenOf(slices.Concat(format.ProbeKeys, podutil.HookKeys, []string{"probes", "endpoints"})...))
	n.Field("endpoints").ErrorIf(n.Field("endpoints").Written() && len(n.Field("endpoints").Keys) == 0,
		"is empty: write an endpoint and its answer, such as http:8080/healthz: fail")
	handler := n.Field("handler")
	switch refuse := n.Field("refuse"); {
	case refuse.Written():
		checkRefuse(r, refuse, answers)
	case r.Handler != nil && (answers > 0 || n.Field("exit").Written()):
		handler.Errorf("a rule has either a handler or answers and exit")
	case fakeruntime.IsNilFunc(r.Handler):
		handler.Errorf("is a nil %T", r.Handler)
	case r.Handler != nil:
		handler.ErrorIf(!slices.Contains(handlersOf(b.Container), httpHandler),
			"the container %s has no httpGet probe or hook", b.Spec.Name)
	case r.Exit != nil:
		checkExit(r, n.Field("exit"), answers)
	case answers == 0 && !n.WrittenBeside(conditionFields...): // an unknown field is reported elsewhere
		n.Errorf("does nothing: write an answer, such as probes: fail, or exit")
	}
}

// checkProbes reports answers to probes that do not exist.
func (b *behavior) checkProbes(r *format.Rule, n *strict.Node) {
	fields := printable.Words(podutil.Probes(b.Container), func(p podutil.Probe) string { return p.Field })
	for _, key := range format.ProbeKeys {
		n.Field(key).ErrorIf(n.Field(key).Written() && podutil.ProbeOf(b.Container, key) == nil,
			"the container %s has no %sProbe%s", b.Spec.Name, key, strict.ThereAre(fields))
	}
	answersOthers := slices.Contains(b.Agents.Answer, b.Spec.Name)
	closes := b.Listens && r.Probes != nil && isDown(r.Probes)
	n.Field("probes").ErrorIf(n.Field("probes").Written() && len(fields) == 0 && !answersOthers && !closes,
		"the container %s has no probes", b.Spec.Name)
}

// checkExit reports an exit with conditions or answers that it cannot have.
func checkExit(r *format.Rule, exit *strict.Node, answers int) {
	switch {
	case answers > 0:
		exit.Errorf("a rule either answers or exits")
	case r.Chance != nil:
		exit.Errorf("cannot be used with chance: a chance is of requests")
	case r.AfterSigterm != nil && (r.For != nil || r.Every != nil || r.Until != nil):
		exit.Errorf("cannot be used with afterSigterm and for, every or until: a program exits once after the stop " +
			"signal")
	case r.At == nil && r.Since == nil && (r.For != nil || r.Every != nil):
		exit.Errorf("cannot be used with for or every, except with at or since: each instance exits once, when the " +
			"window opens")
	case r.Exit.Never && r.AfterSigterm == nil:
		exit.Errorf("never needs afterSigterm: without it, a program already runs until it is stopped")
	}
}

// checkRefuse reports a rule about the listener that says something else, too.
func checkRefuse(r *format.Rule, refuse *strict.Node, answers int) {
	switch {
	case !r.Refuse:
		refuse.Errorf("must be true, or left out")
	case r.AfterSigterm == nil:
		refuse.Errorf("needs afterSigterm: a program closes its listener after the stop signal")
	case answers > 0 || r.Exit != nil || r.Handler != nil:
		refuse.Errorf("cannot be used with answers or exit: write a rule for each")
	case r.For != nil || r.Every != nil || r.Until != nil || r.Chance != nil:
		refuse.Errorf("cannot be used with for, every, until or chance: the listener stays closed")
	}
}

// checkHooks reports answers to hooks that do not exist or send no request.
func (b *behavior) checkHooks(n *strict.Node) {
	for _, key := range podutil.HookKeys {
		switch field, hook := n.Field(key), podutil.Hook(b.Container, key); {
		case !field.Written():
		case hook == nil:
			field.Errorf("the container %s has no %s hook", b.Spec.Name, key)
		case hook.TCPSocket != nil:
			field.Errorf("the %s hook of %s is a tcpSocket, which the kubelet does not run: the program gets no "+
				"request", key, b.Spec.Name)
		case hook.Sleep != nil:
			field.Errorf("the %s hook of %s sleeps: the program gets no request", key, b.Spec.Name)
		}
	}
}

// conditionFields are the fields of a rule that have no effect by themselves.
var conditionFields = []string{"replica", "instance", "after", "at", "since", "holds", "afterSigterm", "for", "every",
	"until", "chance"}
