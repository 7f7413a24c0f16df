package incident

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/strict"
)

// object is a JSON or YAML object, or a list.
type object struct {
	whole  json.RawMessage
	fields map[string]json.RawMessage
	items  []item // of the list, or of the object
	at     Place
	cut    bool // the text ends in the middle of the object
}

// item is a value in a list, with the places of its bytes.
type item struct {
	raw json.RawMessage
	at  func(offset int) Place
}

// parse returns the fields or the items of valid JSON.
func (i item) parse() *object {
	o := &object{whole: i.raw, at: i.at(0)}
	list, values := i.raw, []json.RawMessage{}
	if i.raw[0] != '[' {
		json.Unmarshal(i.raw, &o.fields)
		if list = o.fields["items"]; !bytes.HasPrefix(list, []byte("[")) {
			return o
		}
		delete(o.fields, "items")
	}
	json.Unmarshal(list, &values)
	from := bytes.Index(i.raw, list)
	for _, value := range values {
		from += bytes.Index(i.raw[from:], value)
		begin := from
		o.items = append(o.items, item{value, func(offset int) Place { return i.at(begin + offset) }})
		from += len(value)
	}
	return o
}

// text returns a field that is a string.
func (o *object) text(name string) string {
	var s string
	json.Unmarshal(o.fields[name], &s) // anything else counts as no string
	return s
}

const parts = `status|spec|containerStatuses|initContainerStatuses|conditions|containers|state|lastState` +
	`|livenessProbe|readinessProbe|startupProbe`

var (
	// jsonPart and yamlPart match the first line of a part of a pod.
	jsonPart = regexp.MustCompile(`^\s*"(` + parts + `|State)":\s*([\[{])`)
	yamlPart = regexp.MustCompile(`^\s*(?:- )?(` + parts + `):\s*(?:\{.*)?$`)

	yamlStart = regexp.MustCompile(`^ *(- )?(apiVersion|kind|metadata|items):(\s|$)`)
	// yamlLine matches the lines of a YAML document at its top level. Titles of kubectl begin with
	// a capital.
	yamlLine = regexp.MustCompile(`^(\s|#|$|---$|\.\.\.$|- |["']?[a-z][A-Za-z0-9_./-]*["']?:(\s|$))`)
)

// readObject reads an object, or a part of one, that begins with a line, and returns the length of
// its text, or 0 if there is none.
func (r *reader) readObject(at int, line string) int {
	trimmed := strings.TrimLeft(line, " \t")
	margin := len(line) - len(trimmed)
	switch {
	case trimmed == "" || r.wasted > len(r.data)/4+1<<20: // text in which many lines begin with a bracket
		return 0
	case (trimmed[0] == '{' || trimmed[0] == '[' && !ringLine.MatchString(line)) && margin < 9:
		return r.readJSON(at, margin, "")
	case yamlStart.MatchString(line) && (margin == 0 || len(r.text.block.lines) == 0):
		return r.readYAML(at, "")
	case trimmed[0] == '"':
		if m := jsonPart.FindStringSubmatchIndex(line); m != nil {
			return r.readJSON(at, m[4], line[m[2]:m[3]])
		}
	default:
		if m := yamlPart.FindStringSubmatch(line); m != nil {
			return r.readYAML(at, m[1])
		}
	}
	return 0
}

// readJSON reads a JSON value that begins in a line. It may be the value of a key. Of a value that
// is cut off, or broken, it uses the complete parts before.
func (r *reader) readJSON(at, margin int, key string) int {
	data := r.data[at+margin:]
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	err := dec.Decode(&raw)
	n := margin + int(dec.InputOffset())
	if err != nil {
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			data = data[:min(len(data), max(int(syntax.Offset)-1, 0))]
		}
		n = margin + len(data)
		r.wasted += n + 1<<9
		if raw = closed(data); len(raw) < 3 || !json.Valid(raw) {
			return 0 // text that begins with a bracket
		}
	}
	if key != "" {
		raw = fmt.Appendf(nil, `{%q:%s}`, key, raw)
	}
	o := item{raw, func(offset int) Place { return r.at(at + min(n, margin+offset)) }}.parse()
	o.cut = err != nil || key != ""
	if key == "" {
		r.text.flush()
	}
	if err != nil && key == "" {
		r.problem(o.at, true, "the object that begins here ends too early, or is no valid JSON, at line %d: what is "+
			"before was read. Was it cut off when it was copied?", r.at(at+n).Line)
	}
	if !r.object(o, "", "", 0) && key != "" {
		return 0
	}
	if err == nil {
		return n
	}
	for at+n < len(r.data) { // on, at the next line that is not indented text of JSON
		if n += len(r.line(at+n)) + 1; at+n < len(r.data) && !strings.ContainsRune(" \t\r\n}],\"", rune(r.data[at+n])) {
			break
		}
	}
	return n
}

