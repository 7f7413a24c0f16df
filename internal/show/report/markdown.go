package report

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/summary"
	"probesim.dev/trace"
)

// maxMarkdown limits a job summary: GitHub rejects summaries of a step beyond 1 MiB.
const maxMarkdown = 900_000

// Markdown writes a job summary for GitHub: a table with the outcome of each case, and for each
// case that failed or has several runs its expectations and statistics.
func Markdown(w io.Writer, cases []Case) error {
	var b strings.Builder
	b.WriteString("## probesim: " + verdictOf(cases) + "\n\n")
	b.WriteString("| outcome | scenario | Kubernetes | runs | restarts (max of a run) | time to Ready (max) | not " +
		"Ready (max) |\n|---|---|---|---|---|---|---|\n")
	for i := range cases {
		b.WriteString(cases[i].markdownRow())
	}
	omitted := 0
	for i := range cases {
		c := &cases[i]
		if c.Outcome() == OK && (c.Statistics == nil || len(c.Runs) <= 1) {
			continue
		}
		text := c.markdown()
		if b.Len()+len(text) > maxMarkdown {
			omitted++
			continue
		}
		b.WriteString(text)
	}
	if omitted > 0 {
		fmt.Fprintf(&b, "\nThe details of %s are omitted because of the size limit of job summaries.\n",
			plural(omitted, "scenario"))
	}
	return Options{}.write(w, b.String())
}

// verdictOf summarizes the outcomes of all runs.
func verdictOf(cases []Case) string {
	var b strings.Builder
	Summary(&b, cases, Options{})
	return strings.TrimSpace(b.String())
}

var icons = map[Outcome]string{OK: "✅ ok", Failed: "❌ failed", Broken: "💥 error", Skipped: "skipped"}

func (c *Case) markdownRow() string {
	if c.Err != nil {
		return tableRowOf(icons[Broken], markdownCode(c.File), "", "", "", "", "invalid scenario file")
	}
	counts, worst := plural(len(c.Runs), "run"), worstNumbers(c.Runs)
	if len(c.Runs) > 1 {
		counts += ": " + c.Counts()
	}
	if c.idle() {
		counts += ", " + nothing
	}
	if len(c.Runs) == 0 {
		return tableRowOf(icons[c.Outcome()], markdownCode(c.Scenario), c.Kubernetes, counts, "", "", "")
	}
	return tableRowOf(icons[c.Outcome()], markdownCode(c.Scenario), c.Kubernetes, counts, fmt.Sprint(worst.Restarts),
		Span(worst.ToReady), Unready(worst))
}

// Unready returns the time without Ready after the first Ready, of which a run that never was Ready
// has none.
func Unready(n summary.Numbers) string {
	if n.ToReady == summary.Never && n.Unready == 0 {
		return "never Ready"
	}
	return Span(n.Unready)
}

// worstNumbers returns the greatest of each number of all runs.
func worstNumbers(runs []*Run) summary.Numbers {
	var n summary.Numbers
	for _, r := range runs {
		n.Restarts = max(n.Restarts, r.Total.Restarts)
		n.ToReady = max(n.ToReady, r.Total.ToReady)
		n.Unready = max(n.Unready, r.Total.Unready)
	}
	return n
}

func tableRowOf(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// markdownCode returns text as code in a cell of a table. No text can end the code or the cell.
func markdownCode(text string) string {
	text = strings.NewReplacer("`", "ˋ", "|", `\|`).Replace(printable.Text(text))
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// markdown returns the expectations and statistics of a case.
func (c *Case) markdown() string {
	var b strings.Builder
	if c.Err != nil {
		for _, line := range strings.Split(strings.TrimSpace(c.Err.Error()), "\n") {
			fmt.Fprintf(&b, "\n%s\n", markdownCode(line))
		}
		return b.String()
	}
	fmt.Fprintf(&b, "\n### %s %s\n", markdownCode(c.Scenario), c.Kubernetes)
	for _, r := range c.Runs {
		if r.Err != nil {
			first, _, _ := strings.Cut(r.Err.Error(), "\n")
			fmt.Fprintf(&b, "\nEnded early: %s\n", markdownCode(seedLabel(r)+first))
			break
		}
	}
	if tallies := c.Tallies(); len(tallies) > 0 {
		b.WriteString("\n| outcome | held | expectation | broken by | got |\n|---|---|---|---|---|\n")
		for _, t := range tallies {
			seeds, got := "", ""
			if t.First != nil && t.First.Seed != nil {
				seeds = t.Seeds.Label()
			}
			if len(t.Failures) > 0 && t.Outcome() == Failed {
				got = markdownCode(t.Failures[0].Got)
			}
			b.WriteString(tableRowOf(icons[t.Outcome()], t.Count(), markdownCode(t.Name), seeds, got))
		}
	}
	b.WriteString(c.markdownStatistics())
	if failed := c.firstFailed(); failed != nil && failed.Replay != "" {
		fmt.Fprintf(&b, "\nfirst failure: %s\n", c.markdownBlock(failed))
	}
	if worst := c.worst(); len(c.Runs) > 1 && worst.Replay != "" && worst != c.firstFailed() {
		fmt.Fprintf(&b, "\nworst run: %s\n", c.markdownBlock(worst))
	}
	return b.String()
}

// markdownBlock returns the numbers and the command of a run.
func (c *Case) markdownBlock(r *Run) string {
	return strings.Join(r.brief(c.Pods()), ", ") + "\n\n```sh\n" +
		strings.ReplaceAll(printable.Text(r.Replay), "```", "ˋˋˋ") + "\n```"
}

func (c *Case) markdownStatistics() string {
	if c.Statistics == nil || c.Statistics.Runs == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n| pod or container | | min | median | p95 | max | seed |\n|---|---|--:|--:|--:|--:|--:|\n")
	add := func(name string, s *summary.Statistics) {
		for _, r := range Rows(s) {
			max, seed := r.Max()
			at := fmt.Sprint(seed)
			if r.Same() {
				at = ""
			}
			b.WriteString(tableRowOf(markdownCode(name), r.Label, r.Text(r.Min()), r.Text(r.Median()),
				r.Text(r.Quantile(95)), r.Text(max), at))
			name = ""
		}
	}
	for _, p := range c.Statistics.Pods {
		add(EachLabel(p), &p.Statistics)
		for _, k := range p.Shown() {
			if !k.Equal(&p.Statistics) {
				add(trace.PodName(p.Name)+"/"+k.Name, &k.Statistics)
			}
		}
	}
	return b.String()
}
