package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/router"
	"probesim.dev/kube/profile"
	"probesim.dev/trace/traffic"
)

// rolloutFlags are the flags of rollout.
type rolloutFlags struct {
	manifestFlags
	rollout.Options
	from                 []string
	since                string
	seed, lost, replicas int
	also                 alsoFiles
	limit                time.Duration
	baseline             string
}

func newRollout() *cobra.Command {
	var o rolloutFlags
	cmd := newCommand("rollout MANIFEST...", "Show what a rollout loses, how long it takes and what helps", rolloutHelp,
		rolloutExamples,
		someFiles("rollout requires a manifest: a file, a directory, or - for stdin"),
		o.rollOut)
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "table", reportOutputs)
	addVersions(cmd, &o.versions, "The Kubernetes `version`, for example v1.36", "the newest")
	addDelays(cmd, &o.delays, "typical", "The `nodes` and control plane")
	o.addTraffic(cmd)
	o.addTo(cmd, appRolloutUsage)
	addRequire(cmd, &o.require, "What must hold: a list of `requirements` such as 'lost<=0, takes<=5m'.")
	addFlag(cmd, &o.Runs, "runs", "", "The `number` of random runs for each figure, up to 300 (default 100, and fewer "+
		"for more than 3 replicas)", between(1, 300))
	addFlag(cmd, &o.seed, "seed", "", "Draw the run with this `seed`, and explain its greatest loss, instead of "+
		"making many runs.", between(0, noMost))
	addFlag(cmd, &o.lost, "lost", "", "With --seed: explain the loss with this `number`, 1 for the first, instead of "+
		"the greatest.", between(1, noMost))
	needs(cmd, "seed", "lost")
	flags.BoolVar(&o.allow, "allow-annotations", false, "Let an annotation such as lost<=5 allow losses.")
	flags.StringVar(&o.baseline, "baseline", "", "The JSON `file` of an earlier rollout. What was no better there is "+
		"known, and does not fail.")
	flags.StringVar(&o.since, "changed-since", "", "Roll out only the Deployments that differ from those in git at "+
		"this `ref`, such as main: they, their Services or what is in front.")
	flags.BoolVar(&o.Details, "details", false, "Show the details of all Deployments, and not only of the worst three.")
	addFlag(cmd, &o.limit, "time", "", "End after this wall `time`, with the Deployments that are done, and exit code 3.",
		positive)
	o.addConfig(cmd)
	o.also.addTo(cmd, reportOutputs)
	addParallel(cmd, &o.parallel, "runs")
	return cmd
}

// trafficFlags are the flags about the change, the requests and the program.
var trafficFlags = []string{"from", "workload", "service", "router", "change", "replicas", "rps", "latency",
	"connections"}

// addTraffic adds the flags about the change, the requests and the program.
func (o *rolloutFlags) addTraffic(cmd *cobra.Command) {
	flags := cmd.Flags()
	addFlag(cmd, &o.Router, "router", "", "Where the requests come from: the `name` "+
		strings.Join(router.Names(), ", ")+"; or a load balancer such as 'gateway: add 30s..40s, remove 40s' (default "+
		"what the files put in front, or kube-proxy)",
		func(text string) (string, error) { return text, router.Check(text) })
	addFlag(cmd, &o.Change, "change", "restart", "The `change`: restart, undo or scale=N.", rollout.ParseChange)
	addFlag(cmd, &o.replicas, "replicas", "", "The `number` of replicas, instead of that in the manifests.",
		between(1, noMost))
	addFlag(cmd, &o.Rate, "rps", "100", "Requests a second to the Service of each Deployment, a `number`.", parseRate)
	addFlag(cmd, &o.Connections, "connections", "", "The `number` of connections that clients keep open, such as 50, or "+
		"'50 until exit' if the program does not close idle ones when it stops. By default, each request opens one.",
		func(text string) (c traffic.Connections, err error) { return c, c.UnmarshalText([]byte(text)) })
	addFlag(cmd, &o.Latency, "latency", "10ms..50ms", "How long a request takes: a `duration` or a range.",
		value.ParseInterval)
	flags.StringArrayVar(&o.from, "from", nil, "The `manifest` before the change. You can repeat this flag.")
	flags.StringVar(&o.Workload, "workload", "", "Roll out only the Deployment with this `name`, or namespace/name.")
	flags.StringVar(&o.Service, "service", "",
		"Count only the requests to the Service with this `name`, and roll out only the Deployments behind it.")
}

