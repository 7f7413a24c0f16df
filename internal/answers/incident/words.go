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

// fields are what the columns of an event say.
type fields struct {
	ages                             []age
	dates                            []Moment
	count                            int // 0: none
	kind, name, namespace, container string
	uid                              string // of the pod, in an object
	braces                           bool   // {kubelet node}
	names                            []string
	unknown                          int // words of a sentence
}

// leftOf reads the columns before an anchor.
func leftOf(words []word) fields {
	var f fields
	for i := 0; i < len(words); i++ {
		w := words[i].text
		kind, name, slash := strings.Cut(w, "/")
		switch {
		case w[0] == '<' && !isAge(w): // <nil>, <none>
		case isAge(w):
			f.ages = append(f.ages, parseAge(w))
		case strings.HasPrefix(w, "(x") && i+2 < len(words) && words[i+1].text == "over":
			f.count = max(count0(w[2:]), 1)
			f.ages = append(f.ages, parseAge(strings.TrimSuffix(words[i+2].text, ")")))
			i += 2
		case isNumber(w) && len(f.ages)+len(f.dates) > 0:
			f.count = max(count0(w), 1)
		case len(w) == 4 && w[3] == ',' && i+5 < len(words):
			for _, next := range words[i+1 : i+6] {
				w += " " + next.text
			}
			if f.addDate(time.RFC1123Z, w) {
				i += 5
			}
		case digit(w[0]) && len(w) >= 20 && w[len(w)-1] == 'Z':
			f.addDate(time.RFC3339, w)
		case w[0] == '{':
			f.braces = true
			for i+1 < len(words) && !strings.HasSuffix(words[i].text, "}") {
				i++
			}
		case strings.HasPrefix(w, "spec.") && strings.Contains(w, "{"):
			f.container = containerOf(w)
		case slash && isName(name) && kind != "" && letter(kind[0]):
			f.kind, f.name = kind, name
		case isCamel(w):
			f.kind = w
			if n := len(f.names); n > 0 {
				f.name = f.names[n-1]
			}
		case w[len(w)-1] == ',' && isName(w[:len(w)-1]):
			i++ // kubelet, node
		case isName(w) && letter(w[0]) || strings.Contains(w, "-") && isName(w):
			if len(f.names) == 0 && len(f.ages)+len(f.dates) == 0 {
				f.namespace = w
			}
			f.names = append(f.names, w)
		case strings.Trim(w, "-*•+|:[]()0123456789.,ago") == "": // bullets, times of day
		default:
			f.unknown++
		}
	}
	return f
}

func (f *fields) addDate(layout, text string) bool {
	at, err := time.Parse(layout, text)
	if err != nil || !plausible(at) {
		return false
	}
	m := Moment{at.UTC(), time.Second}
	_, fraction, _ := strings.Cut(text, ".")
	for ; fraction != "" && digit(fraction[0]) && m.Within > 0; fraction = fraction[1:] {
		m.Within = m.Within / 10 / 2 * 2 // 0 from the ninth digit on
	}
	f.dates = append(f.dates, m)
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
