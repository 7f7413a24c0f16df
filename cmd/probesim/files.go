package main

import (
	"fmt"
	"io"
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
