// Package render writes the verdicts on a recording, and the recording, as text, Markdown, JSON and
// a page. The answer comes first: the cause of each trouble, what to do about it, and the lines
// that prove it. Text from the recording stays text in each format.
package render

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
)

// Answer is what there is to say about a recording.
type Answer struct {
	Recording *incident.Recording
	Report    *verdict.Report
	Pod       string // the name, the namespace and name, or the UID of the only pod to write about; empty: all of them
	Verbose   bool   // write all verdicts, and the lines that were not read
}

// mostShown is the number of verdicts in text and Markdown, and of pods in a timeline if there are
// many.
const mostShown = 8

// About reports whether to write about a pod. A chosen pod has facts.
func (a *Answer) About(p *incident.Pod) bool {
	return a.Pod == "" || p != nil && len(p.Facts) > 0 && (a.Pod == p.Name || a.Pod == p.Key() || a.Pod == p.UID)
}

// Group is a verdict that holds for several pods.
type Group struct {
	*verdict.Verdict
	Others []*incident.Pod // whose verdicts differ in numbers only
}

// Groups returns the groups of the verdicts to show, the worst first, and the pods of those that
// are left out.
func (a *Answer) Groups() (shown []Group, left []*incident.Pod) {
	known := map[string]int{}
	for i := range a.Report.Verdicts {
		v := &a.Report.Verdicts[i]
		key := alike(v)
		at, found := known[key]
		switch {
		case !a.About(v.Pod):
		case !found:
			known[key] = len(shown)
			shown = append(shown, Group{Verdict: v})
		case shown[at].Pod != v.Pod && !slices.Contains(shown[at].Others, v.Pod):
			shown[at].Others = append(shown[at].Others, v.Pod)
		}
	}
	for i := mostShown; i < len(shown) && a.Pod == "" && !a.Verbose; i++ {
		left = append(append(left, shown[i].Pod), shown[i].Others...)
	}
	if len(left) > 0 {
		shown = shown[:mostShown]
	}
	return shown, left
}

// numbers are the words of a sentence that may differ between the replicas of a workload.
var numbers = regexp.MustCompile(` ?\b(?:once|twice|[\d,]+ (?:times|tries|failures|restarts|kills|runs)` +
	`|(?:[\d.]+(?:ms|s|m|h|d))+)\b`)

// withDigit are such words of the output of a program: times, addresses, IDs.
var withDigit = regexp.MustCompile(`\S*\d\S*`)

// alike returns a text that is equal for verdicts that differ in their pod and in numbers only.
func alike(v *verdict.Verdict) string {
	means, output, _ := strings.Cut(v.Because, ": ")
	namespace, text := "", numbers.ReplaceAllString(v.Sentence+" "+means, "")+withDigit.ReplaceAllString(output, "")
	if v.Pod != nil {
		namespace, text = v.Pod.Namespace, strings.ReplaceAll(text, cmp.Or(v.Pod.Name, "\x00"), "\x00")
	}
	return fmt.Sprintf("%q", []any{namespace, v.Container, v.Cause, v.Sure, text})
}

// headline returns the sentence of a verdict with the label of its pod: in place of the name of the
// pod, or before the sentence. Words of a message, which follows a colon, stay. A name that may be
// a word of the sentence is none of the pod if the sentence is about a container.
func (a *Answer) headline(v *verdict.Verdict) string {
	label := a.Name(v.Pod)
	if label == "" {
		return v.Sentence
	}
	named := v.Container == "" || v.Container == v.Pod.Name || strings.ContainsAny(v.Pod.Name, "-.0123456789")
	words := strings.Split(v.Sentence, " ")
	for i, word := range words {
		if named && strings.TrimRight(word, ".,:") == v.Pod.Name {
			words[i] = label + word[len(v.Pod.Name):]
			return strings.Join(words, " ")
		}
		named = named && !strings.HasSuffix(word, ":")
	}
	return label + ": " + v.Sentence
}

// Name returns the label of a pod, or nothing if the recording does not have its name.
func (a *Answer) Name(p *incident.Pod) string {
	if p == nil || p.Unnamed {
		return ""
	}
	return a.Recording.Label(p)
}

