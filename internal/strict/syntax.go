package strict

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The places of syntax errors are searched in documents up to maxSearched, until locateBudget bytes of a
// file were parsed again for it. Elsewhere an error has the line that the parser gives.
const (
	maxSearched  = 128 << 10
	locateBudget = 4 << 20
)

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxError makes an error of the YAML parser's. The parser gives a line at most, often that where the
// block or list around the mistake begins. So the place is searched: it is where the shortest beginning of
// the document ends that the parser says the same of.
func (p *parser) syntaxError(part part, err error) Error {
	message, line := parserSays(err)
	at := place{min(max(line, 1), len(lineEnds(part.text))), 1}
	s := &search{text: part.text, message: message, suffix: suffixFor(message), budget: &p.budget}
	switch {
	case len(part.text) > maxSearched:
	case s.fails(len(part.text)):
		at = cmp.Or(s.find(), at)
		message += s.context(part, at)
	case p.budget < 0:
	case message == noNode:
		at = s.end()
		message += ": the document ends in a list or mapping in brackets"
	case openBrackets[message] != "":
		at = cmp.Or(s.opening(), at)
		message += ": the " + openBrackets[message] + " that begins here does not end"
	}
	return Error{Pos: Pos{p.file, part.lines + at.line, at.column}, Message: "not valid YAML: " + message}
}

// parserSays takes an error of the parser apart into what it says and the line it gives, 0 if none.
func parserSays(err error) (message string, line int) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
	}
	return message, line
}

// openBrackets are what the parser says in brackets that do not go on as they should, and what they hold.
var openBrackets = map[string]string{
	"did not find expected ',' or ']'": "list",
	"did not find expected ',' or '}'": "mapping",
}

// noNode is what the parser says in brackets where a value should be.
const noNode = "did not find expected node content"

// place is a place in a part of a stream. Lines and columns count from 1.
type place struct{ line, column int }

// search looks for the place of an error in a document.
type search struct {
	text    []byte
	message string
	suffix  string // that is added to a beginning of the text so that its end is not mistaken for the error
	budget  *int
}

// suffixFor tells a mistake in brackets from their being open where the text is cut: with it the parser
// says something else of brackets that only do not end. It has several tokens, as the parser looks ahead.
func suffixFor(message string) string {
	switch {
	case openBrackets[message] != "":
		return "\n,,,,"
	case message == noNode:
		return "\n" + strings.Repeat(" ", 99) + "a,a,a,a" // so far in that it is no key of a block
	}
	return ""
}

// fails reports whether the parser says the same of the first bytes of the text.
func (s *search) fails(length int) bool {
	return s.says(string(s.text[:length])+s.suffix) == s.message
}

// says returns what the parser says of a text; nothing once the budget is used up.
func (s *search) says(text string) string {
	if *s.budget -= len(text); *s.budget < 0 {
		return ""
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc yaml.Node
		if err := decode(decoder, &doc); errors.Is(err, io.EOF) {
			return ""
		} else if err != nil {
			message, _ := parserSays(err)
			return message
		}
	}
}

// context says what the error is about, where that is not at its place.
func (s *search) context(part part, at place) string {
	if s.message == "found unexpected end of stream" {
		return ": the quoted text that begins here does not end"
	}
	if what, ok := openBrackets[s.message]; ok {
		if opening := s.opening(); opening.line > 0 && opening.line < at.line {
			return fmt.Sprintf(" of the %s that begins in line %d", what, part.lines+opening.line)
		}
	}
	return ""
}

// find returns the place where the shortest beginning of the text ends that fails, none if the budget does
// not suffice. It goes by lines, then by the characters of one.
func (s *search) find() place {
	lines := lineEnds(s.text)
	line := sort.Search(len(lines), func(i int) bool { return s.fails(lines[i]) })
	if *s.budget < 0 || line == len(lines) {
		return place{}
	}
	start := 0
	if line > 0 {
		start = lines[line-1]
	}
	text := s.text[start:lines[line]]
	ends := runeEnds(text)
	column := 1 + sort.Search(len(ends), func(i int) bool { return s.fails(start + ends[i]) })
	if *s.budget < 0 || column > len(ends) {
		column = firstColumn(text)
	} else if m := unknownAnchor.FindStringSubmatch(s.message); m != nil {
		column -= utf8.RuneCountInString(m[1]) // back to the asterisk
	} else if quote := text[ends[column-1]-1]; quote == '"' || quote == '\'' {
		column = beginningOfQuote(text[:ends[column-1]-1], quote, column)
	}
	return place{line + 1, column}
}

// beginningOfQuote returns the column where text in quotes begins that ends after line; that of its end if it
// does not begin there.
func beginningOfQuote(line []byte, quote byte, end int) int {
	if at := bytes.LastIndexByte(line, quote); at >= 0 {
		return 1 + utf8.RuneCount(line[:at])
	}
	return end
}

// opening returns the place of the bracket that is open at the end of the text, none if the parser does not
// give its line. The parser counts lines from 0 there and leaves out a line 0, which the one put before
// the text makes up for.
func (s *search) opening() place {
	decoder := yaml.NewDecoder(strings.NewReader("\n" + string(s.text)))
	err := decode(decoder, new(yaml.Node))
	if err == nil {
		return place{}
	}
	_, line := parserSays(err)
	lines := lineEnds(s.text)
	if line < 1 || line > len(lines) {
		return place{}
	}
	text := s.text[:lines[line-1]]
	if line > 1 {
		text = text[lines[line-2]:]
	}
	closed := 0
	for at := len(text) - 1; at >= 0; at-- {
		switch text[at] {
		case ']', '}':
			closed++
		case '[', '{':
			if closed == 0 {
				return place{line, 1 + utf8.RuneCount(text[:at])}
			}
			closed--
		}
	}
	return place{line, firstColumn(text)}
}

// end returns the place of the last character of the text that is not blank.
func (s *search) end() place {
	text := bytes.TrimRight(s.text, " \t\r\n")
	lines := lineEnds(text)
	if len(lines) == 0 {
		return place{1, 1}
	}
	last := text
	if n := len(lines); n > 1 {
		last = text[lines[n-2]:]
	}
	return place{len(lines), max(1, utf8.RuneCount(last))}
}

// lineEnds returns where the lines of a text end, with their breaks.
func lineEnds(text []byte) []int {
	var ends []int
	for at := 0; at < len(text); {
		at += lineEnd(text[at:])
		ends = append(ends, at)
	}
	return ends
}

// runeEnds returns where the characters of a line end.
func runeEnds(line []byte) []int {
	var ends []int
	for at := 0; at < len(line); {
		_, size := utf8.DecodeRune(line[at:])
		at += size
		ends = append(ends, at)
	}
	return ends
}

// firstColumn returns the column of the first character of a line that is not blank.
func firstColumn(line []byte) int {
	return 1 + len(line) - len(bytes.TrimLeft(line, " \t"))
}
