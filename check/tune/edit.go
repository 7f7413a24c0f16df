package tune

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/manifests"
)

// Edit returns a file of manifests with the fields of the report changed in place. It keeps comments and everything else as it is. The comments are
// those beside a changed number, which may no longer be right.
func (r *Report) Edit(f check.File) (edited []byte, comments []Comment, err error) {
	m, err := manifests.Read(f.Name, f.Data)
	if err != nil {
		return nil, nil, err
	}
	e := &editor{data: f.Data}
	for i := range m.Workloads {
		w := &m.Workloads[i]
		for _, c := range r.changedIn(f.Name, w) {
			e.container(w, c)
		}
		if of := r.of(f.Name, w); of != nil && of.Grace != nil {
			e.grace(w, of.Grace)
		}
	}
	if e.err != nil {
		return nil, nil, fmt.Errorf("%s: %w", printable.Text(f.Name), e.err)
	}
	edited, comments = e.apply()
	if err := r.verify(f.Name, m, edited); err != nil {
		return nil, nil, err
	}
	return edited, comments, nil
}

// Comment is a comment beside a changed number.
type Comment struct {
	Line int    // in the changed file
	Text string // with its #
}

// errEdit is the error of a file whose fields cannot be changed in place.
var errEdit = errors.New("cannot be changed in place, for example because of YAML anchors: use -o patch, and change it by hand")

// verify reports whether a changed file has exactly the changes of the report.
func (r *Report) verify(name string, before *manifests.File, edited []byte) error {
	after, err := manifests.Read(name, edited)
	if err != nil || len(after.Workloads) != len(before.Workloads) {
		return fmt.Errorf("%s %w", printable.Text(name), errEdit)
	}
	for i := range before.Workloads {
		want := &before.Workloads[i]
		r.Modify(name, want)
		if !reflect.DeepEqual(want.Pod.Spec, after.Workloads[i].Pod.Spec) {
			return fmt.Errorf("%s %w", printable.Text(name), errEdit)
		}
	}
	return nil
}

// editor collects changes of a text.
type editor struct {
	data  []byte
	edits []edit
	err   error
}

// edit replaces the bytes from one offset to another one.
type edit struct {
	from, to int
	text     string
}

// apply returns the changed text, and the comments beside the numbers in it that have changed.
func (e *editor) apply() (out []byte, comments []Comment) {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	at := 0
	for _, x := range e.edits {
		if x.from < at {
			continue // verify finds that it is missing
		}
		out = append(append(out, e.data[at:x.from]...), x.text...)
		at = x.to
		line := 1 + bytes.Count(out, []byte("\n"))
		if text := e.comment(x.to); x.to > x.from && text != "" && !slices.Contains(comments, Comment{line, text}) {
			comments = append(comments, Comment{line, text})
		}
	}
	return append(out, e.data[at:]...), comments
}

// comment returns the comment in the rest of a line, or nothing.
func (e *editor) comment(from int) string {
	rest, _, _ := bytes.Cut(e.data[from:], []byte("\n"))
	at := bytes.Index(rest, []byte(" #"))
	if at < 0 || bytes.ContainsAny(rest[:at], "\"'") { // the # can be in a string
		return ""
	}
	return strings.TrimSpace(string(rest[at:]))
}

func (e *editor) container(w *manifests.Workload, c *Container) {
	path := containerPath(w.Pod, c.Name)
	for k, added := range c.added {
		if added != nil {
			e.add(w, path, kindNames[k]+"Probe", added)
		}
	}
	for _, change := range c.Changes {
		if c.added[change.place.kind] != nil {
			continue
		}
		probe := path + "." + kindNames[change.place.kind] + "Probe"
		name := fieldNames[change.place.field]
		if w.Has(probe + "." + name) {
			e.replace(w.At(probe+"."+name), int64(*change.Before), int64(change.After))
		} else {
			e.insert(w.At(probe), name, strconv.Itoa(int(change.After)))
		}
	}
}

// grace changes the grace period of a pod.
func (e *editor) grace(w *manifests.Workload, g *Grace) {
	if w.Has(g.Field) {
		e.replace(w.At(g.Field), g.Before, g.After)
	} else {
		e.insert(w.At("spec"), graceField, strconv.FormatInt(g.After, 10))
	}
}

func containerPath(pod *v1.Pod, name string) string {
	named := func(c v1.Container) bool { return c.Name == name }
	if i := slices.IndexFunc(pod.Spec.InitContainers, named); i >= 0 {
		return fmt.Sprintf("spec.initContainers[%d]", i)
	}
	return fmt.Sprintf("spec.containers[%d]", slices.IndexFunc(pod.Spec.Containers, named))
}

