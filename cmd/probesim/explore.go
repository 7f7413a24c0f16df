package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/explore"
	"probesim.dev/internal/answers/invariants"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
)

// exploreOptions are the flags of explore.
type exploreOptions struct {
	runOptions
	search   explore.Options
	limit    time.Duration
	judgeAll bool
	witness  string
	all      bool
	force    bool
}

func newExplore() *cobra.Command {
	var o exploreOptions
	help := fmt.Sprintf(exploreHelp, policyHelp(), invariantHelp())
	cmd := newCommand("explore FILE...", "Find the outcomes that a scenario can have", help, exploreExamples,
		someFiles("explore requires a scenario file or directory"),
		o.exploreFiles)
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "text", []string{"text", "json", "html"})
	o.add(cmd, "run", "kubernetes", "parallel", "max-memory")
	flags.Lookup("kubernetes").DefValue = "the newest of the scenario"
	flags.StringSliceVar(&o.search.Policies, "policy", nil, "The `policies` to use (default all)")
	addFlag(cmd, &o.search.Runs, "runs", strconv.Itoa(explore.DefaultRuns), "Maximum `number` of runs of a scenario",
		between(1, noMost))
	addTime(cmd, &o.limit)
	addFlag(cmd, &o.search.Deviations, "deviations", "2",
		"Maximum `number` of choices in a run, besides jitters, that are not the canonical ones: 1 or 2",
		between(1, 2))
	addFlag(cmd, &o.search.Seeds, "seeds", "100", "`Number` of seeds of the policy seeds", between(1, noMost))
	flags.BoolVar(&o.judgeAll, "judge-all", false, "Judge the expectations in all runs.")
	addFlag(cmd, &o.search, "shard", "", "Do one part of the search, as `I/N`: part I, from 0, of N. merge joins the "+
		"JSON of the parts.", o.parseShard)
	o.addWitness(cmd)
	flags.BoolVar(&o.all, "all", false, "List all outcomes, and with --witness write one for each.")
	return cmd
}

// addWitness adds the flags of explore and merge about witnesses.
func (o *exploreOptions) addWitness(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.witness, "witness", "", "Write the witnesses of failures to this `directory`.")
	addForce(cmd, &o.force)
	needs(cmd, "witness", "force")
}

const exploreHelp = `Find the outcomes that a scenario can have. FILE is a scenario file or a
directory.

A run of a scenario is one of many: the order of what happens at one instant,
the jitters, the age of the kubelet and the moment of a restart are open.
explore runs the scenario under many choices, and prints the distinct outcomes:
the histories of statuses, starts, stops and exits. It also checks rules that
the kubelet should obey, the invariants. For each failure, --witness DIR writes
a file, from which replay repeats the run, byte for byte.

Policies, in this order:
%s
An expectation is judged in the runs of the scenario as it is written: with
restarts, outages and moves only if --judge-all is set.

Invariants:
%s
A known bug of the kubelet that breaks an invariant is listed as known, and is
no failure: scenarios/library/bugs/README.md describes it.

Output formats:
  text  findings and outcomes for a terminal (default)
  json  stable JSON, described in docs/json.md
  html  a page with the first run of each outcome: its timeline, where it parts
        from the run as written, and what fails

Exit codes:
  0    no outcome fails
  1    an expectation failed, or an invariant does not hold
  2    invalid usage or an invalid file
  3    a limit was exceeded, or probesim itself failed
  130  interrupted; what was found until then is printed`

const exploreExamples = `  # Find the outcomes of a scenario
  probesim explore web.yaml

  # Write witnesses of what fails
  probesim explore web.yaml --witness witnesses

  # Repeat the run of a witness, and draw its timeline
  probesim replay witnesses/web-5d194352082d.json

  # Explore on three machines, and join what they found
  probesim explore web.yaml --shard 0/3 -o json > 0.json
  probesim merge 0.json 1.json 2.json`

