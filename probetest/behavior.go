package probetest

import (
	"maps"
	"net/http"
	"slices"
)

// Behavior says what the programs in the containers of a pod do. The keys are names of containers. A
// container without rules runs forever and answers every probe with ok.
type Behavior map[string][]Rule

// names returns the names of the containers, sorted.
func (b Behavior) names() []string { return slices.Sorted(maps.Keys(b)) }

// Rule is one statement about a program: which instances it applies to, when, and what the program does then.
// The fields and their notation are those of behavior in a scenario file (docs/format.md); durations have
// units, such as "40s" or "1m30s". Of several rules that apply, the last wins. A request that no rule covers
// gets the answer ok. An empty field is not set.
//
//	{For: "40s", Probes: "down"}                    // nothing listens in the first 40 s of each instance
//	{After: "60s", For: "6s", Liveness: "stall"}    // a garbage collection pauses the program for 6 s
//	{Instance: "0", After: "2m", Exit: "1"}         // the first instance crashes after two minutes
//	{AfterSigterm: "8s", Exit: "0"}                 // the program takes 8 s to shut down
type Rule struct {
	Replica  string `json:"replica,omitempty"`  // the pods of a workload, such as "1" or "0..2"; empty: all
	Instance string `json:"instance,omitempty"` // the instances of the container: "0" is the first, "1.." every restart; empty: all

	After        string `json:"after,omitempty"`        // time since the start of the instance: "40s", or with a seed a random one: "40s..50s"
	At           string `json:"at,omitempty"`           // virtual time of the node
	AfterSigterm string `json:"afterSigterm,omitempty"` // time since the stop signal
	For          string `json:"for,omitempty"`          // how long the rule applies; empty: until the end
	Every        string `json:"every,omitempty"`        // period in which the rule repeats
	Chance       string `json:"chance,omitempty"`       // probability for each request, such as "10%"; without a seed the rule never applies

	Liveness  string `json:"liveness,omitempty"` // answers to the probe: "fail", "ok in 2s", "[ok x3, hang, repeat]"
	Readiness string `json:"readiness,omitempty"`
	Startup   string `json:"startup,omitempty"`
	Probes    string `json:"probes,omitempty"` // answers to each probe without answers of its own in this rule
	PostStart string `json:"postStart,omitempty"`
	PreStop   string `json:"preStop,omitempty"`
	Exit      string `json:"exit,omitempty"` // exit code, or "never" with AfterSigterm

	// Handler responds to the httpGet probes and hooks of the container. A rule with a handler has no answers
	// in the fields above.
	//
	// The simulation calls the handler at the virtual time of the response, on another goroutine than the
	// test, and waits for it. The handler must respond without waiting. Its responses must depend only on the
	// requests and on state that the test controls; otherwise runs are not repeatable. A handler that panics
	// fails the test with the frames of the handler; a handler that exceeds NodeOptions.HandlerTimeout fails
	// it with its stack. http.ErrAbortHandler closes the connection and is no failure.
	Handler http.Handler `json:"-"`
}