// offset returns the offset of a position. Columns count characters.
func (e *editor) offset(pos strict.Pos) int {
	at := 0
	for range pos.Line - 1 {
		next := bytes.IndexByte(e.data[at:], '\n')
		if next < 0 {
			return len(e.data)
		}
		at += next + 1
	}
	for range pos.Column - 1 {
		_, size := utf8.DecodeRune(e.data[at:])
		at += size
	}
	return min(at, len(e.data))
}

func (e *editor) replace(pos strict.Pos, before, after int64) {
	from, text := e.offset(pos), strconv.FormatInt(before, 10)
	rest := e.data[from:]
	if !bytes.HasPrefix(rest, []byte(text)) || len(rest) > len(text) && strings.IndexByte("0123456789_.eE", rest[len(text)]) >= 0 {
		e.fail(pos)
		return
	}
	e.edits = append(e.edits, edit{from, from + len(text), strconv.FormatInt(after, 10)})
}

func (e *editor) fail(pos strict.Pos) {
	if e.err == nil {
		e.err = fmt.Errorf("line %d %w", pos.Line, errEdit)
	}
}

// insert inserts a field at the beginning of a mapping.
func (e *editor) insert(mapping strict.Pos, name, value string) {
	at := e.offset(mapping)
	if at < len(e.data) && e.data[at] == '{' {
		text := name + ": " + value + ", "
		if rest := bytes.TrimLeft(e.data[at+1:], " \t\r\n"); len(rest) > 0 && rest[0] == '"' {
			text = strconv.Quote(name) + ": " + value + ", "
		}
		e.edits = append(e.edits, edit{at + 1, at + 1, text})
		return
	}
	e.line(mapping, name+": "+value)
}

// line inserts a line, or several, before the line of a key, which has nothing but spaces before it.
func (e *editor) line(key strict.Pos, text string) {
	at := e.offset(key)
	start := bytes.LastIndexByte(e.data[:at], '\n') + 1
	indent := string(e.data[start:at])
	if strings.Trim(indent, " ") != "" {
		e.fail(key)
		return
	}
	end := "\n"
	if bytes.Contains(e.data, []byte("\r\n")) {
		end = "\r\n"
	}
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		b.WriteString(indent + line + end)
	}
	e.edits = append(e.edits, edit{start, start, b.String()})
}

// add adds a probe to a container.
func (e *editor) add(w *manifests.Workload, path, field string, added *v1.Probe) {
	p, err := written(added)
	if err != nil {
		e.err = err
		return
	}
	probe, mapping := map[string]any{field: p}, w.At(path)
	if at := e.offset(mapping); at < len(e.data) && e.data[at] == '{' {
		text, err := json.Marshal(probe)
		e.err = err
		e.edits = append(e.edits, edit{at + 1, at + 1, string(text[1:len(text)-1]) + ", "})
		return
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(probe); err != nil {
		e.err = err
		return
	}
	beside := ""
	for _, name := range []string{"livenessProbe", "startupProbe", "ports", "image", "name"} {
		if beside == "" && w.Has(path+"."+name) {
			beside = path + "." + name
		}
	}
	key, ok := e.key(mapping, w.At(beside))
	if !ok {
		e.fail(mapping)
		return
	}
	e.line(key, strings.TrimSuffix(b.String(), "\n"))
}

// key returns the position of a key of a container, in the column of its first key: that of a field if there is only
// white space before it, or else the next one.
func (e *editor) key(container, probe strict.Pos) (strict.Pos, bool) {
	lines := strings.Split(string(e.data), "\n")
	blank := strings.Repeat(" ", container.Column-1)
	isKey := func(line int) bool {
		if line < 1 || line > len(lines) {
			return false
		}
		rest, ok := strings.CutPrefix(lines[line-1], blank)
		return ok && rest != "" && strings.IndexByte(" #\t\r-", rest[0]) < 0
	}
	for line := probe.Line; line > container.Line; line-- {
		if isKey(line) {
			return strict.Pos{Line: line, Column: container.Column}, true
		}
	}
	for line := probe.Line + 1; line <= len(lines); line++ {
		if isKey(line) {
			return strict.Pos{Line: line, Column: container.Column}, true
		}
		if text := strings.TrimSpace(lines[line-1]); text != "" && len(lines[line-1])-len(strings.TrimLeft(lines[line-1], " ")) < container.Column-1 {
			return strict.Pos{}, false
		}
	}
	return strict.Pos{}, false
}

// written returns a probe as a person writes it: without defaults.
func written(p *v1.Probe) (map[string]any, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	if err := yaml.Unmarshal(text, &m); err != nil { // unlike package json, it reads integers as such
		return nil, err
	}
	for _, name := range []string{"timeoutSeconds", "successThreshold"} {
		if m[name] == 1 {
			delete(m, name)
		}
	}
	if get, ok := m["httpGet"].(map[string]any); ok && get["scheme"] == "HTTP" {
		delete(get, "scheme")
	}
	return m, nil
}
