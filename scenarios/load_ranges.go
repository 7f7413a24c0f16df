package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Limits of names with a range.
const (
	maxRange  = 1000    // names of a range
	maxRanged = 100_000 // names of all ranges of a file
)

var nameRange = regexp.MustCompile(`^([^{}]*)\{(\d{1,6})\.\.(\d{1,6})\}([^{}]*)$`)

// rangeOf returns the names that a name with a range stands for, as in a shell: app-{1..3} is app-1, app-2 and app-3, and
// app-{01..10} has two digits. Without braces it returns no names and no error.
func rangeOf(name string) ([]string, error) {
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

// namesOf returns the names that a name stands for: those of its range, or else itself.
func namesOf(name string) []string {
	if names, _ := rangeOf(name); names != nil {
		return names
	}
	return []string{name}
}

// isRange reports whether a name has a range.
func isRange(name string) bool { return strings.ContainsAny(name, "{}") }

// checkRange returns the names that a name stands for, or nil after reporting that it is no range, or that the ranges of the file are
// too large.
func (l *loader) checkRange(name string, n *strict.Node) []string {
	names, err := rangeOf(name)
	if err != nil {
		n.Errorf("%s", err)
		return nil
	}
	if names == nil {
		return []string{name}
	}
	if l.ranged += len(names); l.ranged > maxRanged {
		n.Errorf("the ranges of names in this file stand for more than %d names", maxRanged)
		return nil
	}
	return names
}

// expandRanges replaces the entries of spec.pods whose name has a range by one entry for each name, and so the entries of their
// containers. It does the same in the variants.
func (l *loader) expandRanges(spec *strict.Node) {
	l.expandNames(spec.Field("pods"))
	for _, v := range spec.Field("variants").Items {
		l.expandNames(v.Field("pods"))
	}
}

func (l *loader) expandNames(list *strict.Node) {
	if list.Kind != strict.Sequence {
		return
	}
	for i, item := range slices.Backward(list.Items) {
		l.expandNames(item.Field("containers"))
		name := item.Field("name")
		if name.Kind != strict.Scalar || !isRange(name.Value) {
			continue
		}
		names := l.checkRange(name.Value, name)
		values, text := item.Size()
		l.copied, l.copiedText = l.copied+values*len(names), l.copiedText+text*len(names)
		switch {
		case names == nil:
		case l.copied > maxVariantValues || l.copiedText > maxVariantText:
			name.Errorf("with all ranges and variants written out, the scenarios of this file have more than %d values or %d MiB of text",
				maxVariantValues, maxVariantText>>20)
		default:
			list.Repeat(i, "name", names)
		}
	}
}
