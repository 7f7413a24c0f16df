package format

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
)

// Rule scripts what a program does and when. It compiles to a fakeruntime.Rule.
type Rule struct {
	strict.Pos `json:"-"`
	Text       string `json:"-"` // source text on one line
	Flag       string `json:"-"` // the words of the flag --app that the rule stands for; empty: the rule is from a file

	Replica  *value.IntRange `json:"replica,omitempty"`
	Instance *value.IntRange `json:"instance,omitempty"`

	After *value.Draw `json:"after,omitempty"`
	At    *value.Draw `json:"at,omitempty"`
	// with After, or 0s, from its first match; its Pod may be empty: any
	Since *match.Moment `json:"since,omitempty"`
	// with After, or 0s, from the time at which the instance takes this lease
	Holds        string      `json:"holds,omitempty"`
	AfterSigterm *value.Draw `json:"afterSigterm,omitempty"`
	For          *value.Draw `json:"for,omitempty"`
	Every        *value.Draw `json:"every,omitempty"`
	// its first match closes the window for good; its Pod may be empty: any
	Until  *match.Moment  `json:"until,omitempty"`
	Chance *value.Percent `json:"chance,omitempty"`

	Liveness  *value.Series `json:"liveness,omitempty"`
	Readiness *value.Series `json:"readiness,omitempty"`
	Startup   *value.Series `json:"startup,omitempty"`
	Probes    *value.Series `json:"probes,omitempty"`
	PostStart *value.Answer `json:"postStart,omitempty"`
	PreStop   *value.Answer `json:"preStop,omitempty"`
	Exit      *value.Exit   `json:"exit,omitempty"`
	Refuse    bool          `json:"refuse,omitempty"` // only with AfterSigterm: the program closes its listener

	// Endpoints has the answers of all probes and hooks that ask at an endpoint, in the notation of
	// Endpoint.Text.
	Endpoints map[string]*EndpointAnswers `json:"endpoints,omitempty"`

	// Handler responds to the httpGet probes and hooks instead of the fields above; see RuleText.
	// Files cannot set it.
	Handler http.Handler `json:"-"`
}

// String returns the rule as a mapping of a scenario file, on one line.
func (r *Rule) String() string { return strict.Encode(r, nil).Text() }

// RuleText is a rule as text, field by field. It has the fields of Rule in package probetest, which
// describes them, and the notation of behavior in a scenario file (docs/format.md).
type RuleText struct {
	Replica, Instance                    string
	After, At, AfterSigterm              string
	For, Every, Chance                   string
	Startup, Liveness, Readiness, Probes string
	PostStart, PreStop, Exit             string
	Refuse                               bool
	Endpoints                            map[string]string
	Handler                              http.Handler
}

// Answer sets the answer to a probe or hook by its name in the format, such as liveness or preStop.
func (r *RuleText) Answer(key, text string) {
	named := func(name string) bool { return strings.EqualFold(name, key) }
	reflect.ValueOf(r).Elem().FieldByNameFunc(named).SetString(text)
}

// String returns the rule as a mapping of a scenario file, on one line. Files cannot have the
// Handler.
func (r RuleText) String() string {
	n := strict.NewMapping(nil)
	r.put(n)
	return n.Text()
}

// Answers returns the answers of the rule by the names of probes and hooks.
func (r *Rule) Answers() map[string]*value.Series {
	all := map[string]*value.Series{"liveness": r.Liveness, "readiness": r.Readiness, "startup": r.Startup}
	if r.PostStart != nil {
		all["postStart"] = value.One(*r.PostStart)
	}
	if r.PreStop != nil {
		all["preStop"] = value.One(*r.PreStop)
	}
	return all
}

// ProbeKeys are the names of the probes in a rule.
var ProbeKeys = []string{"liveness", "readiness", "startup"}

// EndpointAnswers are the answers at an endpoint: a series, or the name of another container of the
// pod that answers there.
type EndpointAnswers struct {
	*value.Series
	AnsweredBy string
}

// Answers returns the series, or nil.
func (e *EndpointAnswers) Answers() *value.Series {
	if e == nil {
		return nil
	}
	return e.Series
}

// UnmarshalNode decodes an answer, a list of answers, or {answeredBy: CONTAINER}.
func (e *EndpointAnswers) UnmarshalNode(n *strict.Node) {
	if n.Kind != strict.Mapping {
		e.Series = &value.Series{}
		e.Series.UnmarshalNode(n)
		return
	}
	var by struct {
		AnsweredBy string `json:"answeredBy"`
	}
	strict.Decode(n, &by)
	if e.AnsweredBy = by.AnsweredBy; e.AnsweredBy == "" && !n.Full() {
		n.Errorf("needs answeredBy: the container that answers")
	}
}

