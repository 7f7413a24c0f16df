package main

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/conformance/runs"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
)

// answer is what a change alters.
type answer struct {
	release string
	notes   []string
	all     map[string]int // runs by part of the library
	groups  []*group       // of altered runs, the largest first
	altered int
	once    int // runs that differ in one of two runs
	unknown int // runs that cannot be compared, because that of the release failed or is not explained
}

// group has the altered runs with the same first difference.
type group struct {
	what string
	runs []*runs.Run
}

// compareRuns compares the runs of a change with those of the release.
func compareRuns(release, changed []runs.Run) (*answer, error) {
	if len(release) != len(changed) {
		return nil, fmt.Errorf("the release has %d runs, and the change %d", len(release), len(changed))
	}
	a := &answer{all: map[string]int{}}
	groups := map[string]*group{}
	for i := range changed {
		before, r := &release[i], &changed[i]
		if name(before) != name(r) || before.File != r.File {
			return nil, fmt.Errorf("run %d of the release is %s, and that of the change %s", i+1, name(before), name(r))
		}
		a.all[part(r)]++
		what := ""
		switch {
		case r.Once:
			a.once++
		case before.Fault != "" || before.Difference != nil:
			if r.Fault != "" || before.Hash != r.Hash {
				a.unknown++
			}
		case r.Fault != "":
			what = "the kubelet fails"
		case r.Difference != nil:
			what = r.Difference.What
		}
		if what == "" {
			continue
		}
		if groups[what] == nil {
			groups[what] = &group{what: what}
			a.groups = append(a.groups, groups[what])
		}
		groups[what].runs = append(groups[what].runs, r)
		a.altered++
	}
	slices.SortStableFunc(a.groups, func(x, y *group) int { return cmp.Compare(len(y.runs), len(x.runs)) })
	return a, nil
}

// part is the directory of the library that a run belongs to.
func part(r *runs.Run) string {
	if r.File == "" {
		return "seeds"
	}
	return strings.Split(path.Clean(strings.ReplaceAll(r.File, `\`, "/")), "/")[0]
}

func name(r *runs.Run) string {
	if r.Seed != nil {
		return fmt.Sprintf("%s, seed %d", r.Scenario, *r.Seed)
	}
	return r.Scenario
}

var issueNumber = regexp.MustCompile(`/(?:issues|pull)/(\d+)`)

// bug names the row of a scenario in the table of bugs, with its first issue, and says what became
// of the bug.
func bug(r *runs.Run) string {
	text := r.Bug
	if found := issueNumber.FindStringSubmatch(r.Issue); found != nil {
		text = "#" + found[1]
	}
	switch {
	case len(r.As) > 0:
		return text + " as in " + printable.Some(r.As, 2)
	case len(r.Failed) > 0:
		return text + " no longer so"
	}
	return text + " differs"
}

// headline is the first line of the answer.
func (a *answer) headline() string {
	total, bugs := 0, []string{}
	for _, n := range a.all {
		total += n
	}
	count := 0
	for _, g := range a.groups {
		for _, r := range g.runs {
			if part(r) != "bugs" {
				continue
			}
			count++
			if text := bug(r); !slices.Contains(bugs, text) {
				bugs = append(bugs, text)
			}
		}
	}
	which := ""
	if len(bugs) > 0 {
		which = " (" + printable.Some(bugs, 3) + ")"
	}
	return fmt.Sprintf("The change alters %d of %d runs of bugs%s, %d of %d in all", count, a.all["bugs"], which,
		a.altered, total)
}

// shownRuns is the number of runs of a group that text and Markdown name.
const shownRuns = 6

// document returns the answer as a report.
func (a *answer) document() *document.Document {
	d := document.New(a.headline())
	d.Headline, d.Facts = true, "against Kubernetes "+a.release
	for _, note := range a.notes {
		d.Text(document.Warn, note)
	}
	for _, g := range a.groups {
		s := d.Section(document.Section{Title: fmt.Sprintf("%s: %s", printable.Count(len(g.runs), "run"), g.what),
			Fold: true})
		for _, r := range g.runs[:min(len(g.runs), shownRuns)] {
			s.Item(item(r))
		}
		if more := len(g.runs) - shownRuns; more > 0 {
			rest := s.Section(document.Section{Title: fmt.Sprintf("%d more", more), Details: true, Fold: true,
				Closed: true})
			for _, r := range g.runs[shownRuns:] {
				rest.Item(item(r))
			}
			s.Note(document.Dim, fmt.Sprintf("and %d more", more))
		}
		first := g.runs[0]
		if first.Difference != nil {
			s.Note(document.Dim, fmt.Sprintf("%s (- release, + change):", name(first)))
			s.Code("diff", first.Difference.Text)
		}
	}
	if a.once > 0 {
		d.Text(document.Dim, printable.Count(a.once, "run")+" differed once, and a second run of the same scenario did "+
			"not. They do not count: runs of the kubelet vary.")
	}
	if a.unknown > 0 {
		d.Text(document.Dim, printable.Count(a.unknown, "run")+" cannot be compared: on the release, too, the kubelet "+
			"fails or does what the simulator cannot do.")
	}
	return d
}

// item is the line of an altered run.
func item(r *runs.Run) document.Item {
	x := document.Item{Text: name(r)}
	if r.Bug != "" {
		x.Text = r.Bug + " " + x.Text
	}
	if r.File != "" {
		x.Where = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	if r.Difference != nil {
		x.Text += " at " + r.Difference.At
	}
	if r.Fault != "" {
		x.Notes = append(x.Notes, r.Fault)
	}
	if len(r.Failed) > 0 {
		x.Notes = append(x.Notes, "no longer holds: "+printable.Some(r.Failed, 3))
	}
	if len(r.As) > 0 {
		x.Notes = append(x.Notes, "all expectations hold as in "+printable.Some(r.As, 3))
	}
	return x
}

// explain says what a failed build means for the author of a change.
func (w *workspace) explain(err error, paths []string) error {
	var failed buildError
	if !errors.As(err, &failed) {
		return err
	}
	where := strings.Join(paths, ", ")
	if strings.Contains(failed.output, "# probesim.dev/conformance/") {
		return fmt.Errorf("the kubelet of %s has another API than %s, for which the harness is written:\n%s", where,
			w.version(), failed.output)
	}
	return fmt.Errorf("%s does not compile:\n%s", where, failed.output)
}
