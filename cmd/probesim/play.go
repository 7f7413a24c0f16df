package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/play"
	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
)

// playOptions are the flags of play.
type playOptions struct {
	runOptions
	play.Target
	play.Options
	pull      string
	simulated int
	print     bool
	yes       bool
	clean     bool
}

func newPlay() *cobra.Command {
	var o playOptions
	cmd := newCommand("play SCENARIO...", "Play scenarios on a cluster, and compare them with simulated runs", playHelp,
		playExamples, func(cmd *cobra.Command, args []string) error {
			if clean, _ := cmd.Flags().GetBool("clean"); len(args) == 0 && !clean {
				return errors.New("play requires a scenario file or directory")
			}
			return nil
		}, o.play)
	addOutput(cmd, &o.output, "", runner.Formats())
	o.add(cmd, "run", "seed", "delays", "until", "keep-going", "verbose")
	flags := cmd.Flags()
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "The kubeconfig `file` to use.")
	flags.StringVar(&o.Context, "context", "", "The `context` of the kubeconfig to use.")
	flags.StringVarP(&o.Target.Namespace, "namespace", "n", "",
		"Play in this `namespace`, which must exist, instead of one that play creates and deletes.")
	flags.StringVar(&o.Image, "image", "ghcr.io/probesim/probesim:"+imageTag(), "The `image` of the players.")
	addChoice(cmd, &o.pull, "pull", "IfNotPresent", "When to pull the image: ",
		[]string{"IfNotPresent", "Always", "Never"})
	addFlag(cmd, &o.simulated, "simulated", "200", "Compare with so many simulated `runs`, up to 10000; 0: with none.",
		between(0, 10000))
	flags.BoolVar(&o.print, "print", false, "Print the manifests instead of creating them.")
	flags.BoolVar(&o.yes, "yes", false, "Do not ask before creating anything.")
	flags.BoolVar(&o.clean, "clean", false, "Remove what earlier plays have left behind: those whose time is over, or "+
		"those whose IDs follow.")
	return cmd
}

// imageTag is the tag of the image of this release.
func imageTag() string {
	if v := buildInfo().Main.Version; v != "(devel)" && !strings.Contains(v, "+") {
		return v
	}
	return "latest"
}

const playHelp = `Play scenarios on the cluster of your kubeconfig, all at the same time, and
compare them with simulated runs. Each container of their pods runs a player,
which does what the program of the scenario does: it answers probes and hooks,
exits, and reacts to SIGTERM. play takes the steps, watches the pods, and judges
the expectations.

play prints the cluster and the namespace, and asks before it creates anything.
It creates a namespace, removes it at the end, and touches nothing else. It
refuses scenarios that no cluster can play, with the place in the file, and
--keep-going plays the others.

The last line of each scenario says whether its order equals a simulated run, and
how many times lie within what the simulated runs show, on a node with the
delays of this one.

Exit codes:
  0    all expectations held
  1    an expectation failed
  2    invalid usage, an invalid file, or a scenario that cannot be played
  3    the cluster refused something, such as a pod or the image
  130  interrupted`

const playExamples = `  # Play a scenario on the current cluster
  probesim play web.yaml

  # On kind, with an image of your own
  kind load docker-image probesim:dev
  probesim play web.yaml --context kind-kind --image probesim:dev --pull Never

  # In a namespace that you may use, without a question
  probesim play web.yaml -n team-a --yes

  # Remove what an earlier play has left
  probesim play --clean`

// play plays scenarios.
func (o *playOptions) play(cmd *cobra.Command, paths []string) error {
	if o.clean {
		return o.removeLeftovers(cmd, paths)
	}
	all, invalid, err := o.load(cmd, paths...)
	if err != nil {
		return nothing("played", err)
	}
	cluster, version, err := o.connect(cmd.Context())
	if err != nil && !o.print {
		return &exitError{exitBroken, err}
	}
	plans, err := o.plans(cmd, all, version)
	if err != nil {
		return withInvalid(nothing("played", err), invalid)
	}
	o.Options.Namespace = o.Target.Namespace
	o.Pull = v1.PullPolicy(o.pull)
	p, err := play.New(cluster, o.Options, plans, o.Until)
	if err != nil {
		return nothing("played", err)
	}
	if o.print {
		return printObjects(cmd.OutOrStdout(), p)
	}
	for _, line := range describe(p, cluster) {
		tell(cmd.ErrOrStderr(), "%s", printable.Text(line))
	}
	if err := o.confirm(cmd); err != nil {
		return err
	}
	if err := o.perform(cmd, p); err != nil {
		return err
	}
	return withInvalid(o.report(cmd, p), invalid)
}

