package scenarios

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"probesim.dev/internal/strict"
)

// Load reads scenario files, and folders with all files below them whose names end in .yaml or .yml,
// sorted by path; hidden ones are left out. In a folder files without a Scenario may stand beside those
// with one: the manifests that scenarios take workloads from. The error is of type Errors and has
// everything that is wrong in all files; then there are no scenarios.
func Load(paths ...string) ([]*Scenario, error) {
	l := newLoader(readFile)
	var all []*Scenario
	seen := map[string]bool{}
	for _, path := range paths {
		found, before, bare := 0, l.errs.Len(), ""
		files, isFolder := l.list(path)
		for _, name := range files {
			if seen[name] {
				found++
				continue
			}
			seen[name] = true
			scenarios, f := l.loadFile(name)
			all = append(all, scenarios...)
			found += len(f.scenarios)
			if bare == "" && len(f.manifests) > 0 {
				bare = "; 'probesim init -f " + name + "' writes one"
			}
		}
		switch {
		case found > 0 || l.errs.Len() > before:
		case isFolder:
			l.errs.Addf(path, "there is no Scenario in this folder (in files named *.yaml or *.yml)%s", bare)
		default:
			l.errs.Addf(path, "there is no Scenario in this file%s", bare)
		}
	}
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	return all, nil
}

// list returns the files that a path stands for.
func (l *loader) list(path string) (files []string, isFolder bool) {
	if path == "" {
		l.errs.Addf(`""`, "is no path of a file or folder")
		return nil, false
	}
	info, err := os.Stat(path)
	if err != nil {
		l.errs.Addf(path, "cannot be read: %s", reason(err))
		return nil, false
	}
	if !info.IsDir() {
		return []string{filepath.ToSlash(filepath.Clean(path))}, false
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(entry.Name(), ".") && name != path
		switch {
		case err != nil:
			l.errs.Addf(name, "cannot be read: %s", reason(err))
			return nil
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case !entry.IsDir() && !hidden && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)):
			files = append(files, filepath.ToSlash(filepath.Clean(name)))
		}
		return nil
	})
	if err != nil {
		l.errs.Addf(path, "cannot be read: %s", reason(err))
	}
	slices.Sort(files)
	return files, true
}

// loadFile returns the scenarios of a file that are right, and what is in it.
func (l *loader) loadFile(name string) ([]*Scenario, *file) {
	data, err := readFile(name)
	if err != nil {
		l.errs.Addf(name, "cannot be read: %s", err)
		return nil, &file{}
	}
	f := l.read(name, data)
	return l.load(f), f
}

// readFile reads a file that is not larger than a scenario file may be. Devices and pipes are refused:
// they may have no end.
func readFile(name string) ([]byte, error) {
	path := filepath.FromSlash(name)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > strict.MaxFileSize:
		return nil, tooLarge(info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, strict.MaxFileSize+1))
	if err != nil {
		return nil, reason(err)
	}
	if len(data) > strict.MaxFileSize {
		return nil, tooLarge(int64(len(data)))
	}
	return data, nil
}

func tooLarge(size int64) error {
	return fmt.Errorf("it has %d MiB, and a scenario file at most %d", size>>20, strict.MaxFileSize>>20)
}

// reason returns what an error of the file system says without the path.
func reason(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}
