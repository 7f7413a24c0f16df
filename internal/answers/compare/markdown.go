package compare

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
)

// Markdown writes the report for a comment on a pull request. It lists containers without a change
// by name only.
func Markdown(w io.Writer, r *Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## Probe settings: %s\n\nKubernetes %s, %s nodes\n", r.Headline(),
		strings.Join(r.Kubernetes, ", "), render.Escape(r.Delays))
	var same []string
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for _, line := range w.Pairings() {
			fmt.Fprintf(&b, "\n%s\n", render.Escape(line))
		}
		for j := range w.Containers {
			c := &w.Containers[j]
			if !c.Changed() {
				same = append(same, w.HeadingOf(c))
				continue
			}
			markdownContainer(&b, w, c)
		}
		for _, p := range w.Problems {
			fmt.Fprintf(&b, "\n%s was not checked %s\n", render.Escape(w.Title()), render.Escape(p))
		}
		if len(w.Requirements) > 0 {
			fmt.Fprintf(&b, "\nRequirements of %s:\n\n", render.Escape(w.Title()))
		}
		for k := range w.Requirements {
			v := &w.Requirements[k]
			mark := "met"
			if !v.Met {
				mark = "**not met**"
			}
			fmt.Fprintf(&b, "- %s: %s\n", mark, render.Escape(render.Requirement(v)))
		}
	}
	if len(same) > 0 {
		fmt.Fprintf(&b, "\nNo change: %s.\n", render.Escape(strings.Join(same, "; ")))
	}
	for i := range r.Scenarios {
		markdownScenario(&b, &r.Scenarios[i])
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Count counts the rows with a change.
func (r *Report) Count(change Change) int {
	n := 0
	for _, w := range r.Workloads {
		for _, c := range w.Containers {
			for _, row := range c.Rows {
				if row.Change == change && c.Change == Same {
					n++
				}
			}
		}
	}
	return n
}

func emphasize(change Change, text string) string {
	if change == Worse && text != "" {
		return "**" + text + "**"
	}
	return text
}

func markdownContainer(b *bytes.Buffer, w *Workload, c *Container) {
	fmt.Fprintf(b, "\n### %s\n", render.Escape(w.HeadingOf(c)))
	for _, remark := range w.Remarks(c) {
		text := render.Escape(remark.String())
		if remark.Worse {
			text = "**" + text + "**"
		}
		fmt.Fprintf(b, "\n%s\n", text)
	}
	if lines := c.ChangedProbes(); len(lines) > 0 {
		b.WriteString("\n```diff\n")
		for _, line := range lines {
			b.WriteString(strings.ReplaceAll(line, "```", "` ` `") + "\n")
		}
		b.WriteString("```\n")
	}
	for _, limit := range []bool{true, false} {
		rows := slices.DeleteFunc(c.rows(), func(r Row) bool { return r.Limit != limit })
		if len(rows) == 0 {
			continue
		}
		head := "at worst"
		if limit {
			head = "always"
		}
		fmt.Fprintf(b, "\n| %s | before | after | |\n|---|--:|--:|--:|\n", head)
		for i := range rows {
			r := &rows[i]
			before, after := r.Guaranteed()
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", strings.ReplaceAll(r.Text, "->", "→"), r.Format(before),
				r.Format(after), emphasize(r.Change, r.Difference()))
		}
	}
	finding := func(mark string, f *check.Finding) {
		fmt.Fprintf(b, "\n%s %s (%s:%d): %s\n", mark, f.Severity, render.Escape(f.File), f.Line,
			render.Escape(f.Message))
	}
	for i := range c.Appeared {
		finding("**New**", &c.Appeared[i])
	}
	gone := c.gone()
	for i := range gone {
		finding("Gone:", &gone[i])
	}
}
