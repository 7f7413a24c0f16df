package files

import (
	"errors"
	"os"
	"path/filepath"

	"probesim.dev/internal/runner/cleanup"
)

// replace gives an existing file a new content, completely or not at all. It keeps the mode, the
// owner if the user may set it, and symbolic links to the file.
func replace(path string, data []byte) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := writable(target)
	if err != nil {
		return err
	}
	// The name begins with a dot, so a search for scenario files skips it.
	t, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(t.Name()) // has no effect after the rename
	defer cleanup.Process.Add(func() { os.Remove(t.Name()) })()
	_, err = t.Write(data)
	keepOwner(t, info) // before the mode, because it clears some bits
	if err = errors.Join(err, t.Chmod(info.Mode()), t.Sync(), t.Close()); err != nil {
		return err
	}
	return os.Rename(t.Name(), target)
}

// writable checks that the user may write a file: a rename needs no permission for the file itself.
func writable(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o200 == 0 { // root may write such a file too
		err = errors.New("file is read-only")
	}
	if err != nil {
		return nil, err
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return info, w.Close()
}
