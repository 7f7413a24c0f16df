package probetest

import (
	"maps"
	"net/http"
	"slices"
)

// Behavior says what the programs in the containers of a pod do, by the name of the container. A container that is not
// named runs for ever and answers every probe with ok.
type Behavior map[string][]Rule

// names returns the containers that a behavior is about, sorted.
func (b Behavior) names() []string { return slices.Sorted(maps.Keys(b)) }

// Rule says who does what when, as an entry of behavior in a scenario file does, with the fields and the notation of
// docs/format.md. Later rules win; what no rule answers is answered ok. An empty field is not set.
//
//	{For: "40s", Probes: "down"}                    // nothing listens in the first 40 s of each instance
//	{After: "60s", For: "6s", Liveness: "stall"}    // a full GC, a minute after each start
//	{Instance: "0", After: "2m", Exit: "1"}         // the first instance crashes after two minutes
//	{AfterSigterm: "8s", Exit: "0"}                 // it drains for 8 s
type Rule struct {
	Replica  string `json:"replica,omitempty"`  // range of integers: only these pods of a workload
	Instance string `json:"instance,omitempty"` // only these runs of the container; 0 is the first, 1 the first restart

	After        string `json:"after,omitempty"`        // since the start of the instance: "40s", or drawn: "40s..50s"
	At           string `json:"at,omitempty"`           // at this time of the node
	AfterSigterm string `json:"afterSigterm,omitempty"` // since the stop signal
	For          string `json:"for,omitempty"`          // how long; for good if empty
	Every        string `json:"every,omitempty"`        // again and again
	Chance       string `json:"chance,omitempty"`       // of each request; none without a seed

	Liveness  string `json:"liveness,omitempty"` // answers to this probe: "fail", "ok in 2s", "[ok x3, hang, repeat]"
	Readiness string `json:"readiness,omitempty"`
	Startup   string `json:"startup,omitempty"`
	Probes    string `json:"probes,omitempty"` // answers to each probe that has none of its own in this rule
	PostStart string `json:"postStart,omitempty"`
	PreStop   string `json:"preStop,omitempty"`
	Exit      string `json:"exit,omitempty"` // an exit code, or never with AfterSigterm

	// Handler answers the httpGet probes and hooks of the container in place of the fields above. It is called at the
	// virtual time at which it would answer, from the goroutine of the test, and must not wait. What it responds must
	// follow from the request and from what it was asked before, or runs do not repeat.
	Handler http.Handler `json:"-"`
}
