package shrink

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// simplifyValues replaces values by simpler ones.
func (s *shrinker) simplifyValues() {
	s.eachField(func(key string, n *strict.Node) {
		for n.Kind == strict.Scalar && s.simplify(n, key) {
		}
	})
}

// eachField calls do for each scalar and each list of the file with the name of its field. The
// items of a list have the name of the list.
func (s *shrinker) eachField(do func(key string, n *strict.Node)) {
	var visit func(string, *strict.Node)
	visit = func(key string, n *strict.Node) {
		if n.Kind != strict.Mapping {
			do(key, n)
		}
		for i := 0; i < len(n.Items) && !s.exhausted(); i++ {
			if n.Kind == strict.Mapping {
				key = n.Keys[i].Name
			}
			visit(key, n.Items[i])
		}
	}
	for _, doc := range s.docs {
		visit("", doc)
	}
}

// edited keeps the edited documents if they load and show the same problem.
func (s *shrinker) edited() bool {
	text := s.docs.write(nil).text
	if s.hasFailed(text) || s.exhausted() {
		return false
	}
	if s.load(text) != nil {
		s.fail(text)
		return false
	}
	if !s.shows(text) {
		return false
	}
	s.keep(text)
	return true
}

// simplify takes the first simpler value with which the file shows the same problem.
func (s *shrinker) simplify(n *strict.Node, key string) bool {
	was := *n
	for _, v := range simpler(key, n) {
		*n = strict.Node{Kind: strict.Scalar, Tag: "!!int", Value: v}
		if was.Tag == "!!str" && !answerFields[key] && !isRange(was.Value) || strict.IsString(v) {
			n.Tag = "!!str" // quoted if the text looks like another type
		}
		if s.edited() {
			return true
		}
	}
	*n = was
	return false
}

// names lists fields whose values refer to other parts or identify an object.
var names = map[string]bool{
	"apiVersion": true, "kind": true, "name": true, "namespace": true, "pod": true, "container": true, "image": true,
	"file":     true,
	"duration": true, // shortened by cut
}

// answerFields lists the fields that hold answers.
var answerFields = map[string]bool{
	"liveness": true, "readiness": true, "startup": true, "probes": true, "postStart": true, "preStop": true,
	"then": true,
}

// simpler returns simpler values for a field, the simplest first. Each is simpler than the current
// value, so repeating simplify terminates. The loader rejects those that have no meaning.
func simpler(key string, n *strict.Node) (list []string) {
	switch {
	case names[key] || n.Tag != "!!int" && n.Tag != "!!str":
		return nil
	case answerFields[key]:
		return simplerAnswers(n.Value)
	case isRange(n.Value):
		from, to, _ := strings.Cut(n.Value, "..")
		return []string{from, to}
	}
	if list = simplerWord(n.Value); list != nil || n.Tag == "!!int" {
		return list
	}
	return simplerText(n.Value)
}

var rangePattern = regexp.MustCompile(`^\d+\.\.\d+$`)

// isRange reports whether text is a range of numbers with both ends.
func isRange(text string) bool { return rangePattern.MatchString(text) }

// simplerAnswers returns simpler answers, the simplest first: those without what follows a word,
// and those with a simpler word.
func simplerAnswers(text string) (list []string) {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] == "repeat" {
		return nil
	}
	for _, word := range []string{"ok", "fail"} {
		if words[0] == word {
			break
		}
		list = append(list, strings.Join(append([]string{word}, words[1:]...), " "))
	}
	for i := range words {
		for k := i + 1; i > 0 && k <= len(words); k++ {
			list = append(list, strings.Join(slices.Concat(words[:i], words[k:]), " "))
		}
		for _, word := range simplerWord(words[i]) {
			list = append(list, strings.Join(slices.Concat(words[:i], []string{word}, words[i+1:]), " "))
		}
	}
	return list
}

// simplerWord returns simpler numbers, times, or numbers behind an x. It returns nil for another
// word, and an empty list if there is nothing simpler.
func simplerWord(word string) []string {
	number, times := strings.CutPrefix(word, "x")
	if n, err := strconv.ParseInt(number, 10, 64); err == nil {
		list := []string{}
		for _, v := range simplerNumbers(n) {
			list = append(list, map[bool]string{true: "x"}[times]+strconv.FormatInt(v, 10))
		}
		return list
	}
	return simplerTimes(word)
}

// simplerNumbers returns smaller positive numbers, the smallest first: some round ones, half of n,
// and n-1 for small n.
func simplerNumbers(n int64) []int64 {
	list := []int64{1, 2, 3, 5, 10, 20, 30, 60, n / 2}
	if n <= 20 {
		list = append(list, n-1)
	}
	list = slices.DeleteFunc(list, func(v int64) bool { return v >= n || v < 1 })
	slices.Sort(list)
	return slices.Compact(list)
}

// grains are the units of round times, the roundest first.
var grains = []time.Duration{
	time.Hour, 10 * time.Minute, time.Minute, 10 * time.Second, time.Second, 100 * time.Millisecond,
	10 * time.Millisecond,
	time.Millisecond, 100 * time.Microsecond, time.Microsecond, time.Nanosecond,
}

// simplerTimes returns rounder or smaller times for a duration and exact times for a range. It
// returns nil if text is neither, and an empty list if there is no simpler time.
func simplerTimes(text string) []string {
	var d value.Draw
	if d.UnmarshalText([]byte(text)) != nil {
		return nil
	}
	list := rounder(d.Min)
	if d.Min != d.Max {
		list = []time.Duration{d.Max, d.Min, d.Min + (d.Max-d.Min)/2}
	}
	return append([]string{}, printable.Words(slices.Compact(list), value.Format)...)
}

// rounder returns 0, the multiples of rounder grains next to t, and half of t in its own grain.
func rounder(t time.Duration) []time.Duration {
	if t == 0 {
		return nil
	}
	list := []time.Duration{0}
	for _, grain := range grains {
		down := t / grain * grain
		if down == t {
			if half := t / 2 / grain * grain; half > 0 {
				list = append(list, half)
			}
			return list
		}
		if up := down + grain; up <= 2*t { // never round up to more than twice the value
			list = append(list, up)
		}
		if down > 0 {
			list = append(list, down)
		}
	}
	return list
}

// shortText is the length in bytes up to which text is not worth simplifying.
const shortText = 3

// simplerText returns a single letter and the first half of the text.
func simplerText(text string) []string {
	if len(text) <= shortText {
		return nil
	}
	half := len(text) / 2
	for !utf8.RuneStart(text[half]) {
		half--
	}
	return []string{"x", text[:half]}
}

// unfoldAnswers replaces each list of answers by one of its answers.
func (s *shrinker) unfoldAnswers() {
	s.eachField(func(key string, n *strict.Node) {
		if !answerFields[key] || n.Kind != strict.Sequence {
			return
		}
		list := *n
		for _, item := range list.Items {
			*n = strict.Node{Kind: strict.Scalar, Tag: "!!str", Value: countOf.ReplaceAllString(item.Value, "")}
			if item.Value != "repeat" && s.edited() {
				return
			}
		}
		*n = list
	})
}

// countOf matches how often an answer of a list is given.
var countOf = regexp.MustCompile(` +x\d+$`)
