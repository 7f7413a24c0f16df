// Package files writes files completely or not at all.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/cleanup"
)

// ErrInterrupted is the error of a call whose context was done before it wrote anything.
var ErrInterrupted = errors.New("interrupted")

// Write writes a file completely or not at all. It replaces an existing file only if overwrite is set, and then keeps its
// mode, its owner and symbolic links.
func Write(ctx context.Context, path string, data []byte, overwrite bool) error {
	if overwrite {
		old, err := os.ReadFile(path)
		if err == nil {
			return Replace(ctx, &Replacement{Path: path, Old: old, New: data})
		}
	}
	err := create(path, data) // fails if the file exists
	switch {
	case errors.Is(err, fs.ErrExist):
		return Exists(path)
	case err != nil:
		return fmt.Errorf("%s: cannot be written: %w", printable.Text(path), Pathless(err))
	}
	return nil
}

// Exists returns the error of a command that would overwrite a file.
func Exists(path string) error {
	return fmt.Errorf("%s already exists: specify another file, or overwrite it with --force", printable.Text(path))
}

// create writes a new file.
func create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer cleanup.Process.Add(func() { os.Remove(path) })()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// Pathless strips the path from an error of the file system.
func Pathless(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	if linkError, ok := errors.AsType[*os.LinkError](err); ok {
		return linkError.Err
	}
	return err
}
