package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/require"
	"probesim.dev/internal/runner/actions"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/router"
	"probesim.dev/kube/profile"
)

// rolloutFlags are the flags of rollout.
type rolloutFlags struct {
	output, kubernetes, delays, router, change, latency string
	from, require                                       []string
	wordFlags
	rate                      float64
	workload, service, config string
	seed                      int64
	lost                      int
	replicas                  int32
	parallel, runs            int
	allow                     bool
	also                      alsoFiles
	force                     bool
}

var rolloutOutputs = []string{"table", "json", "markdown", "html", "github", "sarif", "junit"}

func newRollout() *cobra.Command {
	var o rolloutFlags
	cmd := newCommand("rollout MANIFEST...", "Show what a rollout loses, how long it takes and what helps", rolloutHelp,
		rolloutExamples,
		someFiles("rollout requires a manifest: a file, a directory, or - for stdin"),
		func(cmd *cobra.Command, args []string) error {
			if err := o.checkFlags(cmd); err != nil {
				return err
			}
			defaults := checkOptions{config: o.config}
			if _, err := defaults.configure(cmd); err != nil {
				return err
			}
			return rollOut(cmd, args, o)
		})
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "table", rolloutOutputs)
	flags.StringVar(&o.kubernetes, "kubernetes", "", "The `version`, for example v1.36 (default the newest)")
	flags.StringVar(&o.delays, "delays", "typical", "The `nodes` and control plane: "+
		strings.Join(fakeruntime.DelaySets(), ", ")+"; or default, for nodes without ranges.")
	o.addTraffic(cmd)
	o.addTo(cmd, appRolloutUsage)
	flags.StringArrayVar(&o.require, "require", nil,
		"What must hold: a list of `requirements` such as 'lost<=0, takes<=5m'.")
	flags.IntVar(&o.runs, "runs", 0, "The `number` of random runs for each figure, up to 300 (default 100, and fewer "+
		"for more than 3 replicas)")
	flags.Int64Var(&o.seed, "seed", 0, "Draw the run with this `seed`, and explain its greatest loss, instead of "+
		"making many runs.")
	flags.IntVar(&o.lost, "lost", 0, "With --seed: explain the loss with this `number`, 1 for the first, instead of "+
		"the greatest.")
	flags.BoolVar(&o.allow, "allow-annotations", false, "Let an annotation such as lost<=5 allow losses.")
	flags.StringVar(&o.config, "config", configFile,
		"The `file` with defaults for some of these flags; none for no file.")
	o.also.addTo(cmd)
	addForce(cmd, &o.force)
	addParallel(cmd, &o.parallel, "runs")
	for name, values := range map[string][]string{"kubernetes": profile.NamesWithPreviews(),
		"delays": append(fakeruntime.DelaySets(), "default")} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// trafficFlags are the flags about the change, the requests and the program.
var trafficFlags = []string{"from", "workload", "service", "router", "change", "replicas", "rps", "latency"}

// addTraffic adds the flags about the change, the requests and the program.
func (o *rolloutFlags) addTraffic(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.router, "router", router.KubeProxy, "Where the requests come from: the `name` "+
		strings.Join(router.Names(), ", ")+"; or a load balancer such as 'gateway: add 30s..40s, remove 40s'.")
	flags.StringVar(&o.change, "change", "restart", "The `change`: restart, undo or scale=N.")
	flags.Int32Var(&o.replicas, "replicas", 0, "The `number` of replicas, instead of that in the manifests.")
	flags.Float64Var(&o.rate, "rps", 100, "Requests a second to the Service of each Deployment, a `number`.")
	flags.StringVar(&o.latency, "latency", "10ms..50ms", "How long a request takes: a `duration` or a range.")
	flags.StringArrayVar(&o.from, "from", nil, "The `manifest` before the change. You can repeat this flag.")
	flags.StringVar(&o.workload, "workload", "", "Roll out only the Deployment with this `name`, or namespace/name.")
	flags.StringVar(&o.service, "service", "",
		"Count only the requests to the Service with this `name`, and roll out only the Deployments behind it.")
	for name, values := range map[string][]string{"router": router.Names(), "change": {"restart", "undo", "scale="}} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

