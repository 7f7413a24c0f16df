package main

import (
	"io"
	"os"
	"strconv"
	"strings"

	"probesim.dev/report"
)

// textOptions says how text looks where it is written to.
func textOptions(w io.Writer) report.Options {
	terminal := isTerminal(w)
	o := report.Options{Width: width(w, terminal), Color: terminal && wantsColor(os.Getenv), ASCII: !speaksUnicode(os.Getenv)}
	return o
}

// wantsColor holds to NO_COLOR (no-color.org) and to terminals without colours.
func wantsColor(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// speaksUnicode reports whether the locale is one of UTF-8, or none is set.
func speaksUnicode(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(getenv(name)); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

// width returns the columns of a terminal; elsewhere COLUMNS, or 0 if that is not set.
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

// file returns the file that w writes to.
func file(w io.Writer) (*os.File, bool) {
	if checked, ok := w.(*checkedWriter); ok {
		w = checked.Writer
	}
	f, ok := w.(*os.File)
	return f, ok
}
