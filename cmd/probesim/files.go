package main

import (
	"context"
	"fmt"
	"path/filepath"

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

// readFile reads a file of at most most bytes that the command line names, or stdin if the path is -.
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
