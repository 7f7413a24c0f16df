package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/check"
	"probesim.dev/incident"
	"probesim.dev/incident/reconstruct"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/value"
	"probesim.dev/report"
	"probesim.dev/report/html"
	"probesim.dev/report/why"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// mostReconstructed is the maximum number of pods that incident reconstructs without --pod.
const mostReconstructed = 4

// reconstructEffort is the work of all reconstructions of a call. Tests lower it.
var reconstructEffort = reconstruct.DefaultEffort

// reconstruction is the reconstruction of a pod, or the reason why there is none.
type reconstruction struct {
	pod      *incident.Pod
	result   *reconstruct.Result
	problem  string
	findings []check.Finding
	prevent  *reconstruct.Prevention
}

// reconstruct reconstructs the pods in trouble. If it is interrupted, it returns those that it has.
func (o *incidentOptions) reconstruct(cmd *cobra.Command, rec *incident.Recording, paths []string) ([]*reconstruction, error) {
	var pods []*incident.Pod
	for _, p := range rec.Pods {
		if o.pod == "" && p.Troubled() || o.pod != "" && o.is(p) {
			pods = append(pods, p)
		}
	}
	if len(pods) > mostReconstructed && o.pod == "" {
		fmt.Fprintf(terminal.Safe(cmd.ErrOrStderr()), "probesim: reconstructing %d of %d pods in trouble; choose another one with --pod\n", mostReconstructed, len(pods))
		pods = pods[:mostReconstructed]
	}
	command := "probesim incident"
	for _, p := range paths {
		command += " " + simulate.Quote(p)
	}
	var all []*reconstruction
	progress := terminal.NewCounter(cmd.ErrOrStderr(), len(pods), "pods")
	defer progress.Stop()
	defer pool.CollectRarely()()
	left := reconstructEffort // which the pods share
	for i, p := range reconstruct.Simplest(pods) {
		r := &reconstruction{pod: p}
		all = append(all, r)
		err := r.find(cmd, rec, reconstruct.Options{Command: command, Effort: max(left/(len(pods)-i), 1), Progress: func(percent int) {
			progress.Note(fmt.Sprintf("; searched %d%% of what may explain %s", percent, printable.Text(p.Name)))
		}})
		if r.result != nil {
			left -= r.result.Effort
		}
		switch {
		case cmd.Context().Err() != nil:
			return inPodOrder(all[:len(all)-1], pods), &exitError{exitInterrupted, fmt.Errorf("interrupted: %s reconstructed", progress)}
		case errors.Is(err, reconstruct.ErrNothing):
			r.problem = err.Error()
		case err != nil:
			r.problem = "no scenario of it can be run: " + strings.Split(err.Error(), "\n")[0]
		}
		progress.Step()
	}
	return inPodOrder(all, pods), nil
}

// inPodOrder sorts reconstructions in the order of their pods.
func inPodOrder(all []*reconstruction, pods []*incident.Pod) []*reconstruction {
	slices.SortFunc(all, func(a, b *reconstruction) int {
		return cmp.Compare(slices.Index(pods, a.pod), slices.Index(pods, b.pod))
	})
	return all
}

func (r *reconstruction) find(cmd *cobra.Command, rec *incident.Recording, o reconstruct.Options) error {
	result, err := reconstruct.Pod(cmd.Context(), rec, r.pod, o)
	if err != nil {
		return err
	}
	r.result = result
	checker, err := check.New([]check.File{{Name: "pod.yaml", Data: result.Manifest()}}, check.Options{IgnoreAnnotations: true})
	if err == nil {
		for _, w := range checker.Report().Workloads {
			for _, c := range w.Containers {
				r.findings = append(r.findings, c.Findings...)
			}
		}
	}
	r.prevent, err = result.Prevent(cmd.Context())
	return err
}

// scenariosOf returns the scenarios of all reconstructions as one file.
func scenariosOf(all []*reconstruction) []byte {
	var b bytes.Buffer
	for _, r := range all {
		if r.result == nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("---\n")
		}
		b.Write(r.result.Text)
	}
	return b.Bytes()
}

// explanation explains the first restart by a probe, or the end of the run.
func (r *reconstruction) explanation() why.Explanation {
	run := r.why()
	key := r.result.Plan.Pods()[0].Pod.Namespace + "/" + r.result.Plan.Pods()[0].Pod.Name
	if kill := r.result.Kill(); kill != nil {
		if e, ok := run.Restart(key, kill.Container, kill.Instance+1); ok {
			return e
		}
	}
	for i := range r.result.Run.Records {
		if x := &r.result.Run.Records[i]; x.Kind == trace.ContainerStarted && x.Instance > 0 {
			if e, ok := run.Restart(key, x.Container, x.Instance); ok {
				return e
			}
		}
	}
	return run.At(key, "", r.result.Run.End)
}

