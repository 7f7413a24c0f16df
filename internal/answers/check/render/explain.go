package render

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/document"
)

// Explain returns what a kind of finding means.
func Explain(rule check.Rule) *document.Document {
	d := document.New(string(rule.ID))
	d.Headline, d.Facts = true, "severity: "+string(rule.Severity)
	for _, text := range []string{rule.Text, rule.Kubelet, rule.Do} {
		d.Text(document.Plain, text)
		d.Gap()
	}
	d.Text(document.Dim, "To ignore it: the annotation probesim.dev/ignore: "+string(rule.ID)+
		" on the workload or its pod template.")
	return d
}

// FindingsPage writes what all kinds of findings mean, as a page in Markdown.
func FindingsPage(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Findings

[` + "`probesim check`" + `](check.md#findings) finds settings that are a problem. ` + "`probesim check --explain ID`" +
		` prints the same texts. The findings most worth a change come first.
`)
	for _, rule := range check.Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n*%s.* %s\n\n%s\n\n%s\n", rule.ID,
			strings.ToUpper(rule.Severity[:1])+rule.Severity[1:], rule.Text, rule.Kubelet, rule.Do)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