// closed returns the complete parts of JSON that is cut off, with the brackets that it lacks, or
// nil.
func closed(data []byte) []byte {
	var open, then []byte
	end, text := 0, false
	complete := func(until int) { end, then = until, append(then[:0], open...) }
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if open = append(open, c+2); len(open) > 1000 {
				return nil
			}
			complete(i + 1)
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
			complete(i + 1)
		case c == ',':
			complete(i)
		}
	}
	slices.Reverse(then)
	return append(bytes.Clone(data[:end]), then...)
}

// readYAML reads the YAML documents at an offset, or the part of one with a key. It returns the
// length of their text, or 0 if it is no YAML.
func (r *reader) readYAML(at int, key string) int {
	part, isProbe := key != "", strings.HasSuffix(key, "Probe")
	lines, end := r.yamlLines(at, part, isProbe)
	docs, errs := r.parseYAML(lines, end-at < 1<<20)
	if isProbe && (len(docs) == 0 || len(errs) > 0 || bytes.Contains(docs[0].JSON(), []byte("null"))) {
		for i, line := range lines { // its indentation is lost
			lines[i] = strings.Repeat(" ", probeDepth(line)) +
				strings.TrimPrefix(strings.TrimSpace(line), strings.Repeat("- ", 1-min(i, 1)))
		}
		docs, errs = r.parseYAML(lines, true)
	}
	before := r.at(at).Line - 1
	var list []*object
	for _, doc := range docs {
		o := node(doc, func(n *strict.Node) Place { return Place{r.file, n.Pos.Line + before} })
		if o.cut = part; part || len(o.items) > 0 || o.fields["kind"] != nil || o.fields["involvedObject"] != nil ||
			o.fields["status"] != nil {
			list = append(list, o)
		}
	}
	switch {
	case len(list) == 0, part && (len(errs) > 0 || !r.object(list[0], "", "", 0)):
		r.wasted += 50 * (end - at) // it takes longer than JSON
		return 0
	case part:
		return end - at
	case len(errs) > 0:
		r.problem(Place{r.file, max(errs[0].Line, 1) + before}, true, "%s", errs[0].Text())
	}
	r.text.flush()
	for _, o := range list {
		r.object(o, "", "", 0)
	}
	return end - at
}

// yamlLines returns the lines from an offset on that can be YAML, without their margin, and the
// offset of their end. The lines of a probe may have lost their indentation.
func (r *reader) yamlLines(at int, part, isProbe bool) (lines []string, end int) {
	margin := indent(r.line(at))
	for end = at; end < len(r.data); {
		line := r.line(end)
		text := strings.TrimRight(line, "\r")
		depth, blank := indent(text), strings.TrimSpace(text) == ""
		next := part && end > at && depth == margin && !strings.HasPrefix(text[min(margin, len(text)):], "- ")
		outside := !blank && (depth < margin || next)
		text = text[min(margin, depth):]
		if outside && !(isProbe && probeDepth(text) > 0) || isProbe && blank || !yamlLine.MatchString(text) {
			break
		}
		lines = append(lines, text)
		end += len(line) + 1
	}
	return lines, min(end, len(r.data))
}

