package document

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Wrap splits a text into lines of up to width characters, or least characters if that is more. It
// splits only words that are longer than a line.
func Wrap(text string, width, least int) []string {
	width = max(width, least)
	var lines []string
	rest := []rune(text)
	for len(rest) > width {
		cut := width
		if blank := lastBlank(rest[:width+1]); blank > width/2 || blank > 0 && wordLength(rest[blank+1:]) <= width {
			cut = blank
		}
		lines = append(lines, strings.TrimRight(string(rest[:cut]), " "))
		for rest = rest[cut:]; len(rest) > 0 && rest[0] == ' '; {
			rest = rest[1:]
		}
	}
	return append(lines, string(rest))
}

func lastBlank(text []rune) int {
	for i := len(text) - 1; i > 0; i-- {
		if text[i] == ' ' {
			return i
		}
	}
	return 0
}

func wordLength(text []rune) int {
	if i := slices.Index(text, ' '); i >= 0 {
		return i
	}
	return len(text)
}

func length(text string) int { return utf8.RuneCountInString(text) }
