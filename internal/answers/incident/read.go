package incident

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/input"
	"probesim.dev/trace"
)

// Limits of a recording. They bound the time and memory that files from a stranger can cost.
const (
	MaxFile       = 64 << 20  // bytes of a file
	MaxInput      = 256 << 20 // bytes of all files
	maxFacts      = 200_000
	maxPods       = 5_000
	maxLine       = 64 << 10 // bytes of a line of text
	maxContainers = 200      // of a pod
	maxProblems   = 200
	maxUnread     = 200      // lines that fit no format and are kept
	maxMessage    = 10 << 10 // bytes of a message; the kubelet limits the output of a probe to this
	maxPoints     = 20_000   // updates of one event
)

// Read reads files in any mixture of the formats. It always returns a recording, which may be
// empty; its problems say what was not used.
func Read(files []input.File) *Recording {
	r := &reader{rec: &Recording{}, events: map[string]*Fact{}, byUID: map[string]*Pod{}, bare: map[string][]*Pod{},
		ids: map[string]string{}, ofID: map[string][]*Fact{}}
	total := 0
	for _, f := range files {
		if total += len(f.Data); len(f.Data) > MaxFile || total > MaxInput {
			r.problem(Place{f.Name, 0}, true,
				"the file was not read: a file has at most %d MiB, and all files together %d MiB", MaxFile>>20,
				MaxInput>>20)
			continue
		}
		r.readFile(f)
	}
	r.place()
	r.rec.finish()
	return r.rec
}

// reader reads files into a recording.
type reader struct {
	rec    *Recording
	events map[string]*Fact // by identity, to merge the updates of an event
	byUID  map[string]*Pod
	bare   map[string][]*Pod // by name

	// Of the file that is read:
	file    string
	data    []byte
	counted int  // offset up to which line breaks have been counted
	breaks  int  // line breaks up to there
	unnamed *Pod // of rows that name none
	full    bool // the recording has maxFacts facts
	wasted  int  // bytes read as objects in vain
	text    *textReader
	others  map[string]int // kinds of objects that incident does not use
	objects int            // number of Pod objects, of all files
	more    bool           // there are more problems than the limit

	sections   []*section // of all files
	rows       []*Fact    // of kubectl get pods, whose times are the ages of their pods
	lateProbes []lateProbe
	execs      []*Fact            // commands that took too long, of which a log does not name the container
	ids        map[string]string  // containers of IDs in logs
	ofID       map[string][]*Fact // that name only the ID of their container
	logTimes   []*Fact            // facts whose times have no year and no zone
}

// section is a text whose times are ages, counted back from the unknown moment of its command.
type section struct {
	at     Place
	facts  []*Fact
	counts bool    // some rows print a count: those without one occurred once
	status []*Fact // of kubectl describe, as of that moment
}

// lateProbe is a probe in a text, which belongs to the only pod of its file.
type lateProbe struct {
	at    Place
	which trace.Probe
	probe *v1.Probe
}

// notText returns why the data of a file is no text, or nothing.
func notText(data []byte) string {
	for _, magic := range []string{"\x1f\x8b", "PK\x03\x04", "\x28\xb5\x2f\xfd"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return "the file is compressed (gzip, ZIP or zstd): extract it first"
		}
	}
	begin := data[:min(len(data), 8000)]
	if n := bytes.Count(begin, []byte{0}); n > min(8, len(begin)/100) { // a few come from broken pastes
		return "the file was not read: it is not text. incident reads JSON, YAML, and the text of kubectl and of the " +
			"kubelet's log"
	}
	return ""
}

// decoded returns the UTF-8 form of a text that begins with a byte order mark, such as one in
// UTF-16, which PowerShell writes. Other data stays as it is.
func decoded(data []byte) []byte {
	data, _, _ = transform.Bytes(unicode.BOMOverride(transform.Nop), data)
	return data
}

func (r *reader) readFile(f input.File) {
	f.Data = decoded(f.Data)
	if why := notText(f.Data); why != "" {
		r.problem(Place{f.Name, 0}, true, "%s", why)
		return
	}
	r.file, r.data, r.counted, r.breaks = f.Name, clean(f.Data), 0, 0
	r.wasted, r.others, r.unnamed = 0, map[string]int{}, nil
	r.text = &textReader{reader: r, nodes: map[*Pod]map[string]*Pod{}}
	before, problems := r.used(), len(r.rec.Problems)
	for at := 0; at < len(r.data); {
		line := r.line(at)
		n := 0
		if !escapedBreak.MatchString(line) {
			n = r.readObject(at, line)
		}
		if r.text.next = at + cmp.Or(n, len(line)+1); n == 0 {
			r.text.line(line, r.at(at))
		}
		at = r.text.next
	}
	r.text.flush()
	switch {
	case len(bytes.TrimSpace(r.data)) == 0:
		r.problem(Place{f.Name, 0}, true, "the file is empty")
	case r.used() > before || len(r.rec.Problems) > problems: // these say why
	case len(r.others) > 0:
		kinds := slices.Sorted(maps.Keys(r.others))
		r.problem(Place{f.Name, 0}, true, "no event or pod was read; the file has only %s",
			strings.Join(kinds[:min(len(kinds), 10)], ", "))
	default:
		r.problem(Place{f.Name, 0}, true, "nothing was read: incident knows no line of the file. It reads events and "+
			"pods (JSON from a line on that begins with {, YAML, or text of kubectl describe, kubectl get events or "+
			"kubectl get pods), and some lines of a kubelet log about pods")
	}
}

