package printable

import (
	"fmt"
	"strconv"
	"strings"
)

// Few lists up to 20 names, and says how many more there are. It does not change the names.
func Few(names []string) string { return Some(names, 20) }

// Some lists up to limit names, and says how many more there are.
func Some(names []string, limit int) string {
	if more := len(names) - limit; more > 1 {
		return strings.Join(names[:limit], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// And lists names as a sentence does: a, b and c.
func And(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Plural returns a word with an s, unless there is one of it.
func Plural(n int, word string) string {
	switch root, y := strings.CutSuffix(word, "y"); {
	case n == 1:
		return word
	case y:
		return root + "ies"
	}
	return word + "s"
}

// Count writes a number of things, such as "1,234 runs".
func Count(n int, word string) string { return Thousands(n) + " " + Plural(n, word) }

// Thousands formats a number with commas: 1,234,567.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Words returns a word for each item of a list.
func Words[T any](list []T, word func(T) string) []string {
	words := make([]string, len(list))
	for i, item := range list {
		words[i] = word(item)
	}
	return words
}
