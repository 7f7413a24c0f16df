package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/strict"
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

// configure sets the flags that the command line leaves out from a configuration, and returns the
// findings that it ignores.
func (o *checkOptions) configure(cmd *cobra.Command) ([]check.Ignore, error) {
	name := o.config
	if name == "none" {
		return nil, nil
	}
	if !cmd.Flags().Changed("config") {
		if _, err := os.Stat(name); err != nil {
			return nil, nil
		}
	}
	data, err := readManifest(cmd, name)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("--config: %w", err)}
	}
	var errs strict.Collector
	var ignores []check.Ignore
	docs, _ := strict.Parse(filepath.ToSlash(name), data, &errs)
	for _, doc := range docs {
		ignores = append(ignores, o.applyConfig(cmd, doc)...)
	}
	if err := errs.Err(); err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("nothing was done\n%w", err)}
	}
	return ignores, nil
}

// applyConfig sets the flags of a document, and reports its errors.
func (o *checkOptions) applyConfig(cmd *cobra.Command, doc *strict.Node) []check.Ignore {
	if doc.Kind != strict.Mapping {
		doc.Errorf("must be an object with defaults, such as start: 40s..70s")
		return nil
	}
	strict.CheckKeys(doc, append([]string{"ignore"}, configured...)...)
	for _, name := range configured {
		n, flag := doc.Field(name), cmd.Flags().Lookup(name)
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
	return ignoresOf(doc)
}

// setFlag adds a value of a document to a flag.
func (o *checkOptions) setFlag(cmd *cobra.Command, name string, value *strict.Node) {
	text := value.Value
	switch {
	case value.Kind != strict.Scalar:
		value.Errorf("must be a text")
		return
	case name == "baseline" && !filepath.IsLocal(text):
		value.Errorf("must be a file in the directory of this file, or below it")
		return
	case name == "baseline":
		text = filepath.Join(filepath.Dir(o.config), text)
	case name == "kubernetes" && cmd.Name() == "rollout":
		if versions, err := parseVersions([]string{text}); err == nil {
			text = versions[len(versions)-1] // the newest
		}
	}
	flag := cmd.Flags().Lookup(name)
	_, wrong := parseValue(name, text)
	if err := errors.Join(flag.Value.Set(text), wrong); err != nil {
		value.Errorf("%s", strings.TrimPrefix(err.Error(), "--"+name+": "))
	}
	flag.Changed = true
	o.defaults = append(o.defaults, configValue{name, text, value.Pos})
}

// ignoresOf returns the findings that a document ignores.
func ignoresOf(doc *strict.Node) (ignores []check.Ignore) {
	for _, n := range doc.Field("ignore").Items {
		strict.CheckKeys(n, "path", "findings")
		ids, err := check.ParseIDs(n.Field("findings").Value)
		if err != nil {
			n.Field("findings").Errorf("%v", err)
		}
		if _, err := filepath.Match(n.Field("path").Value, ""); err != nil {
			n.Field("path").Errorf("is no pattern: %v", err)
		}
		ignores = append(ignores, check.Ignore{Path: n.Field("path").Value, IDs: ids})
	}
	return ignores
}

// configValue is a value of a flag in a configuration.
type configValue struct {
	flag, text string
	at         strict.Pos
}

// unknown returns the error about a container that no workload has, with its place if a
// configuration names the container.
func (o *checkOptions) unknown(options check.Options, files []input.File) error {
	err := options.UnknownContainers(files)
	if err == nil {
		return nil
	}
	for _, v := range o.defaults {
		if alone, wrong := parseValue(v.flag, v.text); wrong == nil {
			if err := alone.UnknownContainers(files); err != nil {
				return fmt.Errorf("%s: %w", v.at, err)
			}
		}
	}
	return err
}

// parseValue returns the options that have only a value of a flag.
func parseValue(name, value string) (check.Options, error) {
	o := checkOptions{output: "table"}
	cmd := &cobra.Command{}
	o.addCheckFlags(cmd)
	if err := cmd.Flags().Set(name, value); err != nil {
		return check.Options{}, nil // known already
	}
	options, err := o.parse(checkOutputs...)
	return options, errors.Join(err, o.checkFailOn())
}

// maxReport is the maximum size of a report in bytes.
const maxReport = 64 << 20

// readReport reads an earlier report, the value of a flag. Without a value, it returns nil.
func readReport(cmd *cobra.Command, flag, name string) (*check.Report, error) {
	if name == "" {
		return nil, nil
	}
	data, err := readFile(cmd, name, maxReport)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	var r check.Report
	file := strict.JSONFile{Name: filepath.ToSlash(name), Data: data, What: "the JSON of probesim check", Open: true}
	if err := file.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return &r, nil
}
