package cleanup

import "testing"

// TestRun checks that the last function comes first, and that one that was removed does not come.
func TestRun(t *testing.T) {
	l, got := New(), ""
	l.Add(func() { got += "first " })
	l.Add(func() { got += "removed " })()
	l.Add(func() { got += "last " })
	if l.Run(); got != "last first " {
		t.Errorf("the functions that were called are %s", got)
	}
}
