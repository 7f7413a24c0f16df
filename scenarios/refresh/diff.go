package refresh

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
)

// around is the number of lines of context before and after a change.
const around = 3

// lineChange replaces the lines [first, last) of a file by text.
type lineChange struct {
	first, last int
	text        []string
}

// diff returns sorted edits of a file in the format of diff -u.
func diff(name string, data []byte, edits []edit) string {
	if len(edits) == 0 {
		return ""
	}
	old := lines(string(data))
	changes := lineChanges(data, old, edits)
	var b strings.Builder
	fmt.Fprintf(&b, "--- %[1]s\n+++ %[1]s\n", printable.Text(name))
	shift := 0 // the number of lines added so far, minus those removed
	for i := 0; i < len(changes); {
		end := i + 1
		for end < len(changes) && changes[end].first-changes[end-1].last <= 2*around {
			end++
		}
		shift += hunk(&b, old, changes[i:end], shift)
		i = end
	}
	return b.String()
}

// lines splits text into lines, each with its line break.
func lines(text string) []string { return strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n") }

// lineChanges converts edits to changes of whole lines. It joins edits in the same line or in adjacent lines.
func lineChanges(data []byte, old []string, edits []edit) []lineChange {
	starts := make([]int, len(old)+1)
	for i, l := range old {
		starts[i+1] = starts[i] + len(l)
	}
	starts[len(old)] = len(data)
	line := func(at int) int {
		i, found := slices.BinarySearch(starts, at)
		if !found {
			i--
		}
		return i
	}
	var changes []lineChange
	for i := 0; i < len(edits); {
		c := lineChange{first: line(edits[i].from)}
		var own []edit
		for ; i < len(edits) && (own == nil || line(edits[i].from) <= c.last); i++ {
			begin := starts[c.first]
			own = append(own, edit{edits[i].from - begin, edits[i].to - begin, edits[i].text})
			c.last = line(max(edits[i].from, edits[i].to-1)) + 1
		}
		c.text = lines(string(apply(data[starts[c.first]:starts[c.last]], own)))
		changes = append(changes, c)
	}
	return changes
}

// hunk writes neighboring changes as one hunk, and returns the number of lines that they add.
func hunk(b *strings.Builder, old []string, changes []lineChange, shift int) int {
	from := max(changes[0].first-around, 0)
	to := min(changes[len(changes)-1].last+around, len(old))
	added := 0
	for _, c := range changes {
		added += len(c.text) - (c.last - c.first)
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", from+1, to-from, from+shift+1, to-from+added)
	write := func(sign string, list []string) {
		for _, l := range list {
			b.WriteString(sign + strings.TrimRight(l, "\r\n") + "\n")
		}
	}
	for _, c := range changes {
		write(" ", old[from:c.first])
		write("-", old[c.first:c.last])
		write("+", c.text)
		from = c.last
	}
	write(" ", old[from:to])
	return added
}
