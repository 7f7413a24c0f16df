package build

import (
	"compress/gzip"
	"os"
	"testing"
)

// most is the size of the program, compressed as web servers do, that the first visit may load.
const most = 7_500_000

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// TestSize builds the program, and checks how much the first visit loads.
func TestSize(t *testing.T) {
	data, err := Program("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if name := os.Getenv("PROBESIM_WASM"); name != "" {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var size counter
	w := gzip.NewWriter(&size)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d compressed", len(data), size)
	if size > most {
		t.Errorf("the program has %d bytes compressed, and may have %d", size, most)
	}
}
