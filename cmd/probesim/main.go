//go:build !js

// Command probesim simulates how the kubelet reacts to the liveness, readiness and startup probes
// of Pods, on a virtual clock.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/runner/cleanup"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/kube/profile"
)

func main() {
	if code, is := runPlayer(os.Args[1:]); is {
		os.Exit(code)
	}
	debug.SetGCPercent(800) // the heap of a run is small, and the runs allocate much
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		signal.Notify(signals, syscall.SIGHUP)
	}
	os.Exit(untilInterrupted(signals, os.Stderr, func(ctx context.Context) int {
		return execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}))
}

// untilInterrupted executes a command. After the first signal, the context of the command is done.
// If the command has not ended after the patience, or at the second signal, untilInterrupted ends
// it: it cleans up and returns exitInterrupted, and the caller must exit the process.
func untilInterrupted(signals <-chan os.Signal, stderr io.Writer, execute func(context.Context) int) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx) }()
	select {
	case code := <-ended:
		return code
	case <-signals:
		cancel()
	}
	select {
	case code := <-ended:
		return code
	case <-signals:
	case <-time.After(patience):
	}
	cleanup.Process.Run()
	fmt.Fprintln(stderr, "probesim: interrupted")
	return exitInterrupted
}

const rootHelp = `probesim shows how the kubelet reacts to the liveness, readiness and startup
probes of your Pods, without a cluster.

It runs Pods through the logic of the kubelet on a virtual clock. An hour of
node time takes milliseconds. The same input gives the same trace, byte for
byte, on every machine.`

const rootExamples = `  # Why does my Pod restart, or why is it not Ready?
  kubectl describe pod web-1 | probesim incident -

  # Are my probe settings enough for a program that starts in 24 to 32 seconds?
  probesim check deployment.yaml --start 24s..32s

  # Reproduce what happens, explain it, and keep the file as a test
  probesim init -f deployment.yaml -o scenario.yaml
  probesim run scenario.yaml
  probesim why scenario.yaml --restart 1`

// commands are the groups of the help, by the question that they answer.
var commands = []struct {
	question string
	list     []func() *cobra.Command
}{
	{"What happened in my cluster?", []func() *cobra.Command{newIncident, newMeasure, newLive, newPlay}},
	{"Are my settings enough?", []func() *cobra.Command{newCheck, newTune, newCompare, newRollout}},
	{"What happens if my program does this?", []func() *cobra.Command{newInit, newRun, newWhy, newDiff, newExplain,
		newSchema}},
	{"In which order of events does it fail?", []func() *cobra.Command{newExplore, newReplay, newShrink, newMerge}},
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	out := &terminal.Output{Writer: stdout}
	root := &cobra.Command{Use: "probesim", Short: "Simulate how the kubelet reacts to your probes", Long: rootHelp,
		Example: rootExamples, SilenceUsage: true, SilenceErrors: true}
	for _, group := range commands {
		root.AddGroup(&cobra.Group{ID: group.question, Title: group.question})
		for _, create := range group.list {
			c := create()
			c.GroupID = group.question
			root.AddCommand(c)
		}
	}
	root.AddCommand(newVersion())
	root.Version = version()
	root.SetVersionTemplate(versions())
	root.Flags().Bool("version", false, "Print the version and the supported Kubernetes versions.")
	root.PersistentFlags().Var(&flagValue[string]{to: &out.Color, parse: oneOf(terminal.Colors)}, "color",
		"Say `when` to color: "+either(terminal.Colors)+" (default auto)")
	root.RegisterFlagCompletionFunc("color", fixed(terminal.Colors))
	root.SetOut(out)
	root.SetErr(stderr)
	improveUsage(root)
	completeFlags(root)
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the supported Kubernetes versions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), versions())
			return err
		},
	}
}

// versions returns the output of the command version and of the flag --version. It has the patch
// releases of Kubernetes.
func versions() string {
	var patches []string
	for _, name := range profile.NamesWithPreviews() {
		p, _ := profile.Named(name)
		patches = append(patches, cmp.Or(p.Patch, p.Version))
	}
	return buildText(buildInfo()) + "Kubernetes " + strings.Join(patches, ", ") + "\n"
}

// buildText describes a build: the version, and the commit with its date if the program was built
// in a checkout.
func buildText(info *debug.BuildInfo) string {
	text := strings.TrimSpace("probesim "+info.Main.Version+" "+info.GoVersion) + "\n"
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	if commit := vcs["vcs.revision"]; commit != "" {
		text += "commit " + commit
		if vcs["vcs.modified"] == "true" {
			text += " with local changes"
		}
		text += "\n"
	}
	if date := vcs["vcs.time"]; date != "" {
		text += "date " + date + "\n"
	}
	return text
}
