package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/report"
	"probesim.dev/report/why"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// whyOptions are the flags of why.
type whyOptions struct {
	run       runOptions // the flags that run has too
	at        string
	restart   string
	ready     bool
	pod       string
	container string
}

func newWhy() *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why FILE",
		Short: "Explain why a container restarted or a pod is not Ready",
		Long: `Run a scenario and explain what happened, as a chain of causes with times. The
chain ends at its root: the answer of a program, or an action from outside such
as a deletion.

What to explain:
  --restart N   a restart of a container
  --restart any a first restart in the first seed that has one
  --ready       each time the pod became Ready or stopped being Ready
  --at TIME     the state of the pod and its containers at a virtual time
  (none)        the state at the end of the run

FILE is a scenario file, or - for stdin. It can also be a manifest without a
Scenario; each --app then says what happens to its programs, as for run. If FILE
has several scenarios, pods or containers, choose one with --run, --pod and
--container. If the scenario has several Kubernetes versions or seeds, the
newest release and the first seed are used.

Exit codes:
  0    explained
  2    invalid usage, an invalid file, or no such restart
  3    a limit was exceeded, or probesim itself failed
  130  interrupted`,
		Example: `  # Explain the first restart of the container
  probesim why web.yaml --restart 1

  # Explain a first restart in any of a hundred runs
  probesim why web.yaml --restart any --seed 1..100

  # Explain each change of Ready
  probesim why web.yaml --ready

  # Explain the state of the pod 85 seconds into the run
  probesim why web.yaml --at 85s

  # Explain a restart of a manifest whose app starts slowly
  probesim why deploy.yaml --app 'start 45s..70s' --restart any --seed 1..100

  # Explain the state of one container
  probesim why web.yaml --run slow --pod web-1 --container app --at 2m`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return errors.New("why requires exactly one scenario file")
			}
			return nil
		},
		ValidArgsFunction: completeFiles,
		PreRunE:           rejectEmptyFlags,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.why(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.at, "at", "", "Explain the state at this virtual `time`, for example 85s (default the end of the run).")
	flags.StringVar(&o.restart, "restart", "", "Explain the restart with this `number`: 1 is the first restart, 0 the first start. With any, explain a first restart in the first of the seeds that has one.")
	flags.BoolVar(&o.ready, "ready", false, "Explain each change of Ready, up to the time of --at.")
	flags.StringVar(&o.pod, "pod", "", "Choose the pod with this `name`, or namespace/name.")
	flags.StringVar(&o.container, "container", "", "Choose the container with this `name`.")
	flags.StringVar(&o.run.pattern, "run", "", "Choose the scenario whose name matches this regular `expression`.")
	flags.StringSliceVar(&o.run.kubernetes, "kubernetes", nil, "Kubernetes `version` to simulate instead of the version in the scenario, for example v1.34.4.")
	flags.StringVar(&o.run.seed, "seed", "", "Use this `seed` instead of the seeds in the scenario.")
	flags.StringVar(&o.run.delays, "delays", "", delaysUsage)
	o.run.addApp(cmd)
	o.run.memory.addFlag(cmd)
	flags.StringVarP(&o.run.output, "output", "o", "text", "Output `format`: text or json")
	cmd.MarkFlagsMutuallyExclusive("restart", "ready")
	cmd.MarkFlagsMutuallyExclusive("restart", "at")
	cmd.RegisterFlagCompletionFunc("run", completeScenario)
	cmd.RegisterFlagCompletionFunc("pod", o.completePod)
	cmd.RegisterFlagCompletionFunc("container", o.completeContainer)
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("delays", cobra.FixedCompletions(fakeruntime.DelaySets(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(profile.NamesWithPreviews(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *whyOptions) why(cmd *cobra.Command, file string) error {
	if !slices.Contains([]string{"text", "json"}, o.run.output) {
		return fmt.Errorf("--output must be text or json, not %q", o.run.output)
	}
	defer o.run.memory.apply()()
	jobs, err := o.jobs(cmd, file)
	if err != nil {
		return err
	}
	s, all, err := o.explain(cmd, jobs)
	if err != nil {
		return err
	}
	j := s.job
	if o.run.output == "json" {
		err = report.WhyJSON(cmd.OutOrStdout(), s.report(), all)
	} else {
		text := textOptions(cmd.OutOrStdout())
		if err = report.Why(cmd.OutOrStdout(), all, text); err == nil && len(j.plan.Notes()) > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
			err = report.Notes(cmd.OutOrStdout(), j.plan.Notes(), text)
		}
	}
	if err != nil {
		return writeError(err)
	}
	return nil
}

// explain runs the jobs until one has what to explain.
func (o *whyOptions) explain(cmd *cobra.Command, jobs []*job) (*simulation, []why.Explanation, error) {
	question, err := o.question(cmd, jobs[0])
	if err != nil {
		return nil, nil, err
	}
	progress := newProgress(cmd.ErrOrStderr(), jobs)
	go progress.loop()
	defer progress.stop()
	for i, j := range jobs {
		question.pods = pods(j.plan)
		s := j.simulate(newBudget(o.run.memory).account(cmd.Context(), 0), true, nil, progress.virtual())
		progress.done(i + 1)
		if s.err != nil && !errors.Is(s.err, errInterrupted) {
			return nil, nil, &exitError{exitBroken, s.err}
		}
		if s.err != nil {
			return nil, nil, &exitError{exitInterrupted, s.err}
		}
		if question.any && !question.findRestart(s) {
			continue
		}
		progress.stop()
		if question.any && len(jobs) > 1 {
			fmt.Fprintf(cmd.ErrOrStderr(), "probesim: explaining %s, the first of %d with a restart\n", j.runName(), len(jobs))
		}
		all, err := question.answer(s)
		if err != nil {
			return nil, nil, &exitError{exitUsage, err}
		}
		return s, all, nil
	}
	return nil, nil, &exitError{exitUsage, fmt.Errorf("there is no restart in %s; more runs: --seed 1..100", runs(len(jobs)))}
}

func runs(n int) string {
	if n == 1 {
		return "the run"
	}
	return fmt.Sprintf("any of %d runs", n)
}

// findRestart chooses the first container with a restart, of any pod. It reports false if there is none.
func (q *whyQuestion) findRestart(s *simulation) bool {
	run, name := q.explainer(s), q.container
	for _, q.pod = range q.among {
		for _, c := range q.containers() {
			if (name == "" || name == c) && run.Restarts(q.pod, c) > 0 {
				q.container, q.restart = c, new(1)
				return true
			}
		}
	}
	return false
}

// jobs returns the runs to explain: of one scenario with the newest version, the first seed; to find any restart, all seeds.
func (o *whyOptions) jobs(cmd *cobra.Command, file string) ([]*job, error) {
	run := o.run
	run.parallel, run.output = 1, ""
	s, err := run.parse()
	if err != nil {
		return nil, err
	}
	all, _, _, err := run.loadAny(cmd, []string{file})
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("nothing was run\n%w", err)}
	}
	jobs, err := s.jobs(all)
	if err != nil {
		return nil, err
	}
	var chosen []*scenarios.Scenario
	for _, j := range jobs {
		if !slices.Contains(chosen, j.plan.Scenario) {
			chosen = append(chosen, j.plan.Scenario)
		}
	}
	switch {
	case len(chosen) > 1:
		return nil, &exitError{exitUsage, fmt.Errorf("there are several scenarios; choose one with --run: %s", few(names(chosen)))}
	case len(s.versions) > 1:
		return nil, &exitError{exitUsage, fmt.Errorf("--kubernetes must match exactly one version, not %s", few(s.versions))}
	case s.seeds != nil && s.seeds.Min != s.seeds.Max && o.restart != "any":
		return nil, &exitError{exitUsage, errors.New("--seed must be a single seed, except with --restart any")}
	}
	versions := make([]string, len(jobs))
	for i, j := range jobs {
		versions[i] = j.plan.Version
	}
	versions = withoutPreviews(versions, 1)
	last := versions[len(versions)-1]
	if o.restart == "any" {
		return slices.DeleteFunc(jobs, func(j *job) bool { return j.plan.Version != last }), nil
	}
	j := jobs[slices.IndexFunc(jobs, func(j *job) bool { return j.plan.Version == last })]
	if len(jobs) > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: explaining %s; choose one of %d other runs with --kubernetes and --seed\n", j.runName(), len(jobs)-1)
	}
	return []*job{j}, nil
}

