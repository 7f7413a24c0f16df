package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/scenario"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/answers/incident/verdict/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
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
		o.show)
	cmd.ValidArgsFunction = nil // files of any name
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "text", incidentOutputs)
	flags.StringVar(&o.pod, "pod", "", "Write only about the pod with this `name`, NAMESPACE/NAME or UID.")
	flags.BoolVarP(&o.verbose, "verbose", "v", false,
		"Write all verdicts, notes and lines that were not read.")
	flags.BoolVar(&o.redact, "redact", false,
		"Replace names, images, addresses and messages before anything is written.")
	flags.StringVar(&o.scenario, "scenario", "", "Also write a scenario that meets the verdict to this `file`.")
	addTime(cmd, &o.limit)
	flags.StringVar(&o.container, "container", "", "Write the scenario of the container with this `name`.")
	addForce(cmd, &o.force)
	needs(cmd, "scenario", "force", "container", "time")
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
	defer func() { // after the answer, which has them itself if it is a document
		for _, p := range rec.Problems {
			if p.Lost && (len(rec.Facts) == 0 || !slices.Contains([]string{"text", "markdown", "html"}, o.output)) {
				warn(cmd.ErrOrStderr(), p.String())
			}
		}
	}()
	answer.Report = verdict.Of(rec)
	if answer.Report.Verdicts[0].Cause == verdict.NoFacts {
		return o.nothing(rec)
	}
	if o.pod != "" && !slices.ContainsFunc(rec.Pods, answer.About) {
		return fmt.Errorf("--pod: the files have no facts about a pod %q", o.pod)
	}
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
		return a.Timeline().Write(w, "text", terminal.Options(w))
	case "html":
		a.Verbose = true // a page has room
	case "jsonl":
		return a.Recording.WriteFacts(w)
	}
	return a.Document().Write(w, o.output, terminal.Options(w))
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
	if namespace, workload := rec.WaitsFor(); workload != "" && !o.redact {
		if namespace != "" {
			namespace = " -n " + namespace
		}
		// kubectl describes all pods whose names begin so
		fmt.Fprintf(&b, "\nThey speak of %s. Ask for its pods:\n  kubectl describe pods %[1]s%s", workload, namespace)
	}
	if slices.ContainsFunc(rec.Unread, func(u incident.Unread) bool { return composed.MatchString(u.Text) }) {
		b.WriteString("\nThis is the output of Docker Compose, which has no pods.")
	}
	b.WriteString("\n" + `Paste what one of these commands prints, in the namespace of the pod:
  kubectl describe pod POD
  kubectl get events --field-selector involvedObject.name=POD
  kubectl get pod POD -o yaml
Or let probesim run kubectl:
  probesim incident --from-cluster -n NAMESPACE POD`)
	return errors.New(b.String())
}

// composed matches a line of docker compose up about a container that ended or failed.
var composed = regexp.MustCompile(`^dependency failed to start: container |^Container \S+  ?(?:Creating|Recreate|Error)$`)

// warn writes a warning: in a terminal wrapped to its width, and otherwise as one line.
func warn(w io.Writer, text string) {
	o := terminal.Options(w)
	o.Width = cmp.Or(o.Width, 1<<20)
	document.WriteLine(w, document.Plain, "warning: "+strings.Join(strings.Fields(text), " "), o)
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

// clusterOptions are the flags of incident about the cluster that kubectl asks.
type clusterOptions struct {
	on                             bool
	namespace, context, kubeconfig string
}

func (o *clusterOptions) addTo(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "from-cluster", false,
		"Take the arguments as names of pods, and run kubectl to get them and their events.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "The `namespace` of the pods, with --from-cluster.")
	flags.StringVar(&o.context, "context", "", "The `context` of kubectl, with --from-cluster.")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "The configuration `file` of kubectl, with --from-cluster.")
}

// clusterTimeout is how long a command of kubectl may take.
const clusterTimeout = 30 * time.Second

// podName is the form of the name of a pod. No such name can be a flag of kubectl.
var podName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// get gets a pod and its events. The files have names that tell nothing about the pod, because
// reports have them. One of both is enough: a pod that is gone may still have events, and not
// everybody may read events.
func (o *clusterOptions) get(cmd *cobra.Command, pod string, number int) (list []input.File, _ error) {
	name := strings.TrimPrefix(strings.TrimPrefix(pod, "pods/"), "pod/")
	if !podName.MatchString(name) {
		if o.on {
			return nil, fmt.Errorf("%q is not the name of a pod; -n takes the namespace", pod)
		}
		return nil, fmt.Errorf("%s is neither a file nor the name of a pod", printable.Text(pod))
	}
	suffix := ""
	if number > 0 {
		suffix = fmt.Sprintf("-%d", number+1)
	}
	var failed error
	for _, args := range [][]string{{"get", "pod", name},
		{"get", "events", "--field-selector", "involvedObject.name=" + name}} {
		data, err := o.kubectl(cmd, append(args, "-o", "json")...)
		if errors.Is(err, context.Canceled) || errors.Is(err, errNoKubectl) {
			return nil, err
		}
		if failed = errors.Join(failed, err); err == nil {
			list = append(list, input.File{Name: args[0] + "-" + args[1] + suffix, Data: data})
		}
	}
	switch {
	case failed == nil:
	case len(incident.Read(list).Facts) == 0:
		return nil, failed
	default:
		warn(cmd.ErrOrStderr(), failed.Error())
	}
	return list, nil
}

