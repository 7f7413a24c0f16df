package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Parse parses a stream of YAML documents and leaves out empty ones. A syntax error in one document
// does not affect the others. It reports errors to errs and returns whether it could read the whole
// stream.
func Parse(name string, data []byte, errs *Collector) (docs []*Node, whole bool) {
	if len(data) > MaxFileSize {
		errs.Addf(name, "the file is larger than %d MiB and was not read", MaxFileSize>>20)
		return nil, false
	}
	if !checkTokens(name, data, errs) {
		return nil, false
	}
	p := &parser{expander: expander{file: name, errs: errs}, whole: true}
	for _, part := range split(data) {
		if !p.part(part) {
			return p.docs, false
		}
	}
	return p.docs, p.whole
}

// parser parses the parts of a stream.
type parser struct {
	expander
	docs  []*Node
	count int // number of documents, including empty and broken ones
	whole bool
}

// part parses a part of the stream, usually one document. It returns false if a limit is exceeded.
func (p *parser) part(part part) bool {
	p.lines = part.lines
	if part.directives > MaxDirectives {
		at := Pos{p.file, part.lines + 1, 1}
		p.errs.Add(Error{Pos: at, Message: fmt.Sprintf("the document has more than %d directives", MaxDirectives)})
		return false
	}
	decoder := yaml.NewDecoder(bytes.NewReader(part.text))
	for {
		var doc yaml.Node
		err := decode(decoder, &doc)
		if errors.Is(err, io.EOF) {
			return true
		}
		if p.count++; p.count > MaxDocuments {
			at := Pos{p.file, part.lines + 1, 1}
			p.errs.Add(Error{Pos: at, Message: fmt.Sprintf("the file has more than %d documents", MaxDocuments)})
			return false
		}
		if err != nil {
			p.errs.Add(p.syntaxError(part, err))
			p.whole = false
			return true
		}
		root := p.document(&doc)
		if p.full {
			return false
		}
		if root != nil && !root.isNull() {
			p.docs = append(p.docs, root)
		}
	}
}

// decode decodes the next document. If the parser panics, it returns an error: a bad file must not
// end the program.
func decode(d *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser failed: %v", r)
		}
	}()
	return d.Decode(doc)
}

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
