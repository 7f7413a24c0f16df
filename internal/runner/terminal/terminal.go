// Package terminal knows where text is written: to a terminal of some width, with or without
// colors, or to a file.
package terminal

import (
	"io"
	"os"
	"strconv"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
)

// Output is the standard output of a command. It remembers the first write error, because cobra
// ignores write errors of help texts.
type Output struct {
	io.Writer
	Color Color
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
func Options(w io.Writer) report.Options {
	terminal := isTerminal(w)
	return report.Options{Width: width(w, terminal), Color: colorOf(w).wanted(terminal, os.Getenv),
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

// width returns the width of the terminal, or the value of COLUMNS, or 0 if neither is known.
func width(w io.Writer, terminal bool) int {
	if f, ok := file(w); ok && terminal {
		if n := columns(f); n > 0 {
			return n
		}
	}
	n, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || n < 0 || n > 1000 {
		return 0
	}
	return n
}

func isTerminal(w io.Writer) bool {
	f, ok := file(w)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && hasWindow(f)
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
