//go:build !js

package main

import (
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/live"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/scenarios"
)

// liveOptions are the flags of live.
type liveOptions struct {
	live.Options
	output    string
	container string
	logs      bool
	yes       bool
}

func newLive() *cobra.Command {
	o := liveOptions{Options: live.Options{Ports: map[int32]int{}}}
	cmd := newCommand("live MANIFEST -- COMMAND...", "Measure the start and the stop of a program on this machine",
		liveHelp, liveExamples, func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 1 || len(args) < 2 {
				return errors.New("live requires a manifest, and the command of the program after --")
			}
			return nil
		}, o.measure)
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "text", []string{"text", "json"})
	flags.BoolVar(&o.yes, "yes", false, "Run the commands of probes and hooks in the manifest on this machine.")
	flags.StringVar(&o.container, "container", "",
		"The `name` of the container whose program it is. A manifest with one container needs none.")
	addFlag(cmd, &o.Ports, "port", "", "The port of the program on this machine, as `CONTAINER=HERE`, for example "+
		"80=8080. You can repeat this flag.", o.parsePort)
	addFlag(cmd, &o.Runs, "runs", "10", "How often to start and stop the program, a `number` from 1 to 1000.",
		between(1, 1000))
	addFlag(cmd, &o.Within, "within", "1m", "The longest `time` to wait for a start, up to 1h.", parseWait)
	flags.BoolVar(&o.logs, "logs", false, "Write what the program prints to stderr.")
	return cmd
}

// parsePort reads CONTAINER=HERE, and adds it to the other ports.
func (o *liveOptions) parsePort(text string) (map[int32]int, error) {
	from, to, _ := strings.Cut(text, "=")
	port, err := strconv.ParseUint(from, 10, 16)
	here, hereErr := strconv.ParseUint(to, 10, 16)
	if err != nil || hereErr != nil || port == 0 || here == 0 {
		return nil, fmt.Errorf("must be CONTAINER=HERE with two ports, such as 80=8080, not %q", text)
	}
	o.Ports[int32(port)] = int(here)
	return o.Ports, nil
}

// parseWait reads how long to wait.
func parseWait(text string) (time.Duration, error) {
	d, err := positive(text)
	if d > time.Hour {
		err = errors.New("must be up to 1h")
	}
	return d, err
}

const liveHelp = `Measure how long a program takes to start and to stop on this machine, without a
container. live starts the program several times, probes it as the container in
the manifest is probed, runs the preStop hook, and sends SIGTERM while a client
sends requests. MANIFEST is a file, or - for stdin.

It prints how long the start took, how long the exit, whether the program
refuses requests before it exits, and what to pass on: flags of probesim check
and lines of a scenario. Times are real, so they differ from run to run, and a
node in use is slower.

Probes and hooks with a command run on this machine, in the current directory,
and only with --yes. Without it, live lists them. Ctrl-C ends all processes.

Exit codes:
  0    all runs are measured
  1    a run did not come up, or exited too early
  2    invalid usage or an invalid manifest` + usualExits

const liveExamples = `  # How long does the server of a Deployment take to start and to stop?
  probesim live deployment.yaml -- ./server --port 8080

  # The container listens on 80, the program here on 8080
  probesim live pod.yaml --container app --port 80=8080 -- python3 server.py`

func (o *liveOptions) measure(cmd *cobra.Command, args []string) error {
	o.Command = args[1:]
	if o.logs {
		o.Stderr = terminal.Safe(cmd.ErrOrStderr())
	}
	if err := o.find(cmd, args[0]); err != nil {
		return err
	}
	if commands := live.Commands(o.Container); len(commands) > 0 && !o.yes {
		return usage("the manifest has commands, which live runs on this machine in the current directory: add "+
			"--yes\n%s", printable.Text(strings.Join(commands, "; ")))
	}
	counter := terminal.NewCounter(cmd.ErrOrStderr(), o.Runs, "runs")
	o.Progress = func(int) { counter.Step() }
	// signals that would end only probesim: of the terminal, and of a closed pipe
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGQUIT, syscall.SIGPIPE)
	defer stop()
	runs, err := live.Measure(ctx, o.Options)
	counter.Stop()
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted,
			fmt.Errorf("interrupted after %d of %d runs; all processes have ended", len(runs), o.Runs)}
	case err != nil:
		return &exitError{exitFailed, errors.New(printable.Text(err.Error()))}
	}
	return o.write(cmd, o.Container.Name, runs)
}

