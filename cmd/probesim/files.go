package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
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
		return nil, unreadable(path, err)
	}
	return data, nil
}

// readStdin reads stdin up to the maximum size of a scenario file.
func readStdin(stdin io.Reader) ([]byte, error) {
	return readFile(stdin, "-", strict.MaxFileSize, ", the maximum size of a scenario file")
}

// readFile reads a file, or stdin if the path is -. It returns an error if there are more than most bytes, with a hint for people.
func readFile(stdin io.Reader, path string, most int64, hint string) ([]byte, error) {
	name, from := path, stdin
	if path == "-" {
		name = "stdin"
	} else {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, unreadable(path, err)
		case info.IsDir():
			return nil, fmt.Errorf("%s is a directory: specify a file in it", printable.Text(path))
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file: pass it through stdin as -", printable.Text(path))
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s is larger than %d MiB%s", printable.Text(name), most>>20, hint)
	}
	return data, nil
}

// unreadable adds the path to an error of a file system.
func unreadable(path string, err error) error {
	return fmt.Errorf("%s: cannot be read: %w", printable.Text(path), files.Pathless(err))
}
