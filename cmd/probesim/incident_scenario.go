package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/incident/scenario"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/answers/incident/verdict/render"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
)

// writeScenario writes the scenarios of the verdicts that the answer shows, and says which facts
// they meet.
func (o *incidentOptions) writeScenario(cmd *cobra.Command, args []string, a *render.Answer) error {
	var text bytes.Buffer
	var why []string
	written := map[string]bool{} // by the name of the pod
	command := "probesim incident"
	if !o.redact { // the arguments may be names
		for _, arg := range args {
			command += " " + simulate.Quote(arg)
		}
	}
	search, cancel := within(cmd.Context(), o.limit)
	defer cancel()
	groups, _ := a.Groups()
	for i := range groups {
		g := &groups[i]
		if g.Cause == verdict.Nothing && len(groups) > 1 || o.container != "" && g.Container != o.container {
			continue
		}
		what := cmp.Or(strings.Trim(a.Name(g.Pod)+", "+g.Container, ", "), "the pod")
		var result *scenario.Result
		err := errors.New("the file has one of a pod with this name; choose with --container")
		if g.Pod == nil || !written[g.Pod.Name] {
			result, err = scenario.Of(search, a.Recording, g.Verdict)
		}
		if cmd.Context().Err() != nil {
			return &exitError{exitInterrupted, errors.New("interrupted")}
		}
		if err != nil {
			if search.Err() != nil {
				err = context.Cause(search)
			}
			why = append(why, fmt.Sprintf("no scenario of %s: %v", printable.Text(what), err))
			continue
		}
		if text.Len() == 0 {
			fmt.Fprintf(&text, "# Created by: %s\n", printable.Text(command))
		} else {
			text.WriteString("---\n")
		}
		text.Write(result.Text)
		written[g.Pod.Name] = true
		say(cmd, "the scenario of "+what, result)
	}
	switch {
	case len(groups) == 0:
		why = append(why, "no scenario: there is no trouble")
	case len(why) == 0 && text.Len() == 0:
		why = append(why, fmt.Sprintf("no scenario: no verdict that is shown is about a container %q", o.container))
	}
	return o.saveScenario(cmd, text.Bytes(), why)
}

// saveScenario writes the text of scenarios, and warns of why others are missing.
func (o *incidentOptions) saveScenario(cmd *cobra.Command, text []byte, why []string) error {
	stderr := cmd.ErrOrStderr()
	if len(text) == 0 {
		return errors.New(strings.Join(why, "\n"))
	}
	for _, reason := range why {
		warn(stderr, reason)
	}
	if err := writeFile(cmd.Context(), o.scenario, text, o.force); err != nil {
		return err
	}
	fmt.Fprintf(terminal.Safe(stderr), "Wrote %s. Next: probesim run %s\n", printable.Text(o.scenario),
		simulate.Quote(o.scenario))
	return nil
}

// say writes on stderr what a scenario shows.
func say(cmd *cobra.Command, what string, r *scenario.Result) {
	w := cmd.ErrOrStderr()
	o := terminal.Options(w)
	report.WriteLine(w, 0, fmt.Sprintf("%s meets %d of %d facts", what, r.Meets, r.Meets+len(r.Misses)), report.Plain,
		o)
	for _, text := range r.Misses {
		report.WriteLine(w, 2, text, report.Warn, o)
	}
	for _, text := range r.Says {
		report.WriteLine(w, 2, text, report.Plain, o)
	}
}
