package program

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace/match"
)

// behavior compiles the program in a container.
type behavior struct {
	Script
	names     []*namedAnswer
	unread    bool // some named answers could not be read
	endpoints *endpoints
	notes     []string
	answered  map[string]fakeruntime.Agent // by the keys of probes and hooks
	rule      int                          // number of the rule that is compiled
}

// Script is what a scenario says about the program in a container.
type Script struct {
	Spec      *format.Container
	Container *v1.Container                  // whose probes and hooks the program answers
	Replicas  int                            // number of pods of the workload; 0: unknown
	Agents    Agents                         // which containers answer for others
	Moment    func(Moment, *strict.Node) int // numbers the moments that rules wait for
	Lease     func(name string) int          // numbers the leases
	Listens   bool                           // the program has a listener for requests, which probes: down closes
}

// Down is the rule of a program that is not up yet: nothing listens for a time, or forever. All
// probes fail, and a request of the postStart hook, too.
func Down(c *v1.Container, takes *value.Draw) format.Rule {
	down := value.Answer{Word: value.Down}
	r := format.Rule{For: takes, Probes: value.One(down)}
	if h := podutil.Hook(c, "postStart"); h != nil && h.HTTPGet != nil {
		r.PostStart = &down
	}
	return r
}

// Agents are the containers of a pod that can answer for other containers.
type Agents struct {
	Refuse func(name string) string // why a container cannot answer for others; empty: it can
	Answer []string                 // those that a scenario names
}

// Moment is a moment that a rule waits for. Each reports whether all its matches count, and not
// only the first.
type Moment struct {
	*match.Moment
	Each bool
}

// Compile checks and compiles a script, whose node is n. The notes say what a reader of the runs
// has to know about the program.
func (s Script) Compile(n *strict.Node) (config fakeruntime.ContainerConfig, notes []string) {
	b := &behavior{Script: s}
	return b.compile(n), b.notes
}

func (b *behavior) compile(n *strict.Node) fakeruntime.ContainerConfig {
	config := fakeruntime.ContainerConfig{Delays: b.Spec.Delays.Compile()}
	rules := n.Field("behavior")
	if !format.Fits(rules) || !format.Fits(n.Field("answers")) {
		return config
	}
	b.compileAnswers(n.Field("answers"))
	for i := range b.Spec.Behavior {
		b.rule = i + 1
		config.Program.Rules = append(config.Program.Rules, b.compileRule(&b.Spec.Behavior[i], rules.Index(i)))
	}
	config.Program.AnsweredBy = b.answered
	b.noteDifferences(config.Program.Rules, rules)
	return config
}

// compileHandler makes a handler answer each httpGet probe and hook of the container.
func (b *behavior) compileHandler(rule *fakeruntime.Rule, h http.Handler) {
	answers := answersOf(rule)
	for _, asks := range podutil.Requests(b.Container) {
		if HandlerOf(asks.ProbeHandler) == httpHandler {
			answer := httpHandler.words[value.OK]
			answer.Handler = h
			*answers[asks.Key] = &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: answer, Count: 1}}}
		}
	}
}

// compileSeries compiles the answers to the requests of a handler, or returns nil without answers.
// If n is a list, its items are in the same order.
func (b *behavior) compileSeries(h *handler, s *value.Series, r *format.Rule, n *strict.Node) *fakeruntime.Series {
	if s == nil {
		return nil
	}
	series := &fakeruntime.Series{Repeat: s.Repeat}
	for i, item := range s.Items {
		at := n
		if n.Kind == strict.Sequence {
			at = n.Index(i)
		}
		answer, ok := b.answer(h, item.Answer, at)
		switch {
		case !ok || item.Answer.Word != value.Stall:
		case r.Until != nil:
			at.Errorf("stall cannot be used with until: the time at which the window closes must be known")
		case r.For == nil:
			at.Errorf("stall needs for: the answer comes when the window closes")
		}
		series.Items = append(series.Items, fakeruntime.Item{Answer: answer, Count: item.Count})
	}
	return series
}

// compileEndpoints compiles the answers at endpoints, and returns them by the keys of the probes
// and hooks that ask there.
func (b *behavior) compileEndpoints(r *format.Rule, n *strict.Node) map[string]*fakeruntime.Series {
	list := n.Field("endpoints")
	if len(list.Keys) == 0 || !format.Fits(list) {
		return nil
	}
	if b.endpoints == nil {
		b.endpoints = newEndpoints(b.Container)
	}
	written := map[*Endpoint]string{}
	answers := map[string]*fakeruntime.Series{}
	for i, key := range list.Keys {
		e := b.endpoints.find(key.Name)
		if e == nil {
			list.KeyErrorf(i, "%s", b.endpoints.unknown(key.Name, b.Spec.Name))
			continue
		}
		if same, twice := written[e]; twice {
			list.KeyErrorf(i, "is the same endpoint as %s: keep one of the two", shown(same))
			continue
		}
		written[e] = key.Name
		if !list.Items[i].Written() {
			list.KeyErrorf(i, "has no answer: write one, such as fail")
		}
		if list.Items[i].Kind == strict.Mapping {
			b.compileAgent(e, r, n, i)
			continue
		}
		series := b.compileSeries(e.handler, r.Endpoints[key.Name].Answers(), r, list.Items[i])
		for _, asks := range e.Keys {
			if n.Field(asks).Written() {
				list.KeyErrorf(i, "the answer to %s is already in this rule: keep one of the two", asks)
			}
			answers[asks] = series
		}
	}
	return answers
}