const rolloutHelp = `Show what a rollout of Deployments loses, how long it takes and what helps. You
need no scenario: MANIFEST is a file, a directory, or - for stdin, with
Deployments and the Services that select their pods.

The Deployment, ReplicaSet and EndpointSlice controllers, kube-proxy and the
kubelet are simulated in up to 100 random runs, with fewer for many replicas.
The figures are those of the runs. "always" is the figure of a rule that holds
in all runs. A load balancer is a range of delays, and its source is printed.

The figures cover new connections: requests over connections that clients keep
open are not counted.

The report names the seed of its worst run. --seed draws this run, and explains
its greatest loss: what raced with what, and which step took longest.

Rows for --require:
  lost<=N      requests that are lost, in the worst of the runs
  replicas>=N  the fewest Ready replicas
  takes<=D     until the rollout is complete
  prestop<=D   a preStop sleep that is always enough to lose nothing
Requirements about containers, such as start>=70s, can stand beside them:
'probesim check' judges those.
Those of the annotation probesim.dev/require of a Deployment must hold too. They
allow losses only with --allow-annotations.

Output formats:
  table      the verdict and tables for a terminal (default)
  json       stable JSON, described in docs/json.md
  markdown   tables for a pull request
  html       a page with the verdict and the picture of the worst run
  github     annotations for GitHub Actions, and tables in the job summary
  sarif      findings for code scanning
  junit      a JUnit report for CI systems

Exit codes:
  0    the rollout completes and loses nothing, or what --require lets it lose;
       or --seed drew a run
  1    it loses requests or never completes, or a requirement is not met; or new
       pods may wait for what the old ones have, and --require is not there
  2    invalid usage or an invalid manifest, or one that cannot be simulated` + usualExits

const rolloutExamples = `  # Does a restart lose requests?
  probesim rollout web.yaml --rps 200

  # A program that starts in 8 to 15 s, closes its listener at SIGTERM and exits
  # 3 s later
  probesim rollout web.yaml --start 8s..15s --app 'refuse 0s, stop 3s'

  # Behind a load balancer of AWS with IP targets
  probesim rollout web.yaml --router alb-ip

  # From the templates of another file
  probesim rollout new.yaml --from old.yaml

  # Draw the worst run, with the seed that the report names
  probesim rollout web.yaml --rps 200 --seed 17

  # A page to share
  probesim rollout web.yaml --rps 200 -o html > rollout.html

  # Fail in CI if a request is lost
  probesim rollout web.yaml --require 'lost<=0, replicas>=3, takes<=5m'`

// checkFlags rejects formats that do not exist, and flags without an effect.
func (o *rolloutFlags) checkFlags(cmd *cobra.Command) error {
	if err := errors.Join(checkOutput(o.output, rolloutOutputs), o.also.parse(rolloutOutputs)); err != nil {
		return err
	}
	if len(o.also) == 0 {
		if err := ignored(cmd, "without --also", "force"); err != nil {
			return err
		}
	}
	if !cmd.Flags().Changed("seed") {
		return ignored(cmd, "without --seed", "lost")
	}
	if o.seed < 0 || o.lost < 0 || o.lost == 0 && cmd.Flags().Changed("lost") {
		return errors.New("--seed must not be negative, and --lost must be at least 1")
	}
	return ignored(cmd, "with --seed", "output", "also", "require", "allow-annotations", "runs", "parallel")
}

// command returns the command line without the flags that choose a run or a format.
func (o *rolloutFlags) command(cmd *cobra.Command, paths []string) string {
	words := []string{"probesim", "rollout"}
	for _, path := range paths {
		words = append(words, simulate.Quote(path))
	}
	without := []string{"output", "config", "also", "force", "require", "allow-annotations", "runs", "parallel",
		"color"}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed || slices.Contains(without, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, v := range values {
			words = append(words, "--"+f.Name, simulate.Quote(v))
		}
	})
	return strings.Join(words, " ")
}

// options returns the options of the flags. The runs end with a context.
func (o *rolloutFlags) options(ctx context.Context, cmd *cobra.Command) (r rollout.Options, err error) {
	r = rollout.Options{Delays: o.delays, Router: o.router, Rate: o.rate, Runs: o.runs, Workload: o.workload,
		Service: o.service, AllowAnnotations: o.allow}
	r.Each = func(n int, name string, do func(context.Context, int) error) error {
		return doTasks(ctx, cmd, n, name, o.parallel, do)
	}
	if err := o.checkRanges(cmd); err != nil {
		return r, err
	}
	versions, err := parseVersions([]string{cmp.Or(o.kubernetes, profile.Newest().Version)})
	if err == nil && len(versions) != 1 {
		err = errors.New("must be one version")
	}
	if err != nil {
		return r, fmt.Errorf("--kubernetes: %w", err)
	}
	r.Profile, _ = profile.Named(versions[0])
	if r.Change, err = rollout.ParseChange(o.change); err != nil {
		return r, fmt.Errorf("--change: %w", err)
	}
	if cmd.Flags().Changed("replicas") {
		r.Replicas = &o.replicas
	}
	if r.Latency, err = value.ParseInterval(o.latency); err != nil {
		return r, fmt.Errorf("--latency: %w", err)
	}
	app, change, err := o.rolledOut()
	if err != nil {
		return r, err
	}
	if r.App = app; change != nil && !cmd.Flags().Changed("change") {
		r.Change = *change
	}
	r.Require, err = parseAll("require", o.require, require.Parse)
	return r, err
}

