package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
)

// readManifest reads a file of manifests.
func readManifest(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory: specify a file in it", path)
	}
	data, err := scenarios.ReadFile(filepath.ToSlash(path))
	if err != nil {
		if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%w: pass it through stdin with -f -", err)
		}
		return nil, fmt.Errorf("%s: cannot be read: %w", path, err)
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
// mode and follows symbolic links.
func writeFile(path string, data []byte, overwrite bool) error {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil && overwrite:
		err = replace(target, data)
	default: // fails if the file exists
		err = create(path, data)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return exists(path)
	case err != nil:
		return fmt.Errorf("%s: cannot be written: %w", path, pathless(err))
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

// replace atomically replaces a file.
func replace(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if info.Mode().Perm()&0o200 == 0 { // a rename would ignore this
		return errors.New("file is read-only")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // has no effect after the rename
	defer cleanUp.add(func() { os.Remove(f.Name()) })()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
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
