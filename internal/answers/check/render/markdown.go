package render

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
)

// Markdown writes the report for a pull request or a job summary: the verdict, the containers with
// findings, and the others folded. It fits a comment of GitHub for some dozens of containers.
func Markdown(w io.Writer, r *check.Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s\n\nKubernetes %s, %s nodes\n", Escape(Headline(r)), strings.Join(r.Kubernetes, ", "),
		r.Delays)
	markdownVerdict(&b, r)
	for i := range r.Workloads {
		markdownWorkload(&b, r, &r.Workloads[i])
	}
	_, err := w.Write(b.Bytes())
	return err
}

func markdownVerdict(b *bytes.Buffer, r *check.Report) {
	for _, line := range Unready(r) {
		fmt.Fprintf(b, "\n%s\n", Escape(line))
	}
	for _, line := range Measured(r) {
		fmt.Fprintf(b, "\n%s\n", Escape(line))
	}
	changes := Changes(r)
	if len(r.Workloads) < 2 || len(changes) == 0 {
		return
	}
	b.WriteString("\nWorth changing first:\n\n")
	for i, c := range changes {
		fmt.Fprintf(b, "%d. %s: %s (%s)", i+1, Escape(c.Containers), Escape(c.Summary), Escape(c.Where))
		if c.Fix != "" {
			fmt.Fprintf(b, ". Fix: %s", Escape(c.Fix))
		}
		b.WriteString("\n")
	}
}

func markdownWorkload(b *bytes.Buffer, r *check.Report, w *check.Workload) {
	for i := range w.Containers {
		// the verdict names it
		unprobed := func(f check.Finding) bool { return f.ID == check.NoProbes && len(r.Workloads) > 1 }
		if c := &w.Containers[i]; c.HasProbes() || !slices.ContainsFunc(c.Findings, unprobed) && len(c.Findings) > 0 {
			markdownContainer(b, r, w, c)
		}
	}
	if len(w.NotSimulated) > 0 {
		fmt.Fprintf(b, "\nNot simulated: %s.\n", Escape(strings.Join(w.NotSimulated, ", ")))
	}
	if w.Problem != "" {
		fmt.Fprintf(b, "\n%s was not checked: %s\n", Escape(w.Title()), Escape(w.Problem))
	}
	if len(w.Rollouts) > 0 {
		fmt.Fprintf(b, "\n%s judges %s.\n", "`probesim rollout`", Escape(strings.Join(w.Rollouts, ", ")))
	}
	if len(w.Requirements) == 0 {
		return
	}
	fmt.Fprintf(b, "\nRequirements of %s:\n\n", Escape(w.Title()))
	for _, v := range w.Requirements {
		mark := "met"
		if !v.Met {
			mark = "**not met**"
		}
		fmt.Fprintf(b, "- %s: %s\n", mark, Escape(Requirement(&v)))
		if command := RequirementCommand(&v); command != "" {
			fmt.Fprintf(b, "\n      %s\n\n", command)
		}
	}
}

// markdownContainer writes a container. One without findings is folded.
func markdownContainer(b *bytes.Buffer, r *check.Report, w *check.Workload, c *check.Container) {
	title := fmt.Sprintf("%s, container %s", Escape(w.Title()), Escape(c.Name))
	folded := len(c.Findings) == 0
	if folded {
		fmt.Fprintf(b, "\n<details><summary>%s: no findings</summary>\n\n", title)
	} else {
		fmt.Fprintf(b, "\n### %s\n\n", title)
	}
	if line := NotAbout(r, w, c); line != "" {
		fmt.Fprintf(b, "%s\n\n", Escape(line))
	}
	for _, p := range c.Probes {
		fmt.Fprintf(b, "- %s: %s\n", p.Type, Escape(p.Text))
	}
	markdownRows(b, c)
	for _, f := range c.Findings {
		fmt.Fprintf(b, "\n**%s** %s (%s:%d): %s\n", f.Severity, f.ID, Escape(f.File), f.Line, Escape(f.Text()))
		if command := Command(&f); command != "" {
			fmt.Fprintf(b, "\n    %s\n", command)
		}
	}
	if folded {
		b.WriteString("\n</details>\n")
	}
}

func markdownRows(b *bytes.Buffer, c *check.Container) {
	if len(c.Limits) > 0 {
		b.WriteString("\n| | always | never |\n|---|--:|--:|\n")
		for _, l := range c.Limits {
			fmt.Fprintf(b, "| %s | %s | %s |\n", l.Text, check.FormatDown(l.Always), check.FormatUp(l.Never))
		}
	}
	if len(c.Times) > 0 {
		b.WriteString("\n| | best | mean | worst |\n|---|--:|--:|--:|\n")
		for _, t := range c.Times {
			mean := ""
			if t.Mean != nil {
				mean = check.FormatUp(*t.Mean)
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", strings.ReplaceAll(t.Text, "->", "→"), best(&t), mean,
				check.FormatTime(t.Worst))
		}
	}
	if facts := Facts(c); len(facts) > 0 {
		b.WriteString("\n")
		for _, f := range facts {
			fmt.Fprintf(b, "- %s %s\n", f.Name, f.Text)
		}
	}
}

// Escape escapes what has a meaning in Markdown, so that a name or a message from a manifest is
// only text.
func Escape(text string) string {
	return markdownEscapes.Replace(strings.Join(strings.Fields(text), " "))
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "|", `\|`, "#", `\#`,
	"@", "&#64;", "~", `\~`,
)
