package trace

import "encoding/json"

// Header identifies the run of the records that follow it in a file with several runs. It is a JSON
// object with the only field run. A file with a single run has no header.
type Header struct {
	Scenario   string `json:"scenario"`
	Kubernetes string `json:"kubernetes"`     // version, for example v1.37
	Seed       *int64 `json:"seed,omitempty"` // nil for a run without a seed
	File       string `json:"file"`           // scenario file
	Line       int    `json:"line"`           // line on which the scenario starts
}

// AppendHeader appends the header to dst as one JSON object, without a newline, and returns the
// extended slice.
func AppendHeader(dst []byte, h *Header) []byte {
	text, err := json.Marshal(struct {
		Run *Header `json:"run"`
	}{h})
	if err != nil {
		panic(err) // a header has no value that JSON lacks
	}
	return append(dst, text...)
}
