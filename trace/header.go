package trace

import "strconv"

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
	dst = appendText(dst, `{"run":{"scenario":`, h.Scenario)
	dst = appendText(dst, `,"kubernetes":`, h.Kubernetes)
	if h.Seed != nil {
		dst = appendInt(dst, `,"seed":`, *h.Seed)
	}
	dst = appendText(dst, `,"file":`, h.File)
	dst = append(dst, `,"line":`...)
	dst = strconv.AppendInt(dst, int64(h.Line), 10)
	return append(dst, "}}"...)
}
