package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
)

// readRef reads a file, or the manifests in a directory, as they are at a ref of their git
// repository, such as a branch or a commit. What is not there yet is no error.
func (r *manifestReader) readRef(ref, path string) error {
	if ref == "" || strings.HasPrefix(ref, "-") || strings.ContainsAny(ref, ":\x00\n") {
		return fmt.Errorf("%s is not the name of a branch, a tag or a commit", strict.Quote(ref))
	}
	dir, name := filepath.Split(path)
	info, err := os.Stat(path)
	isDir := err == nil && info.IsDir()
	if isDir {
		dir, name = path, ""
	}
	failed := func(path, reason string) error {
		return fmt.Errorf("git does not find %s at %s: %s", printable.Text(path), printable.Text(ref), reason)
	}
	list, err := git(r.cmd.Context(), dir, "ls-tree", "-r", "-z", ref, "./"+name)
	if err != nil {
		return failed(path, err.Error())
	}
	var names []string
	objects := map[string]string{}
	for entry := range strings.SplitSeq(string(list), "\x00") {
		what, at, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(what)
		if len(fields) == 3 && strings.HasPrefix(fields[0], "100") { // a file, and no link
			at = filepath.Join(dir, at)
			names, objects[at] = append(names, at), fields[2]
		}
	}
	if isDir {
		names = r.manifestsOf(names)
	}
	for _, at := range names {
		data, err := git(r.cmd.Context(), dir, "cat-file", "blob", objects[at])
		if err != nil {
			return failed(at, err.Error())
		}
		if !isDir || hasObject(data) {
			r.add(at, data, nil)
		}
	}
	return errors.Join(r.errs...)
}

// git returns what a command of git prints. ls-tree and cat-file run no filters and no programs
// that the configuration of the repository names. No argument that a user decides can be an option.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("git, which reads the files of a ref, is not in PATH")
	}
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &capped{&out, maxReport + 1}, &capped{&stderr, 1000}
	switch err := cmd.Run(); {
	case out.Len() > maxReport:
		return nil, input.TooLarge(maxReport)
	case err != nil:
		reason := strings.TrimPrefix(strings.TrimSpace(stderr.String()), "fatal: ")
		if reason == "" {
			reason = err.Error()
		}
		return nil, errors.New(printable.Text(reason))
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
