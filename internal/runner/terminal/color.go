package terminal

import (
	"io"

	"probesim.dev/internal/printable"
)

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