// policyHelp lists the policies for the help text.
func policyHelp() string {
	var b strings.Builder
	for _, name := range explore.Policies() {
		writeItem(&b, 13, name, explore.Describe(name))
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

// writeItem writes a name and its description, wrapped in a column.
func writeItem(b *strings.Builder, column int, name, text string) {
	margin := strings.Repeat(" ", column)
	wrapped := strings.Join(document.Wrap(text, 80-column, 20), "\n"+margin)
	fmt.Fprintf(b, "  %-*s%s\n", column-2, name, wrapped)
}

// exploration is a scenario with a version to explore.
type exploration struct {
	subject explore.Subject
	data    []byte // of the scenario file; nil if it came from stdin
}

func (o *exploreOptions) exploreFiles(cmd *cobra.Command, paths []string) error {
	if err := o.search.Validate(); err != nil {
		return usageError{err}
	}
	if err := o.checkIgnored(cmd); err != nil {
		return err
	}
	list, err := o.explorations(cmd, paths)
	if err != nil {
		return err
	}
	ctx, cancel := within(cmd.Context(), o.limit)
	defer cancel()
	ctx, stop := o.Memory.Watch(ctx)
	defer stop()
	results, err := o.exploreAll(ctx, cmd, list)
	if err != nil {
		return err
	}
	switch o.output {
	case "json":
		err = writeExplorations(cmd.OutOrStdout(), results)
	case "html":
		err = o.writePage(cmd, list, results)
	}
	if err != nil {
		return err
	}
	bad, left := slices.ContainsFunc(results, (*explore.Result).Bad), len(list)-len(results)
	over := fmt.Sprintf("%d of %d scenarios were not explored: %v", left, len(list), context.Cause(ctx))
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %d of %d scenarios explored, the last one in part",
			len(results), len(list))}
	case bad:
		if left > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "probesim: %s\n", over)
		}
		return &exitError{code: exitFailed}
	case left > 0:
		return &exitError{exitBroken, errors.New(over)}
	}
	return nil
}