func (r *reconstruction) why() *why.Run { return (&runner.Run{Result: *r.result.Run}).Why() }

// maxUnexplained limits the list of facts that the run does not explain.
const maxUnexplained = 12

// maxWindows limits the list of windows.
const maxWindows = 12

// begins says how the times of the run relate to those of the recording.
func (r *reconstruction) begins(rec *incident.Recording) string {
	when := "at t=0"
	switch off := rec.Zero().Sub(r.result.Zero).Round(time.Millisecond); {
	case off < 0:
		when = value.Format(-off) + " after t=0"
	case off > 0:
		when = value.Format(off) + " before t=0"
	}
	if rec.Relative {
		return fmt.Sprintf("the run begins %s of the timeline; the times below count from there", when)
	}
	return fmt.Sprintf("the run begins at %s, %s of the timeline; the times below count from there", r.result.Zero.UTC().Format("2006-01-02T15:04:05.000Z"), strings.TrimPrefix(when, "at "))
}

func (r *reconstruction) write(w io.Writer, rec *incident.Recording, o report.Options) error {
	line := func(margin int, style report.Style, format string, args ...any) {
		report.WriteLine(w, margin, fmt.Sprintf(format, args...), style, o)
	}
	if r.result == nil {
		line(0, report.Bold, "%s is not reconstructed", rec.Label(r.pod))
		line(2, report.Plain, "%s", r.problem)
		return nil
	}
	held, all := r.result.Explained()
	line(0, report.Bold, "%s: a run explains %d of %d recorded facts", rec.Label(r.pod), held, all)
	line(2, report.Plain, "%s", r.begins(rec))
	if n, median, most := r.result.Precision(); n > 0 {
		line(2, report.Plain, "precision: the times of %d events are recorded exactly; in the run, half of them differ by at most %s, and all by at most %s",
			n, value.Format(median.Round(time.Millisecond)), value.Format(most.Round(time.Millisecond)))
	}
	for _, rule := range r.result.Behavior() {
		line(2, report.Plain, "the container %s of the run has the behavior {%s}", rule.Container, rule.Text)
	}
	for _, step := range r.result.Steps() {
		line(2, report.Plain, "the run has the step {%s}", step)
	}
	windows := r.result.Windows()
	for _, w := range windows[:min(len(windows), maxWindows)] {
		line(2, report.Plain, "window: %s probe of %s, %s: %s", w.Probe, w.Container, w.Fact.Place, w.String(r.result.Zero))
	}
	if more := len(windows) - maxWindows; more > 0 {
		line(2, report.Plain, "and %d more windows", more)
	}
	for _, text := range r.result.Assumed {
		line(2, report.Dim, "assumed: %s", text)
	}
	unexplained := slices.DeleteFunc(slices.Clone(r.result.Claims), func(c reconstruct.Claim) bool { return c.Beyond || c.Holds })
	for _, c := range unexplained[:min(len(unexplained), maxUnexplained)] {
		line(2, report.Warn, "not explained, %s: %s; the run has %s", c.Fact.Place, c.Says, c.Reason)
	}
	if more := len(unexplained) - maxUnexplained; more > 0 {
		line(2, report.Warn, "and %d more", more)
	}
	for _, text := range r.beyond() {
		line(2, report.Dim, "outside of a run: %s", text)
	}
	fmt.Fprintln(w)
	if err := report.Why(w, []why.Explanation{r.explanation()}, o); err != nil {
		return err
	}
	if len(r.findings) > 0 {
		fmt.Fprintln(w)
		for _, f := range r.findings {
			line(0, report.Plain, "%s: %s", f.Severity, f.Message)
		}
	}
	if r.prevent != nil {
		fmt.Fprintln(w)
		line(0, report.Plain, "%s", r.prevent.Says)
	}
	return nil
}

// beyond returns the facts that no run can explain.
func (r *reconstruction) beyond() []string {
	var list []string
	for _, c := range r.result.Claims {
		if text := fmt.Sprintf("%s (%s)", strings.Split(c.Says, ":")[0], c.Reason); c.Beyond && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func (r *reconstruction) page() (report.Case, error) {
	replay := simulate.Command(r.result.Plan)
	run := r.result.Run.Report(replay)
	run.Why = r.why()
	if r.prevent != nil {
		run.Notes = append(run.Notes, r.prevent.Says)
	}
	for _, f := range r.findings {
		run.Notes = append(run.Notes, string(f.Severity)+": "+f.Message)
	}
	run.Replay = ""
	var b bytes.Buffer
	if err := html.Section(&b, run); err != nil {
		return report.Case{}, err
	}
	run.Output = b.String()
	s := r.result.Plan.Scenario
	return report.Case{Scenario: s.Metadata.Name, File: s.File, Line: s.Line, Kubernetes: r.result.Plan.Version, Runs: []*report.Run{run}}, nil
}
