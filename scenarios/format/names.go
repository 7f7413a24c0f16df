package format

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// maxRange is the limit of names of a range.
const maxRange = 1000

var nameRange = regexp.MustCompile(`^([^{}]*)\{(\d{1,6})\.\.(\d{1,6})\}([^{}]*)$`)

// RangeOf returns the names that a name with a range stands for, as in a shell: app-{1..3} is
// app-1, app-2 and app-3, and app-{01..10} has two digits. Without braces it returns no names and
// no error.
func RangeOf(name string) ([]string, error) {
	if !strings.ContainsAny(name, "{}") {
		return nil, nil
	}
	m := nameRange.FindStringSubmatch(name)
	if m == nil {
		return nil, fmt.Errorf("%s is not a range of names: write one such as app-{1..3}", strict.Quote(name))
	}
	first, _ := strconv.Atoi(m[2])
	last, _ := strconv.Atoi(m[3])
	switch {
	case first > last:
		return nil, fmt.Errorf("%s is empty: it ends before it begins", strict.Quote(name))
	case last-first >= maxRange:
		return nil, fmt.Errorf("%s stands for more than %d names", strict.Quote(name), maxRange)
	}
	width := 0
	if m[2][0] == '0' && len(m[2]) > 1 || m[3][0] == '0' && len(m[3]) > 1 {
		width = max(len(m[2]), len(m[3]))
	}
	names := make([]string, 0, last-first+1)
	for i := first; i <= last; i++ {
		names = append(names, fmt.Sprintf("%s%0*d%s", m[1], width, i, m[4]))
	}
	return names, nil
}

// NamesOf returns the names that a name stands for: those of its range, or else itself.
func NamesOf(name string) []string {
	if names, _ := RangeOf(name); names != nil {
		return names
	}
	return []string{name}
}

// IsRange reports whether a name has a range.
func IsRange(name string) bool { return strings.ContainsAny(name, "{}") }

// SplitName splits NAMESPACE/NAME. The namespace of a name without one is empty.
func SplitName(name string) (namespace, bare string) {
	if namespace, bare, has := strings.Cut(name, "/"); has {
		return namespace, bare
	}
	return "", name
}
