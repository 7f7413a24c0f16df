package incident

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf16"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// Read reads files in any mixture of the formats. It always returns a recording, which may be empty; its problems say what
// was not used.
func Read(files []File) *Recording {
	r := &reader{rec: &Recording{}, events: map[string]*Fact{}, byUID: map[string]*Pod{}, byName: map[string][]*Pod{}, bare: map[string][]*Pod{}, exact: map[eventKey]*Fact{}}
	total := 0
	for _, f := range files {
		if total += len(f.Data); len(f.Data) > MaxFile || total > MaxInput {
			r.rec.Problems = append(r.rec.Problems, Problem{Place{f.Name, 0}, fmt.Sprintf(
				"the file was not read: a file has at most %d MiB, and all files together %d MiB", MaxFile>>20, MaxInput>>20), true})
			continue
		}
		r.readFile(f)
	}
	r.place()
	r.rec.link()
	for _, p := range r.rec.Pods {
		r.adopt(p)
	}
	r.compareClocks()
	r.startsBeforeCreation()
	r.rec.finish()
	return r.rec
}

// reader reads files into a recording.
type reader struct {
	rec    *Recording
	events map[string]*Fact // by identity, to merge the updates of an event
	byUID  map[string]*Pod
	byName map[string][]*Pod // by namespace/name
	bare   map[string][]*Pod // by name

	// Of the file that is read:
	file     string
	data     []byte
	newlines []int // offsets of line breaks
	facts    int   // number of facts before the file
	ignored  int   // lines that no format has
	firstOne Place // the first of them
	more     int   // number of problems beyond the limit
	full     bool  // the recording has maxFacts facts
	wasted   int   // bytes read as JSON in vain
	text     *textReader
	others   map[string]int // kinds of objects that incident does not use
	objects  int            // number of Pod objects, of all files

	sections   []*section // of all files
	rows       []sinceCreation
	lateProbes []lateProbe
	exact      map[eventKey]*Fact // event objects
	logTimes   []*Fact            // facts whose times have no year and no zone
}

// section is a text whose times are ages, counted back from the unknown moment of its command.
type section struct {
	at      Place
	facts   []*Fact
	ages    [][2]age // of the facts, by number: the ages of When and Last
	pod     *Pod     // of the first fact
	wrapped bool     // a problem tells that lines are wrapped
}

// sinceCreation is a row of kubectl get pods, whose time is the age of its pod.
type sinceCreation struct {
	fact           *Fact
	age, restarted age
	polled         bool // the age is the time since a script began instead
}

// lateProbe is a probe in a text, which belongs to the only pod of its file.
type lateProbe struct {
	at    Place
	which trace.Probe
	probe *v1.Probe
	file  string
}

var yamlStart = regexp.MustCompile(`^(---|(- )?(apiVersion|kind|metadata|items):(\s|$))`)

// yamlLine matches the lines of a YAML document at its top level.
var yamlLine = regexp.MustCompile(`^(\s|#|$|---|\.\.\.|- |[A-Za-z0-9_."'/-]+:(\s|$))`)

// describeStart matches the first line of the text of kubectl describe, which looks like YAML.
var describeStart = regexp.MustCompile(`^Name:\s{2,}\S`)

// notText returns why the data of a file is no text, with what to do, or nothing.
func notText(data []byte) string {
	for _, packed := range []struct{ magic, says string }{
		{"\x1f\x8b", "the file is compressed: decompress it with gunzip first"},
		{"PK\x03\x04", "the file is a ZIP archive: extract the files in it first"},
		{"\x28\xb5\x2f\xfd", "the file is compressed: decompress it with unzstd first"},
	} {
		if bytes.HasPrefix(data, []byte(packed.magic)) {
			return packed.says
		}
	}
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return "the file was not read: it is not text. incident reads JSON, YAML, and the text of kubectl and of the kubelet's log"
	}
	return ""
}

