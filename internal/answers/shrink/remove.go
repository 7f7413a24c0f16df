package shrink

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
)

// removeParts removes parts level by level: documents, then their fields, then the fields below.
func (s *shrinker) removeParts() {
	for depth := 0; ; depth++ {
		level := s.level(depth)
		if len(level) == 0 {
			return
		}
		for size := len(level); size > 0; size /= 2 {
			level = s.removeChunks(level, depth, size)
		}
	}
}

// removeChunks tries to remove size neighbors at a time, and returns the rest of the level.
func (s *shrinker) removeChunks(level []*strict.Node, depth, size int) []*strict.Node {
	for start := 0; start < len(level) && !s.exhausted(); {
		chunk := level[start:min(start+size, len(level))]
		if !s.remove(chunk) {
			start += size
			continue
		}
		there := nodes{}
		for _, n := range s.level(depth) {
			there[n] = true
		}
		level = slices.DeleteFunc(level, func(n *strict.Node) bool { return !there[n] })
	}
	return level
}

// level returns all parts at a depth, in the order of the file. The documents are at depth 0.
func (s *shrinker) level(depth int) []*strict.Node {
	level := slices.Clone([]*strict.Node(s.docs))
	durations := s.durations()
	for range depth {
		var below []*strict.Node
		for _, n := range level {
			for _, part := range n.Items {
				if !durations[part] {
					below = append(below, part)
				}
			}
		}
		level = below
	}
	return level
}

// remove removes parts together with those that depend on them, and reports whether it could.
func (s *shrinker) remove(unwanted []*strict.Node) bool {
	wish := nodes{}
	for _, n := range unwanted {
		wish[n] = true
	}
	return s.try(wish, wish, false)
}

// maxRepairs bounds how often try asks the loader what else is wrong.
const maxRepairs = 20

// try removes parts, and those that the loader then rejects, of which none may be settled. It keeps
// the file if it shows the same problem. With items, it removes whole items of lists, for example a
// step because of its time.
func (s *shrinker) try(unwanted, settled nodes, items bool) bool {
	out := maps.Clone(unwanted)
	for range maxRepairs {
		w := s.docs.write(out)
		err := s.load(w.text)
		if err == nil {
			if s.shows(w.text) {
				s.docs = s.docs.drop(out)
				s.keep(w.text)
				return true
			}
			return false
		}
		var wrong scenarios.Errors
		if !errors.As(err, &wrong) || s.exhausted() {
			return false
		}
		for _, e := range wrong {
			at, ok := w.locate(e)
			switch {
			case !ok || settled[at.lacking] || settled.contains(at.part):
				return false
			case items && at.item != nil:
				out[at.item] = true
			default:
				out[at.part] = true
			}
		}
	}
	return false
}

// place is the place of a loader error.
type place struct {
	part    *strict.Node // the part that is wrong or incomplete
	item    *strict.Node // the list item that contains the part or is the part; nil if there is none
	lacking *strict.Node // the removed field that the part needs; nil if there is none
}

// locate finds the part that an error is about. ok is false for errors about the whole file or
// another file.
func (w *written) locate(e scenarios.Error) (place, bool) {
	if e.File != fileName || e.Line == 0 {
		return place{}, false
	}
	root := 0
	for root+1 < len(w.lines) && w.lines[root+1] <= e.Line {
		root++
	}
	n, path := w.roots[root], e.Path
	var at place
	for path != "" {
		part, rest := step(n, path, w.without)
		if part == nil {
			break
		}
		if n.Kind == strict.Sequence {
			at.item = part
		}
		n, path = part, strings.TrimPrefix(rest, ".")
	}
	at.part = n
	if path != "" {
		at.lacking, _ = step(n, path, nil)
	}
	return at, true
}

// step follows one element of a path such as spec.pods[0].name in a file without some parts, and
// returns the rest of the path. Field names may contain dots: of several names that match, step
// takes the longest.
func step(n *strict.Node, path string, without nodes) (part *strict.Node, rest string) {
	if n.Kind == strict.Sequence {
		index, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		items := slices.DeleteFunc(slices.Clone(n.Items), without.has)
		if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(items) {
			return items[i], rest
		}
		return nil, path
	}
	longest := ""
	for i, key := range n.Keys {
		rest, fits := strings.CutPrefix(path, key.Name)
		fits = fits && (rest == "" || rest[0] == '.' || rest[0] == '[')
		if fits && len(key.Name) > len(longest) && !without[n.Items[i]] {
			part, longest = n.Items[i], key.Name
		}
	}
	return part, path[len(longest):]
}

