package strict

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// syntaxError converts an error of the YAML parser. The parser reports where it noticed the mistake
// and where the construct with the mistake begins. The error is at the beginning if the parser
// noticed the mistake in a later line than the one that the user looks for.
func (p *parser) syntaxError(part part, err error) Error {
	message, place := strings.TrimPrefix(err.Error(), "yaml: "), yaml.Mark{Line: 1, Column: 1}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		message, place = load.Message, load.Mark
		text := bytes.TrimRight(part.text, " \t\r\n")
		last := bytes.Count(text, []byte("\n")) + 1
		if place.Line > last || message == "could not find expected ':'" ||
			message == "found unexpected end of stream" {
			place = load.ContextMark
		}
		if place.Line < 1 || place.Line > last {
			place = yaml.Mark{Line: last, Column: utf8.RuneCount(text[bytes.LastIndexByte(text, '\n')+1:])}
		}
		if message == "found character that cannot start any token" {
			message += ", such as a tab: YAML indents with spaces"
			if lines := bytes.Split(text, []byte("\n")); bytes.HasPrefix(lines[place.Line-1], []byte("```")) {
				message = "found a fence of Markdown: pass only what is between two of them"
			}
		}
	}
	return Error{Pos: Pos{p.file, part.lines + max(1, place.Line), max(1, place.Column)}, Message: "not valid YAML: " +
		message}
}
