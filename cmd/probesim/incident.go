package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/incident"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/report"
	"probesim.dev/report/html"
	"probesim.dev/scenarios/simulate"
)

// incidentOptions are the flags of incident.
type incidentOptions struct {
	output   string
	redact   bool
	pod      string
	scenario string
	force    bool
}

var incidentOutputs = []string{"text", "timeline", "scenario", "html", "json", "jsonl"}

func newIncident() *cobra.Command {
	var o incidentOptions
	cmd := newCommand("incident FILE...", "Show and explain what a cluster recorded about pods", incidentHelp, incidentExamples, someFiles("incident requires a file with events, pods or a log, or - for stdin"), func(cmd *cobra.Command, args []string) error { return o.show(cmd, args) })
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "text", incidentOutputs)
	flags.StringVar(&o.pod, "pod", "", "Show and reconstruct only the pod with this `name`, NAMESPACE/NAME or UID.")
	flags.StringVar(&o.scenario, "scenario", "", "Also write the scenarios of the reconstruction to this `file`.")
	flags.BoolVar(&o.force, "force", false, "Overwrite an existing file.")
	flags.BoolVar(&o.redact, "redact", false, "Replace names, images, addresses and messages before anything is written.")
	return cmd
}

const incidentHelp = `Show and explain what a cluster recorded about pods: as a timeline like that of a
run, as a list of events, and as a scenario whose run yields the same. FILE is a
file, or - for stdin. Files may contain any mixture of:

  * events and pods as JSON or YAML, in lists, streams or several versions:
    kubectl get events,pods -o json
    kubectl get pods -w --output-watch-events -o json
  * texts of kubectl describe pod, kubectl get events and kubectl get pods -w
  * logs of the kubelet, from -v=1 on
  * workloads, for the specs of their pods

The timeline shows only what the files tell. It is hatched where they tell
nothing. Aggregated events have a count, and the times of the first and the last
one; the timeline shows those in between only if nothing else is possible. What
cannot be used, and facts that contradict each other, are listed with their
place. The files are only read, and nothing is sent anywhere.

Then incident reconstructs what happened to the pods in trouble: it searches for
a behavior of their programs under which a run meets what is recorded, and says
which facts the run explains. It explains the first restart by a probe or the
end of the run, as 'probesim why' does, lists what 'probesim check' finds in the
settings, and finds settings that would have prevented restarts by probes.

Output formats:
  text      timeline, events, and the reconstruction (default)
  timeline  a timeline and a table of events, without a reconstruction
  scenario  the scenarios of the reconstruction
  html      a page for a browser
  json      the pods, the facts, the problems and the reconstructions as one object
  jsonl     the facts, one JSON object on each line

Exit codes:
  0    there are facts about pods in the files
  2    invalid usage, a file that cannot be read, no facts about pods, or
       no scenario to write
  3    probesim itself failed
  130  interrupted`

const incidentExamples = `  # Show what the events and the pods tell
  kubectl get events,pods -o json | probesim incident -

  # Add the log of a kubelet
  kubectl get events,pods -o json > cluster.json
  probesim incident cluster.json kubelet.log

  # Write the scenario of a pod, and run it
  probesim incident cluster.json --pod web-1 --scenario web-1.yaml
  probesim run web-1.yaml

  # Write a page without names, addresses and messages
  probesim incident cluster.json --redact -o html > incident.html`

func (o *incidentOptions) show(cmd *cobra.Command, paths []string) error {
	if err := checkOutput(o.output, incidentOutputs); err != nil {
		return err
	}
	recordings, err := readRecordings(cmd.InOrStdin(), paths)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	rec := incident.Read(recordings)
	if o.redact {
		rec.Redact()
	}
	for _, p := range rec.Problems {
		warn(cmd.ErrOrStderr(), p.String())
	}
	if len(rec.Facts) == 0 {
		return &exitError{exitUsage, errors.New("there are no facts about pods in the files")}
	}
	if o.pod != "" && !slices.ContainsFunc(rec.Pods, func(p *incident.Pod) bool { return o.is(p) }) {
		return &exitError{exitUsage, fmt.Errorf("--pod: there is no pod %q in the files", o.pod)}
	}
	if o.output == "text" || o.output == "timeline" { // at once: the search takes a while
		if err := o.writeRecording(cmd.OutOrStdout(), rec); err != nil {
			return err
		}
	}
	var found []*reconstruction
	var interrupted error
	if o.output != "timeline" && o.output != "jsonl" || o.scenario != "" {
		found, interrupted = o.reconstruct(cmd, rec, paths)
	}
	if interrupted != nil && o.output != "text" {
		return interrupted
	}
	if err := o.write(cmd, rec, found); err != nil {
		return err
	}
	if interrupted != nil || o.scenario == "" && o.output != "scenario" {
		return interrupted
	}
	if err := noScenario(rec, found); err != nil {
		return &exitError{exitUsage, err}
	}
	if o.scenario == "" {
		return nil
	}
	if err := files.Write(cmd.Context(), o.scenario, scenariosOf(found), o.force); err != nil {
		return &exitError{exitUsage, err}
	}
	fmt.Fprintf(terminal.Safe(cmd.ErrOrStderr()), "Wrote %s. Next: probesim run %s\n", printable.Text(o.scenario), simulate.Quote(o.scenario))
	return nil
}

