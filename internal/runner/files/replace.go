package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/cleanup"
)

// Replacement is a new content for an existing file.
type Replacement struct {
	Path     string
	Old, New []byte

	target      string // path without symbolic links
	info        fs.FileInfo
	next, saved string // temporary files beside the target, with the new and the old content
}

// replacer replaces several files: all of them, or none if there is an error. Its functions are
// fields for tests.
type replacer struct{ rename func(from, to string) error }

// Replace replaces files. It keeps their modes, their owners if the user may set them, and symbolic
// links to them. When ctx is done, it stops if no file has its new content yet, and otherwise
// completes the work.
func Replace(ctx context.Context, files ...*Replacement) error {
	return replacer{os.Rename}.replace(ctx, files)
}

func (r replacer) replace(ctx context.Context, files []*Replacement) error {
	defer cleanup.Process.Hold()() // a second signal must not end the process between two files

	if err := forEach(files, (*Replacement).check); err != nil {
		return err
	}
	files = slices.CompactFunc(slices.SortedFunc(slices.Values(files),
		func(a, b *Replacement) int { return strings.Compare(a.target, b.target) }),
		func(a, b *Replacement) bool { return a.target == b.target && string(a.New) == string(b.New) })
	defer func() {
		for _, f := range files {
			os.Remove(f.next) // has no effect after the rename
			os.Remove(f.saved)
		}
	}()
	if err := forEach(files, (*Replacement).stage); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	for i, f := range files {
		if err := r.rename(f.next, f.target); err != nil {
			return errors.Join(unwritable(f.Path, err), r.restore(files[:i]))
		}
	}
	return nil
}

// forEach calls work for all files, and returns their errors, one for each line.
func forEach(files []*Replacement, work func(*Replacement) error) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, unwritable(f.Path, work(f)))
	}
	return errors.Join(errs...)
}

// check finds the file to replace and checks that the user may write it: a rename needs no
// permission for the file itself.
func (f *Replacement) check() error {
	var err error
	if f.target, err = filepath.EvalSymlinks(f.Path); err != nil {
		return err
	}
	if f.info, err = os.Stat(f.target); err != nil {
		return err
	}
	if !f.info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if f.info.Mode().Perm()&0o200 == 0 { // root may write such a file too
		return errors.New("file is read-only")
	}
	w, err := os.OpenFile(f.target, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return w.Close()
}

// stage writes the temporary files.
func (f *Replacement) stage() error {
	now, err := os.ReadFile(f.target)
	if err != nil {
		return err
	}
	if string(now) != string(f.Old) {
		return errors.New("another program has changed the file in the meantime")
	}
	if f.saved, err = f.temporary(f.Old); err != nil {
		return err
	}
	f.next, err = f.temporary(f.New)
	return err
}

// temporary writes a file beside the target, with its mode and owner. The name begins with a dot,
// so a search for scenario files skips it.
func (f *Replacement) temporary(data []byte) (name string, err error) {
	t, err := os.CreateTemp(filepath.Dir(f.target), "."+filepath.Base(f.target)+".*")
	if err != nil {
		return "", err
	}
	_, err = t.Write(data)
	keepOwner(t, f.info) // before the mode, because it clears some bits
	err = errors.Join(err, t.Chmod(f.info.Mode()), t.Sync(), t.Close())
	return t.Name(), err
}

// restore gives files their old content back.
func (r replacer) restore(files []*Replacement) error {
	var errs []error
	for _, f := range files {
		if err := r.rename(f.saved, f.target); err != nil {
			errs = append(errs, fmt.Errorf("%s: has its new content nevertheless, because the old one cannot be "+
				"restored: %w", printable.Text(f.Path), input.Reason(err)))
		}
	}
	return errors.Join(errs...)
}
