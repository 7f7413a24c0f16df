package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/answers/incident/verdict/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/show/report"
)

// incidentOptions are the flags of incident.
type incidentOptions struct {
	output    string
	redact    bool
	pod       string
	verbose   bool
	scenario  string
	limit     time.Duration // of the search for the scenario
	container string
	force     bool
	cluster   clusterOptions
}

var incidentOutputs = []string{"text", "json", "markdown", "html", "timeline", "jsonl"}

func newIncident() *cobra.Command {
	var o incidentOptions
	cmd := newCommand("incident FILE...", "Say why a pod was restarted or is not ready", incidentHelp, incidentExamples,
		someFiles("incident requires a file with events, pods or a log, or - for stdin"),
		func(cmd *cobra.Command, args []string) error {
			return o.show(cmd, args)
		})
	cmd.ValidArgsFunction = nil // files of any name
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "text", incidentOutputs)
	flags.StringVar(&o.pod, "pod", "", "Write only about the pod with this `name`, NAMESPACE/NAME or UID.")
	flags.BoolVarP(&o.verbose, "verbose", "v", false,
		"Write all verdicts, the lines that were not read, and how times and pods were found.")
	flags.BoolVar(&o.redact, "redact", false,
		"Replace names, images, addresses and messages before anything is written.")
	flags.StringVar(&o.scenario, "scenario", "", "Also write a scenario that meets the verdict to this `file`.")
	addTime(cmd, &o.limit)
	flags.StringVar(&o.container, "container", "", "Write the scenario of the container with this `name`.")
	addForce(cmd, &o.force)
	o.cluster.addTo(flags)
	return cmd
}

const incidentHelp = `Say why a container was restarted or is not ready: the cause and how sure it is,
what to do or to ask next, and the lines that prove it. Below that is what the
files tell, as a timeline and a list of events. FILE is a file, or - for stdin.
Files may contain any mixture of:

  * texts of kubectl describe pod, kubectl get events and kubectl get pods,
    whole or in part, as people paste them
  * events, pods and workloads as JSON or YAML: kubectl get events,pods -o json
  * logs of the kubelet, from -v=1 on

"Is" and "was" mean that a line of the files proves it, "most likely" that
strong evidence supports it, and "either .. or" that several causes are left.
Files are only read, and nothing is sent anywhere.

With --from-cluster, incident runs kubectl to get a pod and its events, and
prints the commands. As a plugin of kubectl, it does so for an argument that is
no file.

Output formats:
  text      verdicts, timeline and events (default)
  json      the verdicts, the pods, the facts and the problems as one object
  markdown  the same as text, for an issue
  html      a page for a browser
  timeline  the timeline and the events, without verdicts
  jsonl     the facts, one JSON object on each line

Exit codes:
  0    there are facts about pods in the files
  2    invalid usage, a file that cannot be read, no facts about pods, kubectl
       fails, or no scenario to write
  3    probesim itself failed
  130  interrupted`

const incidentExamples = `  # Say why a pod was restarted
  kubectl describe pod web-1 | probesim incident -

  # Let probesim run kubectl
  probesim incident --from-cluster -n shop web-1
  kubectl probesim incident -n shop web-1

  # Combine the events and pods of a namespace with the log of a kubelet
  kubectl get events,pods -o json > cluster.json
  probesim incident cluster.json kubelet.log

  # Write a scenario that shows what happened, and run it
  probesim incident cluster.json --pod web-1 --scenario web-1.yaml
  probesim run web-1.yaml

  # Write an answer for an issue, without names, addresses and messages
  probesim incident cluster.json --redact -o markdown`

