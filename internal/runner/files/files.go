// Package files reads and writes the files of a command: it writes them completely or not at all,
// and none that the command has read.
package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/cleanup"
)

// ErrInterrupted is the error of a call whose context was done before it wrote anything.
var ErrInterrupted = errors.New("interrupted")

// Files are the files of one command. The zero value has read none.
type Files struct {
	mu    sync.Mutex
	read  []fs.FileInfo
	pipes map[string][]byte // what was read from pipes, which can be read once, by path
}

type contextKey struct{}

// With returns a context with the files of a command.
func With(ctx context.Context) context.Context { return context.WithValue(ctx, contextKey{}, &Files{}) }

// Of returns the files of a context, or files that are not of any.
func Of(ctx context.Context) *Files {
	if f, has := ctx.Value(contextKey{}).(*Files); has {
		return f
	}
	return &Files{}
}

// Read reads a file of at most most bytes. named says that a person has named it: it can be a pipe
// or a device then. The error does not contain the path.
func (f *Files) Read(path string, most int64, named bool) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if data, has := f.pipes[path]; has {
		return data, nil
	}
	if !named || !input.IsPipe(path) {
		if info, err := os.Stat(path); err == nil {
			f.read = append(f.read, info)
		}
		return input.Regular(path, most)
	}
	data, err := input.Named(path, most)
	if err == nil {
		if f.pipes == nil {
			f.pipes = map[string][]byte{}
		}
		f.pipes[path] = data
	}
	return data, err
}

// Check returns the error of Write for a path, so that a command can refuse it before any work.
func (f *Files) Check(path string, force bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
			return fmt.Errorf("%s: cannot be written: there is no directory %s", printable.Text(path),
				printable.Text(filepath.Dir(path)))
		}
		return nil
	}
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a directory: specify a file in it", printable.Text(path))
	case slices.ContainsFunc(f.read, func(other fs.FileInfo) bool { return os.SameFile(info, other) }):
		return fmt.Errorf("%s is a file that the command reads: specify another file", printable.Text(path))
	case info.Mode().IsRegular() && !force:
		return fmt.Errorf("%s already exists: specify another file, or overwrite it with --force", printable.Text(path))
	}
	return nil
}

// Write writes a file completely or not at all. It does not write a file that the command has read.
// It replaces another file that exists only if force is set or the file has the same content, and
// then keeps its mode, its owner and symbolic links.
func (f *Files) Write(ctx context.Context, path string, data []byte, force bool) error {
	info, err := os.Stat(path)
	if err != nil {
		if err := f.Check(path, force); err != nil {
			return err
		}
		return unwritable(path, create(path, data))
	}
	if info.Mode().IsRegular() {
		var old []byte
		if old, err = os.ReadFile(path); err == nil && bytes.Equal(old, data) {
			return nil
		}
	}
	switch checked := f.Check(path, force); {
	case checked != nil:
		return checked
	case err != nil:
		return unwritable(path, err)
	case !info.Mode().IsRegular(): // such as /dev/null
		return unwritable(path, os.WriteFile(path, data, 0))
	}
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return unwritable(path, replace(path, data))
}

// unwritable adds the path to an error of the file system, unless it is nil.
func unwritable(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: cannot be written: %w", printable.Text(path), input.Reason(err))
}

// create writes a new file.
func create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // fails if the file exists
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
