package scenarios

import (
	"slices"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios/strict"
	"probesim.dev/scenarios/value"
)

// execAnswers are the words as an exec probe meets them. What is not here an exec probe cannot give.
var execAnswers = map[string]fakeruntime.Answer{
	value.OK:    {Word: fakeruntime.Answers, Code: 0},
	value.Fail:  {Word: fakeruntime.Answers, Code: 1},
	value.Down:  {Word: fakeruntime.Answers, Code: 1},
	value.Hang:  {Word: fakeruntime.Hangs},
	value.Stall: {Word: fakeruntime.Stalls},
	value.Break: {Word: fakeruntime.Breaks},
}

// compileAnswers checks the named answers of a container.
func (b *behavior) compileAnswers(n *strict.Node) {
	b.names = map[string]fakeruntime.Answer{}
	for i := range b.spec.Answers {
		a, item := &b.spec.Answers[i], n.Index(i)
		name := item.Field("name")
		_, twice := b.names[a.Name]
		_, isCode := value.ParseCode(a.Name)
		switch {
		case item.Kind != strict.Mapping || name.Bad():
			continue
		case a.Name == "":
			name.Errorf("is required: the word that stands for the answer")
		case !value.IsName(a.Name) || a.Name == "repeat" || a.Name == "in":
			name.Errorf("%s cannot be a word: use letters, digits, - and _, beginning with a letter", strict.Quote(a.Name))
		case slices.Contains(value.Words, a.Name) || isCode:
			name.Errorf("%s has a meaning already", a.Name)
		case twice:
			name.Errorf("the answer %s is already above", a.Name)
		}
		answer := fakeruntime.Answer{Word: fakeruntime.Answers, Body: a.Body, IgnoreTimeout: a.IgnoreTimeout}
		if b.execOnly() {
			code, err := a.Code.ExitCode()
			if err != nil {
				item.Field("code").Errorf("%s", err)
			}
			answer.Code = code
		}
		b.names[a.Name] = answer
	}
}

// execOnly reports whether all probes of the container are exec probes. Those of a container with others
// are refused as a whole, so that its words need no look.
func (b *behavior) execOnly() bool {
	for _, p := range probesOf(b.container) {
		if p.probe.Exec == nil {
			return false
		}
	}
	return true
}

// compileSeries checks answers to exec probes. The nodes of the items stand in the order of the items.
func (b *behavior) compileSeries(s *value.Series, r *Rule, n *strict.Node) *fakeruntime.Series {
	if s == nil || !b.execOnly() {
		return nil
	}
	return b.compileItems(s, r, n)
}

// compileItems checks answers to commands, one by one.
func (b *behavior) compileItems(s *value.Series, r *Rule, n *strict.Node) *fakeruntime.Series {
	series := &fakeruntime.Series{Repeat: s.Repeat}
	for i, item := range s.Items {
		at := n
		if n.Kind == strict.Sequence {
			at = n.Index(i)
		}
		answer, ok := b.answer(item.Answer, at)
		if ok && answer.Word == fakeruntime.Stalls && r.For == nil {
			at.Errorf("stall needs a for: it is answered when the window closes")
		}
		series.Items = append(series.Items, fakeruntime.Item{Answer: answer, Count: item.Count})
	}
	return series
}

// answer compiles one answer to an exec probe, or says why it cannot be given.
func (b *behavior) answer(a value.Answer, n *strict.Node) (fakeruntime.Answer, bool) {
	answer, known := execAnswers[a.Word]
	named, isNamed := b.names[a.Word]
	code, isCode := value.ParseCode(a.Word)
	switch {
	case known:
	case isNamed:
		answer = named
	case isCode:
		exit, err := code.ExitCode()
		if err != nil {
			n.Errorf("%s", err)
			return answer, false
		}
		answer = fakeruntime.Answer{Word: fakeruntime.Answers, Code: exit}
	case slices.Contains(value.Words, a.Word):
		n.Errorf("an exec probe cannot answer %s", a.Word)
		return answer, false
	default:
		n.Errorf("unknown word %s%s", strict.Quote(a.Word), strict.DidYouMean(a.Word, b.words()))
		return answer, false
	}
	answer.Latency = (*fakeruntime.Draw)(a.In)
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