func (o *incidentOptions) show(cmd *cobra.Command, args []string) error {
	if o.scenario == "" {
		if err := ignored(cmd, "without --scenario", "force", "container", "time"); err != nil {
			return err
		}
	}
	recordings, err := o.read(cmd, args)
	if err != nil {
		return err
	}
	if o.scenario != "" {
		if err := files.Of(cmd.Context()).Check(o.scenario, o.force); err != nil {
			return err
		}
	}
	rec := incident.Read(recordings)
	if o.redact {
		rec.Redact()
	}
	answer := &render.Answer{Recording: rec, Pod: o.pod, Verbose: o.verbose}
	defer func() { // after the answer
		for _, p := range rec.Problems {
			if p.Lost || o.verbose {
				warn(cmd.ErrOrStderr(), p.String())
			}
		}
	}()
	if len(rec.Facts) == 0 {
		return o.nothing(rec)
	}
	if o.pod != "" && !slices.ContainsFunc(rec.Pods, answer.About) {
		return fmt.Errorf("--pod: the files have no facts about a pod %q", o.pod)
	}
	answer.Report = verdict.Of(rec)
	if err := o.write(cmd.OutOrStdout(), answer); err != nil || o.scenario == "" {
		return err
	}
	return o.writeScenario(cmd, args, answer)
}

func (o *incidentOptions) write(w io.Writer, a *render.Answer) error {
	switch o.output {
	case "json":
		return a.JSON(w)
	case "timeline":
		return a.Timeline().Write(w, "text", terminal.Options(w).Document())
	case "html":
		a.Verbose = true // a page has room
	case "jsonl":
		return a.Recording.WriteFacts(w)
	}
	return a.Document().Write(w, o.output, terminal.Options(w).Document())
}

// nothing says what to give to incident instead of files without facts.
func (o *incidentOptions) nothing(rec *incident.Recording) error {
	var b strings.Builder
	b.WriteString("there are no facts about pods in the files")
	if n := rec.UnreadLines; n > 0 {
		fmt.Fprintf(&b, "; not read: %s", printable.Count(n, "line"))
	}
	for i := 0; o.verbose && i < len(rec.Unread); i++ {
		fmt.Fprintf(&b, "\n  %s: %s", rec.Unread[i].Place, printable.Text(rec.Unread[i].Text))
	}
	b.WriteString("\n" + `Paste what one of these commands prints, in the namespace of the pod:
  kubectl describe pod POD
  kubectl get events --field-selector involvedObject.name=POD
  kubectl get pod POD -o yaml
Or let probesim run kubectl:
  probesim incident --from-cluster -n NAMESPACE POD`)
	return errors.New(b.String())
}

// warn writes a warning: in a terminal wrapped to its width, and otherwise as one line.
func warn(w io.Writer, text string) {
	o := terminal.Options(w)
	o.Width = cmp.Or(o.Width, 1<<20)
	report.WriteLine(w, 0, "warning: "+strings.Join(strings.Fields(text), " "), report.Plain, o)
}

// isPlugin reports whether kubectl runs the program as a plugin.
func isPlugin() bool { return strings.HasPrefix(filepath.Base(os.Args[0]), "kubectl-") }

// read reads the files, and gets from the cluster the pods among the arguments.
func (o *incidentOptions) read(cmd *cobra.Command, args []string) (list []input.File, err error) {
	if !o.cluster.on && !isPlugin() {
		if err := ignored(cmd, "without --from-cluster", "namespace", "context", "kubeconfig"); err != nil {
			return nil, err
		}
	}
	var pods []string
	var errs []error
	for _, arg := range args {
		if o.cluster.on || isPlugin() && arg != "-" && !exists(arg) {
			pods = append(pods, arg)
			continue
		}
		f, err := readFile(cmd, arg, incident.MaxFile)
		if errors.As(err, new(input.TooLarge)) {
			err = fmt.Errorf("%w: leave out the pods and the time that you do not need", err)
		}
		list, errs = append(list, f), append(errs, err)
	}
	if err = errors.Join(errs...); err == nil {
		for i, pod := range pods {
			var found []input.File
			if found, err = o.cluster.get(cmd, pod, i); err != nil {
				break
			}
			list = append(list, found...)
		}
	}
	if errors.Is(err, context.Canceled) {
		err = &exitError{exitInterrupted, errors.New("interrupted")}
	}
	return list, err
}