// runName describes the version and seed of a run.
func (j *job) runName() string {
	if j.plan.Seed == nil {
		return "the run of " + j.plan.Version
	}
	return fmt.Sprintf("the run of %s with seed %d", j.plan.Version, *j.plan.Seed)
}

// whyQuestion is a parsed question about a run.
type whyQuestion struct {
	pod       string
	among     []string // the pods in which to find a restart
	container string   // empty: all containers
	restart   *int
	any       bool // find a container with a restart
	ready     bool
	at        virtual.Time
	pods      []*v1.Pod
}

// question parses the flags. It reports unknown names before the scenario runs.
func (o *whyOptions) question(cmd *cobra.Command, j *job) (*whyQuestion, error) {
	q := &whyQuestion{container: o.container, ready: o.ready, at: j.until}
	if cmd.Flags().Changed("restart") {
		if err := q.parseRestart(o.restart); err != nil {
			return nil, err
		}
	}
	if o.at != "" {
		after, err := value.ParseDuration(o.at)
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		at := virtual.At(after)
		if at > j.until {
			return nil, fmt.Errorf("--at: the run ends at %s, before %s", value.Format(j.until.Offset()), value.Format(at.Offset()))
		}
		q.at = at
	}
	q.pods = pods(j.plan)
	err := q.choosePod(j.plan, o.pod)
	if err == nil && o.container != "" {
		err = q.checkContainer()
	}
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return q, nil
}

