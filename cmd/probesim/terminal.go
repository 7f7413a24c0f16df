package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/report"
)

// textOptions returns the width, colors and characters for text written to w.
func textOptions(w io.Writer) report.Options {
	terminal := isTerminal(w)
	return report.Options{Width: width(w, terminal), Color: colorOf(w).wanted(terminal, os.Getenv), ASCII: !supportsUnicode(os.Getenv)}
}

// colorChoice is the value of --color: always, never or auto. An empty value means auto.
type colorChoice string

func (c *colorChoice) String() string { return string(*c) }

// Type returns the placeholder for the value in help texts.
func (c *colorChoice) Type() string { return "when" }

// Set sets the value of the flag.
func (c *colorChoice) Set(text string) error {
	if !slices.Contains(colorChoices, text) {
		return errors.New("must be always, never or auto")
	}
	*c = colorChoice(text)
	return nil
}

var colorChoices = []string{"always", "never", "auto"}

// wanted reports whether to write colors. The flag has priority over the environment.
func (c colorChoice) wanted(terminal bool, getenv func(string) string) bool {
	switch c {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && wantsColor(getenv)
}

// colorOf returns the choice of colors for text written to w: only standard output has one.
func colorOf(w io.Writer) colorChoice {
	if safe, ok := w.(*printable.Writer); ok {
		w = safe.To
	}
	if checked, ok := w.(*checkedWriter); ok {
		return checked.color
	}
	return ""
}

// wantsColor respects NO_COLOR (https://no-color.org) and terminals without colors.
func wantsColor(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
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

// safeText returns a writer for text to w that may contain text from files. It lets colors pass only if w shows them.
func safeText(w io.Writer) io.Writer { return &printable.Writer{To: w, Color: textOptions(w).Color} }

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
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.Writer
	}
	f, ok := w.(*os.File)
	return f, ok
}
