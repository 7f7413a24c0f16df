package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/why"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// whyOptions are the flags of why.
type whyOptions struct {
	run       runOptions // the flags that run has too
	at        time.Duration
	restart   string
	ready     bool
	lost      int
	pod       string
	container string
}

func newWhy() *cobra.Command {
	var o whyOptions
	cmd := newCommand("why FILE", "Explain a restart, a pod that is not Ready, or a loss of requests", whyHelp,
		whyExamples, paths(1, 1, "why requires exactly one scenario file"),
		o.why)
	flags := cmd.Flags()
	addFlag(cmd, &o.at, "at", "", "Explain the state at this virtual `time`, for example 85s (default the end of the "+
		"run).", value.ParseDuration)
	flags.StringVar(&o.restart, "restart", "",
		"Explain the restart with this `number`: 1 is the first restart, 0 the first start. With any, explain a "+
			"first restart in the first of the seeds that has one.")
	flags.BoolVar(&o.ready, "ready", false, "Explain each change of Ready, up to the time of --at.")
	addFlag(cmd, &o.lost, "lost", "", "Explain the loss of requests with this `number`: 1 is the first of the run.",
		between(1, noMost))
	flags.StringVar(&o.pod, "pod", "", "Choose the pod with this `name`, or namespace/name.")
	flags.StringVar(&o.container, "container", "", "Choose the container with this `name`.")
	o.run.add(cmd, "run", "kubernetes", "seed", "delays", "max-memory")
	flags.Lookup("kubernetes").DefValue = "the newest of the scenario"
	o.run.addTo(cmd, appUsage)
	addOutput(cmd, &o.run.output, "text", []string{"text", "json"})
	cmd.MarkFlagsMutuallyExclusive("restart", "ready")
	cmd.MarkFlagsMutuallyExclusive("restart", "at")
	for _, other := range []string{"restart", "ready", "at", "pod", "container"} {
		cmd.MarkFlagsMutuallyExclusive("lost", other)
	}
	cmd.RegisterFlagCompletionFunc("pod", o.completePart(false))
	cmd.RegisterFlagCompletionFunc("container", o.completePart(true))
	return cmd
}

const whyHelp = `Run a scenario and explain what happened, as a chain of causes with times. The
chain ends at its root: the answer of a program, or an action from outside such
as a deletion.

What to explain:
  --restart N   a restart of a container
  --restart any a first restart in the first seed that has one
  --ready       each time the pod became Ready or stopped being Ready
  --lost N      a loss of requests: what raced with what, with the delay of each
                step, in a scenario with traffic
  --at TIME     the state of the pod and its containers at a virtual time
  (none)        the state at the end of the run

FILE is a scenario file, or - for stdin. It can also be a manifest without a
Scenario; each --app then says what happens to its programs, as for run. If FILE
has several scenarios, choose one with --run. Of several pods or containers, the
first that restarted is explained, or else the first that is not Ready; choose
others with --pod and --container. If the scenario has several Kubernetes
versions or seeds, the newest release and the first seed are used.

Exit codes:
  0    explained
  2    invalid usage, an invalid file, or no such restart or loss` + usualExits

const whyExamples = `  # Explain the first restart of the container
  probesim why web.yaml --restart 1

  # Explain a first restart in any of a hundred runs
  probesim why web.yaml --restart any --seed 1..100

  # Explain each change of Ready
  probesim why web.yaml --ready

  # Explain the first loss of requests during a rollout
  probesim why web.yaml --app 'rollout at 2m' --lost 1

  # Explain the state of the pod 85 seconds into the run
  probesim why web.yaml --at 85s`

func (o *whyOptions) why(cmd *cobra.Command, args []string) error {
	defer watchMemory(cmd, o.run.Memory)()
	jobs, err := o.jobs(cmd, args[0])
	if err != nil {
		return err
	}
	if o.lost > 0 {
		return o.race(cmd, jobs[0])
	}
	run, all, err := o.explain(cmd, jobs)
	if err != nil {
		return err
	}
	if o.run.output == "json" {
		err = report.WhyJSON(cmd.OutOrStdout(), run.Report(), all, nil)
	} else {
		text := terminal.Options(cmd.OutOrStdout())
		if err = report.Why(cmd.OutOrStdout(), all, text); err == nil && len(run.Plan.Notes()) > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
			err = document.WriteText(cmd.OutOrStdout(), text,
				func(b *document.Body) { report.AddNotes(b, run.Plan.Notes()) })
		}
	}
	return err
}

// explain runs the jobs until one has what to explain.
func (o *whyOptions) explain(cmd *cobra.Command, jobs []*runner.Job) (*runner.Run, []why.Explanation, error) {
	question, err := o.question(cmd, jobs[0])
	if err != nil {
		return nil, nil, err
	}
	progress := runner.NewProgress(cmd.ErrOrStderr(), jobs)
	defer progress.Stop()
	for i, j := range jobs {
		run, err := o.simulate(cmd, j, progress)
		if progress.Done(i + 1); err != nil {
			return nil, nil, err
		}
		if err := o.choose(question, j.Plan, run.Pods(), run.Records); err != nil {
			return nil, nil, err
		}
		chose, found := question.Choose(run.Why())
		if question.Any && !found {
			continue
		}
		progress.Stop()
		if question.Any && len(jobs) > 1 {
			fmt.Fprintf(cmd.ErrOrStderr(), "probesim: explaining %s, the first of %d with a restart\n", j.Name(),
				len(jobs))
		}
		if chose != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "probesim: explaining %s; choose another with --pod and --container\n",
				printable.Text(chose))
		}
		all, err := question.Answer(run.Why())
		if err != nil {
			return nil, nil, err
		}
		return run, all, nil
	}
	return nil, nil, fmt.Errorf("there is no restart in %s; more runs: --seed 1..100",
		printable.Count(len(jobs), "run"))
}