// exploreAll explores scenarios until the context is done, and writes the texts about them.
func (o *exploreOptions) exploreAll(ctx context.Context, cmd *cobra.Command,
	list []exploration) ([]*explore.Result, error) {
	var results []*explore.Result
	for i, e := range list {
		if ctx.Err() != nil {
			break
		}
		r, err := o.explore(ctx, &e, cmd.ErrOrStderr())
		switch {
		case ctx.Err() != nil && (err != nil || r.Runs == 0): // not explored at all
			return results, nil
		case err != nil:
			return nil, &exitError{exitBroken, fmt.Errorf("%s: %w", e.subject.Plan.Scenario.Metadata.Name, err)}
		case cmd.Context().Err() != nil:
			r.Ended = "an interrupt"
		case ctx.Err() != nil:
			r.Ended = context.Cause(ctx).Error()
		}
		results = append(results, r)
		if o.output == "text" {
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			if err := o.writeText(cmd, &e, r); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// checkIgnored rejects flags of explore and merge that have no effect beside others.
func (o *exploreOptions) checkIgnored(cmd *cobra.Command) error {
	if o.output != "json" {
		return nil
	}
	return ignored(cmd, "with -o json, which has all outcomes", "witness", "all", "force")
}

// parseShard reads I/N.
func (o *exploreOptions) parseShard(text string) (explore.Options, error) {
	var rest string
	part := o.search
	n, _ := fmt.Sscanf(text+" ", "%d/%d%s", &part.Shard, &part.Shards, &rest)
	if n != 2 || part.Shard < 0 || part.Shards < 1 || part.Shard >= part.Shards {
		return o.search, fmt.Errorf("%s is not a part: write I/N, such as 0/3 for the first of three parts",
			printable.Text(text))
	}
	return part, nil
}

// explorations loads the scenarios and selects their versions.
func (o *exploreOptions) explorations(cmd *cobra.Command, paths []string) ([]exploration, error) {
	all, _, err := o.load(cmd, paths...)
	if err != nil {
		return nil, nothing("explored", err)
	}
	var list []exploration
	texts := map[string][]byte{}
	for _, scenario := range all {
		if !o.Matches(scenario) {
			continue
		}
		if _, read := texts[scenario.File]; !read && scenario.File != plan.Stdin && !input.IsPipe(scenario.File) {
			f, err := readManifest(cmd, scenario.File)
			if err != nil {
				return nil, err
			}
			texts[scenario.File] = f.Data
		}
		versions := o.Versions
		if versions == nil {
			versions = []string{runner.Newest(scenario)}
		}
		for _, version := range versions {
			subject := explore.Subject{Plan: scenario.Plan(version, nil), JudgeAll: o.judgeAll}
			list = append(list, exploration{subject, texts[scenario.File]})
		}
	}
	if len(list) == 0 {
		return nil, o.NoMatch(all)
	}
	return list, nil
}

// explore explores a scenario and shows progress.
func (o *exploreOptions) explore(ctx context.Context, e *exploration, stderr io.Writer) (*explore.Result, error) {
	x, err := explore.New(ctx, e.subject, o.search)
	if err != nil {
		return nil, err
	}
	var runs, found atomic.Int64
	start := time.Now()
	progress := terminal.NewLine(stderr, false, func() string {
		rate := float64(runs.Load()) / max(time.Since(start).Seconds(), 0.001)
		return fmt.Sprintf("%s: %d runs, %.0f a second, %d outcomes", e.subject.Plan.Scenario.Metadata.Name,
			runs.Load(), rate, found.Load())
	})
	defer progress.Stop()
	p := pool.Options{Parallel: o.parallel, Ahead: 64 * o.parallel}
	err = pool.InOrder(ctx, x.Tasks(), p, x.Do, func(_ int, part *explore.Part) error {
		runs.Add(int64(part.Runs()))
		found.Add(int64(x.Add(part)))
		return nil
	})
	return x.Result(), err
}

// writeText prints a result and writes the witnesses of its failures.
func (o *exploreOptions) writeText(cmd *cobra.Command, e *exploration, r *explore.Result) error {
	var failed error
	commands := map[string]string{}
	replay := func(outcome *explore.Outcome) string {
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
	err := explore.Text(terminal.Safe(w), r,
		explore.TextOptions{Options: terminal.Options(w), All: o.all, Replay: replay})
	if failed != nil {
		return fmt.Errorf("--witness: %w", failed)
	}
	return err
}

// writeWitness writes the witness of an outcome and returns the command that replays it. It returns
// "" if there is no file to replay.
func (o *exploreOptions) writeWitness(cmd *cobra.Command, e *exploration, outcome *explore.Outcome) (string, error) {
	if o.witness == "" || e.data == nil {
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
	name := filepath.Join(o.witness, w.FileName())
	return "probesim replay " + simulate.Quote(filepath.ToSlash(name)),
		writeFile(context.WithoutCancel(cmd.Context()), name, w.JSON(), o.force)
}

// explorationsFile is the JSON output of explore and of merge.
type explorationsFile struct {
	APIVersion   string            `json:"apiVersion"`
	Kind         string            `json:"kind"`
	Engine       string            `json:"engine"`
	Explorations []*explore.Result `json:"explorations"`
}

const explorationsKind = "ExplorationList"

func writeExplorations(w io.Writer, results []*explore.Result) error {
	if results == nil {
		results = []*explore.Result{}
	}
	return printable.WriteJSON(w, explorationsFile{format.APIVersion, explorationsKind, version(), results})
}

// maxOnPage is the number of outcomes of a scenario that a page shows, unless --all is set: those
// that fail come first.
const maxOnPage = 20

// writePage writes a page with the first run of each outcome.
func (o *exploreOptions) writePage(cmd *cobra.Command, list []exploration, results []*explore.Result) error {
	var jobs []*runner.Job
	for i, r := range results {
		more, err := o.pageJobs(cmd, &list[i], r)
		if err != nil {
			return err
		}
		jobs = append(jobs, more...)
	}
	if len(jobs) == 0 {
		return nil
	}
	run := o.runOptions
	run.output, run.allRuns = "html", true
	outcome, err := runner.Write(cmd.Context(), jobs, run.options(cmd))
	if outcome == report.Failed {
		outcome = report.OK // explore returns the exit code itself
	}
	return ended(outcome, err)
}

// pageJobs returns the runs of the outcomes of a scenario, each with notes about its outcome.
func (o *exploreOptions) pageJobs(cmd *cobra.Command, e *exploration, r *explore.Result) ([]*runner.Job, error) {
	shown := r.Outcomes
	if len(shown) > maxOnPage && !o.all {
		shown = nil
		for _, bad := range []bool{true, false} {
			for i, outcome := range r.Outcomes {
				first := i == 0 // the run as written
				if len(shown) < maxOnPage && (outcome.History.Bad() || first) == bad {
					shown = append(shown, outcome)
				}
			}
		}
	}
	var jobs []*runner.Job
	written := e.subject.Run(explore.Change{}, false)
	for _, outcome := range shown {
		plan, chooser, err := e.subject.Replay(outcome.Change)
		if err != nil {
			return nil, err
		}
		replay, err := o.writeWitness(cmd, e, outcome)
		if err != nil {
			return nil, fmt.Errorf("--witness: %w", err)
		}
		j := &runner.Job{Plan: plan, Until: virtual.At(plan.Duration), Group: len(jobs), Runs: 1, Replay: replay,
			Chooser: chooser}
		j.Title = r.Scenario + " " + outcome.ID
		j.Notes = append(j.Notes, fmt.Sprintf("outcome %s: %d of %d runs; the first: %s", outcome.ID, outcome.Count,
			r.Runs, strings.Join(outcome.Change.Lines(), ", ")))
		if parts := e.subject.Run(outcome.Change, false).PartsFrom(written); parts != "" {
			j.Notes = append(j.Notes, parts)
		}
		j.Notes = append(j.Notes, outcome.History.Findings()...)
		jobs = append(jobs, j)
	}
	return jobs, nil
}
