package strict

import (
	"slices"
	"strings"

	"probesim.dev/internal/printable"
)

// MaxSuggestions is the number of known words that are compared.
const MaxSuggestions = 200

// Suggestion suggests the known word nearest to an unknown one. It compares words only when it is
// formatted: most of the errors in a file with very many are never shown.
type Suggestion struct {
	word   string
	known  []string
	listed bool
}

// DidYouMean returns a suggestion for an unknown word.
func DidYouMean(word string, known []string) Suggestion { return Suggestion{word: word, known: known} }

// OrList returns a suggestion for an unknown word that lists the known words if none is similar.
func OrList(word string, known []string) Suggestion { return Suggestion{word, known, true} }

// String returns the suggestion in the form " (did you mean ...?)". If no known word is similar, it
// returns an empty string, or the list of the known words.
func (s Suggestion) String() string {
	if meant := Nearest(s.word, s.known); meant != "" || !s.listed {
		return didYouMean(meant)
	}
	return ThereAre(s.known)
}

// maxListed is the number of known words up to which a message lists them all.
const maxListed = 24

// ThereAre lists the known words in the form "; there are ...", each once. The empty word stands
// for no value and is left out.
func ThereAre(known []string) string {
	var words []string
	for _, k := range known {
		if word := printable.Text(k); word != "" && !slices.Contains(words, word) && len(words) <= maxListed {
			words = append(words, word)
		}
	}
	switch {
	case len(words) == 0:
		return ""
	case len(words) == 1:
		return "; there is only " + words[0]
	case len(words) > maxListed:
		return "; there are " + strings.Join(words[:maxListed], ", ") + ", and others"
	}
	return "; there are " + printable.And(words)
}

func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return " (did you mean " + Quote(word) + "?)"
}

// Nearest returns the known word nearest to an unknown one, or an empty string if none is similar.
func Nearest(word string, known []string) string {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, k := range known[:min(len(known), MaxSuggestions)] {
		if strings.EqualFold(k, word) {
			best = k
			break
		}
		if d := distance(word, k, bestDistance); d < min(bestDistance, max(len(word), len(k))) {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance returns the number of letters to insert, delete, replace or swap with a neighbor to
// change a into b. It returns limit if that many are needed.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 64 {
		return limit
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return min(rows[len(a)][len(b)], limit)
}
