package strict

import (
	"fmt"
	"strings"
	"testing"
)

// TestErrorsAboutOnePlace checks that many errors about one field are shortened, and few are not.
func TestErrorsAboutOnePlace(t *testing.T) {
	for n, want := range map[int]string{
		mostHere + 1: "a.yaml:2:3: name: error 10",
		mostHere + 5: "a.yaml:2:3: name: and 5 more errors about this",
	} {
		var c Collector
		c.Add(Error{Pos: Pos{"a.yaml", 9, 1}, Path: "kind", Message: "other"})
		for i := range n {
			c.Add(Error{Pos: Pos{"a.yaml", 2, 3}, Path: "name", Message: fmt.Sprintf("error %02d", i)})
		}
		lines := strings.Split(c.Err().Error(), "\n")
		if len(lines) != mostHere+2 || lines[0] != "a.yaml:2:3: name: error 00" || lines[mostHere] != want ||
			lines[mostHere+1] != "a.yaml:9:1: kind: other" {
			t.Errorf("%d errors: %q, want %q in the last line but one", n, lines, want)
		}
	}
}
