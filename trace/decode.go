package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"probesim.dev/sim/virtual"
)

// MaxLine is the maximum length of a line for a Reader, in bytes.
const MaxLine = 4 << 20

// line is the JSON form of a record of any kind, or of a header.
type line struct {
	Record
	PodStatus
	Object
	T      *virtual.Time `json:"t"`
	Reason string        `json:"reason"` // of the record, or of the status
	Run    *Header       `json:"run"`
}

// record returns the record, or an error if it has no kind or no t. Unknown fields are ignored, so
// traces of later versions can be read.
func (l *line) record() (Record, error) {
	switch {
	case l.Kind == "":
		return Record{}, errors.New("record has no kind")
	case l.T == nil:
		return Record{}, fmt.Errorf("%s record has no t", l.Kind)
	}
	r := l.Record
	if r.T = *l.T; l.Name != "" {
		r.Object = &l.Object
	}
	if r.Reason = l.Reason; l.Kind == StatusPatched {
		l.PodStatus.Reason, r.Reason, r.Status = l.Reason, "", &l.PodStatus
	}
	return r, nil
}

// Reader reads records from a file with one JSON object on each line. It skips empty lines.
type Reader struct {
	lines  *bufio.Scanner
	number int
	header *Header
}

// NewReader returns a Reader that reads from r.
func NewReader(r io.Reader) *Reader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxLine)
	return &Reader{lines: s}
}

// Header returns the header of the run of the last record, or nil if the file has no header before
// it.
func (r *Reader) Header() *Header { return r.header }

// Read returns the next record. After the last record it returns io.EOF. Other errors start with
// the line number.
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

// ReadAll reads all records from r. It does not separate several runs; use Reader.Header for that.
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