// parseRate reads a number of requests a second.
func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !(rate > 0 && rate <= 1e9) {
		err = errors.New("must be more than 0, and at most 1e9")
	}
	return rate, err
}

const rolloutHelp = `Show what a rollout of Deployments loses, how long it takes and what helps. You
need no scenario: MANIFEST is a file, a directory, or - for stdin, with
Deployments and the Services that select their pods.

The Deployment, ReplicaSet and EndpointSlice controllers, kube-proxy and the
kubelet are simulated in up to 100 random runs. The figures are those of the
runs; "always" is the figure of a rule that holds in all. A load balancer is a
range of delays, and its source is printed. Only new connections count: those
that clients keep open do not.

The report names the seed of its worst run. --seed draws this run, and explains
its greatest loss: what raced with what, and which step took longest.

Rows for --require:
  lost<=N      requests that are lost, in the worst of the runs
  replicas>=N  the fewest Ready replicas
  takes<=D     until the rollout is complete
  prestop<=D   a preStop sleep that is always enough to lose nothing
Those about containers, such as start>=70s, are judged by 'probesim check'.
Those of the annotation probesim.dev/require of a Deployment must hold too. They
allow losses only with --allow-annotations.

Output formats:
  table      the verdict and tables for a terminal (default)
  html       a page with the verdict and the picture of the worst run` + reportFormats + `
  0    the rollout completes and loses nothing, or what --require lets it lose;
       or --seed drew a run
  1    it loses requests or never completes, or a requirement is not met; or new
       pods may wait for what the old ones have, and --require is not there` + manifestExits

const rolloutExamples = `  # Does a restart lose requests?
  probesim rollout web.yaml --rps 200

  # A program that starts in 8 to 15 s, closes its listener at SIGTERM and exits
  # 3 s later
  probesim rollout web.yaml --start 8s..15s --app 'refuse 0s, stop 3s'

  # Behind a load balancer of AWS with IP targets
  probesim rollout web.yaml --router alb-ip

  # Draw the worst run, with the seed that the report names
  probesim rollout web.yaml --rps 200 --seed 17

  # Fail in CI if a request is lost
  probesim rollout web.yaml --require 'lost<=0, replicas>=3, takes<=5m'`

// checkFlags rejects flags without an effect.
func (o *rolloutFlags) checkFlags(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("seed") {
		return nil
	}
	return ignored(cmd, "with --seed", "output", "also", "force", "require", "allow-annotations", "runs", "details",
		"changed-since", "baseline", "time", "parallel")
}

// command returns the command line without the flags that choose a run or a format.
func (o *rolloutFlags) command(cmd *cobra.Command, paths []string) string {
	words := []string{"probesim", "rollout"}
	for _, path := range paths {
		words = append(words, simulate.Quote(path))
	}
	without := []string{"output", "config", "also", "force", "details", "time", "require", "allow-annotations", "runs",
		"changed-since", "baseline", "parallel", "color"}
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
	r = o.Options
	r.Delays, r.Require, r.AllowAnnotations, r.Profile = o.delays, o.require, o.allow, profile.Newest()
	r.Each = func(n int, name string, do func(context.Context, int) error) error {
		return doTasks(ctx, cmd, n, name, o.parallel, do)
	}
	if len(o.versions) > 1 && !o.sets("kubernetes") {
		return r, usage("--kubernetes: must be one version")
	}
	for _, p := range profiles(o.versions) {
		r.Profile = p
	}
	if o.replicas > 0 {
		r.Replicas = new(int32(o.replicas))
	}
	app, change, err := o.rolledOut()
	if err != nil {
		return r, usageError{err}
	}
	if r.App = app; change != nil && !cmd.Flags().Changed("change") {
		r.Change = *change
	}
	return r, nil
}