// connect connects to the cluster and returns its version.
func (o *playOptions) connect(ctx context.Context) (*play.Cluster, string, error) {
	cluster, err := play.Connect(o.Target)
	if err != nil {
		return nil, "", err
	}
	version, err := cluster.Version(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("cannot reach %s: %w", printable.Text(cluster.Server), err)
	}
	return cluster, version, nil
}

// plans returns a run of each scenario that can be played. With --keep-going it names the others.
func (o *playOptions) plans(cmd *cobra.Command, all []*scenarios.Scenario, version string) ([]*plan.Plan, error) {
	var plans []*plan.Plan
	var refused strict.Errors
	for _, s := range all {
		if !o.Matches(s) {
			continue
		}
		with := cmp.Or(version, runner.Newest(s))
		reasons := strict.Errors{}
		of := s.PlansWith(with)
		switch {
		case len(of) == 0:
			reasons = append(reasons, strict.Error{Pos: s.Pos,
				Message: fmt.Sprintf("%s does not run with %s, the version of the cluster", s.Metadata.Name, with)})
		case o.Seeds != nil:
			of[0] = s.Plan(with, new(int64(o.Seeds.Min)))
			fallthrough
		default:
			reasons = append(reasons, manifest.Refuse(of[0])...)
		}
		if len(reasons) > 0 {
			refused = append(refused, reasons...)
			continue
		}
		plans = append(plans, of[0])
	}
	switch {
	case len(plans) == 0 && len(refused) == 0:
		return nil, o.NoMatch(all)
	case len(refused) > 0 && (!o.keepGoing || len(plans) == 0):
		return nil, refused
	}
	for _, e := range refused {
		tell(cmd.ErrOrStderr(), "left out: %s", e.Error())
	}
	return plans, nil
}

// printObjects prints the manifests.
func printObjects(w io.Writer, p *play.Play) error {
	objects, err := p.Objects()
	if err != nil {
		return err
	}
	for i, o := range objects {
		data, err := json.Marshal(o)
		var fields map[string]any
		if err == nil {
			err = yaml.Unmarshal(data, &fields) // JSON is YAML
		}
		text, bad := yaml.Marshal(fields)
		if err = cmp.Or(err, bad); err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := terminal.Safe(w).Write(text); err != nil {
			return err
		}
	}
	return nil
}

// describe says what a play is going to do, and where.
func describe(p *play.Play, c *play.Cluster) []string {
	pods := 0
	for _, r := range p.Runs {
		for _, w := range r.Plan.Scenario.Workloads {
			pods += w.Replicas
		}
		pods += len(r.Plan.Streams()) // their clients
	}
	namespace := "namespace " + p.Namespace
	if p.Own() {
		namespace += ", which play creates now and deletes at the end"
	}
	lines := []string{fmt.Sprintf("play %s: %s with %s, for %s", p.ID, printable.Count(len(p.Runs), "scenario"),
		printable.Count(pods, "pod"), value.Format(p.Length())),
		"context " + c.Context, "server " + c.Server, namespace}
	for _, r := range p.Runs {
		if dropped := r.Dropped(); len(dropped) > 0 {
			lines = append(lines, "left out of "+r.Plan.Scenario.Metadata.Name+": "+strings.Join(dropped, ", "))
		}
	}
	return lines
}