// used returns how many things were read.
func (r *reader) used() int {
	return len(r.rec.Facts) + len(r.rec.Signs) + len(r.rec.Pods) + len(r.rec.templates) + r.objects + len(r.lateProbes)
}

// line returns the line at an offset, without its line break.
func (r *reader) line(at int) string {
	rest := r.data[min(at, len(r.data)):]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return string(rest)
}

// at returns the line of an offset. It counts from the offset before, which is near.
func (r *reader) at(offset int) Place {
	if offset = min(offset, len(r.data)); offset < r.counted {
		r.breaks -= bytes.Count(r.data[offset:r.counted], []byte("\n"))
	} else {
		r.breaks += bytes.Count(r.data[r.counted:offset], []byte("\n"))
	}
	r.counted = offset
	return Place{r.file, r.breaks + 1}
}

func (r *reader) problem(at Place, lost bool, format string, args ...any) {
	p := Problem{at, fmt.Sprintf(format, args...), lost}
	switch n := len(r.rec.Problems); {
	case r.more:
		return
	case n == maxProblems:
		r.more = true
		p = Problem{Place: Place{at.File, 0}, Message: "there are more problems, which are not listed"}
	}
	r.rec.Problems = append(r.rec.Problems, p)
}

// skip counts a line that no format has.
func (r *reader) skip(at Place, line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	if r.rec.UnreadLines++; len(r.rec.Unread) < maxUnread {
		r.rec.Unread = append(r.rec.Unread, Unread{at, strings.Clone(brief(line))})
	}
}

// add adds a fact. It returns false if the recording is full.
func (r *reader) add(f *Fact) bool {
	if len(r.rec.Facts) >= maxFacts {
		if !r.full {
			r.full = true
			r.rec.Problems = append(r.rec.Problems,
				Problem{f.Place, fmt.Sprintf("the recording has more than %d facts: this one and those after it are "+
					"not used", maxFacts), true})
		}
		return false
	}
	// EventAggregatorByReasonMessageFunc in tools/record/events_cache.go of client-go v0.37.0
	f.Message = strings.TrimPrefix(f.Message, "(combined from similar events): ")
	if len(f.Message) > maxMessage {
		f.Message = strings.ToValidUTF8(f.Message[:maxMessage], "")
	}
	if f.Pod != nil && !f.Pod.addContainer(f.Container) {
		r.problem(f.Place, true, "pod %s has more than %d containers: %s is not used", f.Pod.Name, maxContainers,
			f.Container)
		f.Container = ""
	}
	r.rec.Facts = append(r.rec.Facts, f)
	return true
}

// pod returns the pod with a name and UID, each of which may be empty, as may the namespace. Of
// several that fit, it is the one of the namespace, or else the one that appeared last. It is nil
// if the recording has too many pods.
func (r *reader) pod(namespace, name, uid string, at Place) *Pod {
	p := r.byUID[uid]
	for _, other := range slices.Backward(r.bare[name]) {
		fits := (uid == "" || other.UID == "" || other.UID == uid) && (namespace == "" || other.Namespace == "" ||
			other.Namespace == namespace)
		if fits && (p == nil || uid == "" && other.Namespace == namespace && p.Namespace != namespace) {
			p = other
		}
	}
	if p == nil {
		if p = r.newPod(namespace, name, uid, at); p == nil {
			return nil
		}
		r.bare[name] = append(r.bare[name], p)
	}
	if p.Name == "" && name != "" {
		p.Name = name
		r.bare[name] = append(r.bare[name], p)
	}
	p.Namespace = cmp.Or(p.Namespace, namespace)
	if uid != "" {
		p.UID, r.byUID[uid] = uid, p
	}
	return p
}

func (r *reader) newPod(namespace, name, uid string, at Place) *Pod {
	if len(r.rec.Pods) >= maxPods {
		r.problem(at, true, "the recording has more than %d pods; pod %s is not used", maxPods, name)
		return nil
	}
	p := &Pod{Namespace: namespace, Name: name, UID: uid, Place: at, Unnamed: name == "" && uid == ""}
	r.rec.Pods = append(r.rec.Pods, p)
	return p
}
