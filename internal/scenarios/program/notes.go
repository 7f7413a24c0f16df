package program

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// noteDifferences adds a note for each endpoint whose probes get different answers: a program
// cannot tell which probe asks.
func (b *behavior) noteDifferences(rules []fakeruntime.Rule, n *strict.Node) {
	probes := podutil.Probes(b.Container)
	for i, p := range probes {
		for _, q := range probes[:i] {
			if !asksTheSame(&p.ProbeHandler, &q.ProbeHandler, b.Container) {
				continue
			}
			own := slices.Clone(rules)
			for i := range own {
				if isSlowStart(&own[i], HandlerOf(&p.ProbeHandler)) {
					own[i].Startup = nil
				}
			}
			if at := firstDifference(own, p.Key, q.Key); at >= 0 {
				b.notes = append(b.notes, fmt.Sprintf(
					"%s: the %s and %s probes of %s both ask %s, and from this rule on they get different answers; "+
						"to answer both, use endpoints",
					n.Index(at).Pos, q.Key, p.Key, b.Spec.Name, podutil.Endpoint(&q.ProbeHandler)))
				break
			}
		}
	}
}

// asksTheSame reports whether a program gets the same request from two handlers of a container.
func asksTheSame(a, b *v1.ProbeHandler, c *v1.Container) bool {
	all := newEndpoints(c)
	if HandlerOf(a) == nil || HandlerOf(b) == nil || all.id(podutil.Endpoint(a)) != all.id(podutil.Endpoint(b)) {
		return false
	}
	return a.HTTPGet == nil || a.HTTPGet.Host == b.HTTPGet.Host && reflect.DeepEqual(a.HTTPGet.HTTPHeaders,
		b.HTTPGet.HTTPHeaders)
}

// isSlowStart reports whether a rule only makes the startup probe fail in the first time of each
// instance. In this time no other probe runs, so the rule need not answer the others.
func isSlowStart(r *fakeruntime.Rule, h *handler) bool {
	return r.Startup != nil && r.Liveness == nil && r.Readiness == nil && r.Clock == fakeruntime.AfterStart &&
		r.From.Max == 0 &&
		r.Every == nil && r.Chance == nil && !slices.ContainsFunc(r.Startup.Items,
		func(i fakeruntime.Item) bool { return i.Answer.Word == fakeruntime.Answers && h.succeeds(&i.Answer) })
}

// firstDifference returns the index of the first rule from which on two probes get different
// answers, or -1.
func firstDifference(rules []fakeruntime.Rule, p, q string) int {
	of := func(key string) (own []fakeruntime.Rule, indexes []int) {
		for i, r := range rules {
			if series := *answersOf(&r)[key]; series != nil {
				r.Liveness, r.Readiness, r.Startup, r.PostStart, r.PreStop = nil, nil, nil, nil, nil
				if r.Until != nil {
					r.Until = new(int) // each until has a number of its own
				}
				r.Probes, r.Moment, r.Listens = series, 0, nil
				own, indexes = append(own, r), append(indexes, i)
			}
		}
		return own, append(indexes, len(rules))
	}
	ps, pi := of(p)
	qs, qi := of(q)
	for k := range max(len(ps), len(qs)) {
		if k >= len(ps) || k >= len(qs) || !reflect.DeepEqual(ps[k], qs[k]) {
			return min(pi[min(k, len(pi)-1)], qi[min(k, len(qi)-1)])
		}
	}
	return -1
}

// answersOf returns the answers of a rule by the names of probes and hooks.
func answersOf(r *fakeruntime.Rule) map[string]**fakeruntime.Series {
	return map[string]**fakeruntime.Series{"liveness": &r.Liveness, "readiness": &r.Readiness, "startup": &r.Startup,
		"postStart": &r.PostStart, "preStop": &r.PreStop, "probes": &r.Probes}
}

// UnknownPort is the name of a port that a container does not have. Requests to the port are never
// sent: each run of a probe ends with an error, which the kubelet ignores, and a hook fails.
type UnknownPort struct {
	Name  string
	Keys  []string // of the probes and hooks that ask the port, in rules
	Known []string // names of the ports that the container has

	Path string // of the first of them in the container
}

// UnknownPorts returns the unknown ports that the probes and hooks of a container ask.
func UnknownPorts(c *v1.Container) []UnknownPort {
	known := printable.Words(c.Ports, func(p v1.ContainerPort) string { return p.Name })
	var list []UnknownPort
	for _, r := range podutil.Requests(c) {
		h := podutil.HandlerOf(r.ProbeHandler)
		if h.Port == nil || h.Port.Type != intstr.String || slices.Contains(known, h.Port.StrVal) {
			continue
		}
		i := slices.IndexFunc(list, func(p UnknownPort) bool { return p.Name == h.Port.StrVal })
		if i < 0 {
			i = len(list)
			list = append(list, UnknownPort{Name: h.Port.StrVal, Known: known, Path: r.Field + "." + h.Field + ".port"})
		}
		list[i].Keys = append(list[i].Keys, r.Key)
	}
	return list
}

