package format

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/printable"
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

	Liveness  string // answers to the probe: "fail", "ok in 2s", "[ok x3, hang, repeat]"
	Readiness string
	Startup   string
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

// field is a field of a rule with its name in the format.
type field struct{ name, text string }

// fields returns the fields of the rule that have text, except its endpoints.
func (r *RuleText) fields() []field {
	return slices.DeleteFunc([]field{
		{"replica", r.Replica}, {"instance", r.Instance},
		{"after", r.After}, {"at", r.At}, {"afterSigterm", r.AfterSigterm}, {"for", r.For}, {"every", r.Every},
		{"chance", r.Chance},
		{"startup", r.Startup}, {"liveness", r.Liveness}, {"readiness", r.Readiness}, {"probes", r.Probes},
		{"postStart", r.PostStart}, {"preStop", r.PreStop}, {"exit", r.Exit},
	}, func(f field) bool { return f.text == "" })
}

// Answer sets the answer to a probe or hook by its name in the format, such as liveness or preStop.
func (r *RuleText) Answer(key, text string) {
	of := map[string]*string{
		"startup": &r.Startup, "liveness": &r.Liveness, "readiness": &r.Readiness, "probes": &r.Probes,
		"postStart": &r.PostStart, "preStop": &r.PreStop,
	}[key]
	if of != nil {
		*of = text
	}
}

var plainInFlow = regexp.MustCompile(`^[a-z]+:[A-Za-z0-9/._-]+( [A-Za-z0-9/._-]+)*$`)

// String returns the rule as a mapping of a scenario file, on one line. Files cannot have the
// Handler.
func (r RuleText) String() string {
	var keys, endpoints []string
	for _, f := range r.fields() {
		keys = append(keys, f.name+": "+f.text)
	}
	if r.Refuse {
		keys = append(keys, "refuse: true")
	}
	for _, endpoint := range slices.Sorted(maps.Keys(r.Endpoints)) {
		key := endpoint
		if !plainInFlow.MatchString(key) {
			key = printable.Text(strconv.Quote(key))
		}
		endpoints = append(endpoints, key+": "+r.Endpoints[endpoint])
	}
	if len(endpoints) > 0 {
		keys = append(keys, "endpoints: {"+strings.Join(endpoints, ", ")+"}")
	}
	return "{" + strings.Join(keys, ", ") + "}"
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
			b[name][i].put(rules, i)
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

// put adds the node of a rule to a list.
func (r *RuleText) put(list *strict.Node, i int) {
	n := list.Put("", "["+strconv.Itoa(i)+"]", strict.Mapping, "")
	for _, f := range r.fields() {
		putAnswers(n, f.name, f.name, f.text)
	}
	if r.Refuse {
		n.Put("refuse", "refuse", strict.Scalar, "true").Tag = "!!bool"
	}
	if len(r.Endpoints) == 0 {
		return
	}
	endpoints := n.Put("endpoints", "endpoints", strict.Mapping, "")
	for _, text := range slices.Sorted(maps.Keys(r.Endpoints)) {
		putAnswers(endpoints, text, "["+strconv.Quote(text)+"]", r.Endpoints[text])
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
