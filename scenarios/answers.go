package scenarios

import (
	"slices"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// compileSeries checks answers to a handler. The nodes of the items stand in the order of the items.
func (b *behavior) compileSeries(h *handler, s *value.Series, r *Rule, n *strict.Node) *fakeruntime.Series {
	if s == nil || h == nil {
		return nil
	}
	return b.compileItems(h, s, r, n)
}

// compileItems checks answers to a handler, one by one.
func (b *behavior) compileItems(h *handler, s *value.Series, r *Rule, n *strict.Node) *fakeruntime.Series {
	series := &fakeruntime.Series{Repeat: s.Repeat}
	for i, item := range s.Items {
		at := n
		if n.Kind == strict.Sequence {
			at = n.Index(i)
		}
		answer, ok := b.answer(h, item.Answer, at)
		if ok && item.Answer.Word == value.Stall && r.For == nil {
			at.Errorf("stall needs a for: it is answered when the window closes")
		}
		series.Items = append(series.Items, fakeruntime.Item{Answer: answer, Count: item.Count})
	}
	return series
}

// compileProbes gives each probe of the container its answers: those under its own key, else those of
// probes, which are different ones for different handlers.
func (b *behavior) compileProbes(rule *fakeruntime.Rule, r *Rule, n *strict.Node) {
	shared := map[*handler]*fakeruntime.Series{}
	for _, h := range handlersOf(b.container) {
		shared[h] = b.compileSeries(h, r.Probes, r, n.Field("probes"))
	}
	own := map[string]*value.Series{"liveness": r.Liveness, "readiness": r.Readiness, "startup": r.Startup}
	series := map[string]*fakeruntime.Series{}
	for _, p := range probesOf(b.container) {
		h := handlerOf(p.probe)
		series[p.key] = b.compileSeries(h, own[p.key], r, n.Field(p.key))
		if own[p.key] == nil {
			series[p.key] = shared[h]
		}
	}
	rule.Liveness, rule.Readiness, rule.Startup = series["liveness"], series["readiness"], series["startup"]
}

// answer compiles one answer to a handler, or says why it cannot be given.
func (b *behavior) answer(h *handler, a value.Answer, n *strict.Node) (fakeruntime.Answer, bool) {
	answer, known := h.words[a.Word]
	code, isCode := value.ParseCode(a.Word)
	named := b.named(a.Word)
	switch {
	case known:
	case named != nil:
		compiled := named.by[h]
		if compiled == nil {
			n.Errorf("%s cannot answer %s, which has the field %s", h.name, a.Word, named.hinders(h))
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
			return answer, false // it may be one of those
		}
		n.Errorf("unknown word %s%s", strict.Quote(a.Word), strict.DidYouMean(a.Word, b.words()))
		return answer, false
	}
	if a.In != nil {
		answer.Latency = (*fakeruntime.Draw)(a.In)
	}
	return answer, true
}

// words are the words that the rules of the container may use.
func (b *behavior) words() []string {
	words := slices.Clone(value.Words)
	for _, a := range b.spec.Answers {
		words = append(words, a.Name)
	}
	return words
}