// checkRanges rejects values of flags that are out of range.
func (o *rolloutFlags) checkRanges(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case o.parallel < 1:
		return errors.New("--parallel must be at least 1")
	case o.delays != "default" && !slices.Contains(fakeruntime.DelaySets(), o.delays):
		return fmt.Errorf("--delays: must be one of %s, default", strings.Join(fakeruntime.DelaySets(), ", "))
	case o.runs < 0 || o.runs > 300 || o.runs == 0 && changed("runs"):
		return errors.New("--runs: must be from 1 to 300")
	case !(o.rate > 0 && o.rate <= 1e9):
		return errors.New("--rps: must be more than 0, and at most 1e9")
	case changed("replicas") && o.replicas < 1:
		return errors.New("--replicas: must be at least 1")
	}
	if err := router.Check(o.router); err != nil {
		return fmt.Errorf("--router: %w", err)
	}
	return nil
}

func rollOut(cmd *cobra.Command, paths []string, o rolloutFlags) error {
	options, err := o.options(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	files, err := newManifestReader(cmd, false).read(paths)
	if err != nil {
		return o.invalid(cmd, nil, &exitError{exitUsage, err})
	}
	from, err := o.readFrom(cmd)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("seed") {
		return o.show(cmd, files, from, options)
	}
	if err := o.also.check(cmd.Context(), o.force); err != nil {
		return err
	}
	options.Command = o.command(cmd, paths)
	options.Keep = o.output == "html" || slices.ContainsFunc(o.also,
		func(also string) bool { return strings.HasPrefix(also, "html=") })
	r, err := rollout.Run(files, from, options)
	if err != nil {
		if r != nil && o.output == "table" {
			err = errors.Join(writeRollout(cmd.OutOrStdout(), r, o.output), err)
		}
		return o.invalid(cmd, slices.Concat(files, from), err)
	}
	if err := writeRollout(cmd.OutOrStdout(), r, o.output); err != nil {
		return err
	}
	if err := o.also.write(cmd.Context(), o.force, func(w io.Writer, format string) error {
		return writeRollout(w, r, format)
	}); err != nil {
		return err
	}
	if r.Bad() {
		return &exitError{code: exitFailed}
	}
	return nil
}

// readFrom reads the manifests before the change, or nil without --from.
func (o *rolloutFlags) readFrom(cmd *cobra.Command) ([]input.File, error) {
	if len(o.from) == 0 {
		return nil, nil
	}
	from, err := newManifestReader(cmd, false).read(o.from)
	if err != nil {
		err = o.invalid(cmd, nil, &exitError{exitUsage, fmt.Errorf("--from: %w", err)})
	}
	return from, err
}

// invalid returns the error of a rollout that was not simulated, with its exit code.
func (o *rolloutFlags) invalid(cmd *cobra.Command, files []input.File, err error) error {
	var coded *exitError
	switch {
	case errors.As(err, &coded):
	case errors.Is(err, rollout.ErrNoDeployment) && o.workload == "":
		err = &exitError{exitUsage, fmt.Errorf("%w in %s: rollout needs at least one", err, listed(files))}
	case errors.Is(err, rollout.ErrNoService):
		err = &exitError{exitUsage, fmt.Errorf("--service: %w", err)}
	case errors.Is(err, rollout.ErrNoDeployment):
		err = &exitError{exitUsage, fmt.Errorf("--workload: %w", err)}
	default:
		err = invalidManifests("rollout", files, err)
	}
	if o.output == "github" {
		actions.Annotate(cmd.OutOrStdout(), "invalid manifest", "nothing was rolled out", err)
	}
	return err
}

// show draws a run of each Deployment, and explains one of its losses.
func (o *rolloutFlags) show(cmd *cobra.Command, files, from []input.File, options rollout.Options) error {
	list, err := rollout.Show(cmd.Context(), files, from, options, o.seed)
	if err != nil {
		return o.invalid(cmd, slices.Concat(files, from), err)
	}
	w := cmd.OutOrStdout()
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		d, err := render.Shown(s, options.Profile.Version, o.lost)
		if err := d.Write(w, "text", terminal.Options(w).Document()); err != nil {
			return err
		}
		if err != nil {
			return &exitError{exitUsage, fmt.Errorf("--lost: %w", err)}
		}
	}
	return nil
}

func writeRollout(w io.Writer, r *rollout.Report, format string) error {
	a := answer{json: r, document: render.Document(r), findings: render.Findings(r)}
	return a.write(w, format)
}