// simulate makes a run with internal records.
func (o *whyOptions) simulate(cmd *cobra.Command, j *runner.Job, progress *runner.Progress) (*runner.Run, error) {
	run := j.Simulate(cmd.Context(), true, nil, progress.Virtual())
	switch {
	case errors.Is(run.Err, simulate.ErrInterrupted):
		return nil, broken(runner.Interrupted{Cause: context.Cause(cmd.Context())})
	case run.Err != nil:
		return nil, &exitError{exitBroken, run.Err}
	}
	return run, nil
}

// race explains a loss of requests.
func (o *whyOptions) race(cmd *cobra.Command, j *runner.Job) error {
	if len(j.Plan.Scenario.Spec.Traffic) == 0 {
		hint := "see 'probesim explain spec.traffic'"
		if j.Plan.Scenario.Command != nil {
			hint = "write --app 'rollout at 2m' for a Deployment with a Service"
		}
		return errors.New("--lost: the scenario has no traffic, so no request can be lost: " + hint)
	}
	progress := runner.NewProgress(cmd.ErrOrStderr(), []*runner.Job{j})
	defer progress.Stop()
	run, err := o.simulate(cmd, j, progress)
	if progress.Stop(); err != nil {
		return err
	}
	explained := run.Why()
	race, found := explained.Lost(o.lost)
	if !found {
		return fmt.Errorf("--lost: there is no loss %d: the run loses requests %s", o.lost,
			printable.Count(explained.Losses(), "time"))
	}
	if o.run.output == "json" {
		return report.WhyJSON(cmd.OutOrStdout(), run.Report(), nil, &race)
	}
	return report.Race(terminal.Safe(cmd.OutOrStdout()), &race, terminal.Options(cmd.OutOrStdout()))
}

// jobs returns the runs to explain: of one scenario with the newest version, the first seed; to
// find any restart, all seeds.
func (o *whyOptions) jobs(cmd *cobra.Command, file string) ([]*runner.Job, error) {
	s := &o.run.Selection
	all, _, _, err := o.run.loadAny(cmd, []string{file})
	if err != nil {
		return nil, nothing("run", err)
	}
	jobs, err := s.Jobs(all)
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(all, func(one *scenarios.Scenario) bool { return !s.Matches(one) })
	switch {
	case len(chosen) > 1:
		return nil, fmt.Errorf("there are several scenarios; choose one with --run: %s",
			printable.Few(runner.Names(chosen)))
	case len(s.Versions) > 1:
		return nil, fmt.Errorf("--kubernetes must match exactly one version, not %s", printable.Few(s.Versions))
	case s.Seeds != nil && s.Seeds.Min != s.Seeds.Max && o.restart != "any":
		return nil, errors.New("--seed must be a single seed, except with --restart any")
	}
	last := runner.Newest(chosen[0])
	if s.Versions != nil {
		last = s.Versions[0]
	}
	if o.restart == "any" {
		return slices.DeleteFunc(jobs, func(j *runner.Job) bool { return j.Plan.Version != last }), nil
	}
	j := jobs[slices.IndexFunc(jobs, func(j *runner.Job) bool { return j.Plan.Version == last })]
	if len(jobs) > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: explaining %s; choose one of %d other runs with --kubernetes and "+
			"--seed\n", j.Name(), len(jobs)-1)
	}
	return []*runner.Job{j}, nil
}

// question parses the flags. It reports unknown names before the scenario runs.
func (o *whyOptions) question(cmd *cobra.Command, j *runner.Job) (*why.Question, error) {
	q := &why.Question{Container: o.container, Ready: o.ready, At: j.Until}
	if cmd.Flags().Changed("restart") {
		if err := q.ParseRestart(o.restart); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("at") {
		q.At = virtual.At(o.at)
	}
	if q.At > j.Until {
		return nil, fmt.Errorf("--at: the run ends at %s, before %s", value.Format(j.Until.Offset()),
			value.Format(o.at))
	}
	if j.Plan.Scenario.IsControlled(o.pod) {
		return q, nil // its pods are not known before the run
	}
	return q, o.choose(q, j.Plan, j.Plan.Specs(), nil)
}

// choose chooses the pod of the question among those of a run.
func (o *whyOptions) choose(q *why.Question, p *scenarios.Plan, pods []*v1.Pod, records []trace.Record) error {
	q.Pods = pods
	if err := q.SetPod(o.pod, p.Scenario.PodKeys(o.pod, plan.Seen(records))); err != nil {
		return err
	}
	return q.CheckContainer()
}
