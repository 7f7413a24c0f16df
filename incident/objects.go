package incident

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/strict"
)

// object is a JSON or YAML object with the values of its fields. The items of a list are separate.
type object struct {
	fields map[string]json.RawMessage
	items  []item
	at     Place
	cut    bool // the text ends in the middle of the object
}

// item is a value in a list.
type item struct {
	raw json.RawMessage
	at  Place
}

// readJSON reads one JSON value at an offset and returns its length, or 0 if it is not JSON at all. Of a value that ends too
// early it uses the complete parts.
func (r *reader) readJSON(at int) int {
	if r.wasted > 2*len(r.data)+1<<20 { // text in which many lines begin with a bracket
		return 0
	}
	from := bytes.NewReader(r.data[at:])
	dec := json.NewDecoder(from)
	o := &object{fields: map[string]json.RawMessage{}, at: r.at(at)}
	err := r.decode(dec, o, at)
	n := int(dec.InputOffset())
	if err != nil && len(o.fields) == 0 && len(o.items) == 0 {
		r.wasted += len(r.data) - at - from.Len()
		return 0 // text that begins with a bracket
	}
	if err != nil {
		n = r.afterBroken(at + n)
		n -= at
		o.cut = true
		what := fmt.Sprintf("is not valid JSON from line %d on: %s", r.at(at+int(dec.InputOffset())).Line, jsonError(err))
		rest := bytes.TrimSpace(r.data[min(at+int(dec.InputOffset()), len(r.data)):])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || endsIn(rest, err) {
			what = "ends too early; was it cut off when it was copied?"
		}
		if len(o.items) > 0 {
			r.problem(o.at, true, "the list %s The first %d of its items were read", sentence(what), len(o.items))
		} else {
			r.problem(o.at, true, "the object %s Its first %d fields were read", sentence(what), len(o.fields))
		}
	}
	r.object(o, "", "")
	return max(n, 1)
}

// endsIn reports whether a syntax error is at the end of the data, where a text was cut off: in its last line.
func endsIn(rest []byte, err error) bool {
	_, isSyntax := errors.AsType[*json.SyntaxError](err)
	return isSyntax && !bytes.Contains(rest, []byte("\n"))
}

