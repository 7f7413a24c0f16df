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

// list returns the files that a path stands for.
func (l *loader) list(path string) (files []string, isDirectory bool) {
	if path == "" {
		l.errs.Addf(`""`, "is not the path of a file or directory")
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

// loadFile returns the scenarios of a file and everything else in it.
func (l *loader) loadFile(name string) ([]*Scenario, *file) {
	data, err := readFile(name)
	if err != nil {
		l.errs.Addf(name, "cannot be read: %s", err)
		return nil, &file{}
	}
	f := l.read(name, data)
	return l.load(f), f
}

// readFile reads a file within the size limit. It rejects devices and pipes, which may never end.
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
	return fmt.Errorf("it has %d MiB, and the limit is %d MiB", size>>20, strict.MaxFileSize>>20)
}

// reason returns the text of a file system error without the path.
func reason(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}

// ReadFile reads a scenario file or a manifest. It returns an error for a file that is not a regular file or
// is larger than 4 MiB. The error does not contain the path.
func ReadFile(path string) ([]byte, error) { return readFile(path) }