var errNoKubectl = errors.New("kubectl is not on the PATH: install it, or get the pod elsewhere and pass the file: " +
	"kubectl get pod,events -o json")

// kubectl prints a command and returns its output. The error has what the command prints on stderr.
func (o *clusterOptions) kubectl(cmd *cobra.Command, args ...string) ([]byte, error) {
	for _, f := range [][2]string{{"--namespace", o.namespace}, {"--context", o.context},
		{"--kubeconfig", o.kubeconfig}} {
		if f[1] != "" {
			args = append(args, f[0]+"="+f[1])
		}
	}
	line := "kubectl"
	for _, arg := range args {
		line += " " + simulate.Quote(arg)
	}
	program, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, errNoKubectl
	}
	fmt.Fprintf(terminal.Safe(cmd.ErrOrStderr()), "probesim: running %s\n", line)
	ctx, cancel := context.WithTimeout(cmd.Context(), clusterTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	run := exec.CommandContext(ctx, program, args...)
	run.Stdout, run.Stderr = &capped{&stdout, incident.MaxFile + 1}, &capped{&stderr, 64 << 10}
	run.WaitDelay = patience / 2 // a plugin for credentials may hold the pipes
	err = run.Run()
	said := printable.Lines(strings.TrimRight("\n"+strings.TrimSpace(stderr.String()), "\n"))
	switch {
	case cmd.Context().Err() != nil || interrupted(run.ProcessState): // a terminal interrupts both processes
		return nil, context.Canceled
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: no answer within %s%s", line, clusterTimeout, said)
	case stdout.Len() > incident.MaxFile:
		return nil, fmt.Errorf("%s: %w", line, input.TooLarge(incident.MaxFile))
	case err != nil:
		return nil, fmt.Errorf("%s: %w%s", line, err, said)
	}
	return stdout.Bytes(), nil
}

// interrupted reports whether SIGINT ended a process.
func interrupted(p *os.ProcessState) bool {
	if p == nil {
		return false
	}
	status, has := p.Sys().(syscall.WaitStatus)
	return has && status.Signaled() && status.Signal() == syscall.SIGINT
}

// writeScenario writes the scenarios of the verdicts that the answer shows, and says which facts
// they meet.
func (o *incidentOptions) writeScenario(cmd *cobra.Command, args []string, a *render.Answer) error {
	var text bytes.Buffer
	var why []string
	written := map[string]bool{} // by the name of the pod
	command := "probesim incident"
	if !o.redact { // the arguments may be names
		for _, arg := range args {
			command += " " + simulate.Quote(arg)
		}
	}
	search, cancel := within(cmd.Context(), o.limit)
	defer cancel()
	groups, _ := a.Groups()
	for i := range groups {
		g := &groups[i]
		if g.Cause == verdict.Nothing && len(groups) > 1 || o.container != "" && g.Container != o.container {
			continue
		}
		what := cmp.Or(strings.Trim(a.Name(g.Pod)+", "+g.Container, ", "), "the pod")
		var result *scenario.Result
		err := errors.New("the file has one of a pod with this name; choose with --container")
		if g.Pod == nil || !written[g.Pod.Name] {
			result, err = scenario.Of(search, a.Recording, g.Verdict)
		}
		if cmd.Context().Err() != nil {
			return &exitError{exitInterrupted, errors.New("interrupted")}
		}
		if err != nil {
			if search.Err() != nil {
				err = context.Cause(search)
			}
			why = append(why, fmt.Sprintf("no scenario of %s: %v", printable.Text(what), err))
			continue
		}
		if text.Len() == 0 {
			fmt.Fprintf(&text, "# Created by: %s\n", printable.Text(command))
		} else {
			text.WriteString("---\n")
		}
		text.Write(result.Text)
		written[g.Pod.Name] = true
		say(cmd, "the scenario of "+what, result)
	}
	switch {
	case len(groups) == 0:
		why = append(why, "no scenario: there is no trouble")
	case len(why) == 0 && text.Len() == 0:
		why = append(why, fmt.Sprintf("no scenario: no verdict that is shown is about a container %q", o.container))
	}
	return o.saveScenario(cmd, text.Bytes(), why)
}

// saveScenario writes the text of scenarios, and warns of why others are missing.
func (o *incidentOptions) saveScenario(cmd *cobra.Command, text []byte, why []string) error {
	stderr := cmd.ErrOrStderr()
	if len(text) == 0 {
		return errors.New(strings.Join(why, "\n"))
	}
	for _, reason := range why {
		warn(stderr, reason)
	}
	if err := writeFile(cmd.Context(), o.scenario, text, o.force); err != nil {
		return err
	}
	fmt.Fprintf(terminal.Safe(stderr), "Wrote %s. Next: probesim run %s\n", printable.Text(o.scenario),
		simulate.Quote(o.scenario))
	return nil
}

// say writes on stderr what a scenario shows.
func say(cmd *cobra.Command, what string, r *scenario.Result) {
	w := cmd.ErrOrStderr()
	o := terminal.Options(w)
	text := fmt.Sprintf("%s meets %d of %d facts", what, r.Meets, r.Meets+len(r.Misses))
	document.WriteLine(w, document.Plain, text, o)
	for _, text := range r.Misses {
		document.WriteLine(w, document.Warn, "  "+text, o)
	}
	for _, text := range r.Remarks {
		document.WriteLine(w, document.Plain, "  "+text, o)
	}
}
