package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"probesim.dev/sim/virtual"
)

// MaxLine is the longest line, in bytes, that a Reader takes.
const MaxLine = 4 << 20

// line is a record as it is written. Fields of all kinds share it, as they share Record.
type line struct {
	Step      int64  `json:"step"`
	T         *int64 `json:"t"`
	Kind      Kind   `json:"kind"`
	Cause     int64  `json:"cause"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Instance  int    `json:"instance"`

	Probe        Probe  `json:"probe"`
	Result       Result `json:"result"`
	Took         int64  `json:"took"`
	GraceSeconds int64  `json:"graceSeconds"`
	ExitCode     int32  `json:"exitCode"`
	Type         string `json:"type"`
	Reason       string `json:"reason"`
	Message      string `json:"message"`

	Phase           string            `json:"phase"`
	Initialized     bool              `json:"initialized"`
	ContainersReady bool              `json:"containersReady"`
	Ready           bool              `json:"ready"`
	Containers      []ContainerStatus `json:"containers"`

	Run *Header `json:"run"`
}

// Decode reads a record that AppendJSON wrote. Fields it does not know are left out, so that a trace with
// more than this version writes can be read.
func Decode(data []byte) (Record, error) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return Record{}, err
	}
	return l.record()
}

func (l *line) record() (Record, error) {
	switch {
	case l.Kind == "":
		return Record{}, errors.New("a record has no kind")
	case l.T == nil:
		return Record{}, fmt.Errorf("the %s record has no t", l.Kind)
	}
	return l.fields(), nil
}

func (l *line) fields() Record {
	r := Record{
		Step: l.Step, T: virtual.Time(*l.T), Kind: l.Kind, Cause: l.Cause,
		Pod: l.Pod, Container: l.Container, Instance: l.Instance,
		Probe: l.Probe, Result: l.Result, Took: time.Duration(l.Took),
		GraceSeconds: l.GraceSeconds, ExitCode: l.ExitCode,
		Type: l.Type, Reason: l.Reason, Message: l.Message,
	}
	if l.Kind == StatusPatched {
		r.Reason = "" // the pod's
		r.Status = &PodStatus{
			Phase: l.Phase, Reason: l.Reason, Initialized: l.Initialized,
			ContainersReady: l.ContainersReady, Ready: l.Ready, Containers: l.Containers,
		}
	}
	return r
}

// Reader reads records from JSON lines, of one run or, with headers between them, of several. Empty lines
// are skipped.
type Reader struct {
	lines  *bufio.Scanner
	number int
	header *Header
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxLine)
	return &Reader{lines: s}
}

// Header returns the header of the run that the last record belongs to; nil if there was none.
func (r *Reader) Header() *Header { return r.header }

// Read returns the next record, or io.EOF after the last. Errors name the line.
func (r *Reader) Read() (Record, error) {
	for r.lines.Scan() {
		r.number++
		data := bytes.TrimSpace(r.lines.Bytes())
		if len(data) == 0 {
			continue
		}
		var l line
		err := json.Unmarshal(data, &l)
		if err == nil && l.Run != nil {
			r.header = l.Run
			continue
		}
		var rec Record
		if err == nil {
			rec, err = l.record()
		}
		if err != nil {
			err = fmt.Errorf("line %d: %w", r.number, err)
		}
		return rec, err
	}
	if err := r.lines.Err(); err != nil {
		return Record{}, fmt.Errorf("line %d: %w", r.number+1, err)
	}
	return Record{}, io.EOF
}

// ReadAll returns all records of r, of whatever runs.
func ReadAll(r io.Reader) ([]Record, error) {
	var records []Record
	for in := NewReader(r); ; {
		rec, err := in.Read()
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
}
