package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// flagValue is the value of a flag that a function reads.
type flagValue[T any] struct {
	to    *T
	parse func(string) (T, error)
	text  string
	words []string // the values that the shell completes
}

// Type returns the type of the value. A help text shows the default of a string in quotes.
func (v *flagValue[T]) Type() string { return fmt.Sprintf("%T", *v.to) }

func (v *flagValue[T]) String() string { return v.text }

func (v *flagValue[T]) completions() []string { return v.words }

// Set reads a value. rejectEmptyFlags rejects an empty one.
func (v *flagValue[T]) Set(text string) (err error) {
	if v.text = text; text != "" {
		*v.to, err = v.parse(text)
	}
	return err
}

// addFlag adds a flag that a function reads. It has a default unless that is empty.
func addFlag[T any](cmd *cobra.Command, to *T, name, byDefault, usage string,
	parse func(string) (T, error)) *flagValue[T] {
	v := &flagValue[T]{to: to, parse: parse}
	v.Set(byDefault)
	cmd.Flags().Var(v, name, usage)
	return v
}

// addChoice adds a flag that takes one of some words.
func addChoice(cmd *cobra.Command, to *string, name, byDefault, usage string, words []string) {
	addFlag(cmd, to, name, byDefault, usage, oneOf(words)).words = words
}

// oneOf reads one of some words.
func oneOf(words []string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("must be %s, not %s%s", either(words), strconv.Quote(text),
				strict.DidYouMean(text, words))
		}
		return text, nil
	}
}

// addOutput adds the flag --output. Without a default, the command chooses the format.
func addOutput(cmd *cobra.Command, output *string, byDefault string, formats []string) {
	v := &flagValue[string]{to: output, parse: oneOf(formats), words: formats}
	v.Set(byDefault)
	usage := "Output `format`: " + either(formats)
	if byDefault == "" {
		usage += "."
	}
	cmd.Flags().VarP(v, "output", "o", usage)
}

// either lists words, with "or" before the last one.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// between reads whole numbers in a range.
func between(least, most int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return 0, errors.New("must be a whole number")
		case n < least && most == noMost:
			return 0, fmt.Errorf("must be at least %d", least)
		case n < least || n > most:
			return 0, fmt.Errorf("must be from %d to %d", least, most)
		}
		return n, nil
	}
}

const noMost = 1<<31 - 1

// positive reads a duration that is not 0s.
func positive(text string) (time.Duration, error) {
	d, err := value.ParseDuration(text)
	if err == nil && d == 0 {
		err = errors.New("must be greater than 0s")
	}
	return d, err
}

// parseClock reads a time of day.
func parseClock(text string) (*time.Duration, error) {
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return new(t.Sub(t.Truncate(24 * time.Hour))), nil
		}
	}
	return nil, errors.New("must be a time of day, such as 14:03:10")
}

// parseSeeds reads a seed, or a range of seeds.
func parseSeeds(text string) (*value.IntRange, error) {
	var r value.IntRange
	err := r.UnmarshalText([]byte(text))
	switch {
	case err != nil:
	case r.Min == value.OpenMin || r.Max == value.OpenMax:
		err = fmt.Errorf("%s has an open end: specify both ends", strconv.Quote(text))
	case r.Max-r.Min >= format.MaxSeeds:
		err = fmt.Errorf("%s has more than %d seeds", strconv.Quote(text), format.MaxSeeds)
	}
	return &r, err
}

