// Package render writes what package measure finds.
package render

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
)

// Document returns the report: what was measured, the closest call, a table, and what is not known.
func Document(r *measure.Report) *document.Document {
	d := document.New("How long programs take to start")
	t := &writer{d, r}
	t.lead()
	t.table()
	t.slower()
	t.unknown()
	t.ends()
	d.More = []string{"-o json for each start", "-o config for probesim check"}
	return d
}

type writer struct {
	*document.Document
	r *measure.Report
}

// each calls a function for each container.
func each(r *measure.Report, visit func(*measure.Workload, *measure.Container)) {
	for _, w := range r.Workloads {
		for _, c := range w.Containers {
			visit(w, c)
		}
	}
}

func title(w *measure.Workload) string { return manifests.Title(w.Kind, w.Namespace, w.Name) }

// lead says how many containers are measured, and which one was killed or came closest to it.
func (t *writer) lead() {
	containers, starts, pods := 0, 0, 0
	var measured []*measure.Container
	var reasons []string
	for _, w := range t.r.Workloads {
		pods += w.Pods
	}
	only := ""
	each(t.r, func(w *measure.Workload, c *measure.Container) {
		containers, starts = containers+1, starts+len(c.Starts)
		if c.Start != nil {
			measured, only = append(measured, c), c.Name
		}
		if c.Unnamed {
			only = w.Name
		}
		for _, u := range c.Unknown {
			if !slices.Contains(reasons, u.Reason) {
				reasons = append(reasons, u.Reason)
			}
		}
	})
	found := fmt.Sprintf("%s in %s", printable.Count(starts, "start"), printable.Count(pods, "pod"))
	sentence := fmt.Sprintf("The starts of %d of %s are measured: %s.", len(measured),
		printable.Count(containers, "container"), found)
	switch {
	case len(measured) == 0 && len(reasons) == 1:
		sentence = fmt.Sprintf("No start is measured in %s: %s.", printable.Count(pods, "pod"), reasons[0])
	case len(measured) == 0:
		sentence = fmt.Sprintf("No start is measured in %s.", printable.Count(pods, "pod"))
	case containers == 1:
		sentence = fmt.Sprintf("%s starts in %s: %s.", only, words(*measured[0].Start), found)
		if measured[0].Start.Min == 0 {
			most := up(value.Seconds(measured[0].Start.Max))
			sentence = fmt.Sprintf("%s takes up to %s to start: %s.", only, most, found)
		}
	}
	t.Lead(sentence, t.danger(containers))
}

// danger says which container the probes have killed most often, or else came closest to it.
func (t *writer) danger(containers int) string {
	var killed, closest *measure.Container
	var of [2]*measure.Workload
	each(t.r, func(w *measure.Workload, c *measure.Container) {
		if c.Kills > 0 && (killed == nil || c.Kills > killed.Kills) {
			killed, of[0] = c, w
		}
		if c.Limit > 0 && (closest == nil || c.Margin < closest.Margin) {
			closest, of[1] = c, w
		}
	})
	switch {
	case killed != nil:
		return fmt.Sprintf("Probes have killed %s of %s %s.", killed.Name, title(of[0]),
			printable.Count(killed.Kills, "time"))
	case closest == nil:
		return ""
	}
	took := "up to " + up(value.Seconds(closest.Start.Max))
	if closest.Margin < 0 {
		took = words(*closest.Start)
	}
	which := "The closest to a kill was " + closest.Name + " of " + title(of[1]) + ": its"
	if containers == 1 {
		which = "Its"
	}
	return fmt.Sprintf("%s slowest start took %s, and its probes always allow %s.", which, took, down(closest.Limit))
}

// table lists the measured containers below their workloads.
func (t *writer) table() {
	table := &document.Table{Left: 1, Head: []string{"", "starts", "range", "median", "known to", "allowed"}}
	for _, w := range t.r.Workloads {
		head := title(w)
		if w.Hash != "" && len(t.r.Revisions(w.Kind, w.Namespace, w.Name)) > 1 {
			head += ", " + strings.TrimPrefix(w.Hash, w.Name+"-")
		}
		for _, c := range w.Containers {
			if c.Start == nil {
				continue
			}
			if head != "" {
				table.Group(head)
				head = ""
			}
			known, allowed := "", ""
			if c.Ignorance > 0 {
				known = "±" + up(c.Ignorance/2)
			}
			if c.Limit > 0 {
				allowed = down(c.Limit)
			}
			median := value.Format(((c.Median.Min + c.Median.Max) / 2).Round(time.Second))
			table.Texts("  "+c.Name, fmt.Sprint(len(c.Starts)), words(*c.Start), median, known, allowed)
		}
	}
	t.Table(table)
}

// slower says which programs start more slowly or faster since their newest revision.
func (t *writer) slower() {
	for _, w := range t.r.Newest() {
		for _, c := range w.Containers {
			var before *measure.Container
			for _, old := range t.r.Revisions(w.Kind, w.Namespace, w.Name) {
				if old == w {
					break
				}
				for _, o := range old.Containers {
					if o.Name == c.Name && o.Start != nil {
						before = o
					}
				}
			}
			how := ""
			switch {
			case before == nil || c.Start == nil:
			case c.Start.Min > before.Start.Max:
				how = "more slowly"
			case c.Start.Max < before.Start.Min:
				how = "faster"
			}
			if how != "" {
				t.Gap()
				t.Text(document.Bold, fmt.Sprintf("%s starts %s than before: %s, not %s.", name(w, c), how,
					words(*c.Start), words(*before.Start)))
			}
		}
	}
}

