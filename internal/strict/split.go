package strict

import "bytes"

// part is a part of a stream of documents.
type part struct {
	text       []byte
	lines      int // lines of the stream before the part
	directives int
}

// split cuts a stream at the boundaries of documents. A line that is --- or ..., or starts with one
// and a blank, is always a marker, because no scalar can contain such a line (YAML 1.2.2, 9.1.2).
// Comments and directives belong to the document that follows them.
func split(data []byte) []part {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return []part{{text: data, directives: bytes.Count(data, []byte("%"))}} // UTF-16
	}
	var parts []part
	current, begun, at, lines := part{}, false, 0, 0
	end := func() {
		current.text = data[:at]
		parts = append(parts, current)
		data, begun, at = data[at:], false, 0
		current = part{lines: lines}
	}
	for line := range bytes.Lines(data) {
		start := isMarker(line, "---")
		if start && begun {
			end()
		}
		at, lines = at+len(line), lines+1
		switch {
		case begun && isMarker(line, "..."):
			end()
		case start || !isBetween(line):
			begun = true
		case !begun && line[0] == '%':
			current.directives++
		}
	}
	current.text = data
	return append(parts, current)
}

func isMarker(line []byte, marker string) bool {
	rest, is := bytes.CutPrefix(line, []byte(marker))
	return is && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// isBetween reports whether a line can come before a document: a blank line, a comment, a directive
// or the end of another one.
func isBetween(line []byte) bool {
	trimmed := bytes.TrimSpace(line)
	return len(trimmed) == 0 || trimmed[0] == '#' || line[0] == '%' || isMarker(line, "...")
}
