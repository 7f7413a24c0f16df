package fakeruntime

import (
	"net/http"
	"testing"
)

// TestLongBody checks that a handler that writes without end does not fill the memory.
func TestLongBody(t *testing.T) {
	w := responseWriter{header: http.Header{}}
	for range 8 {
		if n, err := w.Write(make([]byte, maxBody/2+1)); n != maxBody/2+1 || err != nil {
			t.Errorf("wrote %d bytes: %v", n, err)
		}
	}
	if w.body.Len() != maxBody {
		t.Errorf("the body has %d bytes, want %d", w.body.Len(), maxBody)
	}
}
