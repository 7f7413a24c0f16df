package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// wordFlags are the flags for what programs do.
type wordFlags struct {
	app, start, stop []string
	runs             bool // a command that computes makes runs, too: words that count only in runs are not wrong
}

func (f *wordFlags) addTo(cmd *cobra.Command, app string) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.app, "app", nil, app)
	flags.StringArrayVar(&f.start, "start", nil,
		"How long programs take to start: a `duration` or a range such as 45s..70s, or app=45s..70s for container app.")
	flags.StringArrayVar(&f.stop, "stop", nil,
		"How long programs take from SIGTERM to their exit: a `duration` or a range, as --start.")
}

// Usages of --app.
const (
	appUsage = "What happens to the programs of a manifest: an `event`, such as 'start 45s..70s' or " +
		"'stall 12s every 1h'."
	appComputedUsage = "How programs start and stop, as for run: an `event` such as 'start 45s..70s' or 'app=stop 3s'."
	appRolloutUsage  = "What happens to the programs, as for run: an `event` such as 'refuse 0s, stop 3s', " +
		"'refuse never' or 'start never'. at counts from the change."
)

// words returns the events of all flags.
func (f *wordFlags) words() []string {
	return slices.Concat(whatif.Shorthand(whatif.Start, f.start), whatif.Shorthand(whatif.Stop, f.stop), f.app)
}

// timed returns how long programs take to start and to stop, by all flags, for commands that
// compute and make no run.
func (f *wordFlags) timed() (start, stop value.Durations, err error) {
	events, err := whatif.Parse(f.app)
	if err != nil {
		return start, stop, err
	}
	starts, stops := slices.Clone(f.start), slices.Clone(f.stop)
	var errs []error
	for _, e := range events {
		if e.Never || e.What != whatif.Start && e.What != whatif.Stop {
			if !f.runs {
				errs = append(errs, fmt.Errorf("--app %s: figures are computed from starts and stops that end: "+
					"'probesim run MANIFEST --app %[1]s' shows what happens", strict.Quote(e.Text)))
			}
			continue
		}
		text := e.Length.String()
		if e.Container != "" {
			text = e.Container + "=" + text
		}
		if e.What == whatif.Start {
			starts = append(starts, text)
		} else {
			stops = append(stops, text)
		}
	}
	start, startErr := parseDurations("start", starts)
	stop, stopErr := parseDurations("stop", stops)
	return start, stop, errors.Join(append(errs, startErr, stopErr)...)
}

// parseDurations reads the values of a flag as one list.
func parseDurations(flag string, values []string) (d value.Durations, err error) {
	if len(values) == 0 {
		return d, nil
	}
	if d, err = value.ParseDurations(strings.Join(values, ",")); err != nil {
		err = fmt.Errorf("--%s: %w", flag, err)
	}
	return d, err
}

// rolledOut returns what the words mean for a rollout, and its change, unless the words have none.
func (f *wordFlags) rolledOut() (app rollout.App, change *rollout.Change, err error) {
	events, err := whatif.Parse(f.words())
	if err != nil {
		return app, nil, err
	}
	for _, e := range events {
		switch e.What {
		case whatif.Rollout:
			change = &rollout.Change{Kind: rollout.Restart}
		case whatif.Undo:
			change = &rollout.Change{Kind: rollout.Undo}
		case whatif.Scale:
			change = &rollout.Change{Kind: rollout.Scale, Scale: e.Number}
		default:
			if err := app.Add(e); err != nil {
				return app, nil, fmt.Errorf("--app: %w", err)
			}
		}
	}
	return app, change, nil
}
