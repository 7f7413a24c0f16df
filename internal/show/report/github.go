package report

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/findings"
)

// GitHub writes one annotation for each failed expectation, even if it failed in several runs, and
// one for each case with a run that ended early. The function path converts file names to paths
// relative to the root of the repository.
func GitHub(w io.Writer, cases []Case, path func(string) string) error {
	for i := range cases {
		for _, a := range cases[i].annotations() {
			a.File = path(a.File)
			if err := findings.Annotate(w, a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Case) annotations() []findings.Annotation {
	var list []findings.Annotation
	title := c.Scenario + " [" + c.Kubernetes + "]"
	for _, r := range c.Runs {
		if r.Err != nil {
			list = append(list, findings.Annotation{File: c.File, Line: c.Line, Title: title + " ended early",
				Message: withReplay(r.Err.Error(), r)})
			break
		}
	}
	for i := range c.Expectations {
		if e := &c.Expectations[i]; e.Outcome == Failed {
			list = append(list, e.annotation(title,
				fmt.Sprintf("It did not hold in any of %s.", plural(len(c.Runs), "run"))))
		}
	}
	for i := range fullest(c.Runs) {
		if a, failed := c.failure(i, title); failed {
			list = append(list, a)
		}
	}
	return list
}

// fullest returns the expectations of the run that has the most: a run that ended early may have
// none.
func fullest(runs []*Run) []Expectation {
	var found []Expectation
	for _, r := range runs {
		if len(r.Expectations) > len(found) {
			found = r.Expectations
		}
	}
	return found
}

// failure returns an annotation about the first failure of an expectation, and the number of runs
// in which it failed.
func (c *Case) failure(i int, title string) (a findings.Annotation, failed bool) {
	var first *Run
	n := 0
	for _, r := range c.Runs {
		if i < len(r.Expectations) && r.Expectations[i].Outcome == Failed {
			if n++; first == nil {
				first = r
			}
		}
	}
	if first == nil {
		return a, false
	}
	more := ""
	if len(c.Runs) > 1 {
		more = fmt.Sprintf("It failed in %d of %d runs.", n, len(c.Runs))
	}
	return first.Expectations[i].annotation(title, withReplay(more, first)), true
}

func (e *Expectation) annotation(title, more string) findings.Annotation {
	lines := []string{printable.Text(e.Name)}
	if e.Why != "" {
		lines = append(lines, printable.Text(e.Why))
	}
	for _, f := range e.Failures {
		lines = append(lines, "expected  "+printable.Text(f.Expected), "got       "+printable.Text(f.Got))
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	if more != "" {
		lines = append(lines, more)
	}
	return findings.Annotation{File: e.File, Line: e.Line, Column: e.Column, Title: title + " failed",
		Message: strings.Join(lines, "\n")}
}

func withReplay(text string, r *Run) string {
	if r.Replay == "" {
		return text
	}
	return strings.TrimPrefix(text+"\nTo repeat this run: "+printable.Text(r.Replay), "\n")
}
