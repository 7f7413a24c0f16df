package program

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// namedAnswer is a named answer, compiled for the handlers of its container.
type namedAnswer struct {
	spec *format.Answer
	node *strict.Node
	by   map[*handler]*fakeruntime.Answer // without the handlers that cannot give the answer
}

// fields returns the written fields that some handlers do not support.
func (a *namedAnswer) fields() []string {
	return a.node.WrittenOf("code", "body", "ignoreTimeout", "location", "then", "transportError", "bodyEnd")
}

// unsupportedField returns the first field that a handler does not support, or an empty string.
func (a *namedAnswer) unsupportedField(h *handler) string {
	for _, name := range a.fields() {
		if !h.fields[name] {
			return name
		}
	}
	return ""
}

// named returns the named answer for a word, or nil.
func (b *behavior) named(word string) *namedAnswer {
	if i := slices.IndexFunc(b.names, func(a *namedAnswer) bool { return a.spec.Name == word }); i >= 0 {
		return b.names[i]
	}
	return nil
}

// compileAnswers checks and compiles the named answers of a container.
func (b *behavior) compileAnswers(n *strict.Node) {
	b.unread = n.Unread()
	for i := range b.Spec.Answers {
		a := &namedAnswer{spec: &b.Spec.Answers[i], node: n.Index(i), by: map[*handler]*fakeruntime.Answer{}}
		name := a.node.Field("name")
		if a.node.Kind != strict.Mapping || name.Bad() {
			b.unread = true
			continue
		}
		b.checkName(a.spec.Name, name)
		b.names = append(b.names, a)
	}
	handlers := handlersOf(b.Container)
	for _, a := range b.names {
		b.compileNamed(a, handlers)
	}
	b.linkRedirects()
}

func (b *behavior) checkName(word string, n *strict.Node) {
	_, isCode := value.ParseCode(word)
	switch {
	case word == "":
		n.Errorf("is required: the word that rules use for the answer")
	case !value.IsName(word) || word == "repeat" || word == "in":
		n.Errorf("%s cannot be a word: use letters, digits, - and _, beginning with a letter", strict.Quote(word))
	case slices.Contains(value.Words, word) || isCode:
		n.Errorf("%s is a built-in word", word)
	case b.named(word) != nil:
		n.Errorf("the answer %s is already listed above", word)
	}
}

// compileNamed compiles the answer for each handler that can give it, and reports an error if none
// can.
func (b *behavior) compileNamed(a *namedAnswer, handlers []*handler) {
	for _, name := range a.fields() {
		used := slices.ContainsFunc(handlers, func(h *handler) bool { return h.fields[name] })
		a.node.Field(name).ErrorIf(!used, "no probe or hook of the container %s uses %s", b.Spec.Name, name)
	}
	var wrong error
	for _, h := range handlers {
		answer := &fakeruntime.Answer{
			Word: fakeruntime.Answers, Body: a.spec.Body, IgnoreTimeout: a.spec.IgnoreTimeout,
			Location: a.spec.Location, TransportError: a.spec.TransportError,
		}
		if end := a.spec.BodyEnd; end != nil && !a.node.Field("bodyEnd").Bad() {
			if answer.BodyOpen = end.Never; !end.Never {
				answer.BodyEnd = (*fakeruntime.Draw)(&end.Draw)
			}
		}
		if a.unsupportedField(h) != "" {
			continue
		}
		if h.code != nil {
			if err := h.code(answer, a.spec.Code); err != nil {
				wrong = err
				continue
			}
		}
		a.by[h] = answer
	}
	a.node.Field("code").ErrorIf(len(a.by) == 0 && wrong != nil, "%v", wrong)
	if !b.retriesOverHTTP(a) {
		a.checkRedirect()
	}
	a.checkBodyEnd()
	text := a.node.Field("transportError")
	text.ErrorIf(!text.Bad() && text.Written() && len(a.fields()) > 1 && !b.retriesOverHTTP(a),
		"cannot be combined with other fields: a failed connection has no answer")
}

// checkRedirect checks location and then.
func (a *namedAnswer) checkRedirect() {
	location, then := a.node.Field("location"), a.node.Field("then")
	redirects := a.by[httpHandler] != nil && a.by[httpHandler].Code/100 == 3
	switch {
	case location.Bad():
	case location.Written() && !redirects && !a.node.Field("code").Bad():
		location.Errorf("needs a redirect: set code to a value from 300 to 399")
	case location.Written():
		checkLocation(a.spec.Location, location)
	case then.Written():
		then.Errorf("needs location: it answers the request that follows a redirect")
	}
}

// checkBodyEnd reports the end of a body that the code of the answer does not allow.
func (a *namedAnswer) checkBodyEnd() {
	end, http := a.node.Field("bodyEnd"), a.by[httpHandler]
	if http != nil {
		end.ErrorIf(end.Written() && !end.Bad() && !fakeruntime.HasBody(int(http.Code)),
			"needs a response with a body: the code %d has none", http.Code)
	}
}

// checkLocation reports a location that an HTTP header cannot have, or that no probe can follow.
func checkLocation(text string, n *strict.Node) {
	u, err := url.Parse(text)
	visible := text != "" && strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	switch {
	case err != nil || !visible:
		n.Errorf("%s is not a URL or path of visible ASCII characters", strict.Quote(text))
	case u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
		n.Errorf("%s is neither http nor https", u.Scheme)
	case u.Port() != "":
		port, err := strconv.Atoi(u.Port())
		n.ErrorIf(err != nil || port < 1 || port > 65535, "%s is not a port from 1 to 65535", u.Port())
	}
}

// linkRedirects links each redirect to the answer to the next request. Answers may form a cycle, so
// answers with a latency are copied and the copies are linked at the end.
func (b *behavior) linkRedirects() {
	var copies []func()
	for _, a := range b.names {
		from, n := a.by[httpHandler], a.node.Field("then")
		if a.spec.Then == nil || from == nil || n.Bad() {
			continue
		}
		if a.spec.Then.Word == value.Stall {
			n.Errorf("stall can be used only in rules: it lasts until the window closes")
			continue
		}
		then, ok := b.answer(httpHandler, *a.spec.Then, n)
		if !ok {
			continue
		}
		from.Then = &then
		if named := b.named(a.spec.Then.Word); named != nil && a.spec.Then.In == nil {
			from.Then = named.by[httpHandler]
		} else if named != nil {
			copies = append(copies, func() { then.Then = named.by[httpHandler].Then })
		}
	}
	for _, link := range copies {
		link()
	}
}

// retriesOverHTTP reports whether an answer looks like the answer of a plain HTTP server to an
// https hook. The kubelet then repeats the request over HTTP, and the field "then" of the answer
// answers the second request.
func (b *behavior) retriesOverHTTP(a *namedAnswer) bool {
	secure := slices.ContainsFunc(podutil.HookKeys, func(key string) bool {
		h := podutil.Hook(b.Container, key)
		return h != nil && h.HTTPGet != nil && h.HTTPGet.Scheme == v1.URISchemeHTTPS
	})
	return secure && slices.Equal(a.fields(), []string{"then", "transportError"}) &&
		strings.Contains(a.spec.TransportError, fakeruntime.HTTPToHTTPS)
}
