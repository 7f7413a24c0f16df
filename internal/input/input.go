// Package input reads files within limits. Whatever a path leads to, a read ends, and takes no more
// memory than the limit.
package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// File is a file with its content.
type File struct {
	Name string // for messages
	Data []byte
}

// ErrEmpty is the error for files without content. The files of /proc have no size, and a read of
// some of them never ends.
var ErrEmpty = errors.New("it is empty, or it is a special file without a size, as in /proc")

// Regular reads a regular file of at most most bytes, such as one that another file names. It
// rejects directories, devices, pipes and files without a size before it opens them, and then files
// whose content does not have the size that the file system says. Errors do not contain the path.
func Regular(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, Reason(err)
	case info.IsDir():
		return nil, errors.New("it is a directory: specify a file in it")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() == 0:
		return nil, ErrEmpty
	case info.Size() > most:
		return nil, TooLarge(most)
	}
	data, err := open(path, info.Size()+1)
	if err == nil && int64(len(data)) != info.Size() {
		return nil, fmt.Errorf("its content does not have the size of %d bytes that the file system says: it is "+
			"being written, or it is a special file", info.Size())
	}
	return data, err
}

// Named reads a file that a person has named, of at most most bytes. It can be a pipe or a device
// too, such as /dev/stdin or <(command) in a shell, and empty then.
func Named(path string, most int64) ([]byte, error) {
	if !IsPipe(path) {
		return Regular(path, most)
	}
	data, err := open(path, most+1)
	return within(data, err, most)
}

// Stream reads a stream of at most most bytes, which may be empty.
func Stream(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	return within(data, Reason(err), most)
}

func within(data []byte, err error, most int64) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > most:
		return nil, TooLarge(most)
	}
	return data, nil
}

// IsPipe reports whether a path leads to a pipe, a socket or a device.
func IsPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

func open(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	return data, Reason(err)
}

// TooLarge is the error of a file with more bytes than a limit, which is a number of MiB.
type TooLarge int64

func (most TooLarge) Error() string { return fmt.Sprintf("it has more than %d MiB", int64(most)>>20) }

// Reason returns an error of a file system without the path.
func Reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
