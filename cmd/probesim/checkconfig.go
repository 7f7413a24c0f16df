package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
)

// configFile has the defaults of check, compare, tune and rollout, if it is in the working
// directory.
const configFile = ".probesim.yaml"

// configured are the flags that a configuration can set: a value, or a list for a flag that takes
// several. Those of onlyCheck have another meaning, or none, for other commands.
var (
	configured = []string{"start", "stop", "delays", "kubernetes", "require", "allow-annotations", "fail-on",
		"baseline"}
	onlyCheck = []string{"fail-on", "baseline"}
)

// configuration is the flag --config, and what its file has set.
type configuration struct {
	file     string
	defaults []configValue
	exclude  []string // patterns of files that are left out
}

// addConfig adds the flag --config.
func (o *configuration) addConfig(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.file, "config", configFile, "The `file` with defaults for these flags, and with findings "+
		"to ignore; none for no file.")
}

// configure sets the flags that the command line leaves out from a configuration, and returns the
// findings that it ignores.
func (o *configuration) configure(cmd *cobra.Command) ([]check.Ignore, error) {
	name := o.file
	if name == "none" || !cmd.Flags().Changed("config") && !exists(name) {
		return nil, nil
	}
	f, err := readManifest(cmd, name)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	var errs strict.Collector
	var ignores []check.Ignore
	docs, _ := strict.Parse(f.Name, f.Data, &errs)
	for i, doc := range docs {
		if i > 0 {
			doc.Errorf("a configuration is one document")
			continue
		}
		ignores = o.applyConfig(cmd, doc)
	}
	if err := errs.Err(); err != nil {
		return nil, nothing("done", err)
	}
	return ignores, nil
}

// applyConfig sets the flags of a document, and reports its errors.
func (o *configuration) applyConfig(cmd *cobra.Command, doc *strict.Node) []check.Ignore {
	if doc.Kind != strict.Mapping {
		doc.Errorf("must be an object with defaults, such as start: 40s..70s")
		return nil
	}
	strict.CheckKeys(doc, append([]string{"ignore", "exclude"}, configured...)...)
	for _, name := range configured {
		n, flag := doc.Field(name), cmd.Flags().Lookup(name)
		if n.Kind != strict.Missing && (!n.Written() || n.Kind != strict.Scalar && len(n.Items) == 0) {
			n.Errorf("has no value: leave it out, or write one")
		}
		if !n.Written() || flag == nil || flag.Changed || cmd.Name() != "check" && slices.Contains(onlyCheck, name) {
			continue
		}
		values := n.Items
		if n.Kind == strict.Scalar {
			values = []*strict.Node{n}
		}
		for _, value := range values {
			o.setFlag(cmd, name, value)
		}
	}
	for _, n := range doc.Field("exclude").Items {
		o.exclude = append(o.exclude, n.Value)
		checkPattern(n)
	}
	if n := doc.Field("exclude"); n.Kind != strict.Missing && len(n.Items) == 0 {
		n.Errorf("must be a list of files or directories, such as charts/redis*")
	}
	return ignoresOf(doc)
}

// checkPattern reports an error about a pattern of files.
func checkPattern(n *strict.Node) {
	if _, err := filepath.Match(n.Value, ""); err != nil {
		n.Errorf("is no pattern: it has a [ without ], or ends with a backslash")
	} else if n.Written() && (n.Kind != strict.Scalar || n.Value == "") {
		n.Errorf("must be a pattern, such as charts/redis*")
	}
}

// setFlag adds a value of a document to a flag.
func (o *configuration) setFlag(cmd *cobra.Command, name string, n *strict.Node) {
	text := n.Value
	switch {
	case n.Kind != strict.Scalar:
		n.Errorf("must be a text")
		return
	case name == "baseline" && !filepath.IsLocal(text):
		n.Errorf("must be a file in the directory of this file, or below it")
		return
	case name == "baseline":
		text = filepath.Join(filepath.Dir(o.file), text)
	}
	flag, v := cmd.Flags().Lookup(name), configValue{name, text, n.Pos}
	_, err := v.options()
	if err = cmp.Or(flag.Value.Set(text), err); err != nil {
		n.Errorf("%v", err)
	}
	flag.Changed = true
	o.defaults = append(o.defaults, v)
}

