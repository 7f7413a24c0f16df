package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
)

// readManifest reads a file of manifests or of a scenario, or stdin if the path is -.
func readManifest(cmd *cobra.Command, path string) ([]byte, error) {
	return readFile(cmd, path, strict.MaxFileSize)
}

// readFile reads a file of at most most bytes that the command line names, or stdin if the path is
// -.
func readFile(cmd *cobra.Command, path string, most int64) (data []byte, err error) {
	name := path
	if path == "-" {
		name = "stdin"
		data, err = input.Stream(cmd.InOrStdin(), most)
	} else {
		data, err = files.Of(cmd.Context()).Read(path, most, true)
	}
	if err != nil {
		return nil, unreadable(name, err)
	}
	return data, nil
}

// writeFile writes a file, as files.Files.Write does.
func writeFile(ctx context.Context, path string, data []byte, force bool) error {
	if err := files.Of(ctx).Write(ctx, path, data, force); err != nil {
		return &exitError{exitUsage, err}
	}
	return nil
}

// alsoFiles are the files that a command writes besides its output, each as FORMAT=FILE.
type alsoFiles []string

// addTo adds the flag --also.
func (a *alsoFiles) addTo(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar((*[]string)(a), "also", nil,
		"Also write the result to a file, as `FORMAT=FILE`, for example html=page.html. You can repeat this flag.")
}

// each calls visit for each format with its file.
func (a alsoFiles) each(visit func(format, file string) error) error {
	for _, also := range a {
		format, file, _ := strings.Cut(also, "=")
		if err := visit(format, file); err != nil {
			return err
		}
	}
	return nil
}

// parse rejects formats that are not among the given ones.
func (a alsoFiles) parse(formats []string) error {
	return a.each(func(format, file string) error {
		if !slices.Contains(formats, format) || file == "" {
			return fmt.Errorf("--also: must be FORMAT=FILE, where the format is one of %s", strings.Join(formats, ", "))
		}
		return nil
	})
}

// write writes each file in its format.
func (a alsoFiles) write(ctx context.Context, force bool, write func(w io.Writer, format string) error) error {
	return a.each(func(format, file string) error {
		var b bytes.Buffer
		if err := write(&b, format); err != nil {
			return err
		}
		return writeFile(ctx, file, b.Bytes(), force)
	})
}

// check rejects files that cannot be written. The command has read its inputs.
func (a alsoFiles) check(ctx context.Context, force bool) error {
	return a.each(func(_, file string) error {
		if err := files.Of(ctx).Check(file, force); err != nil {
			return &exitError{exitUsage, fmt.Errorf("--also: %w", err)}
		}
		return nil
	})
}

// addForce adds the flag of a command that writes files.
func addForce(cmd *cobra.Command, force *bool) {
	cmd.Flags().BoolVar(force, "force", false, "Overwrite existing files.")
}

// loadOptions are those of a command without flags about scenarios.
func loadOptions(cmd *cobra.Command) scenarios.LoadOptions {
	return scenarios.LoadOptions{Read: func(name string, named bool) ([]byte, error) {
		return files.Of(cmd.Context()).Read(filepath.FromSlash(name), strict.MaxFileSize, named)
	}}
}

// unreadable adds the path to an error of a file system.
func unreadable(path string, err error) error {
	return fmt.Errorf("%s: cannot be read: %w", printable.Text(path), input.Reason(err))
}
