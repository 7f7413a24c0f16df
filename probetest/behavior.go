package probetest

import (
	"maps"
	"net/http"
	"slices"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios/format"
)

// Behavior says what the programs in the containers of a pod do. The keys are names of containers.
// A container without rules runs forever and answers every probe with ok.
type Behavior map[string][]Rule

// Rule is one statement about a program: which instances it applies to, when, and what the program
// does then. The fields have the notation of behavior in a scenario file (docs/format.md);
// durations have units, such as "40s" or "1m30s". An empty field is not set. If several rules
// apply, the last one wins. A request that no rule covers gets the answer ok.
//
//	{For: "40s", Probes: "down"}                    // nothing listens in the first 40 s of each instance
//	{After: "60s", For: "6s", Liveness: "stall"}    // a garbage collection pauses the program for 6 s
//	{Instance: "0", After: "2m", Exit: "1"}         // the first instance crashes after two minutes
//	{AfterSigterm: "8s", Exit: "0"}                 // the program takes 8 s to shut down
//
// There is no field for since and until of a scenario file, which wait for moments: a test can wait
// for a moment itself, and change what a Handler answers.
type Rule struct {
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
	// The simulator calls the handler on a goroutine, at the virtual time of the response, and
	// waits for it. The handler must respond without waiting. Its responses must depend only on the
	// requests and on state that the program controls; otherwise runs are not repeatable. A handler
	// that panics, or exceeds NodeOptions.HandlerTimeout, fails the test with its stack. A panic
	// with http.ErrAbortHandler is not a failure: it closes the connection.
	Handler http.Handler
}

// String returns the rule as a mapping of a scenario file, on one line. Files cannot have the
// Handler.
func (r Rule) String() string { return format.RuleText(r).String() }

// text returns the behavior with the rules of package format.
func (b Behavior) text() format.Behavior {
	text := format.Behavior{}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		text[name] = nil
		for _, r := range b[name] {
			text[name] = append(text[name], format.RuleText(r))
		}
	}
	return text
}

// Workload is an API object that creates pods: a Pod, Deployment, StatefulSet, DaemonSet,
// ReplicaSet, Job or CronJob. See Node.AddWorkload.
type Workload = manifests.APIObject
