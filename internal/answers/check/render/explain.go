package render

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/report"
)

// Explain writes what a kind of finding means.
func Explain(w io.Writer, rule check.Rule, o report.Options) error {
	t := report.Writer{Options: o}
	t.Item(report.Cell{Text: string(rule.ID), Style: report.Bold}, "", "severity: "+rule.Severity)
	for _, text := range []string{rule.Text, rule.Kubelet, rule.Do} {
		t.Line(0, text, report.Plain)
		t.Gap()
	}
	t.Line(0, "To ignore it: the annotation probesim.dev/ignore: "+string(rule.ID)+
		" on the workload or its pod template.", report.Dim)
	_, err := w.Write(t.Bytes())
	return err
}

// FindingsPage writes what all kinds of findings mean, as a page in Markdown.
func FindingsPage(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Findings

[` + "`probesim check`" + `](check.md#findings) finds settings that are a problem. ` + "`probesim check --explain ID`" +
		` prints the same texts. The findings most worth a change come first.
`)
	for _, rule := range check.Rules() {
		fmt.Fprintf(&b, "\n## %s\n\n*%s.* %s\n\n%s\n\n%s\n", rule.ID, strings.ToUpper(rule.Severity[:1])+
			rule.Severity[1:], rule.Text, rule.Kubelet, rule.Do)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