// parseYAML parses lines, the last of which may be cut off.
func (r *reader) parseYAML(lines []string, again bool) (docs []*strict.Node, list []strict.Error) {
	for n := len(lines); n > 0 && n > len(lines)-3 && (n == len(lines) || again && docs == nil); n-- {
		var errs strict.Collector
		docs, _ = strict.Parse(r.file, []byte(strings.Join(lines[:n], "\n")+"\n"), &errs)
		list = errs.List()
	}
	return docs, list
}

// probeKeys are the keys of a probe in a manifest, with their depths.
var probeKeys = map[string]int{"httpGet": 2, "exec": 2, "tcpSocket": 2, "grpc": 2, "path": 4, "port": 4, "scheme": 4,
	"host": 4, "httpHeaders": 4, "command": 4, "service": 4, "name": 6, "value": 8,
	"initialDelaySeconds": 2, "timeoutSeconds": 2, "periodSeconds": 2, "successThreshold": 2, "failureThreshold": 2,
	"terminationGracePeriodSeconds": 2}

// probeDepth returns the indentation that a line of a probe in a manifest must have, or 0 if it can
// be none.
func probeDepth(line string) int {
	item, isItem := strings.CutPrefix(strings.TrimSpace(line), "- ")
	key, _, _ := strings.Cut(item, ":")
	if isItem && !strings.Contains(line, "Probe:") {
		return 6
	}
	return probeKeys[strings.Trim(key, `"`)]
}

// node returns a YAML document as an object.
func node(doc *strict.Node, place func(*strict.Node) Place) *object {
	as := func(n *strict.Node) item { return item{n.JSON(), func(int) Place { return place(n) }} }
	o := as(doc).parse()
	list := doc
	if i := slices.IndexFunc(doc.Keys, func(k strict.Key) bool { return k.Name == "items" }); i >= 0 {
		list = doc.Items[i]
	}
	for i := range o.items {
		o.items[i] = as(list.Items[i])
	}
	return o
}

// maxDepth limits lists in lists and watch events in watch events.
const maxDepth = 8

// object uses an object: an event, a pod, a workload, a list, or an event of a watch. A list can
// have the kind of its items. It returns false for others.
func (r *reader) object(o *object, kind, change string, depth int) bool {
	if depth > maxDepth {
		r.problem(o.at, true, "lists are nested deeper than %d levels", maxDepth)
		return false
	}
	kind = cmp.Or(o.text("kind"), kind)
	of, isList := strings.CutSuffix(kind, "List")
	for n, i := range o.items {
		child := i.parse()
		child.cut = o.cut && n == len(o.items)-1
		r.object(child, of, "", depth+1)
	}
	switch {
	case isList || len(o.items) > 0 && len(o.fields) == 0:
	case o.fields["object"] != nil && o.text("type") != "":
		return r.object(item{o.fields["object"], func(int) Place { return o.at }}.parse(), "", o.text("type"), depth+1)
	case r.event(o, kind, columns{}, change, 0), r.part(o, kind, change), r.dockerEnd(o), r.text.jsonLog(o),
		r.wrapped(o, depth):
	default:
		r.others[cmp.Or(kind, "an object without a kind")]++
		if kind == "" {
			r.text.sentences(o)
		}
		return false
	}
	return true
}

// sentences uses what the strings in an object of another program say.
func (t *textReader) sentences(o *object) {
	dec := json.NewDecoder(bytes.NewReader(o.whole))
	for token, err := dec.Token(); err == nil; token, err = dec.Token() {
		for line := range strings.Lines(fmt.Sprint(token)) { // a string; others say nothing
			line = strings.TrimSpace(line)
			_ = t.spokenEvent(line, split(line, nil), o.at) || t.spokenState(line, o.at) || t.sign(line, o.at)
		}
	}
}

// wrapped uses the events in an object that a tool puts around them: an entry of a log, or a
// document of a search index. It returns false if there are none.
func (r *reader) wrapped(o *object, depth int) (used bool) {
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		if raw := o.fields[key]; raw[0] == '{' && bytes.Contains(raw, []byte(`"involvedObject"`)) {
			used = r.object(item{raw, func(int) Place { return o.at }}.parse(), "", "", depth+1) || used
		}
	}
	return used
}