// specs returns the specs of the scenarios in the file.
func (s *shrinker) specs() []*strict.Node {
	var specs []*strict.Node
	add := func(n *strict.Node, kind string) {
		if spec := n.Field("spec"); spec.Kind == strict.Mapping && kind == "Scenario" {
			specs = append(specs, spec)
		}
	}
	for _, doc := range s.docs {
		kind := doc.Field("kind").Value
		add(doc, kind)
		for _, item := range doc.Field("items").Items {
			if kind == "ScenarioList" {
				add(item, "Scenario") // the kind of an item is optional
			} else {
				add(item, item.Field("kind").Value)
			}
		}
	}
	return specs
}

// durations returns the duration fields of the file. Removing one would make its run longer.
func (s *shrinker) durations() nodes {
	durations := nodes{}
	for _, spec := range s.specs() {
		durations[spec.Field("duration")] = true
	}
	return durations
}

// defaultDuration is the duration of a scenario without one.
const defaultDuration = 10 * time.Minute

func duration(spec *strict.Node) time.Duration {
	if d, err := value.ParseDuration(spec.Field("duration").Value); err == nil {
		return d
	}
	return defaultDuration
}

// shortenRuns makes runs shorter and leaves some spare time: after more removals the problem may
// come later.
func (s *shrinker) shortenRuns() {
	for _, spec := range s.specs() {
		was := duration(spec)
		s.cut(spec)
		if spare := 10*time.Second + duration(spec)*3/2; spare < was {
			s.setDuration(spec, spare.Truncate(time.Second))
		}
	}
}

// cutRuns makes each run as short as possible, to the second.
func (s *shrinker) cutRuns() {
	for _, spec := range s.specs() {
		s.cut(spec)
	}
}

// cut searches for the shortest run. It assumes that the problem appears at some time and then
// stays.
func (s *shrinker) cut(spec *strict.Node) {
	enough, less := duration(spec), time.Duration(0)
	for enough-less > time.Second && !s.exhausted() {
		middle := max(less+time.Second, (less + (enough-less)/2).Truncate(time.Second))
		if middle < enough && s.setDuration(spec, middle) {
			enough = middle
		} else {
			less = middle
		}
	}
}

// setDuration tries another duration and removes the steps and expectations after the new end.
func (s *shrinker) setDuration(spec *strict.Node, d time.Duration) bool {
	n := spec.Field("duration")
	was := *n
	if n.Kind == strict.Missing {
		n = spec.Put("duration", "duration", strict.Scalar, "")
	}
	*n = strict.Node{Kind: strict.Scalar, Tag: "!!str", Value: value.Format(d)}
	if s.try(nodes{}, nodes{n: true}, true) {
		return true
	}
	if *n = was; was.Kind == strict.Missing {
		spec.Keep(func(item *strict.Node) bool { return item != n })
	}
	return false
}

// documents are the roots of the documents of a file.
type documents []*strict.Node

// parse reads a valid file, expands its aliases and merge keys, and drops its comments.
func parse(data []byte) documents {
	docs, _ := strict.Parse(fileName, data, &strict.Collector{})
	return docs
}

// nodes is a set of parts: items of lists, and values of mappings.
type nodes map[*strict.Node]bool

func (s nodes) has(n *strict.Node) bool { return s[n] }

// contains reports whether the set contains n or a node below n.
func (s nodes) contains(n *strict.Node) bool {
	return s[n] || slices.ContainsFunc(n.Items, s.contains)
}

// written is a file as text, with the data to map a place in the text to a node of the documents.
type written struct {
	text    []byte
	without nodes
	roots   documents // those that remain
	lines   []int     // the first line of each root
}

// write writes the documents to a file without the given parts.
func (d documents) write(without nodes) written {
	w := written{without: without}
	text := ""
	for _, doc := range d {
		if without[doc] {
			continue
		}
		if text != "" {
			text += "---\n"
		}
		w.lines, w.roots = append(w.lines, 1+strings.Count(text, "\n")), append(w.roots, doc)
		text += doc.YAML(without.has)
	}
	w.text = []byte(text)
	return w
}

// drop removes parts from the documents.
func (d documents) drop(without nodes) documents {
	kept := func(n *strict.Node) bool { return !without[n] }
	left := slices.DeleteFunc(slices.Clone(d), without.has)
	var dropIn func(n *strict.Node)
	dropIn = func(n *strict.Node) {
		n.Keep(kept)
		for _, part := range n.Items {
			dropIn(part)
		}
	}
	for _, doc := range left {
		dropIn(doc)
	}
	return left
}