func sentence(s string) string {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func jsonError(err error) string {
	return strings.TrimPrefix(err.Error(), "json: ")
}

// afterBroken returns the offset at which reading goes on after broken JSON: the next line that begins with a bracket at the
// margin, or that is not indented text of JSON.
func (r *reader) afterBroken(at int) int {
	for at < len(r.data) {
		i := bytes.IndexByte(r.data[at:], '\n')
		if i < 0 {
			return len(r.data)
		}
		at += i + 1
		if at < len(r.data) && !strings.ContainsRune(" \t\r\n}],\"", rune(r.data[at])) {
			return at
		}
	}
	return len(r.data)
}

// decode reads the fields of an object, or the items of a list, until an error.
func (r *reader) decode(dec *json.Decoder, o *object, base int) error {
	start, err := dec.Token()
	if err != nil {
		return err
	}
	if start == json.Delim('[') {
		return r.decodeItems(dec, o, base)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if name == "items" {
			if next := bytes.TrimLeft(r.data[base+int(dec.InputOffset()):], ": \t\r\n"); len(next) > 0 && next[0] == '[' {
				if _, err := dec.Token(); err != nil {
					return err
				}
				if err := r.decodeItems(dec, o, base); err != nil {
					return err
				}
				continue
			}
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		o.fields[name] = raw
	}
	_, err = dec.Token()
	return err
}

func (r *reader) decodeItems(dec *json.Decoder, o *object, base int) error {
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		o.items = append(o.items, item{raw, r.at(base + int(dec.InputOffset()) - len(raw))})
	}
	_, err := dec.Token()
	return err
}

// readYAML reads the YAML documents at an offset and returns the length of the text.
func (r *reader) readYAML(at int) int {
	end := at
	for end < len(r.data) {
		line := strings.TrimSuffix(r.line(end), "\r")
		if end > at && (!yamlLine.MatchString(line) || describeStart.MatchString(line)) {
			break
		}
		end += len(line) + 1
		for end <= len(r.data) && end > 0 && r.data[end-1] != '\n' && end < len(r.data) {
			end++
		}
	}
	end = min(end, len(r.data))
	first := r.at(at)
	var errs strict.Collector
	docs, _ := strict.Parse(r.file, r.data[at:end], &errs)
	list := errs.List()
	for i, e := range list {
		if i == 3 {
			r.problem(first, true, "%d more errors in the YAML that begins here", len(list)-i)
			break
		}
		r.problem(Place{r.file, max(e.Line, 1) + first.Line - 1}, true, "%s", e.Text())
	}
	for _, doc := range docs {
		r.node(doc, first.Line-1)
	}
	return end - at
}

// node reads a YAML document. Its lines count from the beginning of its text, which is after the given number of lines.
func (r *reader) node(n *strict.Node, before int) {
	place := func(n *strict.Node) Place { return Place{r.file, n.Pos.Line + before} }
	o := &object{fields: map[string]json.RawMessage{}, at: place(n)}
	switch n.Kind {
	case strict.Sequence:
		for _, i := range n.Items {
			o.items = append(o.items, item{i.JSON(), place(i)})
		}
	case strict.Mapping:
		for i, k := range n.Keys {
			if k.Name != "items" || n.Items[i].Kind != strict.Sequence {
				o.fields[k.Name] = n.Items[i].JSON()
				continue
			}
			for _, list := range n.Items[i].Items {
				o.items = append(o.items, item{list.JSON(), place(list)})
			}
		}
	}
	r.object(o, "", "")
}

func (o *object) text(name string) string {
	var s string
	json.Unmarshal(o.fields[name], &s) // anything else counts as no string
	return s
}

// raw returns the object as JSON without its items.
func (o *object) raw() json.RawMessage {
	data, err := json.Marshal(o.fields)
	if err != nil { // the values are valid JSON
		panic(err)
	}
	return data
}

// maxDepth limits lists in lists and watch events in watch events.
const maxDepth = 8

// object uses an object: an event, a pod, a workload, a list, or an event of a watch. A list can have the kind of its items.
func (r *reader) object(o *object, kind, change string) { r.nested(o, kind, change, 0) }

func (r *reader) nested(o *object, kind, change string, depth int) {
	if depth > maxDepth {
		r.problem(o.at, true, "lists are nested deeper than %d levels", maxDepth)
		return
	}
	if own := o.text("kind"); own != "" {
		kind = own
	}
	of, isList := strings.CutSuffix(kind, "List")
	for _, i := range o.items {
		child, err := fieldsOf(i)
		if err != nil {
			r.problem(i.at, true, "this item is no object")
			continue
		}
		r.nested(child, of, "", depth+1)
	}
	switch {
	case isList || len(o.items) > 0 && len(o.fields) == 0:
		return
	case o.fields["object"] != nil && o.text("type") != "":
		child, err := fieldsOf(item{o.fields["object"], o.at})
		if err != nil {
			r.problem(o.at, true, "the event of a watch has no object")
			return
		}
		r.nested(child, "", o.text("type"), depth+1)
	case kind == "Event" || kind == "" && o.fields["reason"] != nil && (o.fields["involvedObject"] != nil || o.fields["regarding"] != nil):
		r.event(o, change)
	case kind == "Pod" || kind == "" && o.fields["spec"] != nil && o.fields["status"] != nil:
		r.podObject(o, change)
	case o.fields["pod_name"] != nil && o.fields["container_states"] != nil:
		r.condensed(o)
	case r.workload(o, kind):
	default:
		if kind == "" {
			kind = "an object without a kind"
		}
		r.others[kind]++
	}
}

// fieldsOf returns the fields of an object, whose own items are separate.
func fieldsOf(i item) (*object, error) {
	o := &object{fields: map[string]json.RawMessage{}, at: i.at}
	if err := json.Unmarshal(i.raw, &o.fields); err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(o.fields["items"], &list) == nil {
		delete(o.fields, "items")
		for _, raw := range list {
			o.items = append(o.items, item{raw, i.at})
		}
	}
	return o, nil
}
