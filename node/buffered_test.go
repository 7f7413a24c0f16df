package node

import "testing"

// TestLongBody checks that a handler that writes without end does not fill the memory.
func TestLongBody(t *testing.T) {
	var b buffered
	for range 8 {
		if n, err := b.Write(make([]byte, maxBody/2+1)); n != maxBody/2+1 || err != nil {
			t.Errorf("wrote %d bytes: %v", n, err)
		}
	}
	if b.body.Len() != maxBody {
		t.Errorf("the body has %d bytes, want %d", b.body.Len(), maxBody)
	}
}
