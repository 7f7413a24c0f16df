// Package printable makes text from files safe to print. Such text cannot control a terminal, hide
// or reorder what people read, or give commands to a CI system that reads them from its log.
//
// Three functions share one rule. [Text] is for a piece of a line, such as a name or a message.
// [Lines] and [Writer] are for finished output, and also protect the beginnings of lines. [JSON]
// keeps the values of a document.
//
// The commands are those of GitHub Actions: a line that begins with "::", after blanks, and "##["
// anywhere in a line (src/Runner.Common/ActionCommand.cs of actions/runner at commit 079cdb1d05fe).
// The same rule breaks "##vso[" of Azure Pipelines and "##teamcity[" of TeamCity.
package printable

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with Go escapes in place of everything that is not visible on one line: control
// characters, line breaks, blanks other than a space, characters without width, characters that
// change the direction of text, and bytes that are not UTF-8. It also escapes the second # of
// "##[", so that the text is no command.
func Text(s string) string {
	if plain(s, "") {
		return s
	}
	return escape(s, "")
}

// Lines returns s with everything escaped that Text escapes, except line breaks and tabs. It also
// escapes the first colon of a line that begins with "::".
func Lines(s string) string { return lines(s, false) }

// colors is the form of the escape sequences that set colors.
var colors = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func lines(s string, color bool) string {
	if !plain(s, layout) {
		if color {
			s = outside(s, colors)
		} else {
			s = escape(s, layout)
		}
	}
	if !strings.Contains(s, "::") {
		return s
	}
	list := strings.SplitAfter(s, "\n")
	for i, line := range list {
		text := strings.TrimLeft(line, " \t")
		for color && colors.MatchString(text) && colors.FindStringIndex(text)[0] == 0 {
			text = strings.TrimLeft(text[colors.FindStringIndex(text)[1]:], " \t")
		}
		if strings.HasPrefix(text, "::") {
			list[i] = line[:len(line)-len(text)] + `\x3a` + text[1:]
		}
	}
	return strings.Join(list, "")
}

// outside escapes the text between the matches of an expression.
func outside(s string, keep *regexp.Regexp) string {
	var b strings.Builder
	at := 0
	for _, m := range keep.FindAllStringIndex(s, -1) {
		b.WriteString(escape(s[at:m[0]], layout) + s[m[0]:m[1]])
		at = m[1]
	}
	return b.String() + escape(s[at:], layout)
}

// Writer writes text as Lines returns it. Each call of Write must pass complete lines, or at least
// complete words.
type Writer struct {
	To    io.Writer
	Color bool // let the escape sequences of colors pass
}

func (w *Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.To, lines(string(p), w.Color)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// JSON appends a JSON document to dst. It escapes in strings what Text escapes, as \u and four
// digits, which does not change their values.
func JSON(dst, document []byte) []byte {
	if plain(document, layout) {
		return append(dst, document...)
	}
	s := string(document)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case strings.ContainsRune(layout, r): // between values: strings contain them as escapes
			dst = append(dst, s[i])
		case r == utf8.RuneError && size == 1:
			dst = append(dst, `\ufffd`...)
		case r == '#' && command(s[:i], s[i:]):
			dst = append(dst, `\u0023`...)
		case !visible(r):
			dst = appendUTF16(dst, r)
		default:
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return dst
}

func appendUTF16(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	if r > 0xffff {
		r -= 0x10000
		dst = appendUTF16(dst, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// layout are the characters that finished text contains besides visible ones.
const layout = "\n\t"

// plain reports whether s has only visible ASCII characters and those in keep, and no command.
func plain[T string | []byte](s T, keep string) bool {
	last := byte(0)
	for i := range len(s) {
		c := s[i]
		if (c < ' ' || c > '~') && strings.IndexByte(keep, c) < 0 || c == '#' && last == '#' {
			return false
		}
		last = c
	}
	return true
}

// escape replaces what is not visible, except the characters in keep.
func escape(s, keep string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
		case strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r == '#' && command(s[:i], s[i:]):
			b.WriteString(`\x23`)
		case !visible(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// command reports whether # is the second one of "##[" or, for example, "##vso[".
func command(before, from string) bool {
	word := strings.TrimLeftFunc(from[1:], func(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' })
	return strings.HasSuffix(before, "#") && strings.HasPrefix(word, "[")
}

// visible reports whether a character has a shape of its own. Some characters that count as letters
// and marks have none: the runner, which compares text as a language does, ignores them.
func visible(r rune) bool {
	return unicode.IsPrint(r) && (r < 0x34f ||
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}
