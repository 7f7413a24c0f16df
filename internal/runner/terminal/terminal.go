// Package terminal knows where text is written: to a terminal of some width, with or without
// colors, or to a file.
package terminal

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
)

// Output is the standard output of a command. It remembers the first write error, because cobra
// ignores write errors of help texts.
type Output struct {
	io.Writer
	Color string // when to write colors: one of Colors
	Err   error
}

func (w *Output) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.Err == nil {
		w.Err = err
	}
	return n, err
}

// Options returns the width, colors and characters for text written to w.
func Options(w io.Writer) document.Options {
	width, terminal := window(w)
	return document.Options{Width: width, Color: wantsColor(colorOf(w), terminal, os.Getenv),
		ASCII: !supportsUnicode(os.Getenv)}
}

// Safe returns a writer for text to w that may contain text from files. It lets colors pass only if
// w shows them.
func Safe(w io.Writer) io.Writer { return &printable.Writer{To: w, Color: Options(w).Color} }

// Copy returns a writer for text that a person keeps as a file, with all its characters. Only a
// terminal gets Safe.
func Copy(w io.Writer) io.Writer {
	if isTerminal(w) {
		return Safe(w)
	}
	return w
}

// supportsUnicode reports whether the locale uses UTF-8. It assumes so if no locale is set.
func supportsUnicode(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// window returns the width of the terminal, or the value of COLUMNS, or 0 if neither is known. It
// also reports whether w is a terminal.
func window(w io.Writer) (width int, terminal bool) {
	if f, ok := file(w); ok {
		columns, _, err := term.GetSize(int(f.Fd()))
		width, terminal = columns, err == nil
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); width == 0 && err == nil && n > 0 && n <= 1000 {
		width = n
	}
	return width, terminal
}

func isTerminal(w io.Writer) bool {
	_, terminal := window(w)
	return terminal
}

// file returns the file that w writes to, if any.
func file(w io.Writer) (*os.File, bool) {
	if safe, ok := w.(*printable.Writer); ok {
		w = safe.To
	}
	if output, ok := w.(*Output); ok {
		w = output.Writer
	}
	f, ok := w.(*os.File)
	return f, ok
}

// Colors are the values of Output.Color. An empty value means auto.
var Colors = []string{"always", "never", "auto"}

// wantsColor reports whether to write colors. The choice has priority over the environment:
// NO_COLOR (https://no-color.org), and terminals without colors.
func wantsColor(c string, terminal bool, getenv func(string) string) bool {
	return c == "always" || c != "never" && terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// colorOf returns the choice of colors for text written to w: only standard output has one.
func colorOf(w io.Writer) string {
	if safe, ok := w.(*printable.Writer); ok {
		w = safe.To
	}
	if output, ok := w.(*Output); ok {
		return output.Color
	}
	return ""
}
