package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/draft"
)

// initOptions are the flags of init.
type initOptions struct {
	manifests []string // one
	output    string
	force     bool
}

func newInit() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init -f MANIFEST",
		Short: "Write a scenario for a manifest, to begin with",
		Long: `Write a scenario for a manifest, to begin with: for each container how long it
takes to start, what it answers to its probes and how it ends; what is expected
then, which holds as written; and as comments what to try next.

The manifest may have Pods, Deployments, StatefulSets, DaemonSets, ReplicaSets,
Jobs and CronJobs, several of them and in lists. Objects of other kinds are
passed over. The scenario refers to the manifest by its path; what comes from
stdin is copied into the scenario.

Without -o the scenario goes to stdout. A file that is there is not overwritten
without --force.`,
		Example: `  probesim init -f pod.yaml -o scenario.yaml      write it, then
  probesim run scenario.yaml                      run it
  kubectl get deployment web -o yaml | probesim init -f - -o web.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && len(o.manifests) == 0:
				return fmt.Errorf("init takes its manifest with -f\nDid you mean 'probesim init -f %s'?", quote(args[0]))
			case len(args) > 0:
				return fmt.Errorf("init takes no arguments, and there is %s", strict.Quote(args[0]))
			case len(o.manifests) == 0 || o.manifests[0] == "":
				return errors.New("init needs a manifest: -f pod.yaml, or -f - for stdin")
			case len(o.manifests) > 1:
				return errors.New("init takes one manifest, which may have several documents: cat a.yaml b.yaml | probesim init -f -")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE:           refuseEmpty,
		RunE:              func(cmd *cobra.Command, _ []string) error { return initScenario(cmd, o) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.manifests, "filename", "f", nil, "the `manifest`, or - for stdin")
	flags.StringVarP(&o.output, "output", "o", "", "`file` to write the scenario to (default stdout)")
	flags.BoolVar(&o.force, "force", false, "overwrite the file")
	yamlFiles := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
	cmd.RegisterFlagCompletionFunc("filename", yamlFiles)
	cmd.RegisterFlagCompletionFunc("output", yamlFiles)
	return cmd
}

func initScenario(cmd *cobra.Command, o initOptions) error {
	if o.output == "-" {
		o.output = ""
	}
	if err := o.mayWrite(); err != nil {
		return &exitError{exitUsage, err}
	}
	d, err := o.read(cmd.InOrStdin())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	text, err := draft.Write(d)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("no scenario was written\n%w", err)}
	}
	if o.output == "" {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	if err := writeFile(o.output, text, o.force); err != nil {
		return &exitError{exitUsage, err}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Wrote %s. Next: probesim run %s\n", o.output, quote(o.output))
	return err
}

// mayWrite refuses what is there before any work is done.
func (o *initOptions) mayWrite() error {
	if o.output == "" {
		return nil
	}
	info, err := os.Stat(o.output)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder: name a file in it", o.output)
	case err == nil && o.manifests[0] != "-" && sameFile(o.manifests[0], info):
		return fmt.Errorf("%s is the manifest itself: write the scenario to another file", o.output)
	case err == nil && !o.force:
		return exists(o.output)
	}
	return nil
}

func exists(path string) error {
	return fmt.Errorf("%s is there already: name another file, or overwrite it with --force", path)
}

func sameFile(path string, other os.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, other)
}

// read reads the manifest and finds how the scenario refers to it.
func (o *initOptions) read(stdin io.Reader) (draft.Options, error) {
	words := []string{"probesim init -f", quote(o.manifests[0])}
	d := draft.Options{Manifest: filepath.ToSlash(o.manifests[0]), Run: "probesim run FILE"}
	if o.output != "" {
		words = append(words, "-o", quote(o.output))
		d.Run = "probesim run " + quote(o.output)
	}
	d.Command = strings.Join(words, " ")
	var err error
	if o.manifests[0] == "-" {
		d.Manifest = "stdin"
		d.Data, err = readStdin(stdin)
		return d, err
	}
	if d.Data, err = readManifest(o.manifests[0]); err != nil {
		return d, err
	}
	d.File, err = relative(filepath.Dir(o.output), o.manifests[0])
	return d, err
}

// relative returns the path of a file from a folder, with slashes.
func relative(folder, file string) (string, error) {
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	path, err := filepath.Rel(from, to)
	return filepath.ToSlash(path), err
}
