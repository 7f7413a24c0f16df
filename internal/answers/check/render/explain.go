package render

import (
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
