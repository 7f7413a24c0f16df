package scenarios

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/plan"
)

// list returns the files that a path stands for.
func (l *loader) list(path string) (files []string, isDirectory bool) {
	if path == "" {
		l.errs.Addf(`""`, "is not the path of a file or directory")
		return nil, false
	}
	if path == "-" && l.stdin != nil {
		return []string{plan.Stdin}, false
	}
	info, err := os.Stat(path)
	if err != nil {
		l.errs.Addf(path, "cannot be read: %s", input.Reason(err))
		return nil, false
	}
	if !info.IsDir() {
		name := filepath.ToSlash(filepath.Clean(path))
		if name == plan.Stdin {
			name = "./" + name
		}
		return []string{name}, false
	}
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(entry.Name(), ".") && name != path
		switch {
		case err != nil:
			l.errs.Addf(name, "cannot be read: %s", input.Reason(err))
			return nil
		case entry.IsDir() && hidden:
			return fs.SkipDir
		case !entry.IsDir() && !hidden && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(name)):
			files = append(files, filepath.ToSlash(filepath.Clean(name)))
		}
		return nil
	})
	if err != nil {
		l.errs.Addf(path, "cannot be read: %s", input.Reason(err))
	}
	slices.Sort(files)
	return files, true
}

// loadFile returns the scenarios of a file and everything else in it. It skips an empty file in a
// directory.
func (l *loader) loadFile(name string, inDirectory bool) ([]*plan.Scenario, *manifests.Objects) {
	data, err := l.stdin, error(nil)
	if name != plan.Stdin {
		data, err = l.read(name, !inDirectory)
	} else if len(data) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		if !inDirectory || !errors.Is(err, input.ErrEmpty) {
			l.errs.Addf(name, "cannot be read: %s", err)
		}
		return nil, &manifests.Objects{}
	}
	f := l.parse(name, data)
	return l.load(f), f
}

// ReadFile reads a scenario file or a manifest. It returns an error for a file that is empty, is
// not a regular file, or is larger than 4 MiB. The error does not contain the path.
func ReadFile(name string) ([]byte, error) {
	return input.Regular(filepath.FromSlash(name), strict.MaxFileSize)
}
