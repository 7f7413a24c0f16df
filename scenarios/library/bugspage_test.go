package library

import (
	"bytes"
	"fmt"
	"path"
	"strings"
)

// writeBugs returns the page about the rows.
func writeBugs(rows []row) []byte {
	var b bytes.Buffer
	runs, as, pending, n := 0, 0, 0, 0
	waits := map[string]bool{} // the rows that are pending
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
	for _, part := range [][2]string{{"B", "What was changed, and what was found"}, {"C", "What users complain about"}} {
		fmt.Fprintf(&b, "\n## %s\n\n| | what | versions: before / after | what the simulator shows | state |\n|---|---|---|---|---|\n", part[1])
		for _, r := range rows {
			if strings.HasPrefix(r.ID, part[0]) {
				fmt.Fprintf(&b, "| <a id=%q></a>%s | %s %s | %s | %s | %s |\n", strings.ToLower(r.ID), r.link(), sentence(r.Title), r.issues(), r.Versions, r.shows(), r.stateText(waits))
			}
		}
	}
	return b.Bytes()
}

// bugsHead has places for the numbers of rows, of those that run, of scenarios, of rows shown by others, and of pending ones.
const bugsHead = `# Bugs and changes that can be replayed

This page is made by a test from [library/bugs](../scenarios/library/bugs) and from the scenarios elsewhere in the library
that have the label ` + "`bug`" + `; ` + "`go test ./scenarios/library -rewrite`" + ` writes it. It lists what is known about the timing of probes,
restarts and terminations in Kubernetes from v1.19 on. The numbers are our own:

- **B1** to **B69** (and B13a) are changes and bugs, from the changelogs, from pull requests, and from reading the kubelet.
- **C1** to **C31** are complaints of users in issues, most of them open. Many are about the same as a B, whose scenario shows them.

Of %d rows %d run, in %d scenarios; %d are shown by the scenarios of another row, and %d are pending: they cannot be
shown yet, for the reason given.

` + "```" + `
probesim run scenarios/library/bugs                            # all of them
probesim run scenarios/library/bugs/b18-started-carried-over.yaml
` + "```" + `

The comment at the head of each file says what triggers it, what is observed, and why: in which file of the kubelet the
reason is. *Compared* is followed by the versions for which the scenario runs. Each such run is compared with the real kubelet of that
release, record by record, by the tests of [conformance](../conformance), which also check that what the scenario expects
holds there: v1.37.0 with each change of probesim, the others when their rules change.

| state | |
|---|---|
`

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// link is the row's number, with a link to its file if it has one.
func (r row) link() string {
	if r.scenarios == nil {
		return r.ID
	}
	return fmt.Sprintf("[%s](../scenarios/library/%s)", r.ID, r.scenarios[0].File)
}

// issues are links to issues and pull requests by their numbers, and to files by their names.
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

func (r row) stateText(waits map[string]bool) string {
	switch {
	case r.Pending != "":
		return "pending: " + r.Pending
	case waits[r.As]:
		return fmt.Sprintf("pending, as [%s](#%s)", r.As, strings.ToLower(r.As))
	case r.As != "":
		return fmt.Sprintf("shown by [%s](#%s)", r.As, strings.ToLower(r.As))
	}
	return fmt.Sprintf("`%s`. Runs; compared: %s", r.state, strings.Join(versions(r.scenarios[0]), ", "))
}
