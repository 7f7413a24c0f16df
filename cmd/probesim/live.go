package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/live"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/scenarios"
)

// liveOptions are the flags of live.
type liveOptions struct {
	output    string
	container string
	ports     []string
	runs      int
	signal    string
	slower    float64
	within    time.Duration
	logs      bool
}

var liveOutputs = []string{"text", "json"}

// signals are those that live can send.
var signals = map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT,
	"SIGQUIT": syscall.SIGQUIT, "SIGHUP": syscall.SIGHUP}

func newLive() *cobra.Command {
	var o liveOptions
	cmd := newCommand("live MANIFEST -- COMMAND...", "Measure the start and the stop of a program on this machine",
		liveHelp, liveExamples, func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return errors.New("live requires a manifest, and the command of the program after --")
			}
			return nil
		}, func(cmd *cobra.Command, args []string) error { return o.measure(cmd, args[0], args[1:]) })
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "text", liveOutputs)
	flags.StringVar(&o.container, "container", "",
		"The `name` of the container whose program it is. A manifest with one container needs none.")
	flags.StringArrayVar(&o.ports, "port", nil,
		"The port of the program on this machine, as `CONTAINER=HERE`, for example 80=8080. You can repeat this flag.")
	flags.IntVar(&o.runs, "runs", 10, "How often to start and stop the program, a `number` from 1 to 1000.")
	flags.StringVar(&o.signal, "signal", "SIGTERM",
		"The `signal` that stops the program: SIGTERM, SIGINT, SIGQUIT or SIGHUP.")
	flags.Float64Var(&o.slower, "slower", 1, "How many `times` slower a node is: widens the printed times, not those "+
		"that are measured.")
	flags.DurationVar(&o.within, "within", time.Minute, "The longest `time` to wait for a start.")
	flags.BoolVar(&o.logs, "logs", false, "Write what the program prints to stderr.")
	return cmd
}

const liveHelp = `Measure how long a program takes to start and to stop on this machine, without a
container. live starts the program several times, probes it as the container in the
manifest is probed, runs the preStop hook, and sends the signal while a client sends
requests. MANIFEST is a file, or - for stdin.

It prints how long the start took, how long the exit, whether the program refuses
requests before it exits, and what to pass on: flags of probesim check and lines of
a scenario. Times are real, so they differ from run to run, and a node in use is
slower: --slower 3 multiplies the greatest ones.

Probes and hooks with a command run in the current directory. Ctrl-C ends all
processes.

Exit codes:
  0    all runs are measured
  1    a run did not come up, or exited too early
  2    invalid usage or an invalid manifest` + usualExits

const liveExamples = `  # How long does the server of a Deployment take to start and to stop?
  probesim live deployment.yaml -- ./server --port 8080

  # The container listens on 80, the program here on 8080
  probesim live pod.yaml --container app --port 80=8080 -- python3 server.py

  # A node is three times slower
  probesim live deployment.yaml --slower 3 -- java -jar app.jar`

func (o *liveOptions) measure(cmd *cobra.Command, manifest string, command []string) error {
	if err := checkOutput(o.output, liveOutputs); err != nil {
		return err
	}
	options, err := o.options(cmd, manifest, command)
	if err != nil {
		return err
	}
	counter := terminal.NewCounter(cmd.ErrOrStderr(), o.runs, "runs")
	options.Progress = func(int) { counter.Step() }
	runs, err := live.Measure(cmd.Context(), options)
	counter.Stop()
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{exitInterrupted,
			fmt.Errorf("interrupted after %d of %d runs; all processes have ended", len(runs), o.runs)}
	case err != nil:
		return &exitError{exitFailed, errors.New(printable.Text(err.Error()))}
	}
	if err := o.write(cmd, options.Container.Name, runs); err != nil {
		return writeError(err)
	}
	return nil
}

