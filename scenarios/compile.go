package scenarios

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/scenarios/plan"
	"probesim.dev/scenarios/validation"
)

// Behavior scripts the programs in the containers of a pod. The keys are container names. A container without rules runs
// forever and answers every probe with ok.
type Behavior map[string][]BehaviorRule

// BehaviorRule is one statement about a program: which instances it applies to, when, and what the program does then.
// It has the fields and the notation of behavior in a scenario file (docs/format.md); durations have units, such as
// "40s" or "1m30s". If several rules apply, the last one wins. A request that no rule covers gets the answer ok. An
// empty field is not set.
//
//	{For: "40s", Probes: "down"}                    // nothing listens in the first 40 s of each instance
//	{After: "60s", For: "6s", Liveness: "stall"}    // a garbage collection pauses the program for 6 s
//	{Instance: "0", After: "2m", Exit: "1"}         // the first instance crashes after two minutes
//	{AfterSigterm: "8s", Exit: "0"}                 // the program takes 8 s to shut down
type BehaviorRule struct {
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

	// Endpoints has answers by endpoint, for all probes and hooks that ask there: "http:8080/healthz", "tcp:5432",
	// "grpc:9000/service" or "exec:cat /tmp/healthy". A port has its number or its name.
	Endpoints map[string]string

	// Handler responds to the httpGet probes and hooks of the container. A rule with a handler has no answers and no
	// Exit in the fields above.
	//
	// The simulator calls the handler at the virtual time of the response and waits for it. The handler must respond
	// without waiting. Its responses must depend only on the requests and on state that the program controls;
	// otherwise runs are not repeatable.
	Handler http.Handler
}

// fields returns the fields of the rule that have text, with their names in the format.
func (r *BehaviorRule) fields() []struct{ name, text string } {
	return []struct{ name, text string }{
		{"replica", r.Replica}, {"instance", r.Instance},
		{"after", r.After}, {"at", r.At}, {"afterSigterm", r.AfterSigterm}, {"for", r.For}, {"every", r.Every}, {"chance", r.Chance},
		{"liveness", r.Liveness}, {"readiness", r.Readiness}, {"startup", r.Startup}, {"probes", r.Probes},
		{"postStart", r.PostStart}, {"preStop", r.PreStop}, {"exit", r.Exit},
	}
}

// CompileOptions describe the node for which Compile compiles pods. The zero value is the newest version of
// Kubernetes, without a seed.
type CompileOptions struct {
	// Profile is the version of Kubernetes with its feature gates. The zero value means profile.Newest.
	Profile profile.Profile
	// Seed determines the times at which the pods of a workload are added, if they are ranges. Nil: the middle of each
	// range.
	Seed *int64
}

// Compile returns the pods that an API object creates, each with the programs in its containers. It sets the same
// defaults as loading a file does, and makes the same checks. The pods of a workload are named NAME-0, NAME-1 and so
// on, and are added 100 ms apart. Compile does not change the object.
//
// If the API server would reject the object, or if the behavior does not fit the object, the error is of type Errors and
// lists all errors. The path of each error is a field of the object, as in spec.containers[0].image, or of the
// behavior, as in behavior["app"][0].for.
func Compile(object manifests.APIObject, behavior Behavior, o CompileOptions) ([]plan.PlannedPod, error) {
	if o.Profile.Version == "" {
		o.Profile = profile.Newest()
	}
	errs := &strict.Collector{}
	m, err := manifests.Of(object, errs)
	if err != nil {
		return nil, err
	}
	entry := strict.NewMapping(errs)
	entry.Put("replicas", m.Kind.Count, strict.Missing, "")
	pods := format.Pod{Name: m.Name, Containers: behavior.decode(entry)}
	s := &plan.Scenario{Spec: format.Spec{Duration: value.Duration(value.MaxDuration), Pods: []format.Pod{pods}}}
	validation.CheckWorkload(s, m, entry, o.Profile)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return s.Plan(o.Profile.Version, o.Seed).Pods(), nil
}

// decode reads the rules and adds their nodes to an entry of spec.pods.
func (b Behavior) decode(entry *strict.Node) []format.Container {
	list := entry.Put("containers", "behavior", strict.Sequence, "")
	var containers []format.Container
	for _, name := range slices.Sorted(maps.Keys(b)) {
		n := list.Put("", "["+strconv.Quote(name)+"]", strict.Mapping, "")
		n.Put("name", "", strict.Scalar, name)
		rules := n.Put("behavior", "", strict.Sequence, "")
		for i := range b[name] {
			b[name][i].put(rules, i)
		}
		var c format.Container
		strict.Decode(n, &c)
		for i := range c.Behavior {
			c.Behavior[i].Handler = b[name][i].Handler
		}
		containers = append(containers, c)
	}
	return containers
}

// put adds the node of a rule to a list.
func (r *BehaviorRule) put(list *strict.Node, i int) {
	n := list.Put("", "["+strconv.Itoa(i)+"]", strict.Mapping, "")
	for _, f := range r.fields() {
		if f.text != "" {
			putAnswers(n, f.name, f.name, f.text)
		}
	}
	if len(r.Endpoints) == 0 {
		return
	}
	endpoints := n.Put("endpoints", "endpoints", strict.Mapping, "")
	for _, text := range slices.Sorted(maps.Keys(r.Endpoints)) {
		putAnswers(endpoints, text, "["+strconv.Quote(text)+"]", r.Endpoints[text])
	}
}

// putAnswers adds the node of a value: a list in brackets, or a scalar.
func putAnswers(n *strict.Node, name, step, text string) {
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
