package printable

import (
	"strings"
	"testing"
)

func TestFew(t *testing.T) {
	names := strings.Split(strings.Repeat("a", 22), "")
	if got := Few(names[:21]); strings.Count(got, "a") != 21 {
		t.Errorf("of 21: %s", got)
	}
	if got := Few(names); !strings.HasSuffix(got, ", a and 2 more") || strings.Count(got, "a, ") != 19 {
		t.Errorf("of 22: %s", got)
	}
}