// MarshalNode encodes what UnmarshalNode decodes.
func (e *EndpointAnswers) MarshalNode() *strict.Node {
	if e.AnsweredBy == "" {
		return e.Series.MarshalNode()
	}
	n := strict.NewMapping(nil)
	n.Put("answeredBy", "answeredBy", strict.Scalar, e.AnsweredBy)
	return n
}

// Answer is a named answer, which the rules of its container can use like a built-in word.
type Answer struct {
	Name           string             `json:"name"`
	Code           value.Code         `json:"code,omitempty"` // empty: success
	Body           string             `json:"body,omitempty"`
	IgnoreTimeout  bool               `json:"ignoreTimeout,omitempty"`
	Location       string             `json:"location,omitempty"`
	Then           *value.Answer      `json:"then,omitempty"`
	TransportError string             `json:"transportError,omitempty"`
	BodyEnd        *value.DrawOrNever `json:"bodyEnd,omitempty"`
}

// Says returns where the rule is written and its words, such as "web.yaml:14 says {for: 20s,
// probes: fail}".
func (r *Rule) Says() string { return says(r.Pos, r.Flag, r.Text, "its behavior") }

// Effect returns what the program does while the rule is open, such as "probes: fail".
func (r *Rule) Effect() string {
	if r.Flag != "" {
		return printable.Text(r.Flag)
	}
	own := *r
	own.Replica, own.Instance, own.Chance = nil, nil, nil
	own.After, own.At, own.Since, own.Holds, own.AfterSigterm = nil, nil, nil, "", nil
	own.For, own.Every, own.Until = nil, nil, nil
	unwrapped := func(text string) string { return strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}") }
	text := unwrapped(own.String())
	if endpoints, found := strings.CutPrefix(text, "endpoints: "); found {
		text = unwrapped(endpoints)
	}
	return cmp.Or(printable.Text(text), "handler")
}

// Says returns where the step is written and its words, as [Rule.Says] does.
func (s *Step) Says() string { return says(s.Pos, s.Flag, s.Text, "a step") }

func says(pos strict.Pos, flag, text, nowhere string) string {
	const longest = 200
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	switch {
	case flag != "":
		return "--app says " + printable.Text(strconv.Quote(flag))
	case pos.Line == 0:
		return nowhere + " says " + printable.Text(text)
	}
	return printable.Text(fmt.Sprintf("%s:%d says %s", pos.File, pos.Line, text))
}

// Behavior scripts the programs in the containers of a pod. The keys are container names. A
// container without rules runs forever and answers every probe with ok.
type Behavior map[string][]RuleText

// Decode reads the rules and adds their nodes to an entry of spec.pods.
func (b Behavior) Decode(entry *strict.Node) []Container {
	list := entry.Put("containers", "behavior", strict.Sequence, "")
	var containers []Container
	for _, name := range slices.Sorted(maps.Keys(b)) {
		n := list.Put("", "["+strconv.Quote(name)+"]", strict.Mapping, "")
		n.Put("name", "", strict.Scalar, name)
		rules := n.Put("behavior", "", strict.Sequence, "")
		for i := range b[name] {
			b[name][i].put(rules.Put("", "["+strconv.Itoa(i)+"]", strict.Mapping, ""))
		}
		var c Container
		strict.Decode(n, &c)
		for i := range c.Behavior {
			c.Behavior[i].Handler = b[name][i].Handler
		}
		containers = append(containers, c)
	}
	return containers
}

// put adds the fields of the rule to a mapping.
func (r *RuleText) put(n *strict.Node) {
	for field, v := range reflect.ValueOf(r).Elem().Fields() {
		name := strings.ToLower(field.Name[:1]) + field.Name[1:]
		switch v := v.Interface().(type) {
		case string:
			if v != "" {
				putAnswers(n, name, name, v)
			}
		case bool:
			if v {
				n.Put(name, name, strict.Scalar, "true").Tag = "!!bool"
			}
		case map[string]string:
			if len(v) > 0 {
				n := n.Put(name, name, strict.Mapping, "")
				for _, at := range slices.Sorted(maps.Keys(v)) {
					putAnswers(n, at, "["+strconv.Quote(at)+"]", v[at])
				}
			}
		}
	}
}

// putAnswers adds the node of a value: a list in brackets, the container that answers in braces, or
// a scalar.
func putAnswers(n *strict.Node, name, step, text string) {
	if by, is := strings.CutPrefix(text, "{answeredBy:"); is && strings.HasSuffix(by, "}") {
		n.Put(name, step, strict.Mapping, "").Put("answeredBy", "answeredBy", strict.Scalar,
			strings.TrimSpace(strings.TrimSuffix(by, "}")))
		return
	}
	inner, isList := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !isList || !closed {
		n.Put(name, step, strict.Scalar, text)
		return
	}
	series := n.Put(name, step, strict.Sequence, "")
	for i, item := range strings.Split(inner, ",") {
		series.Put("", "["+strconv.Itoa(i)+"]", strict.Scalar, strings.TrimSpace(item))
	}
}