// compileProbes compiles the answers to each probe and hook: those under its own key or at its
// endpoint, otherwise, for a probe, those under probes. Different handlers compile the same answers
// differently.
func (b *behavior) compileProbes(rule *fakeruntime.Rule, r *format.Rule, n *strict.Node,
	at map[string]*fakeruntime.Series) {
	shared := map[*handler]*fakeruntime.Series{}
	own, answers := r.Answers(), answersOf(rule)
	for _, asks := range podutil.Requests(b.Container) {
		h := HandlerOf(asks.ProbeHandler)
		if asks.IsHook && n.Field(asks.Key).Bad() {
			continue
		}
		if shared[h] == nil && !asks.IsHook {
			shared[h] = b.compileSeries(h, r.Probes, r, n.Field("probes"))
		}
		series := cmp.Or(b.compileSeries(h, own[asks.Key], r, n.Field(asks.Key)), at[asks.Key])
		if series == nil && !asks.IsHook {
			series = shared[h]
		}
		*answers[asks.Key] = series
	}
	if b.Listens && r.Probes != nil && r.Chance == nil {
		rule.Listens = new(!isDown(r.Probes))
	}
	if slices.Contains(b.Agents.Answer, b.Spec.Name) {
		rule.Probes = cmp.Or(shared[httpHandler], b.compileSeries(httpHandler, r.Probes, r, n.Field("probes")))
	}
}

// isDown reports whether nothing listens, whatever asks.
func isDown(s *value.Series) bool {
	return len(s.Items) > 0 && !slices.ContainsFunc(s.Items,
		func(i value.Item) bool { return i.Answer.Word != value.Down })
}

// compileAgent makes another container answer at an endpoint, for the whole run.
func (b *behavior) compileAgent(e *Endpoint, r *format.Rule, n *strict.Node, i int) {
	list := n.Field("endpoints")
	name := list.Items[i].Field("answeredBy")
	switch by := r.Endpoints[list.Keys[i].Name]; {
	case by == nil || by.AnsweredBy == "" || name.Bad():
		return
	case !strings.HasPrefix(e.Text, "http:"):
		list.KeyErrorf(i, "cannot have answeredBy: another container can answer only at an endpoint http:PORT/PATH")
	case n.WrittenBeside("endpoints"):
		name.Errorf("holds for all instances and the whole run: write it in a rule that has only endpoints")
	default:
		if refused := b.Agents.Refuse(by.AnsweredBy); refused != "" {
			name.Errorf("%s", refused)
			return
		}
		if b.answered == nil {
			b.answered = map[string]fakeruntime.Agent{}
		}
		for _, asks := range e.Keys {
			if b.answered[asks].Container != "" {
				list.KeyErrorf(i, "a rule above already says which container answers there")
				return
			}
			b.answered[asks] = fakeruntime.Agent{Container: by.AnsweredBy, Rule: b.rule}
		}
	}
}

// answer compiles one answer to a handler. It returns false after reporting an error.
func (b *behavior) answer(h *handler, a value.Answer, n *strict.Node) (fakeruntime.Answer, bool) {
	answer, known := h.words[a.Word]
	code, isCode := value.ParseCode(a.Word)
	named := b.named(a.Word)
	switch {
	case known:
	case named != nil:
		compiled := named.by[h]
		if compiled == nil {
			n.Errorf("%s cannot answer %s, which sets %s", h.name, a.Word, named.unsupportedField(h))
			return answer, false
		}
		answer = *compiled
	case isCode:
		answer.Word = fakeruntime.Answers
		if err := h.setCode(&answer, code); err != nil {
			n.Errorf("%s", err)
			return answer, false
		}
	case slices.Contains(value.Words, a.Word):
		n.Errorf("%s cannot answer %s", h.name, a.Word)
		return answer, false
	default:
		if b.unread {
			return answer, false // it may be a named answer that could not be read
		}
		meant := strict.DidYouMean(a.Word, b.words(h)).String()
		if meant == "" {
			meant = ": the words are " + strings.Join(value.Words, ", ") + " and the names in answers"
		}
		n.Errorf("unknown word %s%s", strict.Quote(a.Word), meant)
		return answer, false
	}
	if a.In != nil {
		answer.Latency = (*fakeruntime.Draw)(a.In)
	}
	return answer, true
}

// words returns the words that the rules of the container can use for a handler.
func (b *behavior) words(h *handler) []string {
	words := slices.Concat(value.Words, h.codes)
	for _, a := range b.Spec.Answers {
		words = append(words, a.Name)
	}
	return words
}