// fromUTF16 returns the UTF-8 form of a text in UTF-16, which PowerShell writes. Other data stays as it is.
func fromUTF16(data []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return data
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

func (r *reader) readFile(f File) {
	f.Data = fromUTF16(f.Data)
	if why := notText(f.Data); why != "" {
		r.problem(Place{f.Name, 0}, true, "%s", why)
		return
	}
	r.file, r.data, r.newlines = f.Name, bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf")), nil
	r.facts, r.ignored, r.wasted, r.others = len(r.rec.Facts), 0, 0, map[string]int{}
	pods := len(r.rec.Pods)
	templates := len(r.rec.templates)
	objects := r.objects
	problems := len(r.rec.Problems)
	for i, c := range r.data {
		if c == '\n' {
			r.newlines = append(r.newlines, i)
		}
	}
	r.text = &textReader{reader: r}
	for at := 0; at < len(r.data); {
		line := r.line(at)
		switch {
		case len(line) > 0 && (line[0] == '{' || line[0] == '['):
			if n := r.readJSON(at); n > 0 {
				r.text.flush()
				at += n
				continue
			}
		case yamlStart.MatchString(line):
			r.text.flush()
			at += r.readYAML(at)
			continue
		}
		r.text.line(line, r.at(at))
		at += len(line) + 1
	}
	r.text.flush()
	used := len(r.rec.Facts) > r.facts || len(r.rec.Pods) > pods || len(r.rec.templates) > templates || r.objects > objects
	switch {
	case len(bytes.TrimSpace(r.data)) == 0:
		r.problem(Place{f.Name, 0}, true, "the file is empty")
	case !used && len(r.others) == 0 && len(r.rec.Problems) == problems && fragment.Match(r.data):
		r.problem(Place{f.Name, 0}, true, "nothing was read: this is a part of a JSON text whose beginning is missing. Copy it from a line on that begins with {, or use the whole output")
	case !used && len(r.others) == 0 && len(r.rec.Problems) == problems: // otherwise these say why
		r.problem(Place{f.Name, 0}, true, "nothing was read: the file has no events or pods (JSON, YAML, or text of kubectl describe, kubectl get events or kubectl get pods), and no lines of a kubelet log about pods")
	case r.ignored > 0:
		r.problem(r.firstOne, true, "%s not used: this is no event, pod, or line of a log that incident knows", countLines(r.ignored))
	}
	if len(r.others) > 0 && !used {
		r.problem(Place{f.Name, 0}, true, "no event or pod was read; the file has only %s", listKinds(r.others))
	}
}

// fragment matches JSON that does not begin with its first line.
var fragment = regexp.MustCompile(`(?m)^\s+"[A-Za-z]{1,40}": \S`)

func countLines(n int) string {
	if n == 1 {
		return "1 line was"
	}
	return fmt.Sprintf("%d lines were", n)
}

func listKinds(kinds map[string]int) string {
	names := slices.Sorted(maps.Keys(kinds))
	return strings.Join(names[:min(len(names), 10)], ", ")
}

// line returns the line at an offset, without its line break.
func (r *reader) line(at int) string {
	rest := r.data[at:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return string(rest)
}

func (r *reader) at(offset int) Place {
	return Place{r.file, sort.SearchInts(r.newlines, offset) + 1}
}

func (r *reader) problem(at Place, lost bool, format string, args ...any) {
	if len(r.rec.Problems) == maxProblems {
		if r.more++; r.more == 1 {
			r.rec.Problems = append(r.rec.Problems, Problem{Place: Place{at.File, 0}, Message: "there are more problems, which are not listed"})
		}
		return
	}
	if len(r.rec.Problems) < maxProblems {
		r.rec.Problems = append(r.rec.Problems, Problem{at, fmt.Sprintf(format, args...), lost})
	}
}

// skip counts a line that no format has.
func (r *reader) skip(at Place) {
	if r.ignored++; r.ignored == 1 {
		r.firstOne = at
	}
}

// add adds a fact. It returns false if the recording is full.
func (r *reader) add(f *Fact) bool {
	if len(r.rec.Facts) >= maxFacts {
		if !r.full {
			r.full = true
			r.rec.Problems = append(r.rec.Problems, Problem{f.Place, fmt.Sprintf("the recording has more than %d facts: this one and those after it are not used", maxFacts), true})
		}
		return false
	}
	if len(f.Message) > maxMessage {
		f.Message = strings.ToValidUTF8(f.Message[:maxMessage], "")
	}
	if f.Pod != nil && !f.Pod.addContainer(f.Container) {
		r.problem(f.Place, true, "pod %s has more than %d containers: %s is not used", f.Pod.Name, maxContainers, f.Container)
		f.Container = ""
	}
	r.rec.Facts = append(r.rec.Facts, f)
	return true
}

// pod returns the pod with a name and UID, each of which may be empty. A name without a UID stands for the only pod of this name,
// or for the one that appeared last.
func (r *reader) pod(namespace, name, uid string, at Place) *Pod {
	if p := r.byUID[uid]; p != nil && uid != "" {
		if p.Name == "" && name != "" {
			p.Name, p.Namespace = name, namespace
			r.byName[p.Key()] = append(r.byName[p.Key()], p)
		}
		return p
	}
	same := r.byName[namespace+"/"+name]
	if len(same) == 0 {
		same = r.byBare(namespace, name)
	}
	for i := len(same) - 1; i >= 0; i-- {
		if p := same[i]; uid == "" || p.UID == "" {
			if uid != "" {
				p.UID = uid
				r.byUID[uid] = p
			}
			if p.Namespace == "" && namespace != "" {
				p.Namespace = namespace
				r.byName[p.Key()] = append(r.byName[p.Key()], p)
			}
			return p
		}
	}
	if len(r.rec.Pods) >= maxPods {
		r.problem(at, true, "the recording has more than %d pods; pod %s is not used", maxPods, name)
		return nil
	}
	p := &Pod{Namespace: namespace, Name: name, UID: uid, Place: at}
	r.rec.Pods = append(r.rec.Pods, p)
	r.bare[name] = append(r.bare[name], p)
	r.byName[p.Key()] = append(r.byName[p.Key()], p)
	if uid != "" {
		r.byUID[uid] = p
	}
	return p
}

// byBare returns the pods with a name if the namespace of the name, or of the pods, is unknown.
func (r *reader) byBare(namespace, name string) []*Pod {
	if namespace != "" {
		return r.byName["/"+name]
	}
	return r.bare[name]
}
