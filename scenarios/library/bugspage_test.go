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
	for _, part := range [][2]string{{"B", "Changes and bugs"}, {"C", "Complaints of users"}} {
		fmt.Fprintf(&b, "\n## %s\n\n| id | what | upstream | versions: before / after | what the simulator shows | "+
			"state |\n|---|---|---|---|---|---|\n", part[1])
		for _, r := range rows {
			if strings.HasPrefix(r.ID, part[0]) {
				fmt.Fprintf(&b, "| <a id=%q></a>%s | %s | %s | %s | %s | %s |\n", strings.ToLower(r.ID), r.ID, r.link(),
					r.issues(),
					linkRows(r.Versions), r.shows(), r.stateText(waits))
			}
		}
	}
	return b.Bytes()
}

// bugsHead is the top of the page. Its arguments are the numbers of all rows, of rows that run, of
// scenarios, of rows that another row shows, and of pending rows.
const bugsHead = `# Bugs and changes that you can replay

Known bugs and changes in the timing of probes, restarts and terminations, in Kubernetes v1.19 and later, from changelogs, pull
requests, issues and the source of the kubelet. Each title links to a scenario that you can run:

` + "```" + `
probesim run scenarios/library/bugs                            # all scenarios
probesim run scenarios/library/bugs/b18-started-carried-over.yaml
` + "```" + `

Of %d rows, %d have scenarios, %d in all. The scenarios of another row show %d more. %d are pending: no scenario can show
them yet. The comment at the top of each file has the trigger, the observation, and the reason with a file of the kubelet.

The [real kubelet](../../../conformance/proof.md#the-real-kubelet) of each release that the state names runs the scenario with the same trace and the same outcome of
its expectations. Without names it is all five: v1.33, v1.34, v1.35, v1.36 and v1.37. With *1.38 differs*, the scenario also
asserts what [Kubernetes 1.38](../../../docs/kubernetes-1.38.md) or its preview does. [conformance/upstream](../../../conformance/upstream) has texts for open issues.

A test generates this page from the scenarios with the label ` + "`bug`" + `: ` +
	"`go test ./scenarios/library -rewrite`" + `.

| state | meaning |
|---|---|
`

// rowID matches the id of a row.
var rowID = regexp.MustCompile(`\b[BC]\d+a?\b`)

// linkRows makes links of the ids of rows in a text.
func linkRows(text string) string {
	return rowID.ReplaceAllStringFunc(text,
		func(id string) string { return fmt.Sprintf("[%s](#%s)", id, strings.ToLower(id)) })
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// link returns the title of the row, with a link if the row has a file.
func (r row) link() string {
	if r.scenarios == nil {
		return sentence(r.Title)
	}
	file := r.scenarios[0].File
	if own, ok := strings.CutPrefix(file, "bugs/"); ok {
		return fmt.Sprintf("[%s](%s)", sentence(r.Title), own)
	}
	return fmt.Sprintf("[%s](../%s)", sentence(r.Title), file)
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

func (r row) stateText(waits map[string]bool) string {
	switch {
	case r.Pending != "":
		return "pending: " + linkRows(r.Pending)
	case waits[r.As]:
		return "pending, as " + linkRows(r.As)
	case r.As != "":
		return "shown by " + linkRows(r.As)
	}
	var compared []string
	also := ""
	for _, v := range versions(r.scenarios[0]) {
		if p, _ := profile.Named(v); p.Preview() {
			also = "; [1.38](../../../docs/kubernetes-1.38.md) differs"
			continue
		}
		compared = append(compared, v)
	}
	state := fmt.Sprintf("`%s`", r.state)
	if len(compared) < len(profile.Names()) {
		state += " in " + strings.Join(compared, ", ")
	}
	return state + also
}