// find finds the container in the manifest.
func (o *liveOptions) find(cmd *cobra.Command, manifest string) error {
	f, err := readManifest(cmd, manifest)
	if err != nil {
		return err
	}
	var names []string
	_, err = workloads.Each([]input.File{f},
		func(_ input.File, w *manifests.Workload) scenarios.Errors {
			for c := range podutil.Containers(&w.Pod.Spec) {
				if c.Name == o.container || o.container == "" && live.Probe(c) != nil {
					o.Pod, o.Container = w.Pod, c
					names = append(names, c.Name)
				}
			}
			return nil
		})
	manifest = printable.Text(manifest)
	switch {
	case err != nil:
		return err
	case len(names) == 0 && o.container != "":
		return fmt.Errorf("%s has no container %q", manifest, o.container)
	case len(names) == 0:
		return fmt.Errorf("%s has no container with a probe", manifest)
	case len(names) > 1:
		return fmt.Errorf("%s has %d containers with probes: choose one with --container: %s", manifest, len(names),
			strings.Join(names, ", "))
	}
	return nil
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
	var starts, stops []time.Duration
	for _, r := range runs {
		starts, stops = append(starts, r.Start), append(stops, r.Stop)
	}
	m := measured{container, value.Seconds(slices.Min(starts)), value.Seconds(slices.Max(starts)),
		value.Seconds(slices.Min(stops)), value.Seconds(slices.Max(stops)), runs}
	w := cmd.OutOrStdout()
	if o.output == "json" {
		return printable.WriteJSON(w, m)
	}
	d := document.New("")
	m.text(&d.Body)
	return d.Write(w, "text", terminal.Options(w))
}

// text writes the answer, and what to pass on.
func (m *measured) text(t *document.Body) {
	codes, killed, ended, asked, refusing, broken := []string{}, 0, 0, 0, 0, 0
	first := value.Seconds(0)
	for _, r := range m.Runs {
		if code := strconv.Itoa(r.ExitCode); !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
		if r.Killed {
			killed++
		} else if r.ExitCode == 128+int(syscall.SIGTERM) {
			ended++
		}
		asked += r.Answered + r.Refused + r.Broken
		if broken += r.Broken; r.Refused > 0 {
			refusing, first = refusing+1, max(first, value.Seconds(r.FirstRefused))
		}
	}
	slices.Sort(codes)
	n := len(m.Runs)
	ends := fmt.Sprintf("exits %s after SIGTERM", fromTo(m.Stop, m.LongStop))
	if killed > 0 {
		ends = fmt.Sprintf("does not exit within the grace period after SIGTERM (%d of %d runs)", killed, n)
	}
	t.Lead(fmt.Sprintf("%s starts in %s, and %s.", m.Container, fromTo(m.Start, m.LongStart), ends),
		fmt.Sprintf("Measured in %s on this machine: a node is slower.", printable.Count(n, "run")))
	t.Note(document.Plain, fmt.Sprintf("Exit %s %s.", printable.Plural(len(codes), "code"), strings.Join(codes, ", ")))
	switch {
	case ended == n:
		refusing = 0
		t.Note(document.Warn, "SIGTERM ends it at once, since it has no handler: requests that it is answering "+
			"break off. As the first process of a container, it can ignore the signal instead, until the grace "+
			"period ends.")
	case asked == 0:
		t.Note(document.Plain, "No request came between the signal and the exit.")
	case refusing > 0:
		t.Note(document.Warn, fmt.Sprintf("It refuses requests before it exits (%d of %d runs, at the latest %s after "+
			"the signal): clients lose those that they still send. Let a preStop hook sleep until no more come.",
			refusing, n, check.FormatTime(first)))
	default:
		t.Note(document.Plain, "It answers requests until it exits.")
	}
	if broken > 0 {
		t.Note(document.Warn, fmt.Sprintf("%s broke off without an answer.", printable.Count(broken, "request")))
	}
	t.Gap()
	if refusing == 0 {
		first = -1
	}
	m.settings(t, killed > 0, first, codes[0])
}

// settings writes the measured times as flags of check, and as rules of a scenario. refused is when
// the program first refused a request after the signal; negative: never.
func (m *measured) settings(t *document.Body, killed bool, refused value.Seconds, code string) {
	t.Text(document.Bold, "For probesim check:")
	flags := fmt.Sprintf("--start %s=%s", m.Container, inTenths(m.Start, m.LongStart))
	if !killed {
		flags += fmt.Sprintf(" --stop %s=%s", m.Container, inTenths(m.Stop, m.LongStop))
	}
	t.Note(document.Plain, flags)
	t.Text(document.Bold, "For a scenario:")
	t.Note(document.Plain, "behavior:")
	length := func(s value.Seconds) string { return value.Format(time.Duration(s).Round(time.Millisecond)) }
	t.Note(document.Plain, fmt.Sprintf("- {for: %s, probes: down}", length(m.LongStart)))
	if refused >= 0 {
		t.Note(document.Plain, fmt.Sprintf("- {afterSigterm: %s, probes: down}", length(refused)))
	}
	exit := fmt.Sprintf("- {afterSigterm: %s, exit: %s}", length(m.LongStop), code)
	if killed {
		exit = "- {afterSigterm: 0s, exit: never}"
	}
	t.Note(document.Plain, exit)
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
