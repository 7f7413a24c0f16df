package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
)

// gitFile returns the content that a file has at a ref of its git repository, such as a branch or a
// commit.
//
// The name of an object is the only argument that a user decides. It cannot be an option, because
// the ref does not begin with a hyphen. cat-file runs no filters and no programs that the
// configuration of the repository names.
func gitFile(ctx context.Context, ref, path string) ([]byte, error) {
	if ref == "" || strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, ":\x00\n") {
		return nil, fmt.Errorf("--before-ref: %s is not the name of a branch, a tag or a commit", strict.Quote(ref))
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("--before-ref requires git, which is not in PATH: write the file of the ref to disk, " +
			"and pass it as BEFORE")
	}
	dir, name := filepath.Split(path)
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, git, "cat-file", "blob", ref+":./"+name)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &capped{&out, strict.MaxFileSize + 1}, &capped{&stderr, 1000}
	switch err := cmd.Run(); {
	case out.Len() > strict.MaxFileSize:
		return nil, fmt.Errorf("%s at %s is larger than %d MiB", printable.Text(path), printable.Text(ref),
			strict.MaxFileSize>>20)
	case err != nil:
		reason := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "fatal: ")
		if reason == "" {
			reason = err.Error()
		}
		return nil, fmt.Errorf("git does not find %s at %s: %s", printable.Text(path), printable.Text(ref),
			printable.Text(reason))
	}
	return out.Bytes(), nil
}

// capped keeps the first bytes that are written, and drops the others.
type capped struct {
	to   *bytes.Buffer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	c.to.Write(p[:n])
	return len(p), nil
}
