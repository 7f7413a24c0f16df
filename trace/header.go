package trace

import "strconv"

// Header says which run the records after it belong to. A file with the trace of one run has none; in a
// file with several, each trace has a line before it that holds an object with the one field run.
type Header struct {
	Scenario   string `json:"scenario"`
	Kubernetes string `json:"kubernetes"`     // version
	Seed       *int64 `json:"seed,omitempty"` // nil: nothing was drawn
	File       string `json:"file"`           // of the scenario, and the line it begins on
	Line       int    `json:"line"`
}

// AppendHeader appends the header as one JSON object, without a newline, and returns the longer slice.
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