// names lists pods, each once.
func (a *Answer) names(pods []*incident.Pod) string {
	var list []string
	for _, p := range pods {
		if name := a.Name(p); name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return printable.Few(list)
}

// drawn returns the run to draw: of the chosen pod, or of all pods, or of those in trouble if there
// are many.
func (a *Answer) drawn() *report.Run {
	title := a.Recording.Title()
	all := slices.DeleteFunc(slices.Clone(a.Recording.Pods),
		func(p *incident.Pod) bool { return len(p.Facts) == 0 || !a.About(p) })
	pods := all
	if len(all) > mostShown {
		pods = nil
		for _, v := range a.Report.Verdicts {
			if len(pods) < mostShown && slices.Contains(all, v.Pod) && !slices.Contains(pods, v.Pod) {
				pods = append(pods, v.Pod)
			}
		}
		if len(pods) == 0 {
			pods = all[:mostShown]
		}
		title += fmt.Sprintf("; %s not shown, choose one with --pod", printable.Count(len(all)-len(pods), "other pod"))
	}
	run := a.Recording.RunOf(pods)
	run.Description = title
	return run
}

// verdicts adds a section for each verdict to show, at least one, and returns what is below the
// recording.
func (a *Answer) verdicts(d *document.Document) (rest document.Body) {
	shown, left := a.Groups()
	add := func(s document.Section) *document.Section {
		d.Title = cmp.Or(d.Title, s.Title)
		return d.Section(s)
	}
	for i := range shown {
		v := shown[i].Verdict
		s := add(document.Section{Title: a.headline(v), Because: v.Because, Style: styles[v.Sure]})
		a.details(&s.Body, &shown[i])
	}
	if names := a.names(left); names != "" {
		add(document.Section{Title: "More verdicts:", Because: names + ". Choose one with --pod, or see all with -v."})
	}
	quiet := "No trouble: " + a.names(slices.DeleteFunc(slices.Clone(a.Report.Quiet),
		func(p *incident.Pod) bool { return !a.About(p) }))
	if len(shown) == 0 && len(left) == 0 {
		add(document.Section{Title: quiet})
	} else if quiet != "No trouble: " {
		rest.Text(document.Plain, quiet)
	}
	problems := a.Recording.Problems
	for i, p := range problems {
		if i == mostShown && !a.Verbose {
			rest.Text(document.Plain, printable.Count(len(problems)-i, "more note")+"; -v lists them")
			break
		}
		rest.Text(document.Warn, p.String())
	}
	switch n := a.Recording.UnreadLines; {
	case n > 0 && a.Verbose:
		rest.Text(document.Plain, "Not read: "+printable.Count(n, "line"))
		var lines []string
		for _, u := range a.Recording.Unread {
			lines = append(lines, printable.Text(u.Place.String()+": "+u.Text))
		}
		rest.Code("text", strings.Join(lines, "\n"))
	case n > 0:
		rest.Text(document.Plain, "Not read: "+printable.Count(n, "line")+"; -v lists them")
	}
	return rest
}

var styles = map[verdict.Sure]document.Style{verdict.Certain: document.Bad}

// details says what to do or to ask, for which other pods a verdict holds, and what proves it.
func (a *Answer) details(b *document.Body, g *Group) {
	for _, text := range g.Advice {
		b.Label("Do:", text)
	}
	if g.Question != nil {
		b.Label("Ask:", g.Asks)
		b.Command(g.Command)
	}
	if n := len(g.Others); n > 0 {
		names := cmp.Or(a.names(g.Others), "without a name")
		b.Note(document.Plain, "And "+printable.Count(n, "more pod")+": "+names)
	}
	for _, text := range g.Details {
		b.Note(document.Plain, text)
	}
	var lines []string
	for _, e := range g.Evidence {
		lines = append(lines, printable.Text(e.Place.String()+": "+strings.Join(strings.Fields(e.Text), " ")))
	}
	if len(lines) > 0 {
		b.Note(document.Plain, "Evidence:")
		b.Code("text", strings.Join(lines, "\n"))
	}
	if g.Next != "" {
		b.Label("Next:", g.NextSays)
		b.Command(g.Next)
	}
}
