package scenarios

import (
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
)

// Notes returns what a user of the run has to know besides its trace: the fields of the manifests that the API server drops
// without an error, because their feature gates are off in the version of the run, and rules that hardly any program follows.
func (p *Plan) Notes() []string {
	known, ok := p.Profile()
	if !ok {
		return nil
	}
	var notes []string
	for _, w := range p.Scenario.workloads {
		m, dropped := w.manifest, admission.DropDisabled(known, w.pod.Spec.DeepCopy())
		notes = append(notes, admission.Notes(known, m.kind.kind+" "+m.name, m.kind.template, dropped)...)
		notes = append(notes, w.notes...)
	}
	return notes
}

// noteDifferences adds a note for each endpoint whose probes get different answers: a program cannot tell which probe asks.
func (b *behavior) noteDifferences(rules []fakeruntime.Rule, n *strict.Node) {
	probes := probesOf(b.container)
	for i, p := range probes {
		for _, q := range probes[:i] {
			if !asksTheSame(&p.probe.ProbeHandler, &q.probe.ProbeHandler, b.container) {
				continue
			}
			if at := firstDifference(rules, p.key, q.key); at >= 0 {
				b.workload.notes = append(b.workload.notes, fmt.Sprintf(
					"%s: the %s and %s probes of %s both ask %s, and from this rule on they get different answers; to answer both, use endpoints",
					n.Index(at).Pos, q.key, p.key, b.spec.Name, endpointText(&q.probe.ProbeHandler)))
				break
			}
		}
	}
}

// asksTheSame reports whether a program gets the same request from two handlers of a container.
func asksTheSame(a, b *v1.ProbeHandler, c *v1.Container) bool {
	all := newEndpoints(c)
	if handlerOf(&v1.Probe{ProbeHandler: *a}) == nil || handlerOf(&v1.Probe{ProbeHandler: *b}) == nil || all.id(endpointText(a)) != all.id(endpointText(b)) {
		return false
	}
	return a.HTTPGet == nil || a.HTTPGet.Host == b.HTTPGet.Host && reflect.DeepEqual(a.HTTPGet.HTTPHeaders, b.HTTPGet.HTTPHeaders)
}

// firstDifference returns the index of the first rule from which on two probes get different answers, or -1.
func firstDifference(rules []fakeruntime.Rule, p, q string) int {
	of := func(key string) (own []fakeruntime.Rule, indexes []int) {
		for i, r := range rules {
			if series := seriesOf(&r, key); series != nil {
				own = append(own, fakeruntime.Rule{Replica: r.Replica, Instance: r.Instance, Clock: r.Clock, From: r.From, For: r.For, Every: r.Every, Chance: r.Chance, Probes: series})
				indexes = append(indexes, i)
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

func seriesOf(r *fakeruntime.Rule, key string) *fakeruntime.Series {
	switch key {
	case "liveness":
		return r.Liveness
	case "readiness":
		return r.Readiness
	}
	return r.Startup
}
