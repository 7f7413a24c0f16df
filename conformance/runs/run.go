// Package runs has what is kept of a run of the real kubelet, to compare it with the same run of
// another kubelet.
package runs

// Run is one run of a scenario on the real kubelet.
type Run struct {
	Scenario string `json:"scenario"`
	File     string `json:"file,omitempty"` // empty: a random scenario
	Line     int    `json:"line,omitempty"`
	Seed     *int64 `json:"seed,omitempty"`
	Bug      string `json:"bug,omitempty"`   // its row in the table of bugs
	Issue    string `json:"issue,omitempty"` // addresses of the issues that the scenario is about

	Hash  string `json:"hash"`            // of the observable records
	Fault string `json:"fault,omitempty"` // why the run failed; it has no trace then
	// Once says that the simulator of the release does not make this run, but a second one of the
	// same scenario.
	Once bool `json:"once,omitempty"`
	// Difference is where the run leaves what the simulator of the release can do. Nil: it does not.
	Difference *Difference `json:"difference,omitempty"`
	// Failed are the expectations that do not hold in a run that differs.
	Failed []string `json:"failed,omitempty"`
	// As are the other versions whose expectations all hold then.
	As []string `json:"as,omitempty"`
}

// Difference is the first difference between a run of a kubelet and those of the release.
type Difference struct {
	At   string `json:"at"`
	What string `json:"what"` // without times and names
	Text string `json:"text"` // the records around it
}
