package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/printable"
)

// Markdown writes a report as the comment of a pull request.
func Markdown(w io.Writer, r *rollout.Report) error {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for i := range r.Workloads {
		of := &r.Workloads[i]
		line("### %s: %s\n", md(of.Title()), md(Headline(r, of)))
		line("%s (Kubernetes %s, %s, %s)\n", md(Settings(r, of)), r.Kubernetes, Nodes(r.Delays), md(r.Router.Name))
		if of.Reason != "" {
			line("%s\n", md(of.Reason))
		}
		if len(of.Rows) > 0 {
			line("| %s | least | median | 95%% | greatest | always |\n|---|---:|---:|---:|---:|---:|", Runs(of.Runs))
		}
		for _, row := range Rows(of) {
			always := ""
			if row.Always != nil {
				always = rollout.Format(row.Row, *row.Always)
			}
			f := func(v float64) string { return rollout.Format(row.Row, v) }
			line("| %s | %s | %s | %s | %s | %s |", md(row.Text), f(row.Least), f(row.Median), f(row.P95),
				f(row.Greatest), always)
		}
		line("")
		if of.Lost != nil {
			for _, p := range of.Lost.Parts {
				line("- %s: %s", rollout.Count(p.Count), md(Part(r, &p)))
			}
			if of.Lost.WaitedForSync {
				line("- %s", Waited(r))
			}
		}
		for _, f := range of.Fixes {
			line("- **%s** (%s:%d): %s", FixWord(&f), md(of.File), f.Line, md(Fix(&f)))
		}
		if of.Worst.Command != "" && of.Verdict != rollout.LosesNone {
			line("- show: `%s`", strings.ReplaceAll(printable.Text(of.Worst.Command), "`", "'"))
		}
		for _, v := range of.Requirements {
			line("- **%s** %s", map[bool]string{true: "ok", false: "FAIL"}[v.Met], md(Requirement(&v)))
		}
		if len(of.Containers) > 0 {
			line("- `probesim check` judges %s", md(strings.Join(of.Containers, ", ")))
		}
		if len(of.NotSimulated) > 0 {
			line("- not simulated: %s", md(strings.Join(of.NotSimulated, "; ")))
		}
		line("")
	}
	for _, text := range About(r) {
		line("%s\n", md(text))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// md returns a text that Markdown shows as it is.
func md(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_", "`", "\\`").
		Replace(printable.Text(text))
}
