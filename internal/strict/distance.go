package strict

import "strings"

// MaxSuggestions is the number of known words that are compared.
const MaxSuggestions = 200

// Suggestion suggests the known word nearest to an unknown one. It compares words only when it is formatted: most of the
// errors in a file with very many are never shown.
type Suggestion struct {
	word  string
	known []string
}

// DidYouMean returns a suggestion for an unknown word.
func DidYouMean(word string, known []string) Suggestion { return Suggestion{word, known} }

// String returns the suggestion in the form " (did you mean ...?)", or an empty string if no known word is similar.
func (s Suggestion) String() string { return didYouMean(Nearest(s.word, s.known)) }

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

// distance returns the number of letters to insert, delete, replace or swap with a neighbor to change a into b.
// It returns limit if that many are needed.
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
