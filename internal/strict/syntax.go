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

// syntaxError converts an error of the YAML parser. The parser reports where it noticed the mistake
// and where the construct with the mistake begins. The error has the position at which a user looks
// for the mistake.
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
		case message == "found character that cannot start any token" && characterAt(part.text, place) == '\t':
			message += ": a tab, and YAML indents with spaces"
		case construct != "" && atEnd:
			place = begin
			message += ": the " + construct + " that begins here does not end"
		case construct != "" && attached(part.text, place) != "":
			message += ": put quotes around the text that begins with " + Quote(attached(part.text, place))
		case construct != "" && begin.Line < place.Line:
			message += fmt.Sprintf(" of the %s that begins in line %d", construct, part.lines+begin.Line)
		case message == "did not find expected node content" && atEnd:
			place = last
			message += ": the document ends in a list or mapping in brackets"
		case atEnd && !bytes.HasSuffix(part.text, []byte("\n")): // the line after the last one is not in the file
			place = last
		}
	}
	return Error{Pos: Pos{p.file, part.lines + max(1, place.Line), max(1, place.Column)}, Message: "not valid YAML: " +
		message}
}

// characterAt returns the character at a place, or 0 if there is none.
func characterAt(text []byte, place yaml.Mark) rune {
	if line, i := lineOf(text, place), place.Column-1; i >= 0 && i < len(line) {
		return line[i]
	}
	return 0
}

// lineOf returns the line of a place.
func lineOf(text []byte, place yaml.Mark) []rune {
	for range place.Line - 1 {
		text = text[lineEnd(text):]
	}
	return []rune(string(text[:lineEnd(text)]))
}

// attached returns the text without quotes that ends at an opening bracket, as /q?tags in
// /q?tags[]=1. In a list or mapping in brackets it has to be in quotes. attached returns an empty
// string if there is none.
func attached(text []byte, bracket yaml.Mark) string {
	line, end := lineOf(text, bracket), bracket.Column-1
	if end >= len(line) || line[end] != '[' && line[end] != '{' {
		return ""
	}
	begin := end
	for begin > 0 && !strings.ContainsRune(" \t,[]{}\"'", line[begin-1]) {
		begin--
	}
	if begin > 0 && strings.ContainsRune("]}\"'", line[begin-1]) {
		return ""
	}
	return string(line[begin:end])
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
