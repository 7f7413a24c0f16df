package terminal

import (
	"errors"
	"io"
	"slices"

	"probesim.dev/internal/printable"
)

// Color says when to write colors: always, never or auto. An empty value means auto. It is the
// value of a flag.
type Color string

// Colors are the values of Color.
var Colors = []string{"always", "never", "auto"}

func (c *Color) String() string { return string(*c) }

// Type returns the placeholder for the value in help texts.
func (c *Color) Type() string { return "when" }

// Set sets the value of the flag.
func (c *Color) Set(text string) error {
	if !slices.Contains(Colors, text) {
		return errors.New("must be always, never or auto")
	}
	*c = Color(text)
	return nil
}

// wanted reports whether to write colors. The flag has priority over the environment.
func (c Color) wanted(terminal bool, getenv func(string) string) bool {
	switch c {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && wantsColor(getenv)
}

// wantsColor respects NO_COLOR (https://no-color.org) and terminals without colors.
func wantsColor(getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// colorOf returns the choice of colors for text written to w: only standard output has one.
func colorOf(w io.Writer) Color {
	if safe, ok := w.(*printable.Writer); ok {
		w = safe.To
	}
	if output, ok := w.(*Output); ok {
		return output.Color
	}
	return ""
}
