package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/report"
	"probesim.dev/report/why"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// whyOptions are the flags of why.
type whyOptions struct {
	run       runOptions // those that it shares with run
	at        string
	restart   int
	ready     bool
	pod       string
	container string
}

func newWhy() *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why FILE",
		Short: "Say why a container was restarted, or a pod is not Ready",
		Long: `Run a scenario and say why something happened in it: what led to what, in
sentences with their times, back to what a program answered or somebody did.

--restart N asks for a restart of a container, --ready for each time that a pod
became Ready or stopped being it, --at for how a pod is at a moment of virtual
time and why: what its containers wait for, and how often a probe has failed so
far. Without any of these it says how things are at the end of the run.

Where the file has several scenarios, pods or containers, --run, --pod and
--container say which. Of several versions of Kubernetes and several seeds, the
newest and the first are taken.

Exit codes: 0 explained, 2 bad usage, a bad file, or there is no such restart,
3 a limit was hit or the program is at fault, 130 interrupted.`,
		Example: `  probesim why web.yaml --restart 1            why was it restarted?
  probesim why web.yaml --ready                why did it become Ready, or not?
  probesim why web.yaml --at 85s               how is it at 85s, and why?
  probesim why web.yaml --run slow --pod web-1 --container app --at 2m`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return errors.New("why needs one scenario file")
			}
			return nil
		},
		PreRunE: refuseEmpty,
		RunE:    func(cmd *cobra.Command, args []string) error { return o.why(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.at, "at", "", "virtual time to look at, such as 85s (default the end of the run)")
	flags.IntVar(&o.restart, "restart", 0, "number of a restart: 1 is the first, 0 the first start")
	flags.BoolVar(&o.ready, "ready", false, "explain the changes of Ready, up to --at")
	flags.StringVar(&o.pod, "pod", "", "pod, where there are several: its name, or namespace/name")
	flags.StringVar(&o.container, "container", "", "container, where there are several")
	flags.StringVar(&o.run.pattern, "run", "", "the scenario whose name matches this regular expression")
	flags.StringSliceVar(&o.run.kubernetes, "kubernetes", nil, "version instead of that of the scenario, such as v1.34.4")
	flags.StringVar(&o.run.seed, "seed", "", "seed instead of that of the scenario")
	flags.StringVarP(&o.run.output, "output", "o", "text", "text or json")
	cmd.MarkFlagsMutuallyExclusive("restart", "ready")
	cmd.MarkFlagsMutuallyExclusive("restart", "at")
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(profile.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *whyOptions) why(cmd *cobra.Command, file string) error {
	if !slices.Contains([]string{"text", "json"}, o.run.output) {
		return fmt.Errorf("--output must be text or json, not %q", o.run.output)
	}
	j, err := o.job(file, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	question, err := o.question(cmd, j)
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr(), []*job{j})
	go progress.loop()
	defer progress.stop()
	s := j.simulate(cmd.Context(), true, nil, progress.virtual())
	progress.stop()
	if s.err != nil && !errors.Is(s.err, errInterrupted) {
		return &exitError{exitBroken, s.err}
	}
	if s.err != nil {
		return &exitError{exitInterrupted, s.err}
	}
	all, err := question.answer(s)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if o.run.output == "json" {
		err = report.WhyJSON(cmd.OutOrStdout(), s.report(), all)
	} else {
		err = report.Why(cmd.OutOrStdout(), all, textOptions(cmd.OutOrStdout()))
	}
	if err != nil {
		return writeError(err)
	}
	return nil
}

// job returns the run that is asked about: of one scenario, with the newest version and the first seed.
func (o *whyOptions) job(file string, stderr io.Writer) (*job, error) {
	run := o.run
	run.parallel, run.output = 1, ""
	s, err := run.parse()
	if err != nil {
		return nil, err
	}
	all, err := scenarios.Load(file)
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
		return nil, &exitError{exitUsage, fmt.Errorf("there are several scenarios: say which with --run: %s", few(names(chosen)))}
	case len(s.versions) > 1:
		return nil, &exitError{exitUsage, fmt.Errorf("--kubernetes must be one version, not %s", few(s.versions))}
	case s.seeds != nil && s.seeds.Min != s.seeds.Max:
		return nil, &exitError{exitUsage, errors.New("--seed must be one seed")}
	}
	last := jobs[len(jobs)-1].plan.Version
	j := jobs[slices.IndexFunc(jobs, func(j *job) bool { return j.plan.Version == last })]
	if len(jobs) > 1 {
		fmt.Fprintf(stderr, "probesim: this is %s; %d others can be chosen with --kubernetes and --seed\n", j.runName(), len(jobs)-1)
	}
	return j, nil
}

// runName says which run of its scenario a job is.
func (j *job) runName() string {
	if j.plan.Seed == nil {
		return "the run of " + j.plan.Version
	}
	return fmt.Sprintf("the run of %s with seed %d", j.plan.Version, *j.plan.Seed)
}

// whyQuestion is what is asked of a run.
type whyQuestion struct {
	pod       string
	container string // empty: any
	restart   *int
	ready     bool
	at        time.Duration
	pods      []*v1.Pod
}

// question looks up the names, and says what is wrong with them before anything is run.
func (o *whyOptions) question(cmd *cobra.Command, j *job) (*whyQuestion, error) {
	q := &whyQuestion{container: o.container, ready: o.ready, at: j.until}
	if cmd.Flags().Changed("restart") {
		if q.restart = &o.restart; o.restart < 0 {
			return nil, errors.New("--restart must not be negative")
		}
	}
	if o.at != "" {
		at, err := value.ParseDuration(o.at)
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		if at > j.until {
			return nil, fmt.Errorf("--at: the run ends at %s, before %s", value.Format(j.until), value.Format(at))
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

// pods returns the pods of a run, as the API server is given them.
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
	case len(found) == 1:
		q.pod = found[0]
		return nil
	case len(found) == 0:
		return fmt.Errorf("--pod: there is no pod %s; there are: %s", strconv.Quote(name), few(keys))
	}
	return fmt.Errorf("there are several pods: say which with --pod: %s", few(keys))
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
	if list := q.containers(); !slices.Contains(list, q.container) {
		return fmt.Errorf("--container: there is no container %s in %s; there are: %s", strconv.Quote(q.container), trace.PodName(q.pod), few(list))
	}
	return nil
}

func (q *whyQuestion) answer(s *simulation) ([]why.Explanation, error) {
	run := why.New(s.records, q.pods, s.end)
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

// answerRestart explains a restart of the one container that had so many.
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
		return nil, fmt.Errorf("several containers have a restart %d: say which with --container: %s", *q.restart, few(of))
	case len(of) == 0:
		return nil, fmt.Errorf("there was no restart %d; restarts of %s: %s", *q.restart, trace.PodName(q.pod), strings.Join(had, ", "))
	}
	e, _ := run.Restart(q.pod, of[0], *q.restart)
	return []why.Explanation{e}, nil
}
