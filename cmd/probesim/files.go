package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
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
func readManifest(cmd *cobra.Command, path string) (input.File, error) {
	return readFile(cmd, path, strict.MaxFileSize)
}

// readFile reads a file of at most most bytes that the command line names, or stdin if the path is
// -.
func readFile(cmd *cobra.Command, path string, most int64) (f input.File, err error) {
	if f.Name = filepath.ToSlash(path); path == "-" {
		f.Name = "stdin"
		f.Data, err = input.Stream(cmd.InOrStdin(), most)
	} else {
		f.Data, err = files.Of(cmd.Context()).Read(path, most, true)
	}
	if err != nil {
		err = unreadable(f.Name, err)
	}
	return f, err
}

// writeFile writes a file, as files.Files.Write does.
func writeFile(ctx context.Context, path string, data []byte, force bool) error {
	return files.Of(ctx).Write(ctx, path, data, force)
}

// alsoFiles are the files that a command writes besides its output.
type alsoFiles struct {
	list  []alsoFile
	force bool
}

// alsoFile is a value of --also.
type alsoFile struct{ format, name string }

// addTo adds the flags --also and --force.
func (a *alsoFiles) addTo(cmd *cobra.Command, formats []string) {
	addFlag(cmd, &a.list, "also", "", "Also write the result to a file, as `FORMAT=FILE`, for example html=page.html. "+
		"You can repeat this flag.", func(text string) ([]alsoFile, error) {
		format, name, _ := strings.Cut(text, "=")
		if !slices.Contains(formats, format) || name == "" {
			return nil, fmt.Errorf("must be FORMAT=FILE, where the format is one of %s", strings.Join(formats, ", "))
		}
		return append(a.list, alsoFile{format, name}), nil
	})
	addForce(cmd, &a.force)
}

// ignored rejects --force without --also.
func (a *alsoFiles) ignored(cmd *cobra.Command) error {
	if len(a.list) > 0 {
		return nil
	}
	return ignored(cmd, "without --also", "force")
}

// check rejects files that cannot be written. The command has read its inputs.
func (a *alsoFiles) check(ctx context.Context) error {
	for _, f := range a.list {
		if err := files.Of(ctx).Check(f.name, a.force); err != nil {
			return fmt.Errorf("--also: %w", err)
		}
	}
	return nil
}

// write writes each file in its format.
func (a *alsoFiles) write(ctx context.Context, write func(w io.Writer, format string) error) error {
	for _, f := range a.list {
		var b bytes.Buffer
		err := write(&b, f.format)
		if err == nil {
			err = writeFile(ctx, f.name, b.Bytes(), a.force)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadOptions are those of a command without flags about scenarios.
func loadOptions(cmd *cobra.Command) scenarios.LoadOptions {
	return scenarios.LoadOptions{Read: func(name string, named bool) ([]byte, error) {
		return files.Of(cmd.Context()).Read(filepath.FromSlash(name), strict.MaxFileSize, named)
	}}
}

// exists reports whether there is a file or a directory.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unreadable adds the path to an error of a file system.
func unreadable(path string, err error) error {
	return fmt.Errorf("%s: cannot be read: %w", printable.Text(path), input.Reason(err))
}
