package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// endless is a stream without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestStream(t *testing.T) {
	grows := &endless{}
	if _, err := Stream(grows, 2<<20); err == nil || err.Error() != "it has more than 2 MiB" || grows.read > 8<<20 {
		t.Errorf("%v after %d bytes", err, grows.read)
	}
	for _, text := range []string{"", "abc"} {
		if data, err := Stream(strings.NewReader(text), 3); err != nil || string(data) != text {
			t.Errorf("%q, %v", data, err)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "small": "abc", "large": "abcd"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"": "it is a directory: specify a file in it", "none": "no such file or directory", "empty": ErrEmpty.Error(),
		"small": "", "large": "it has more than 0 MiB",
	} {
		data, err := Named(filepath.Join(dir, name), 3)
		if want == "" && (err != nil || string(data) != "abc") || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, err := Named("/dev/zero", 1<<20); err == nil || err.Error() != "it has more than 1 MiB" {
		t.Error(err)
	}
	if _, err := Regular("/dev/zero", 1<<20); err == nil || err.Error() != "it is not a regular file" {
		t.Error(err)
	}
}