// notTroubled says why no pod is reconstructed.
const notTroubled = "no pod shows trouble; use --pod to reconstruct one anyway"

// noScenario returns the reason why there is no scenario, or nil if there is one.
func noScenario(rec *incident.Recording, found []*reconstruction) error {
	if len(found) == 0 {
		return errors.New("there is no scenario: " + notTroubled)
	}
	var why []error
	for _, r := range found {
		if r.result != nil {
			return nil
		}
		why = append(why, fmt.Errorf("there is no scenario of %s: %s", rec.Label(r.pod), r.problem))
	}
	return errors.Join(why...)
}

// warn writes a warning: in a terminal wrapped to its width, and otherwise as one line.
func warn(w io.Writer, text string) {
	o := terminal.Options(w)
	if o.Width == 0 {
		fmt.Fprintf(terminal.Safe(w), "warning: %s\n", text)
		return
	}
	report.WriteLine(w, 0, "warning: "+text, report.Plain, o)
}

// is reports whether a pod has the name or the UID of --pod.
func (o *incidentOptions) is(p *incident.Pod) bool {
	return o.pod == p.Name || o.pod == p.Key() || o.pod == p.UID
}

func (o *incidentOptions) write(cmd *cobra.Command, rec *incident.Recording, found []*reconstruction) error {
	w := cmd.OutOrStdout()
	switch o.output {
	case "json":
		return rec.WriteJSON(w, reconstructionsJSON(found))
	case "jsonl":
		return rec.WriteFacts(w)
	case "html":
		return incidentPage(w, rec, rec.RunOf(o.drawn(rec)), found)
	case "scenario":
		_, err := w.Write(scenariosOf(found))
		return err
	}
	if o.output == "text" && len(found) == 0 {
		_, err := fmt.Fprintf(w, "\n%s%s.\n", strings.ToUpper(notTroubled[:1]), notTroubled[1:])
		return err
	}
	for _, r := range found {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := r.write(w, rec, terminal.Options(w)); err != nil {
			return err
		}
	}
	return nil
}

// writeRecording writes the timeline and the events.
func (o *incidentOptions) writeRecording(w io.Writer, rec *incident.Recording) error {
	text := terminal.Options(w)
	run := rec.RunOf(o.drawn(rec))
	if _, err := fmt.Fprintf(terminal.Safe(w), "%s\n\n", rec.Title()); err != nil {
		return err
	}
	if err := report.Timeline(w, run, text); err != nil {
		return err
	}
	if len(run.EventList) > 0 {
		fmt.Fprintln(w)
		if err := report.Events(w, run, text); err != nil {
			return err
		}
	}
	if left := o.left(rec); left != "" {
		fmt.Fprintf(terminal.Safe(w), "\n%s\n", left)
	}
	return nil
}

// mostDrawn is the number of pods that the timeline shows with all their lanes.
const mostDrawn = 8

// drawn returns the pods of the timeline: the chosen one, or all of them, or those in trouble if there are many.
func (o *incidentOptions) drawn(rec *incident.Recording) []*incident.Pod {
	var all, troubled []*incident.Pod
	for _, p := range rec.Pods {
		switch {
		case len(p.Facts) == 0 || o.pod != "" && !o.is(p):
			continue
		case p.Troubled():
			troubled = append(troubled, p)
		}
		all = append(all, p)
	}
	if len(all) > mostDrawn && len(troubled) > 0 {
		return troubled[:min(len(troubled), mostDrawn)]
	}
	return all
}

// left says which pods the timeline leaves out.
func (o *incidentOptions) left(rec *incident.Recording) string {
	n := -len(o.drawn(rec))
	for _, p := range rec.Pods {
		if len(p.Facts) > 0 {
			n++
		}
	}
	if n <= 0 || o.pod != "" {
		return ""
	}
	return fmt.Sprintf("Not shown: %d other pods. Choose one with --pod.", n)
}

func incidentPage(w io.Writer, rec *incident.Recording, run *report.Run, found []*reconstruction) error {
	run.Description = rec.Title()
	for _, p := range rec.Problems {
		run.Notes = append(run.Notes, p.String())
	}
	var b bytes.Buffer
	if err := html.Section(&b, run); err != nil {
		return err
	}
	run.Output = b.String()
	var page html.Page
	page.Add(run)
	cases := []report.Case{{Scenario: "recording", Runs: []*report.Run{run}}}
	for _, r := range found {
		if r.result == nil {
			continue
		}
		c, err := r.page()
		if err != nil {
			return err
		}
		page.Add(c.Runs[0])
		cases = append(cases, c)
	}
	return page.Write(w, cases)
}

func readRecordings(stdin io.Reader, paths []string) ([]incident.File, error) {
	var list []incident.File
	var errs []error
	for _, path := range paths {
		data, err := readFile(stdin, path, incident.MaxFile, ": leave out the pods and the time that you do not need")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if path == "-" {
			path = "stdin"
		}
		list = append(list, incident.File{Name: path, Data: data})
	}
	return list, errors.Join(errs...)
}
