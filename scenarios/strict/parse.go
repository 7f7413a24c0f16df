package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads a stream of YAML documents. Empty documents are left out. What is wrong with the text
// goes to errs; the documents before it are returned all the same.
func Parse(name string, data []byte, errs *Collector) []*Node {
	if len(data) > MaxFileSize {
		errs.Addf(name, "the file is larger than %d MiB and was not read", MaxFileSize>>20)
		return nil
	}
	x := &expander{file: name, errs: errs}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var docs []*Node
	for count := 0; ; count++ {
		var doc yaml.Node
		err := decode(decoder, &doc)
		if errors.Is(err, io.EOF) {
			return docs
		}
		if err != nil {
			errs.Add(syntaxError(name, data, err))
			return docs
		}
		if count >= MaxDocuments {
			errs.Add(Error{Pos: Pos{name, doc.Line, doc.Column}, Message: fmt.Sprintf("the file has more than %d documents", MaxDocuments)})
			return docs
		}
		root := x.document(&doc)
		if x.full {
			return docs
		}
		if root != nil && !root.isNull() {
			docs = append(docs, root)
		}
	}
}

// decode reads the next document. The parser is not known to panic; were it to, that file is bad and
// not the program.
func decode(d *yaml.Decoder, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	return d.Decode(doc)
}

var (
	yamlLine      = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxError makes an error of the parser's, which has a line at most; it leaves out the first.
func syntaxError(name string, data []byte, err error) Error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	e := Error{Pos: Pos{name, 1, 1}}
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
	} else if m := unknownAnchor.FindStringSubmatch(message); m != nil {
		if at := bytes.Index(data, []byte("*"+m[1])); at >= 0 {
			e.Line = 1 + bytes.Count(data[:at], []byte("\n"))
			e.Column = at - bytes.LastIndexByte(data[:at], '\n')
		}
	}
	e.Message = "not valid YAML: " + message
	return e
}