// unknown lists the containers of which starts are not known, by the reason. A reason for one
// container has the place of its first pod.
func (t *writer) unknown() {
	var reasons []string
	of, places := map[string][]string{}, map[string]string{}
	each(t.r, func(w *measure.Workload, c *measure.Container) {
		for _, u := range c.Unknown {
			if of[u.Reason] == nil {
				reasons = append(reasons, u.Reason)
			}
			of[u.Reason], places[u.Reason] = append(of[u.Reason], name(w, c)), u.Where
		}
	})
	for _, u := range t.r.Unused {
		reasons = append(reasons, u.Reason)
		of[u.Reason], places[u.Reason] = []string{printable.Count(u.Starts, "pod")}, u.Where
	}
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(len(of[a]), len(of[b])) })
	var list *document.Section
	for i, reason := range reasons {
		if i == 0 {
			list = t.Section(document.Section{Title: "Starts that are not known, or only in part:"})
		}
		text := reason + ": " + printable.Some(of[reason], 5)
		if len(of[reason]) == 1 {
			text += " (" + places[reason] + ")"
		}
		list.Item(document.Item{Text: text})
	}
}

// ends lists what is known of the ends of containers, those with the most restarts
// first.
func (t *writer) ends() {
	type end struct {
		restarts int
		text     string
	}
	var list []end
	each(t.r, func(w *measure.Workload, c *measure.Container) {
		if lines := ends(c); len(lines) > 0 {
			list = append(list, end{c.Restarts, name(w, c) + ": " + strings.Join(lines, "; ")})
		}
	})
	slices.SortStableFunc(list, func(a, b end) int { return cmp.Compare(b.restarts, a.restarts) })
	if len(list) == 0 {
		return
	}
	s := t.Section(document.Section{Title: "Ends:"})
	for _, e := range list {
		s.Item(document.Item{Text: e.text})
	}
}

func ends(c *measure.Container) (lines []string) {
	if c.Restarts > 0 {
		lines = append(lines, printable.Count(c.Restarts, "restart"))
	}
	if c.Kills > 0 {
		lines = append(lines, fmt.Sprintf("its probes have killed it %s", printable.Count(c.Kills, "time")))
	}
	for _, l := range c.Lives {
		text := fmt.Sprintf("exit code %d", l.ExitCode)
		if l.Reason != "" {
			text += " (" + l.Reason + ")"
		}
		if l.Count > 1 {
			text += fmt.Sprintf(" %d times", l.Count)
		}
		if l.Lasted != nil {
			text += " after " + words(*l.Lasted)
		}
		lines = append(lines, text)
	}
	if c.Stop != nil {
		lines = append(lines, fmt.Sprintf("it exits %s after the stop signal (%s)", words(*c.Stop),
			printable.Count(c.Stops, "stop")))
	}
	if c.Killed > 0 {
		lines = append(lines, fmt.Sprintf("%s lasted for the whole grace period", printable.Count(c.Killed, "stop")))
	}
	return lines
}

// name names a container.
func name(w *measure.Workload, c *measure.Container) string {
	if w.Name == c.Name || c.Unnamed {
		return w.Name
	}
	return w.Name + "/" + c.Name
}

// words formats a range in whole seconds.
func words(r value.Interval) string {
	least, greatest, several := strings.Cut(r.Whole().String(), "..")
	if !several {
		return least
	}
	return least + " to " + greatest
}

func up(s value.Seconds) string {
	return value.Format((time.Duration(s) + time.Second - 1).Truncate(time.Second))
}

func down(s value.Seconds) string { return value.Format(time.Duration(s).Truncate(time.Second)) }

// inexact is a comment about the starts of a workload that are not known well enough to compare
// them with what the probes allow. Check knows it of the pods, but not of a range.
func inexact(w *measure.Workload) string {
	text := ""
	for _, c := range w.Containers {
		least := value.Seconds(0)
		for _, s := range c.Starts {
			least = max(least, value.Seconds(s.Took.Min))
		}
		if c.Limit > 0 && c.Margin < 0 && least <= c.Limit {
			text += printable.Text(fmt.Sprintf("# %s: the probes always allow %s, and the slowest start is not known "+
				"better than this.", name(w, c), down(c.Limit))) + "\n"
		}
	}
	return text
}

// durations lists what is known of the containers, such as app=15s..19s, envoy=1s..3s.
func durations(containers []*measure.Container, key string) string {
	var list []string
	for _, c := range containers {
		r := c.Start
		if key == "stop" {
			r = c.Stop
		}
		if r != nil {
			list = append(list, printable.Text(c.Name)+"="+r.Whole().String())
		}
	}
	return strings.Join(list, ", ")
}

// Config writes a .probesim.yaml with the starts and stops of the containers of each workload.
// Manifests need not have the namespace: a name has it if another one has such a workload too.
func Config(w io.Writer, r *measure.Report) error {
	var all []*measure.Container
	var b strings.Builder
	for _, w := range r.Newest() {
		b.WriteString(inexact(w))
		for _, c := range w.Containers {
			if c.Unnamed { // its workload is not in the files
				continue
			}
			name := path.Join(w.Name, c.Name)
			if slices.ContainsFunc(r.Workloads, func(o *measure.Workload) bool {
				return o.Name == w.Name && o.Namespace != w.Namespace
			}) {
				name = path.Join(w.Namespace, name)
			}
			i := slices.IndexFunc(all, func(o *measure.Container) bool { return o.Name == name })
			if i < 0 {
				all = append(all, &measure.Container{Name: name, Start: c.Start, Stop: c.Stop})
				continue
			}
			all[i].Start, all[i].Stop = all[i].Start.Join(c.Start), all[i].Stop.Join(c.Stop)
		}
	}
	for _, key := range []string{"start", "stop"} {
		if text := durations(all, key); text != "" {
			fmt.Fprintf(&b, "%s: [\"%s\"]\n", key, strings.ReplaceAll(text, ", ", "\", \""))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