// options reads the manifest and the flags.
func (o *liveOptions) options(cmd *cobra.Command, manifest string, command []string) (out live.Options, err error) {
	sig, known := signals[strings.ToUpper(o.signal)]
	switch {
	case o.runs < 1 || o.runs > 1000:
		return out, errors.New("--runs must be from 1 to 1000")
	case o.slower < 1 || o.slower > 100:
		return out, errors.New("--slower must be from 1 to 100")
	case o.within <= 0 || o.within > time.Hour:
		return out, errors.New("--within must be up to 1h")
	case !known:
		return out, fmt.Errorf("--signal must be SIGTERM, SIGINT, SIGQUIT or SIGHUP, not %q", o.signal)
	}
	out = live.Options{Command: command, Ports: map[int32]int{}, Runs: o.runs, Signal: sig, Within: o.within}
	if o.logs {
		out.Stderr = terminal.Safe(cmd.ErrOrStderr())
	}
	for _, p := range o.ports {
		from, to, both := strings.Cut(p, "=")
		a, errA := strconv.ParseUint(from, 10, 16)
		b, errB := strconv.ParseUint(to, 10, 16)
		if !both || errA != nil || errB != nil || a == 0 || b == 0 {
			return out, fmt.Errorf("--port must be CONTAINER=HERE with two ports, such as 80=8080, not %q", p)
		}
		out.Ports[int32(a)] = int(b)
	}
	out.Pod, out.Container, err = o.find(cmd, manifest)
	return out, err
}

// find returns the container of the manifest.
func (o *liveOptions) find(cmd *cobra.Command, manifest string) (pod *v1.Pod, found *v1.Container, err error) {
	data, err := readManifest(cmd, manifest)
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	var names []string
	err = workloads.Each([]input.File{{Name: manifest, Data: data}},
		func(_ input.File, w *manifests.Workload) scenarios.Errors {
			for c := range podutil.Containers(&w.Pod.Spec) {
				if _, probe := live.Probe(c); c.Name == o.container || o.container == "" && probe != nil {
					pod, found = w.Pod, c
					names = append(names, c.Name)
				}
			}
			return nil
		})
	switch {
	case err != nil:
		return nil, nil, &exitError{exitUsage, err}
	case len(names) == 0 && o.container != "":
		return nil, nil, &exitError{exitUsage,
			fmt.Errorf("%s has no container %q", printable.Text(manifest), o.container)}
	case len(names) == 0:
		return nil, nil, &exitError{exitUsage, fmt.Errorf("%s has no container with a probe", printable.Text(manifest))}
	case len(names) > 1:
		return nil, nil, &exitError{exitUsage,
			fmt.Errorf("%s has %d containers with probes: choose one with --container: %s", printable.Text(manifest),
				len(names), strings.Join(names, ", "))}
	}
	return pod, found, nil
}

// measured sums up the runs.
type measured struct {
	Container string        `json:"container"`
	Start     value.Seconds `json:"start"`
	LongStart value.Seconds `json:"longestStart"`
	Stop      value.Seconds `json:"stop"`
	LongStop  value.Seconds `json:"longestStop"`
	Runs      []live.Run    `json:"runs"`
}

func (o *liveOptions) write(cmd *cobra.Command, container string, runs []live.Run) error {
	least := func(of func(*live.Run) time.Duration) value.Seconds {
		r := slices.MinFunc(runs, func(a, b live.Run) int { return cmp.Compare(of(&a), of(&b)) })
		return value.Seconds(of(&r))
	}
	greatest := func(of func(*live.Run) time.Duration) value.Seconds {
		r := slices.MaxFunc(runs, func(a, b live.Run) int { return cmp.Compare(of(&a), of(&b)) })
		return value.Seconds(float64(of(&r)) * o.slower)
	}
	start, stop := func(r *live.Run) time.Duration { return r.Start }, func(r *live.Run) time.Duration { return r.Stop }
	m := measured{container, least(start), greatest(start), least(stop), greatest(stop), runs}
	w := cmd.OutOrStdout()
	if o.output == "json" {
		data, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(printable.JSON(nil, append(data, '\n')))
		return err
	}
	t := &report.Writer{Options: terminal.Options(w)}
	o.text(t, m)
	_, err := w.Write(t.Bytes())
	return err
}