func (o *rolloutFlags) rollOut(cmd *cobra.Command, paths []string) error {
	if err := o.checkFlags(cmd); err != nil {
		return err
	}
	ignores, err := o.configure(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := within(cmd.Context(), cmp.Or(o.limit, rollout.Never))
	defer cancel()
	options, err := o.options(ctx, cmd)
	if err != nil {
		return err
	}
	files, err := o.readManifests(cmd, false, nil, paths...)
	if err != nil {
		return o.annotate(cmd, err)
	}
	o.passOver(cmd, files, options.App.Start, options.App.Stop)
	from, err := o.readFrom(cmd)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("seed") {
		return o.show(cmd, files, from, options)
	}
	if err := o.also.check(cmd.Context()); err != nil {
		return err
	}
	if options.Since, err = o.readSince(cmd, paths); err != nil {
		return err
	}
	options.Ignores = func(file string) bool {
		return slices.ContainsFunc(ignores, func(i check.Ignore) bool { return i.Covers(check.Rollout, file) })
	}
	if options.Baseline, err = readReport[rollout.Report](cmd, "--baseline", o.baseline, "rollout"); err != nil {
		return err
	}
	options.Command = o.command(cmd, paths)
	options.Keep = o.output == "html" ||
		slices.ContainsFunc(o.also.list, func(f alsoFile) bool { return f.format == "html" })
	r, err := rollout.Run(files, from, options)
	if err != nil {
		if r != nil && o.output == "table" {
			err = errors.Join(writeRollout(cmd, r, o.output, alsoFiles{}), err)
		}
		return o.invalid(cmd, slices.Concat(files, from), err)
	}
	if err := writeRollout(cmd, r, o.output, o.also); err != nil {
		return err
	}
	return failed(r.Bad())
}

// readFrom reads the manifests before the change, or nil without --from.
func (o *rolloutFlags) readFrom(cmd *cobra.Command) ([]input.File, error) {
	if len(o.from) == 0 {
		return nil, nil
	}
	from, err := o.readManifests(cmd, false, nil, o.from...)
	if err != nil {
		err = o.annotate(cmd, fmt.Errorf("--from: %w", err))
	}
	return from, err
}

// readSince reads the manifests at the ref of --changed-since, or nil without it.
func (o *rolloutFlags) readSince(cmd *cobra.Command, paths []string) ([]input.File, error) {
	if o.since == "" {
		return nil, nil
	}
	r := manifestReader{cmd: cmd, exclude: o.exclude, files: []input.File{}}
	for _, path := range paths {
		err := errors.New("rollout reads stdin, which git does not have")
		if path != "-" {
			err = r.readRef(o.since, path)
		}
		if err != nil {
			return nil, o.annotate(cmd, fmt.Errorf("--changed-since: %w", err))
		}
	}
	return r.files, nil
}

// invalid returns the error of a rollout that was not simulated, with its exit code.
func (o *rolloutFlags) invalid(cmd *cobra.Command, files []input.File, err error) error {
	switch {
	case errors.As(err, new(*exitError)):
	case errors.Is(err, rollout.ErrNoDeployment) && o.Workload == "":
		err = fmt.Errorf("%w in %s: rollout needs at least one", err, listed(files))
	case errors.Is(err, rollout.ErrNoService):
		err = fmt.Errorf("--service: %w", err)
	case errors.Is(err, rollout.ErrNoDeployment):
		err = fmt.Errorf("--workload: %w", err)
	default:
		err = invalidManifests("rollout", files, err)
	}
	return o.annotate(cmd, err)
}

// show draws a run of each Deployment, and explains one of its losses.
func (o *rolloutFlags) show(cmd *cobra.Command, files, from []input.File, options rollout.Options) error {
	list, err := rollout.Show(cmd.Context(), files, from, options, int64(o.seed))
	if err != nil {
		return o.invalid(cmd, slices.Concat(files, from), err)
	}
	w := cmd.OutOrStdout()
	for i, s := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		d, err := render.Shown(s, options.Profile.Version, o.lost)
		if err := d.Write(w, "text", terminal.Options(w)); err != nil {
			return err
		}
		if err != nil {
			return fmt.Errorf("--lost: %w", err)
		}
	}
	return nil
}

func writeRollout(cmd *cobra.Command, r *rollout.Report, format string, also alsoFiles) error {
	a := answer{json: r, document: render.Document(r), findings: render.Findings(r)}
	return a.write(cmd, format, also)
}
