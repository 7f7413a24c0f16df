package incident

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// word is a word of a line, with its place in it.
type word struct {
	text       string
	start, end int
}

// wordSet returns the set of the words in a text.
func wordSet(text string) map[string]bool {
	m := map[string]bool{}
	list := strings.Fields(text)
	if strings.Contains(text, "|") && !strings.Contains(text, " | ") { // words with spaces
		list = strings.Split(text, "|")
	}
	for _, w := range list {
		m[strings.TrimSpace(w)] = true
	}
	return m
}

// maxWords limits the words of a line that are looked at one by one.
const maxWords = 64

// split returns the first words of a line.
func split(line string, words []word) []word {
	for i := 0; i < len(line) && len(words) < maxWords; {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		start := i
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			i++
		}
		if i > start {
			words = append(words, word{line[start:i], start, i})
		}
	}
	return words
}

const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// only reports whether a word has no other characters than these.
func only(s, characters string) bool { return strings.Trim(s, characters) == "" }

// isName reports whether a word can be the name of a pod or a namespace.
func isName(s string) bool {
	return s != "" && len(s) <= 253 && lowerOrDigit(s[0]) && lowerOrDigit(s[len(s)-1]) && only(s, lower+digits+"-.")
}

// isContainer reports whether a word can be the name of a container. Names of 64 digits are IDs.
func isContainer(s string) bool { return len(s) < 64 && isName(s) && !strings.Contains(s, ".") }

func lowerOrDigit(c byte) bool { return c >= 'a' && c <= 'z' || digit(c) }

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isCamel reports whether a word is a reason or a kind, such as BackOff.
func isCamel(s string) bool {
	return len(s) > 2 && len(s) <= 64 && s[0] >= 'A' && s[0] <= 'Z' && only(s, lower+upper+digits)
}

func isNumber(s string) bool { return s != "" && len(s) < 10 && only(s, digits) }

// count0 returns the number of digits, or 0.
func count0(text string) int {
	n, _ := strconv.Atoi(text) // a number that is too large is no number of restarts
	return max(n, 0)
}

// columns are the columns of an event.
type columns struct {
	ages                             []age
	dates                            []Moment
	count                            int // 0: none
	kind, name, namespace, container string
	uid                              string // of the pod, in an object
	braces                           bool   // {kubelet node}
	names                            []string
	unknown                          int // words of a sentence
}

// columnsOf reads the columns before an anchor.
func columnsOf(words []word) (c columns) {
	for len(words) > 0 {
		n := c.readTime(words)
		if n == 0 {
			n = c.readName(words)
		}
		words = words[n:]
	}
	return c
}

// readTime reads an age, a date or a count, and returns the number of its words, or 0.
func (c *columns) readTime(words []word) int {
	w := words[0].text
	switch {
	case isAge(w):
		c.ages = append(c.ages, parseAge(w))
	case w[0] == '<': // <nil>, <none>
	case strings.HasPrefix(w, "(x") && len(words) > 2: // (x3 over 2m)
		c.count = max(count0(w[2:]), 1)
		c.ages = append(c.ages, parseAge(strings.TrimSuffix(words[2].text, ")")))
		return 3
	case isNumber(w) && len(c.ages)+len(c.dates) > 0:
		c.count = max(count0(w), 1)
	case len(w) == 4 && w[3] == ',' && c.addDate(time.RFC1123Z, joinWords(words, 6)): // Mon, 02 Jan 2006 ..
		return 6
	case len(w) == 10 && w[4] == '-' && c.addDate(goTime, joinWords(words, 4)): // 2006-01-02 15:04:05 ..
		return 4
	case digit(w[0]) && len(w) >= 20 && w[len(w)-1] == 'Z':
		c.addDate(time.RFC3339, w)
	default:
		return 0
	}
	return 1
}

// joinWords returns the first words of a list in one text.
func joinWords(words []word, n int) (text string) {
	for _, w := range words[:min(n, len(words))] {
		text += " " + w.text
	}
	return text[1:]
}

// readName reads any other column, and returns the number of its words.
func (c *columns) readName(words []word) int {
	w := words[0].text
	kind, name, slash := strings.Cut(w, "/")
	switch {
	case w[0] == '{': // {kubelet node}
		c.braces = true
		end := slices.IndexFunc(words, func(w word) bool { return strings.HasSuffix(w.text, "}") })
		return cmp.Or(end+1, len(words))
	case strings.HasPrefix(w, "spec.") && strings.Contains(w, "{"):
		c.container = containerOf(w)
	case slash && isName(name) && kind != "" && letter(kind[0]):
		c.kind, c.name = kind, name
	case isCamel(w):
		c.kind = w
		if n := len(c.names); n > 0 {
			c.name = c.names[n-1]
		}
	case w[len(w)-1] == ',' && isName(w[:len(w)-1]): // kubelet, node
		return min(len(words), 2)
	case isName(w) && (letter(w[0]) || strings.Contains(w, "-")):
		if len(c.names) == 0 && len(c.ages)+len(c.dates) == 0 {
			c.namespace = w
		}
		c.names = append(c.names, w)
	case strings.Trim(w, "-*•+|:[]()0123456789.,ago") == "": // bullets, times of day
	default:
		c.unknown++
	}
	return 1
}

func (c *columns) addDate(layout, text string) bool {
	at, err := time.Parse(layout, text)
	if err != nil || !plausible(at) {
		return false
	}
	m := Moment{at.UTC(), time.Second}
	_, fraction, _ := strings.Cut(text, ".")
	for ; fraction != "" && digit(fraction[0]) && m.Within > 0; fraction = fraction[1:] {
		m.Within = m.Within / 10 / 2 * 2 // 0 from the ninth digit on
	}
	c.dates = append(c.dates, m)
	return true
}

// withoutHash returns the name of a pod in the name of its event.
func withoutHash(name string) string {
	pod, hash, has := cutLast(name, ".")
	if _, err := strconv.ParseUint(hash, 16, 64); has && err == nil && len(hash) >= 8 {
		return pod
	}
	return name
}

// firstAge returns the age of the first, and of the last occurrence, in whichever order the columns
// are.
func firstAge(list []age) (first, last age) {
	list = slices.DeleteFunc(list, func(a age) bool { return !a.known })
	slices.SortFunc(list, func(a, b age) int { return cmp.Compare(a.at, b.at) })
	if len(list) == 0 {
		return first, last
	}
	return list[len(list)-1], list[0]
}
