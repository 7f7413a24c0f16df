// Package render writes what package measure finds.
package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"probesim.dev/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/measure"
	"probesim.dev/report"
)

// Text writes the report for a terminal: what was measured, the closest call, a table, and what is not known.
func Text(w io.Writer, r *measure.Report, o report.Options) error {
	t := &writer{report.Writer{Options: o}, r}
	t.lead()
	t.table()
	t.unknown()
	t.ends()
	t.hint()
	t.Gap()
	t.Line(0, "More: -o json for each start; -o annotations or -o config for probesim check", report.Dim)
	_, err := w.Write(t.Bytes())
	return err
}

type writer struct {
	report.Writer
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

func title(w *measure.Workload) string { return check.Title(w.Kind, w.Namespace, w.Name) }

// lead says how many containers are measured, and which start was closest to a kill.
func (t *writer) lead() {
	containers, measured, starts, pods := 0, 0, 0, 0
	var first, closest *measure.Container
	var of *measure.Workload
	for _, w := range t.r.Workloads {
		pods += w.Pods
	}
	each(t.r, func(w *measure.Workload, c *measure.Container) {
		containers++
		if starts += len(c.Starts); c.Start == nil {
			return
		}
		if measured++; first == nil {
			first = c
		}
		if c.Limit > 0 && (closest == nil || c.Margin < closest.Margin) {
			closest, of = c, w
		}
	})
	sentence := fmt.Sprintf("The starts of %d of %d %s are measured: %d %s in %d %s.", measured, containers, printable.Plural(containers, "container"),
		starts, printable.Plural(starts, "start"), pods, printable.Plural(pods, "pod"))
	switch {
	case measured == 0:
		sentence = fmt.Sprintf("No start is measured, in %d %s of %d %s.", pods, printable.Plural(pods, "pod"), len(t.r.Workloads), printable.Plural(len(t.r.Workloads), "workload"))
	case containers == 1:
		sentence = fmt.Sprintf("%s starts in %s: %d %s in %d %s.", first.Name, words(*first.Start), starts, printable.Plural(starts, "start"), pods, printable.Plural(pods, "pod"))
	}
	rest := ""
	if closest != nil {
		rest = fmt.Sprintf("The slowest start took up to %s, and the probes always allow %s.", up(closest.Start.Greatest), down(closest.Limit))
		if containers > 1 {
			rest = fmt.Sprintf("Closest to a kill is %s of %s: its slowest start took up to %s, and its probes always allow %s.", closest.Name, title(of), up(closest.Start.Greatest), down(closest.Limit))
		}
	}
	t.Lead(sentence, rest)
}

// table lists the measured containers below their workloads.
func (t *writer) table() {
	table := &report.Table{Left: 1}
	table.Head("", "starts", "range", "median", "known to", "allowed", "restarts")
	for _, w := range t.r.Workloads {
		head := title(w)
		if w.Hash != "" {
			head += ", " + w.Hash
		}
		for _, c := range w.Containers {
			if c.Start == nil {
				continue
			}
			if head != "" {
				table.Line(head, report.Plain)
				head = ""
			}
			cell := func(text string) report.Cell { return report.Cell{Text: text} }
			row := []report.Cell{cell("  " + c.Name), cell(fmt.Sprint(len(c.Starts))), cell(words(*c.Start)), cell(value.Format(((time.Duration(c.Median.Least) + time.Duration(c.Median.Greatest)) / 2).Round(time.Second))),
				cell(""), cell(""), cell(fmt.Sprint(c.Restarts))}
			if c.Ignorance > 0 {
				row[4] = cell("±" + up(c.Ignorance/2))
			}
			if c.Limit > 0 {
				row[5] = cell(down(c.Limit))
			}
			table.Row(row...)
		}
	}
	if t.r.Measured() {
		t.Gap()
		t.Table(table)
	}
}

// unknown lists the containers of which starts are not known, by the reason.
func (t *writer) unknown() {
	var reasons []string
	of := map[string][]string{}
	each(t.r, func(w *measure.Workload, c *measure.Container) {
		for _, u := range c.Unknown {
			if of[u.Says] == nil {
				reasons = append(reasons, u.Says)
			}
			of[u.Says] = append(of[u.Says], fmt.Sprintf("%s (%d, %s)", name(w, c), u.Starts, u.Where))
		}
	})
	for i, says := range reasons {
		if i == 0 {
			t.Gap()
			t.Line(0, "Starts that are not known, or only in part:", report.Bold)
		}
		t.Item(report.Cell{Text: "  "}, says+": "+strings.Join(of[says], ", "), "")
	}
}

// ends lists what is known of the ends of containers.
func (t *writer) ends() {
	first := true
	each(t.r, func(w *measure.Workload, c *measure.Container) {
		lines := ends(c)
		if len(lines) == 0 {
			return
		}
		if first {
			t.Gap()
			t.Line(0, "Ends and probes:", report.Bold)
			first = false
		}
		t.Item(report.Cell{Text: "  "}, name(w, c)+": "+strings.Join(lines, "; "), "")
	})
}

func ends(c *measure.Container) (lines []string) {
	if c.Kills > 0 {
		lines = append(lines, fmt.Sprintf("its probes have killed it %d %s", c.Kills, printable.Plural(c.Kills, "time")))
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
		lines = append(lines, fmt.Sprintf("it exits %s after the stop signal (%d %s)", words(*c.Stop), c.Stops, printable.Plural(c.Stops, "stop")))
	}
	if c.Killed > 0 {
		lines = append(lines, fmt.Sprintf("%d %s lasted for the whole grace period", c.Killed, printable.Plural(c.Killed, "stop")))
	}
	for _, p := range c.Probes {
		text := fmt.Sprintf("%d of %d runs of its %s probe failed", p.Failures, p.Runs, p.Type)
		if p.Within != nil {
			text += fmt.Sprintf(", and 99%% ended within %s (timeout %s)", value.Format(time.Duration(*p.Within)), up(p.Timeout))
		}
		lines = append(lines, text)
	}
	return lines
}

// name names a container.
func name(w *measure.Workload, c *measure.Container) string { return w.Name + "/" + c.Name }

// hint says how the least exact range gets more exact.
func (t *writer) hint() {
	var worst *measure.Container
	of := ""
	each(t.r, func(w *measure.Workload, c *measure.Container) {
		if c.Halve != "" && (worst == nil || c.Ignorance > worst.Ignorance) {
			worst, of = c, name(w, c)
		}
	})
	if worst != nil {
		t.Gap()
		t.Line(0, "With "+worst.Halve+", the starts of "+of+" would be known twice as exactly.", report.Plain)
	}
}

// words formats a range in whole seconds.
func words(r measure.Range) string {
	least, greatest, several := strings.Cut(r.String(), "..")
	if !several {
		return least
	}
	return least + " to " + greatest
}

func up(s measure.Seconds) string {
	return value.Format((time.Duration(s) + time.Second - 1).Truncate(time.Second))
}

func down(s measure.Seconds) string { return value.Format(time.Duration(s).Truncate(time.Second)) }

// Annotations writes the annotations that probesim check reads, for the newest revision of each workload.
func Annotations(w io.Writer, r *measure.Report) error {
	var b strings.Builder
	for _, w := range r.Newest() {
		fmt.Fprintf(&b, "# %s, %d %s\nmetadata:\n  annotations:\n", printable.Text(title(w)), w.Pods, printable.Plural(w.Pods, "pod"))
		for _, key := range []string{"start", "stop"} {
			if text := durations(w.Containers, key); text != "" {
				fmt.Fprintf(&b, "    probesim.dev/%s: %s\n", key, text)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
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
			list = append(list, printable.Text(c.Name)+"="+r.String())
		}
	}
	return strings.Join(list, ", ")
}

// Config writes a .probesim.yaml with the starts and stops of all containers. Containers of one name in several workloads have one range.
func Config(w io.Writer, r *measure.Report) error {
	var all []*measure.Container
	for _, w := range r.Newest() {
		for _, c := range w.Containers {
			i := slices.IndexFunc(all, func(o *measure.Container) bool { return o.Name == c.Name })
			if i < 0 {
				all = append(all, &measure.Container{Name: c.Name, Start: c.Start, Stop: c.Stop})
				continue
			}
			all[i].Start, all[i].Stop = all[i].Start.Join(c.Start), all[i].Stop.Join(c.Stop)
		}
	}
	var b strings.Builder
	for _, key := range []string{"start", "stop"} {
		if text := durations(all, key); text != "" {
			fmt.Fprintf(&b, "%s: [\"%s\"]\n", key, strings.ReplaceAll(text, ", ", "\", \""))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
