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
	current, begun, lines := part{}, false, 0
	end := func(at int) {
		current.text = data[:at]
		parts = append(parts, current)
		data, begun = data[at:], false
		current = part{lines: lines}
	}
	for at := 0; at < len(data); {
		next := at + lineEnd(data[at:])
		line := data[at:next]
		switch {
		case isMarker(line, "---"):
			if begun {
				end(at)
				at, next = 0, len(line)
			}
			begun = true
		case isMarker(line, "..."):
			if begun {
				lines++
				end(next)
				at = 0
				continue
			}
		case !isBetween(line):
			begun = true
		case !begun && line[0] == '%':
			current.directives++
		}
		lines++
		at = next
	}
	current.text = data
	return append(parts, current)
}

// lineEnd returns the end of the first line of data, after its line break.
func lineEnd(data []byte) int {
	end := bytes.IndexAny(data, "\r\n")
	switch {
	case end < 0:
		return len(data)
	case data[end] == '\r' && end+1 < len(data) && data[end+1] == '\n':
		return end + 2
	}
	return end + 1
}

func isMarker(line []byte, marker string) bool {
	rest, is := bytes.CutPrefix(line, []byte(marker))
	return is && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// isBetween reports whether a line can come before a document: a blank line, a comment or a
// directive.
func isBetween(line []byte) bool {
	trimmed := bytes.TrimSpace(line)
	return len(trimmed) == 0 || trimmed[0] == '#' || line[0] == '%'
}
