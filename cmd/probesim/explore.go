package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/explore/invariants"
	"probesim.dev/explore/outcomes"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// exploreOptions are the flags of explore.
type exploreOptions struct {
	runOptions
	policies   []string
	runs       int
	deviations int
	seeds      int
	time       string
	off        []string
	judgeAll   bool
	shard      string
	witness    string
	all        bool
}

var exploreOutputs = []string{"text", "json", "html"}

func newExplore() *cobra.Command {
	var o exploreOptions
	cmd := &cobra.Command{
		Use:   "explore FILE...",
		Short: "Find the outcomes that a scenario can have",
		Long: `Find the outcomes that a scenario can have. FILE is a scenario file or a
directory.

A run of a scenario is one of many. The order of what happens at one instant,
the jitters, the age of the kubelet and the moment of a restart are open, and a
bug may need one of them. explore runs the scenario under many choices, and
prints the distinct outcomes: the histories of statuses, starts, stops and
exits. It also checks rules that the kubelet should obey, the invariants. For
each failure it writes a witness, from which replay repeats the run byte for
byte.

Policies, in this order:
` + policyHelp() + `
An expectation is judged in the runs of the scenario as it is written: with
restarts, outages and moves only if --judge-all is set.

Invariants:
` + invariantHelp() + `
A known bug of the kubelet that breaks an invariant is listed as known, and is
no failure: docs/bugs.md describes it.

Output formats:
  text  findings and outcomes for a terminal (default)
  json  stable JSON, described in docs/explore.md
  html  a page with the first run of each outcome: its timeline, where it parts
        from the run as written, and what fails

Exit codes:
  0    no outcome fails
  1    an expectation failed, or an invariant does not hold
  2    invalid usage or an invalid file
  3    a limit was exceeded, or probesim itself failed
  130  interrupted; what was found until then is printed`,
		Example: `  # Find the outcomes of a scenario
  probesim explore web.yaml

  # Repeat the run of a witness, and draw its timeline
  probesim replay witnesses/web-5d194352082d.json

  # Restart the kubelet at each instant, and nothing else
  probesim explore web.yaml --policy canonical,restarts

  # Search longer
  probesim explore web.yaml --runs 100000 --time 10m

  # Explore on three machines, and join what they found
  probesim explore web.yaml --shard 0/3 -o json > 0.json
  probesim merge 0.json 1.json 2.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("explore requires a scenario file or directory")
			}
			if slices.Contains(args, "") {
				return errors.New("a path is empty; is a shell variable unset?")
			}
			return nil
		},
		ValidArgsFunction: completeFiles,
		PreRunE:           rejectEmptyFlags,
		RunE:              func(cmd *cobra.Command, args []string) error { return exploreFiles(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "text", "Output `format`: "+strings.Join(exploreOutputs, ", ")+".")
	flags.StringVar(&o.pattern, "run", "", patternUsage)
	flags.StringSliceVar(&o.kubernetes, "kubernetes", nil, "Kubernetes `versions` to explore, for example v1.36.3 or v1.34.. (default the newest of the scenario)")
	flags.StringSliceVar(&o.policies, "policy", nil, "The `policies` to use (default all)")
	flags.IntVar(&o.runs, "runs", outcomes.DefaultRuns, "Maximum `number` of runs of a scenario")
	flags.StringVar(&o.time, "time", "", "Maximum `time` for all scenarios together, for example 10m (default no limit)")
	flags.IntVar(&o.deviations, "deviations", 2, "Maximum `number` of choices in a run, besides jitters, that are not the canonical ones: 1 or 2")
	flags.IntVar(&o.seeds, "seeds", 100, "`Number` of seeds of the policy seeds")
	flags.StringSliceVar(&o.off, "off", nil, "`Invariants` not to check")
	flags.BoolVar(&o.judgeAll, "judge-all", false, "Judge the expectations in all runs.")
	flags.StringVar(&o.shard, "shard", "", "Do one part of the search, as `I/N`: part I, from 0, of N. merge joins the JSON of the parts.")
	flags.StringVar(&o.witness, "witness", "witnesses", "Write the witnesses of failures to this `directory`; none writes no witnesses.")
	flags.BoolVar(&o.all, "all", false, "List all outcomes, and write a witness for each.")
	flags.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "Maximum `number` of runs at the same time")
	flags.Lookup("parallel").DefValue = "number of CPUs"
	cmd.RegisterFlagCompletionFunc("run", completeScenario)
	for name, values := range map[string][]string{"output": exploreOutputs, "kubernetes": profile.Names(), "policy": outcomes.Policies(), "off": invariantNames()} {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// policyHelp lists the policies for the help text.
func policyHelp() string {
	var b strings.Builder
	for _, name := range outcomes.Policies() {
		writeItem(&b, 11, name, outcomes.Describe(name))
	}
	return b.String()
}

// invariantHelp lists the invariants for the help text.
func invariantHelp() string {
	var b strings.Builder
	for _, i := range invariants.All() {
		fmt.Fprintf(&b, "  %s\n", i.Name)
		writeItem(&b, 4, "", i.Sentence)
	}
	return b.String()
}

// helpWidth is the width of help texts.
const helpWidth = 80

// writeItem writes a name and its description, wrapped.
func writeItem(b *strings.Builder, column int, name, text string) {
	line := "  " + name + strings.Repeat(" ", max(0, column-len(name)-2)+2)
	if name == "" {
		line = strings.Repeat(" ", column)
	}
	margin := strings.Repeat(" ", len(line))
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && len(line)+1+len(word) > helpWidth:
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = margin
		case i > 0:
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}

func invariantNames() []string {
	var names []string
	for _, i := range invariants.All() {
		names = append(names, i.Name)
	}
	return names
}

// exploration is a scenario with a version to explore.
type exploration struct {
	subject outcomes.Subject
	data    []byte // of the scenario file; nil if it came from stdin
}

func exploreFiles(cmd *cobra.Command, paths []string, o exploreOptions) error {
	options, limit, err := o.parse()
	if err != nil {
		return err
	}
	list, err := o.explorations(cmd, paths)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(collectAfter))
	var results []*outcomes.Result
	bad := false
	for i, e := range list {
		if ctx.Err() != nil {
			break
		}
		r, err := o.explore(ctx, &e, options, cmd.ErrOrStderr())
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			return &exitError{exitBroken, fmt.Errorf("%s: %w", e.subject.Plan.Scenario.Metadata.Name, err)}
		}
		switch {
		case cmd.Context().Err() != nil:
			r.Ended = "an interrupt"
		case ctx.Err() != nil:
			r.Ended = "the maximum time"
		}
		results, bad = append(results, r), bad || r.Bad()
		if o.output == "text" {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			if err := o.writeText(cmd, &e, r); err != nil {
				return err
			}
		}
	}
	switch o.output {
	case "json":
		if err := writeExplorations(cmd.OutOrStdout(), results); err != nil {
			return writeError(err)
		}
	case "html":
		if err := o.writePage(cmd, list, results); err != nil {
			return err
		}
	}
	if left := len(list) - len(results); left > 0 && bad && cmd.Context().Err() == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: %d of %d scenarios were not explored: --time %s is over\n", left, len(list), o.time)
	}
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %d of %d scenarios explored, the last one in part", len(results), len(list))}
	case bad:
		return &exitError{code: exitFailed}
	case len(results) < len(list):
		return &exitError{exitBroken, fmt.Errorf("%d of %d scenarios were not explored: --time %s is over", len(list)-len(results), len(list), o.time)}
	}
	return nil
}

// parse returns the options of the explorations, and the maximum time. The error lists all invalid flags.
func (o *exploreOptions) parse() (options outcomes.Options, limit time.Duration, err error) {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.Contains(exploreOutputs, o.output) {
		wrong("--output must be one of %s, not %q", strings.Join(exploreOutputs, ", "), o.output)
	}
	if o.parallel < 1 {
		wrong("--parallel must be at least 1")
	}
	o.parallel = min(o.parallel, perCPU*runtime.GOMAXPROCS(0))
	if o.time != "" {
		if limit, err = value.ParseDuration(o.time); err == nil && limit == 0 {
			err = errors.New("must be greater than 0s")
		}
		if err != nil {
			wrong("--time: %w", err)
		}
	}
	options = outcomes.Options{Policies: o.policies, Runs: o.runs, Deviations: o.deviations, Seeds: o.seeds}
	for _, flag := range []struct {
		name  string
		value *int
	}{{"runs", &options.Runs}, {"deviations", &options.Deviations}, {"seeds", &options.Seeds}} {
		if *flag.value < 1 {
			wrong("--%s must be at least 1", flag.name)
			*flag.value = 0 // the default, which is valid
		}
	}
	if o.shard != "" {
		if options.Shard, options.Shards, err = parseShard(o.shard); err != nil {
			wrong("--shard: %w", err)
			options.Shard, options.Shards = 0, 0
		}
	}
	return options, limit, errors.Join(append(errs, options.Validate(), invariants.Options{Off: o.off}.Validate())...)
}

// parseShard parses I/N.
func parseShard(text string) (shard, shards int, err error) {
	var rest string
	n, _ := fmt.Sscanf(text+" ", "%d/%d%s", &shard, &shards, &rest)
	if n != 2 || shard < 0 || shards < 1 || shard >= shards {
		return 0, 0, fmt.Errorf("%s is not a part: write I/N, such as 0/3 for the first of three parts", printable.Text(text))
	}
	return shard, shards, nil
}

// explorations loads the scenarios and selects their versions.
func (o *exploreOptions) explorations(cmd *cobra.Command, paths []string) ([]exploration, error) {
	s := selection{}
	var err error
	if o.pattern != "" {
		if s.pattern, err = regexp.Compile(o.pattern); err != nil {
			return nil, fmt.Errorf("--run: %s", printable.Text(err.Error()))
		}
	}
	if s.versions, err = parseVersions(o.kubernetes); err != nil {
		return nil, fmt.Errorf("--kubernetes: %w", err)
	}
	all, _, err := o.load(cmd.InOrStdin(), paths...)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("nothing was explored\n%w", err)}
	}
	var list []exploration
	files := map[string][]byte{}
	for _, scenario := range all {
		if s.pattern != nil && !s.pattern.MatchString(scenario.Metadata.Name) {
			continue
		}
		if _, read := files[scenario.File]; !read && scenario.File != plan.Stdin {
			if files[scenario.File], err = readManifest(scenario.File); err != nil {
				return nil, &exitError{exitUsage, err}
			}
		}
		versions := s.versions
		if versions == nil {
			versions = withoutPreviews(planned(scenario), 1)
			versions = versions[len(versions)-1:]
		}
		for _, version := range versions {
			subject := outcomes.Subject{Plan: scenario.Plan(version, nil), Off: o.off, JudgeAll: o.judgeAll}
			list = append(list, exploration{subject, files[scenario.File]})
		}
	}
	if len(list) == 0 {
		return nil, &exitError{exitUsage, fmt.Errorf("no scenario name matches %q; the scenarios are: %s", o.pattern, few(names(all)))}
	}
	return list, nil
}

// explore explores a scenario and shows progress.
func (o *exploreOptions) explore(ctx context.Context, e *exploration, options outcomes.Options, stderr io.Writer) (*outcomes.Result, error) {
	x, err := outcomes.New(ctx, e.subject, options)
	if err != nil {
		return nil, err
	}
	progress := newExploreProgress(stderr, e.subject.Plan.Scenario.Metadata.Name)
	defer progress.stop()
	p := pool{parallel: o.parallel, ahead: 64 * o.parallel}
	err = inOrder(ctx, x.Tasks(), p, func(a *account) *outcomes.Part { return x.Do(ctx, a.number) }, func(_ int, part *outcomes.Part) error {
		progress.add(part.Runs(), x.Add(part))
		return nil
	})
	return x.Result(), err
}

// writeText prints a result and writes the witnesses of its failures.
func (o *exploreOptions) writeText(cmd *cobra.Command, e *exploration, r *outcomes.Result) error {
	var failed error
	commands := map[string]string{}
	replay := func(outcome *outcomes.Outcome) string {
		command, known := commands[outcome.ID]
		if !known {
			var err error
			if command, err = o.writeWitness(cmd, e, outcome); err != nil && failed == nil {
				failed = err
			}
			commands[outcome.ID] = command
		}
		return command
	}
	if o.all {
		for _, outcome := range r.Outcomes {
			replay(outcome)
		}
	}
	w := cmd.OutOrStdout()
	err := outcomes.Text(safeText(w), r, outcomes.TextOptions{Options: textOptions(w), All: o.all, Replay: replay})
	if failed != nil {
		return &exitError{exitUsage, fmt.Errorf("--witness: %w", failed)}
	}
	return err
}

// writeWitness writes the witness of an outcome and returns the command that replays it. It returns "" if there is no file to replay.
func (o *exploreOptions) writeWitness(cmd *cobra.Command, e *exploration, outcome *outcomes.Outcome) (string, error) {
	if o.witness == "none" || e.data == nil {
		return "", nil
	}
	w, err := e.subject.Witness(outcome.Change, e.data)
	if err != nil {
		return "", err
	}
	w.Engine = version()
	if err := os.MkdirAll(o.witness, 0o777); err != nil {
		return "", err
	}
	name := filepath.Join(o.witness, w.Scenario+"-"+outcome.ID+".json")
	if err := writeFile(context.WithoutCancel(cmd.Context()), name, w.JSON(), true); err != nil {
		return "", err
	}
	return "probesim replay " + quote(filepath.ToSlash(name)), nil
}

// explorationsFile is the JSON output of explore and of merge.
type explorationsFile struct {
	APIVersion   string             `json:"apiVersion"`
	Kind         string             `json:"kind"`
	Engine       string             `json:"engine"`
	Explorations []*outcomes.Result `json:"explorations"`
}

const explorationsKind = "ExplorationList"

func writeExplorations(w io.Writer, results []*outcomes.Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if results == nil {
		results = []*outcomes.Result{}
	}
	return e.Encode(explorationsFile{format.APIVersion, explorationsKind, version(), results})
}
