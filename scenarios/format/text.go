package format

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Behavior scripts the programs in the containers of a pod. The keys are container names. A
// container without rules runs forever and answers every probe with ok.
type Behavior map[string][]RuleText

// RuleText is a rule as text, field by field: which instances it applies to, when, and what the
// program does then. It has the fields and the notation of behavior in a scenario file
// (docs/format.md); durations have units, such as "40s" or "1m30s". If several rules apply, the
// last one wins. A request that no rule covers gets the answer ok. An empty field is not set. There
// is no field for since and until, which wait for moments of a scenario: a Go test can wait for a
// moment itself, and change what a Handler answers.
//
//	{For: "40s", Probes: "down"}                    // nothing listens in the first 40 s of each instance
//	{After: "60s", For: "6s", Liveness: "stall"}    // a garbage collection pauses the program for 6 s
//	{Instance: "0", After: "2m", Exit: "1"}         // the first instance crashes after two minutes
//	{AfterSigterm: "8s", Exit: "0"}                 // the program takes 8 s to shut down
type RuleText struct {
	Replica  string // the pods of a workload, such as "1" or "0..2"; empty: all
	Instance string // the instances of the container: "0" is the first, "1.." every restart; empty: all

	After        string // time since the start of the instance: "40s", or with a seed a random one: "40s..50s"
	At           string // time since t=0
	AfterSigterm string // time since the stop signal
	For          string // how long the rule applies; empty: until the end
	Every        string // period in which the rule repeats; needs For
	Chance       string // probability for each request, such as "10%"; without a seed the rule never applies

	Startup   string // answers to the probe: "fail", "ok in 2s", "[ok x3, hang, repeat]"
	Liveness  string
	Readiness string
	Probes    string // answers to each probe whose own field in this rule is empty
	PostStart string
	PreStop   string
	Exit      string // exit code, or "never" with AfterSigterm
	Refuse    bool   // with AfterSigterm: the program closes its listener for new connections

	// Endpoints has answers by endpoint, for all probes and hooks that ask there:
	// "http:8080/healthz", "tcp:5432", "grpc:9000/service" or "exec:cat /tmp/healthy". A port has
	// its number or its name. In place of answers, "{answeredBy: proxy}" names the container of the
	// pod that answers there.
	Endpoints map[string]string

	// Handler responds to the httpGet probes and hooks of the container. A rule with a handler has
	// no answers and no Exit in the fields above.
	//
	// The simulator calls the handler at the virtual time of the response and waits for it. The
	// handler must respond without waiting. Its responses must depend only on the requests and on
	// state that the program controls; otherwise runs are not repeatable.
	Handler http.Handler
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