// text writes the answer, and what to pass on.
func (o *liveOptions) text(t *report.Writer, m measured) {
	codes, killed, ended, asked, refusing, broken := []string{}, 0, 0, 0, 0, 0
	first := value.Seconds(0)
	for _, r := range m.Runs {
		if code := strconv.Itoa(r.ExitCode); !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
		if r.Killed {
			killed++
		} else if r.ExitCode == 128+int(signals[strings.ToUpper(o.signal)]) {
			ended++
		}
		asked += r.Answered + r.Refused + r.Broken
		if broken += r.Broken; r.Refused > 0 {
			refusing, first = refusing+1, max(first, value.Seconds(r.FirstRefused))
		}
	}
	slices.Sort(codes)
	n := len(m.Runs)
	ends := fmt.Sprintf("exits %s after %s", fromTo(m.Stop, m.LongStop), strings.ToUpper(o.signal))
	if killed > 0 {
		ends = fmt.Sprintf("does not exit within the grace period after %s (%d of %d runs)", strings.ToUpper(o.signal),
			killed, n)
	}
	t.Lead(fmt.Sprintf("%s starts in %s, and %s.", m.Container, fromTo(m.Start, m.LongStart), ends),
		fmt.Sprintf("Measured in %s on this machine: a node is slower.", printable.Count(n, "run")))
	t.Line(2, fmt.Sprintf("Exit %s %s.", printable.Plural(len(codes), "code"), strings.Join(codes, ", ")), report.Plain)
	switch {
	case ended == n:
		refusing = 0
		t.Line(2, strings.ToUpper(o.signal)+" ends it at once, since it has no handler: requests that it is "+
			"answering break off. As the first process of a container, it can ignore the signal instead, until the "+
			"grace period ends.", report.Warn)
	case asked == 0:
		t.Line(2, "No request came between the signal and the exit.", report.Plain)
	case refusing > 0:
		t.Line(2, fmt.Sprintf("It refuses requests before it exits (%d of %d runs, at the latest %s after the "+
			"signal): clients lose those that they still send. Let a preStop hook sleep until no more come.", refusing,
			n, check.FormatTime(first)), report.Warn)
	default:
		t.Line(2, "It answers requests until it exits.", report.Plain)
	}
	if broken > 0 {
		t.Line(2, fmt.Sprintf("%s broke off without an answer.", printable.Count(broken, "request")), report.Warn)
	}
	t.Gap()
	if refusing == 0 {
		first = -1
	}
	m.settings(t, killed > 0, first, codes[0])
}

// settings writes the measured times as flags of check, and as rules of a scenario. refused is when
// the program first refused a request after the signal; negative: never.
func (m *measured) settings(t *report.Writer, killed bool, refused value.Seconds, code string) {
	t.Line(0, "For probesim check:", report.Bold)
	flags := fmt.Sprintf("--start %s=%s", m.Container, inTenths(m.Start, m.LongStart))
	if !killed {
		flags += fmt.Sprintf(" --stop %s=%s", m.Container, inTenths(m.Stop, m.LongStop))
	}
	t.Line(2, flags, report.Plain)
	t.Line(0, "For a scenario:", report.Bold)
	t.Line(2, "behavior:", report.Plain)
	t.Line(2, fmt.Sprintf("- {for: %s, probes: down}",
		value.Format(time.Duration(m.LongStart).Round(time.Millisecond))), report.Plain)
	if refused >= 0 {
		t.Line(2, fmt.Sprintf("- {afterSigterm: %s, probes: down}",
			value.Format(time.Duration(refused).Round(time.Millisecond))), report.Plain)
	}
	exit := fmt.Sprintf("- {afterSigterm: %s, exit: %s}",
		value.Format(time.Duration(m.LongStop).Round(time.Millisecond)), code)
	if killed {
		exit = "- {afterSigterm: 0s, exit: never}"
	}
	t.Line(2, exit, report.Plain)
}

// fromTo formats a range of times for people.
func fromTo(a, b value.Seconds) string {
	if x, y := check.FormatTime(a), check.FormatTime(b); x != y {
		return x + " to " + y
	}
	return check.FormatTime(a)
}

// inTenths formats a range in tenths of a second that contains it, as flags have it.
func inTenths(a, b value.Seconds) string {
	const tenth = 100 * time.Millisecond
	least, greatest := time.Duration(a).Truncate(tenth), (time.Duration(b) + tenth - 1).Truncate(tenth)
	return value.Format(least) + ".." + value.Format(greatest)
}
