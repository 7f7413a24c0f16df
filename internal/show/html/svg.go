package html

import (
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
)

// The size of a picture: characters in a line, and the size of each in pixels.
const (
	pictureColumns = 120
	charWidth      = 8
	lineHeight     = 17
)

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d"
font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" role="img">
<title>%[3]s</title>
<style>%[4]ssvg .bold { font-weight: 600; } svg .good { fill: var(--good); } svg .bad { fill: var(--bad); }
svg .warn { fill: var(--warn); }
</style>
<rect width="100%%" height="100%%" style="fill: var(--paper)"/>
%[5]s</svg>
`

// Text of a terminal: escape sequences with a style, the parts between them, and words in these
// that stand together.
var (
	painted = regexp.MustCompile(`\x1b\[(\d+)m|[^\x1b\n]+`)
	phrase  = regexp.MustCompile(`\S+(?: \S+)*`)
	classes = map[string]string{"1": "bold", "2": "dim", "31": "bad", "32": "good", "33": "warn"}
)

// SVG writes the timeline of a run as a picture for a document: the one that a terminal shows. Each
// phrase begins at its column and is as wide as its columns, whatever font draws it.
func SVG(w io.Writer, run *report.Run) error {
	var text, lines strings.Builder
	if err := report.Timeline(&text, run, document.Options{Width: pictureColumns, Color: true}); err != nil {
		return err
	}
	y := lineHeight
	for line := range strings.Lines(text.String()) {
		column, class := 1, ""
		for _, part := range painted.FindAllStringSubmatch(line, -1) {
			if part[1] != "" {
				class = classes[part[1]]
				continue
			}
			for _, at := range phrase.FindAllStringIndex(part[0], -1) {
				words := part[0][at[0]:at[1]]
				fmt.Fprintf(&lines, `<text class="%s" x="%d" y="%d" textLength="%d" lengthAdjust="spacingAndGlyphs">%s</text>`+
					"\n", class, charWidth*(column+utf8.RuneCountInString(part[0][:at[0]])), y,
					charWidth*utf8.RuneCountInString(words), html.EscapeString(words))
			}
			column += utf8.RuneCountInString(part[0])
		}
		y += lineHeight
	}
	_, err := fmt.Fprintf(w, pictureHead, charWidth*(pictureColumns+2), y,
		html.EscapeString(printable.Text(run.Scenario)), document.PictureStyle, lines.String())
	return err
}
