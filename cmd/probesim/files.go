package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
)

// readManifest reads a file of manifests.
func readManifest(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: specify a file in it", printable.Text(path))
	}
	data, err := scenarios.ReadFile(filepath.ToSlash(path))
	if err != nil {
		if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%w: pass it through stdin as -", err)
		}
		return nil, fmt.Errorf("%s: cannot be read: %w", printable.Text(path), err)
	}
	return data, nil
}

// readStdin reads stdin up to the maximum size of a scenario file.
func readStdin(stdin io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(stdin, strict.MaxFileSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("stdin cannot be read: %w", err)
	case len(data) > strict.MaxFileSize:
		return nil, fmt.Errorf("stdin is larger than %d MiB, the maximum size of a scenario file", strict.MaxFileSize>>20)
	}
	return data, nil
}

// writeFile writes a file completely or not at all. It replaces an existing file only if overwrite is set, and then keeps its
// mode, its owner and symbolic links.
func writeFile(ctx context.Context, path string, data []byte, overwrite bool) error {
	if overwrite {
		old, err := os.ReadFile(path)
		if err == nil {
			return replaceFiles(ctx, &replacement{path: path, old: old, new: data})
		}
	}
	err := create(path, data) // fails if the file exists
	switch {
	case errors.Is(err, fs.ErrExist):
		return exists(path)
	case err != nil:
		return fmt.Errorf("%s: cannot be written: %w", printable.Text(path), pathless(err))
	}
	return nil
}

// create writes a new file.
func create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer cleanUp.add(func() { os.Remove(path) })()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return err
}

// pathless strips the path from an error of the file system.
func pathless(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	if linkError, ok := errors.AsType[*os.LinkError](err); ok {
		return linkError.Err
	}
	return err
}