// parseVersions returns the supported versions in a list of ranges, oldest first.
func parseVersions(text string) ([]string, error) {
	names := profile.NamesWithPreviews()
	var found []string
	for one := range strings.SplitSeq(text, ",") {
		var r value.VersionRange
		if err := r.UnmarshalText([]byte(strings.TrimSpace(one))); err != nil {
			return nil, err
		}
		before := len(found)
		for _, name := range names {
			if v, err := value.ParseVersion(name); err == nil && plan.Selects(r, v) {
				found = append(found, name)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("no supported version matches %s; supported versions: %s", printable.Text(one),
				strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(found, name) }), nil
}

// addVersions adds the flag --kubernetes. Without it, the command chooses the versions.
func addVersions(cmd *cobra.Command, versions *[]string, usage, byDefault string) {
	names := profile.NamesWithPreviews()
	addFlag(cmd, versions, "kubernetes", "", usage, func(text string) ([]string, error) {
		return parseVersions(strings.Join(append(slices.Clone(*versions), text), ","))
	}).words = names
	cmd.Flags().Lookup("kubernetes").DefValue = byDefault
}

// profiles returns the behavior of versions.
func profiles(versions []string) (list []profile.Profile) {
	for _, name := range versions {
		p, _ := profile.Named(name)
		list = append(list, p)
	}
	return list
}

// defaultDelays is the value of --delays for nodes without ranges.
const defaultDelays = "default"

// addDelays adds the flag --delays.
func addDelays(cmd *cobra.Command, delays *string, byDefault, usage string) {
	names := append(fakeruntime.DelaySets(), defaultDelays)
	addChoice(cmd, delays, "delays", byDefault, usage+": "+either(names)+", which has fixed delays.", names)
}

func addParallel(cmd *cobra.Command, parallel *int, what string) {
	addFlag(cmd, parallel, "parallel", strconv.Itoa(runtime.GOMAXPROCS(0)),
		fmt.Sprintf("Maximum `number` of %s at the same time, up to %d for each CPU", what, pool.PerCPU),
		between(1, noMost))
	cmd.Flags().Lookup("parallel").DefValue = "number of CPUs"
}

// addMemory adds the flag --max-memory.
func addMemory(cmd *cobra.Command, m *pool.Memory) {
	addFlag(cmd, m, "max-memory", "1GB", "Maximum `size` of memory for all runs together, for example 512MB, 8GB or "+
		"4Gi. The trace of one run can take about half of it.", pool.ParseMemory)
}

// addTime adds the flag with the wall time that a search takes at most.
func addTime(cmd *cobra.Command, limit *time.Duration) {
	addFlag(cmd, limit, "time", "2m",
		"Maximum wall `time` of the search, for example 10m. What was found until then is the result.", positive)
}

// addForce adds the flag of a command that writes files.
func addForce(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "Overwrite existing files.")
}

// addMeasured adds the flag --measured.
func addMeasured(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "measured", "", "Take how long programs take to start and stop from this `file`: the "+
		"JSON of 'probesim measure', or pods of a cluster.")
}

// rejectEmptyFlags rejects flags with an empty value: --seed "$SEED" with SEED unset must not run
// other seeds.
func rejectEmptyFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if text := f.Value.String(); err == nil && (text == "" || text == "[]") {
			err = fmt.Errorf("--%s has no value", f.Name)
		}
	})
	return err
}

// needs says that flags have no effect without another one.
func needs(cmd *cobra.Command, other string, names ...string) {
	for _, name := range names {
		cmd.Flags().SetAnnotation(name, "needs", []string{other})
	}
}

// rejectIdleFlags rejects flags that need another one, which is not set.
func rejectIdleFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, other := range f.Annotations["needs"] {
			if err == nil && !cmd.Flags().Changed(other) {
				err = ignored(cmd, "without --"+other, f.Name)
			}
		}
	})
	return err
}

// ignored returns an error if one of some flags is set. why says when they have no effect.
func ignored(cmd *cobra.Command, why string, flags ...string) error {
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("--%s has no effect %s", name, why)}
		}
	}
	return nil
}

// flagError says what is wrong with a flag, and suggests another one for an unknown one.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		text := printable.Text(err.Error())
		if nearest := strict.Nearest(unknown.GetSpecifiedName(), names); nearest != "" {
			text += " (did you mean --" + nearest + "?)"
		}
		return errors.New(text)
	case !errors.As(err, &invalid):
		return errors.New(printable.Text(err.Error()))
	}
	reason := invalid.Unwrap()
	if parse, is := errors.AsType[*strconv.NumError](reason); is {
		reason = errors.New("must be a number")
		if parse.Func == "ParseBool" {
			reason = errors.New("must be true or false")
		}
	}
	return fmt.Errorf("--%s: %s", invalid.GetFlag().Name, printable.Text(reason.Error()))
}
