package runner

import (
	"strings"
	"testing"
)

// TestLargeFileIsNoted checks that the command says how large a page or Perfetto file is, if it is
// large.
func TestLargeFileIsNoted(t *testing.T) {
	for bytes, want := range map[int64]string{
		largeFile - 1: "",
		221_400_000:   "probesim: the output has 221MB; fewer runs, a shorter --until or fewer pods make it smaller\n",
	} {
		var stderr strings.Builder
		out := &output{size: &sizeWriter{Writer: &strings.Builder{}, bytes: bytes - 3}, stderr: &stderr}
		out.size.Write([]byte("abc"))
		if out.noteSize(); stderr.String() != want {
			t.Errorf("%d bytes: %q, want %q", bytes, stderr.String(), want)
		}
	}
}