// sets reports whether the configuration has set a flag.
func (o *configuration) sets(flag string) bool {
	return slices.ContainsFunc(o.defaults, func(v configValue) bool { return v.flag == flag })
}

// failsNever says that no finding fails the check because the configuration says so.
func (o *configuration) failsNever() string {
	for _, v := range o.defaults {
		if v.flag == "fail-on" && v.text == "none" {
			return fmt.Sprintf(", no finding fails (fail-on: none in %s)", v.at)
		}
	}
	return ""
}

// ignoresOf returns the findings that a document ignores.
func ignoresOf(doc *strict.Node) (ignores []check.Ignore) {
	list := doc.Field("ignore")
	if list.Kind != strict.Missing && (list.Kind != strict.Sequence || len(list.Items) == 0) {
		list.Errorf("must be a list of objects with findings, and with a path if it is not about all files")
	}
	for _, n := range list.Items {
		strict.CheckKeys(n, "path", "findings")
		ids, err := check.ParseIDs(n.Field("findings").Value)
		if err != nil {
			n.Field("findings").Errorf("%v", err)
		}
		checkPattern(n.Field("path"))
		ignores = append(ignores, check.Ignore{Path: n.Field("path").Value, IDs: ids})
	}
	return ignores
}

// configValue is a value of a flag in a configuration.
type configValue struct {
	flag, text string
	at         strict.Pos
}

// options returns the options that have only this value.
func (v configValue) options() (o check.Options, err error) {
	switch v.flag {
	case "start":
		o.Start, err = value.ParseDurations(v.text)
	case "stop":
		o.Stop, err = value.ParseDurations(v.text)
	case "require":
		var list []require.Requirement
		list, err = require.Parse(v.text)
		o.Require = check.RequirementsOf(list)
	}
	return o, err
}

// passOver takes the workloads that files lack out of starts and stops that a configuration has, as
// one for a whole repository or from 'probesim measure -o config' does.
func (o *configuration) passOver(cmd *cobra.Command, files []input.File, known ...value.Durations) {
	var names []string
	for _, v := range o.defaults {
		alone, _ := v.options()
		for _, name := range slices.Concat(alone.Start.Names(), alone.Stop.Names()) {
			if !slices.Contains(names, name) && workloads.Elsewhere(files, name) {
				names = append(names, name)
			}
		}
	}
	for _, d := range known {
		maps.DeleteFunc(d.Of, func(name string, _ value.Interval) bool { return slices.Contains(names, name) })
	}
	if len(names) > 0 {
		tell(cmd.ErrOrStderr(), "the starts and stops of %s in %s count for nothing here: no such workload",
			printable.Some(names, 3), printable.Text(o.file))
	}
}

// unknown returns the error about a container that no workload has, with its place if a
// configuration names the container.
func (o *configuration) unknown(cmd *cobra.Command, options check.Options, files []input.File) error {
	o.passOver(cmd, files, options.Start, options.Stop)
	err := options.UnknownContainers(files)
	if err == nil {
		return nil
	}
	for _, v := range o.defaults {
		alone, _ := v.options()
		if err := alone.UnknownContainers(files); err != nil {
			return fmt.Errorf("%s: %w", v.at, err)
		}
	}
	return err
}

// maxReport is the maximum size of a report in bytes.
const maxReport = 64 << 20

// readReport reads an earlier report of a command, the value of a flag. Without a value, it returns
// nil.
func readReport[T any](cmd *cobra.Command, flag, name, of string) (*T, error) {
	if name == "" {
		return nil, nil
	}
	r := new(T)
	f, err := readFile(cmd, name, maxReport)
	if err == nil {
		file := strict.JSONFile{Name: f.Name, Data: f.Data, What: "the JSON of probesim " + of, Open: true}
		err = file.Decode(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return r, nil
}