func (q *whyQuestion) parseRestart(text string) error {
	if q.any = text == "any"; q.any {
		return nil
	}
	number, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return fmt.Errorf("--restart: %s is neither a number nor any", strconv.Quote(text))
	case number < 0:
		return errors.New("--restart must not be negative")
	}
	q.restart = &number
	return nil
}

// pods returns the pods of a run.
func pods(plan *scenarios.Plan) []*v1.Pod {
	var list []*v1.Pod
	for _, p := range plan.Pods() {
		list = append(list, p.Pod)
	}
	return list
}

func (q *whyQuestion) choosePod(plan *scenarios.Plan, name string) error {
	var keys, found []string
	for _, pod := range q.pods {
		key := pod.Namespace + "/" + pod.Name
		keys = append(keys, trace.PodName(key))
		if name == key {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		found = plan.Scenario.PodKeys(name)
	}
	switch {
	case len(found) == 1 || len(found) > 1 && q.any:
		q.pod, q.among = found[0], found
		return nil
	case len(found) == 0:
		return fmt.Errorf("--pod: there is no pod %s; the pods are: %s", strconv.Quote(name), few(keys))
	}
	return fmt.Errorf("there are several pods; choose one with --pod: %s", few(keys))
}

// containers returns the names of the containers of the pod, init containers first.
func (q *whyQuestion) containers() []string {
	var list []string
	for _, pod := range q.pods {
		if pod.Namespace+"/"+pod.Name != q.pod {
			continue
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			list = append(list, c.Name)
		}
	}
	return list
}

func (q *whyQuestion) checkContainer() error {
	for _, q.pod = range q.among {
		if slices.Contains(q.containers(), q.container) {
			return nil
		}
	}
	return fmt.Errorf("--container: there is no container %s in pod %s; its containers are: %s", strconv.Quote(q.container), trace.PodName(q.pod), few(q.containers()))
}

func (q *whyQuestion) answer(s *simulation) ([]why.Explanation, error) {
	run := q.explainer(s)
	switch {
	case q.restart != nil:
		return q.answerRestart(run)
	case q.ready:
		all := run.Ready(q.pod, q.at)
		if len(all) == 0 {
			return []why.Explanation{run.At(q.pod, q.container, q.at)}, nil
		}
		return all, nil
	}
	return []why.Explanation{run.At(q.pod, q.container, q.at)}, nil
}

// answerRestart explains a restart. The container must be given if several have a restart with this number.
func (q *whyQuestion) answerRestart(run *why.Run) ([]why.Explanation, error) {
	var had, of []string
	for _, c := range q.containers() {
		n := run.Restarts(q.pod, c)
		had = append(had, fmt.Sprintf("%s %d", c, n))
		if _, ok := run.Restart(q.pod, c, *q.restart); ok && (q.container == "" || q.container == c) {
			of = append(of, c)
		}
	}
	switch {
	case len(of) > 1:
		return nil, fmt.Errorf("several containers have a restart %d; choose one with --container: %s", *q.restart, few(of))
	case len(of) == 0:
		return nil, fmt.Errorf("there is no restart %d; restarts of the containers of %s: %s", *q.restart, trace.PodName(q.pod), strings.Join(had, ", "))
	}
	e, _ := run.Restart(q.pod, of[0], *q.restart)
	return []why.Explanation{e}, nil
}

// explainer returns what explains a run. It names the rules of the scenario.
func (q *whyQuestion) explainer(s *simulation) *why.Run {
	run := why.New(s.records, q.pods, s.end)
	run.Says = func(pod, container string, number int) string {
		if rule := s.job.plan.Rule(pod, container, number); rule != nil {
			return rule.Says()
		}
		return ""
	}
	return run
}