// confirm asks before anything is created.
func (o *playOptions) confirm(cmd *cobra.Command) error {
	if o.yes {
		return nil
	}
	in, isFile := cmd.InOrStdin().(*os.File)
	if isFile {
		if info, err := in.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return usage("play asks before it creates anything: add --yes where nobody can answer")
		}
	}
	fmt.Fprint(cmd.ErrOrStderr(), "Go on? [y/N] ")
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return &exitError{exitInterrupted, errors.New("nothing was created")}
	}
	return nil
}

// removal is how long a play may take to remove its objects after an interrupt.
const removal = 70 * time.Second

// perform plays the runs, and removes what they have created.
func (o *playOptions) perform(cmd *cobra.Command, p *play.Play) error {
	patience = removal
	counter := terminal.NewCounter(cmd.ErrOrStderr(), int(p.Length().Seconds()), "seconds")
	p.Notify = func(time.Duration) { counter.Step() }
	err := p.Play(cmd.Context())
	counter.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	if left := p.Remove(ctx); left != nil {
		tell(cmd.ErrOrStderr(), "%s", printable.Text(left.Error()))
	}
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: what play %s created is removed", p.ID)}
	case err != nil:
		return &exitError{exitBroken, err}
	}
	return nil
}

// report writes the runs as the command run does, and how they compare with simulated ones.
func (o *playOptions) report(cmd *cobra.Command, p *play.Play) error {
	var jobs []*runner.Job
	for i, r := range p.Runs {
		jobs = append(jobs, &runner.Job{Plan: r.Plan, Until: r.Until, Group: i, Runs: 1, Played: r.Result,
			Replay: "probesim play " + r.Plan.Scenario.Path() + " --run '^" + r.Plan.Scenario.Metadata.Name + "$'"})
	}
	outcome, err := runner.Write(cmd.Context(), jobs, runner.Options{Format: o.output, Verbose: o.verbose,
		Stdout: cmd.OutOrStdout(), Stderr: cmd.ErrOrStderr(), Pool: pool.Options{}})
	if err == nil && o.simulated > 0 {
		err = o.compare(cmd, p)
	}
	return ended(outcome, err)
}

// compare writes how each run compares with simulated ones. A trace or a page on standard output
// has no place for it.
func (o *playOptions) compare(cmd *cobra.Command, p *play.Play) error {
	w := cmd.ErrOrStderr()
	if slices.Contains([]string{"", "timeline", "summary", "lines"}, o.output) {
		w = terminal.Safe(cmd.OutOrStdout())
	}
	node := p.Node()
	fmt.Fprintf(w, "\nThe delays of this cluster: %s\n", node)
	for _, r := range p.Runs {
		c, err := r.Compare(cmd.Context(), o.simulated, node, cmp.Or(o.Set, "typical"))
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", r.Plan.Scenario.Metadata.Name, printable.Text(c.String()))
		if o.verbose {
			for _, d := range c.Differences {
				fmt.Fprintf(w, "  %s\n", printable.Text(d.String()))
			}
		}
	}
	return nil
}

// removeLeftovers removes what earlier plays have left.
func (o *playOptions) removeLeftovers(cmd *cobra.Command, ids []string) error {
	cluster, _, err := o.connect(cmd.Context())
	if err != nil {
		return &exitError{exitBroken, err}
	}
	namespace := o.Target.Namespace
	if namespace == "" {
		namespace = cluster.Default
	}
	left, err := cluster.Leftovers(cmd.Context(), namespace)
	if err != nil {
		return &exitError{exitBroken, err}
	}
	out := cmd.OutOrStdout()
	for _, l := range left {
		if !slices.Contains(ids, l.ID) && (len(ids) > 0 || time.Now().Before(l.Deadline)) {
			fmt.Fprintf(out, "Play %s in %s may still run, until %s. To remove it now: probesim play --clean %s\n",
				l.ID, l.Namespace, l.Deadline.Format(time.RFC3339), l.ID)
			continue
		}
		if err := cluster.RemoveLeftover(cmd.Context(), l); err != nil {
			return &exitError{exitBroken, err}
		}
		fmt.Fprintf(out, "Removed play %s from %s\n", l.ID, l.Namespace)
	}
	if len(left) == 0 {
		fmt.Fprintln(out, "Nothing is left of a play.")
	}
	return nil
}
