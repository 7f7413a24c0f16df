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
	"probesim.dev/scenarios/manifests"
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
		l.errs.Addf(path, "cannot be read: %s", reason(err))
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

// loadFile returns the scenarios of a file and everything else in it. It skips an empty file in a directory.
func (l *loader) loadFile(name string, inDirectory bool) ([]*plan.Scenario, *manifests.Objects) {
	data, err := l.stdin, error(nil)
	if name != plan.Stdin {
		data, err = ReadFile(name)
	} else if len(data) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		if !inDirectory || !errors.Is(err, errEmpty) {
			l.errs.Addf(name, "cannot be read: %s", err)
		}
		return nil, &manifests.Objects{}
	}
	f := l.read(name, data)
	return l.load(f), f
}

// errEmpty is the error for files without a size. The files of /proc have none, and reading some of them never ends.
var errEmpty = errors.New("it is empty, or it is a special file without a size, as in /proc")

// ReadFile reads a scenario file or a manifest. It returns an error for a file that is empty, is not a regular
// file, or is larger than 4 MiB. The error does not contain the path. It rejects directories, devices, pipes and files without a size before it
// opens them, and then files whose content does not have the size that the file system says.
func ReadFile(name string) ([]byte, error) {
	path := filepath.FromSlash(name)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() == 0:
		return nil, errEmpty
	case info.Size() > strict.MaxFileSize:
		return nil, tooLarge(info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	return readAll(f, info.Size())
}

// readAll reads a file of this size.
func readAll(f io.Reader, size int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, size+1))
	switch {
	case err != nil:
		return nil, reason(err)
	case int64(len(data)) != size:
		return nil, fmt.Errorf("its content does not have the size of %d bytes that the file system says: it is being written, or it is a special file", size)
	}
	return data, nil
}

// tooLarge names the size rounded up, so that it is greater than the limit.
func tooLarge(size int64) error {
	return fmt.Errorf("it has %d MiB, and the limit is %d MiB", (size+1<<20-1)>>20, strict.MaxFileSize>>20)
}

// reason returns the text of a file system error without the path.
func reason(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}
