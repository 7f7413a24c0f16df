package library

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"probesim.dev/kube/profile"
)

// writeBugs returns the page with a row for each bug.
func writeBugs(rows []row) []byte {
	var b bytes.Buffer
	runs, as, pending, n := 0, 0, 0, 0
	waits := map[string]bool{} // the pending rows
	for _, r := range rows {
		waits[r.ID] = r.Pending != ""
	}
	for _, r := range rows {
		n += len(r.scenarios)
		switch {
		case waits[r.ID] || waits[r.As]:
			pending++
		case r.As != "":
			as++
		default:
			runs++
		}
	}
	fmt.Fprintf(&b, bugsHead, len(rows), runs, n, as, pending)
	for _, state := range []string{"open", "changed", "held"} {
		fmt.Fprintf(&b, "| `%s` | %s |\n", state, states[state])
	}
	titles := map[string]string{}
	for _, r := range rows {
		titles[r.ID] = sentence(r.Title)
	}
	for _, part := range [][2]string{{"B", "Changes and bugs"}, {"C", "Complaints of users"}} {
		fmt.Fprintf(&b, "\n## %s\n\n| what | upstream | versions: before / after | what the simulator shows | state | id |\n|---|---|---|---|---|---|\n", part[1])
		for _, r := range rows {
			if strings.HasPrefix(r.ID, part[0]) {
				fmt.Fprintf(&b, "| <a id=%q></a>%s | %s | %s | %s | %s | %s |\n", strings.ToLower(r.ID), r.link(), r.issues(),
					linkRows(r.Versions, titles), r.shows(), r.stateText(waits, titles), r.ID)
			}
		}
	}
	return b.Bytes()
}

// bugsHead is the top of the page. Its arguments are the numbers of all rows, of rows that run, of scenarios, of rows
// that another row shows, and of pending rows.
const bugsHead = `# Bugs and changes that you can replay

This page lists known bugs and changes in the timing of probes, restarts and terminations, in Kubernetes v1.19 and later.
They come from changelogs, pull requests, issues, and from reading the kubelet. Each title links to a scenario that you can run:

` + "```" + `
probesim run scenarios/library/bugs                            # all scenarios
probesim run scenarios/library/bugs/b18-started-carried-over.yaml
` + "```" + `

Of %d rows, %d have scenarios, %d in all. The scenarios of another row show %d more. %d are pending: no scenario can show
them yet, for the reason given.

The comment at the top of each file describes the trigger, the observation, and the reason with a file of the kubelet.
*Compared* lists the versions for which the scenario runs. The tests of [conformance](../conformance) compare each such run with
the real kubelet of that release, record by record, and check that the expectations of the scenario hold there: v1.37.0 with each
change of probesim, the others when their rules change. If a row lists v1.38-preview, its scenario also asserts what
[Kubernetes 1.38](kubernetes-1.38.md) does.

[upstream](upstream) has texts for open issues, with a manifest and a trace each.

A test generates this page from [library/bugs](../scenarios/library/bugs) and from the other scenarios of the library with the label
` + "`bug`" + `: ` + "`go test ./scenarios/library -rewrite`" + `. The id in the last column is the value of this label.

| state | meaning |
|---|---|
`

// rowID matches the id of a row.
var rowID = regexp.MustCompile(`\b[BC]\d+a?\b`)

// linkRows replaces the ids of rows in a text by links with the titles of the rows.
func linkRows(text string, titles map[string]string) string {
	return rowID.ReplaceAllStringFunc(text, func(id string) string {
		return fmt.Sprintf("[%s](#%s)", titles[id], strings.ToLower(id))
	})
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// link returns the title of the row, with a link if the row has a file.
func (r row) link() string {
	if r.scenarios == nil {
		return sentence(r.Title)
	}
	return fmt.Sprintf("[%s](../scenarios/library/%s)", sentence(r.Title), r.scenarios[0].File)
}

// issues returns links to issues and pull requests, by number, and to files, by name.
func (r row) issues() string {
	var links []string
	for _, url := range strings.Fields(r.Issue) {
		text := path.Base(url)
		if m := urlForm.FindStringSubmatch(url); m != nil && m[1] != "" {
			text = "#" + m[1]
			if !strings.HasPrefix(url, "https://github.com/kubernetes/kubernetes/") {
				text = strings.Split(url, "/")[4] + text
			}
		}
		links = append(links, fmt.Sprintf("[%s](%s)", text, url))
	}
	return strings.Join(links, " ")
}

func (r row) shows() string {
	var texts []string
	for _, s := range r.scenarios {
		texts = append(texts, strings.Join(strings.Fields(s.Spec.Description), " "))
	}
	return strings.Join(texts, " ")
}

func (r row) stateText(waits map[string]bool, titles map[string]string) string {
	switch {
	case r.Pending != "":
		return "pending: " + linkRows(r.Pending, titles)
	case waits[r.As]:
		return "pending, as " + linkRows(r.As, titles)
	case r.As != "":
		return "shown by " + linkRows(r.As, titles)
	}
	var compared []string
	also := ""
	for _, v := range versions(r.scenarios[0]) {
		if p, _ := profile.Named(v); p.Preview() {
			also += fmt.Sprintf("; [%s](kubernetes-1.38.md): other, from source, not compared", v)
			continue
		}
		compared = append(compared, v)
	}
	return fmt.Sprintf("`%s`; compared: %s%s", r.state, strings.Join(compared, ", "), also)
}
