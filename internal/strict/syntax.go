package strict

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// brackets names the constructs in brackets by the context that the YAML parser reports.
var brackets = map[string]string{
	"while parsing a flow sequence": "list",
	"while parsing a flow mapping":  "mapping",
}

// syntaxError converts an error of the YAML parser. The parser reports where it noticed the mistake and where the
// construct with the mistake begins. The error has the position at which a user looks for the mistake.
func (p *parser) syntaxError(part part, err error) Error {
	message, place := strings.TrimPrefix(err.Error(), "yaml: "), yaml.Mark{Line: 1, Column: 1}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		message, place = load.Message, load.Mark
		last := lastCharacter(part.text)
		begin, atEnd := load.ContextMark, place.Line > last.Line
		construct := brackets[load.ContextMsg]
		switch {
		case message == "could not find expected ':'":
			place = begin // the key without a colon
		case message == "found unexpected end of stream":
			place = begin
			message += ": the quoted text that begins here does not end"
		case construct != "" && atEnd:
			place = begin
			message += ": the " + construct + " that begins here does not end"
		case construct != "" && begin.Line < place.Line:
			message += fmt.Sprintf(" of the %s that begins in line %d", construct, part.lines+begin.Line)
		case message == "did not find expected node content" && atEnd:
			place = last
			message += ": the document ends in a list or mapping in brackets"
		case atEnd && !bytes.HasSuffix(part.text, []byte("\n")): // the line after the last one is not in the file
			place = last
		}
	}
	return Error{Pos: Pos{p.file, part.lines + max(1, place.Line), max(1, place.Column)}, Message: "not valid YAML: " + message}
}

// lastCharacter returns the position of the last character of a text that is not blank.
func lastCharacter(text []byte) yaml.Mark {
	text = bytes.TrimRight(text, " \t\r\n")
	line := 1
	for {
		end := lineEnd(text)
		if end == len(text) {
			return yaml.Mark{Line: line, Column: max(1, utf8.RuneCount(text))}
		}
		text = text[end:]
		line++
	}
}