// PreventsReady reports whether the container never becomes Ready because of the port.
func (p *UnknownPort) PreventsReady() bool {
	return slices.Contains(p.Keys, "startup") || slices.Contains(p.Keys, "readiness")
}

// Note returns the note about the port, without its position.
func (p *UnknownPort) Note(c *v1.Container) string {
	ask := "asks"
	if len(p.Keys) > 1 {
		ask = "ask"
	}
	text := fmt.Sprintf("%s of %s %s a port named %s, which the container does not have%s: each request ends with an "+
		"error",
		printable.And(p.Keys), c.Name, ask, strict.Quote(p.Name), strict.DidYouMean(p.Name, p.Known))
	switch {
	case p.PreventsReady():
		text += ", and the container never becomes Ready"
	case slices.Contains(p.Keys, "liveness"):
		text += ", which never restarts the container"
	}
	if slices.Contains(p.Keys, "postStart") {
		text += "; the kubelet stops the container after each start"
	}
	return text
}

// HookNotes returns a note for each hook of a container whose command takes an unknown time, unless
// a rule says how it ends.
func HookNotes(c *v1.Container, rules []fakeruntime.Rule) []string {
	var notes []string
	for _, r := range podutil.Requests(c) {
		if !r.IsHook || r.Exec == nil || Listens(rules, r) {
			continue
		}
		if slept, isAll := SleepOf(r.Exec.Command); !isAll {
			assumed := "no time"
			if slept > 0 {
				assumed = value.Format(slept) + ", the time for which it sleeps"
			}
			notes = append(notes, fmt.Sprintf("the %s hook of %s runs a command for an unknown time; probesim "+
				"assumes %s. Set it with a rule such as {%s: 0 in 5s}", r.Key, c.Name, assumed, r.Key))
		}
	}
	return notes
}

// HiddenBy returns the index of a later rule that answers whenever a rule could, so that the rule
// never applies. It is -1 if there is none. Of several rules that apply, the last one wins.
func HiddenBy(rules []fakeruntime.Rule, i int) int {
	later := slices.IndexFunc(rules[i+1:], func(r fakeruntime.Rule) bool {
		return answersAll(&r, &rules[i]) && covers(r.Replica, rules[i].Replica) &&
			covers(r.Instance, rules[i].Instance) && isOpenWhile(&r, &rules[i])
	})
	if later < 0 {
		return -1
	}
	return i + 1 + later
}

// answersAll reports whether a rule answers each request that another one answers. Exits and
// listeners have rules of their own.
func answersAll(later, r *fakeruntime.Rule) bool {
	if r.Exit != nil || r.Refuse || later.Chance != nil || r.Listens != nil && later.Listens == nil {
		return false
	}
	own, theirs, answers := answersOf(r), answersOf(later), false
	for _, key := range slices.Concat(format.ProbeKeys, podutil.HookKeys, []string{"probes"}) {
		if *own[key] != nil && *theirs[key] == nil {
			return false
		}
		answers = answers || *own[key] != nil
	}
	return answers
}

// covers reports whether a range contains all integers of another one.
func covers(all, part fakeruntime.Range) bool {
	return !all.Set || part.Set && all.Min <= part.Min && part.Max <= all.Max
}

// isOpenWhile reports whether the window of a rule is open whenever that of another one is.
func isOpenWhile(later, r *fakeruntime.Rule) bool {
	sameClock := later.Clock == r.Clock && later.Moment == r.Moment
	fromBegin := later.From.Max == 0 && (later.Clock == fakeruntime.AfterStart || later.Clock == fakeruntime.AtScenario)
	opens := fromBegin && later.For == nil || sameClock && later.From.Max <= r.From.Min
	closes := later.For != nil && (r.For == nil || r.Every != nil ||
		later.From.Min+later.For.Min < r.From.Max+r.For.Max)
	return opens && !closes && later.Until == nil && later.Every == nil
}

// IsNode reports whether a host is the node itself for the kubelet, which makes the request:
// localhost, or a loopback address.
func IsNode(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

// Listens reports whether a rule has an answer to a probe other than a refusal, or any answer to a
// hook.
func Listens(rules []fakeruntime.Rule, asks podutil.Request) bool {
	return slices.ContainsFunc(rules, func(r fakeruntime.Rule) bool {
		series := *answersOf(&r)[asks.Key]
		return series != nil && (asks.IsHook || slices.ContainsFunc(series.Items,
			func(i fakeruntime.Item) bool { return i.Answer.Word != fakeruntime.Refuses }))
	})
}
